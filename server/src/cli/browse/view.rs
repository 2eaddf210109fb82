//! Draws the model.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use schema::model::memory::MemoryType;

use super::message::{ListItem, MAX_ITEMS};
use super::model::{BrowseModel, Focus, Overlay, StatusMessage};
use crate::cli::terminal_text::{display_width, fit_columns, group_thousands, pad_columns, wrap};

/// Columns from which on the text is next to the list.
const WIDE: u16 = 110;

/// Rows from which on the text is below the list.
const HIGH: u16 = 14;

/// Columns below which list items are shortened.
const NARROW: usize = 60;

/// Columns of a type name.
const KIND: usize = 10;

const DIM: Style = Style::new().fg(Color::DarkGray);
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const NAME: Style = Style::new().fg(Color::Cyan);
const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
const FAULT: Style = Style::new().fg(Color::Red);
const DONE: Style = Style::new().fg(Color::Green);

const PROMPT: &str = "Search: ";

/// The areas of the screen. Areas without space are empty.
struct Panes {
    query: Rect,
    filters: Rect,
    list: Rect,
    rule: Rect,
    text: Rect,
    bottom: Rect,
}

fn layout_panes(model: &BrowseModel, area: Rect) -> Panes {
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [query, filters, body, bottom] = Layout::vertical(rows).areas(area);
    let nothing = Rect::new(body.x, body.y, 0, 0);
    let (list, beside) = match model.focus {
        Focus::Text => (nothing, body),
        _ if area.width >= WIDE => {
            let [list, gap] = Layout::horizontal([Constraint::Percentage(50), Constraint::Min(0)]).areas(body);
            (list, gap.inner(Margin { horizontal: 1, vertical: 0 }))
        }
        _ if area.height >= HIGH => {
            let [list, below] = Layout::vertical([Constraint::Percentage(55), Constraint::Min(0)]).areas(body);
            (list, below)
        }
        _ => (body, nothing),
    };
    let [rule, text] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(beside);
    Panes { query, filters, list, rule, text, bottom }
}

pub(super) fn draw_screen(frame: &mut Frame<'_>, model: &BrowseModel) {
    let panes = layout_panes(model, frame.area());
    draw_query(frame, model, panes.query);
    draw_filters(frame, model, panes.filters);
    draw_list(frame, model, panes.list);
    draw_text(frame, model, panes.rule, panes.text);
    draw_bottom(frame, model, panes.bottom);
    if let Some(over) = &model.overlay {
        draw_overlay(frame, over);
    }
}

pub(super) fn text_rows(model: &BrowseModel) -> usize {
    text_area(model).height.into()
}

/// The largest scroll offset of the text.
pub(super) fn max_scroll(model: &BrowseModel) -> usize {
    let area = text_area(model);
    let lines = model.opened.as_ref().map_or(0, |opened| wrap(&opened.content, area.width.into()).len());
    lines.saturating_sub(area.height.into())
}

fn text_area(model: &BrowseModel) -> Rect {
    let (columns, rows) = model.size;
    layout_panes(model, Rect::new(0, 0, columns, rows)).text
}

fn draw_query(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let count = match model.items.len() {
        _ if model.is_searching => "…".to_owned(),
        // The list may be cut.
        MAX_ITEMS.. => format!("{MAX_ITEMS}+"),
        count => group_thousands(count as u64),
    };
    let columns = usize::from(area.width);
    let room = columns.saturating_sub(PROMPT.len() + display_width(&count) + 1);
    let (shown, cursor) = model.query.visible_part(room);
    let style = if model.focus == Focus::Query { STRONG } else { DIM };
    let line =
        vec![Span::styled(PROMPT, style), Span::raw(pad_columns(shown, room)), Span::styled(format!(" {count}"), DIM)];
    frame.render_widget(Line::from(line), area);
    if model.focus == Focus::Query && model.overlay.is_none() {
        let column =
            area.x + u16::try_from(PROMPT.len() + cursor).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
        frame.set_cursor_position(Position::new(column, area.y));
    }
}

fn draw_filters(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let kind = model.kind.map_or("all types", MemoryType::label);
    let text = match &model.replacing {
        Some(old) => format!("Choose what replaces: {}", old.text),
        None => format!("{kind} · {}", model.time_span.label()),
    };
    let style = if model.replacing.is_some() { STRONG } else { DIM };
    frame.render_widget(Line::styled(fit_columns(&text, area.width.into()), style), area);
}

fn draw_list(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    if rows == 0 {
        return;
    }
    if model.items.is_empty() {
        let nothing = match (&model.notice, model.is_searching) {
            (_, true) => "",
            (Some(notice), _) => notice,
            (None, _) => "No memories match.",
        };
        let lines: Vec<Line<'_>> = wrap(nothing, columns).into_iter().map(|line| Line::styled(line, DIM)).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    // Keeps the selected item in the middle, if possible.
    let first = model.selected.saturating_sub(rows / 2).min(model.items.len().saturating_sub(rows));
    let shown = model.items.iter().enumerate().skip(first).take(rows);
    let lines: Vec<Line<'_>> = shown.map(|(at, item)| item_line(model, item, at == model.selected, columns)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

fn item_line<'l>(model: &BrowseModel, item: &ListItem, is_selected: bool, columns: usize) -> Line<'l> {
    let date = if columns < NARROW { item.date.get(5..10) } else { item.date.get(..16) };
    let date = pad_columns(date.unwrap_or_default(), if columns < NARROW { 5 } else { 16 });
    let kind = pad_columns(short_type_name(item.kind), KIND);
    let is_replaced = model.replacing.as_ref().is_some_and(|old| old.id == item.id);
    let marks = [(is_replaced, "✗"), (item.is_superseded, "†"), (item.is_pinned, "*"), (item.is_long_term, "M")];
    let mark = marks.into_iter().find(|(is_so, _)| *is_so).map_or(" ", |(_, mark)| mark);
    let arrow = if is_selected { ">" } else { " " };
    let room = columns.saturating_sub(1 + display_width(&date) + 1 + KIND + 1 + 1 + 1);
    let text = pad_columns(&item.text, room);
    if is_selected {
        return Line::styled(format!("{arrow}{date} {kind} {mark} {text}"), SELECTED);
    }
    let text_style = if item.is_superseded { DIM } else { Style::new() };
    let styled = [
        Span::styled(format!("{arrow}{date} "), DIM),
        Span::styled(format!("{kind} "), NAME),
        Span::styled(format!("{mark} "), STRONG),
        Span::styled(text, text_style),
    ];
    Line::from(styled.to_vec())
}

/// A short name of a type.
fn short_type_name(kind: Option<MemoryType>) -> &'static str {
    match kind {
        None => "note",
        Some(MemoryType::UserPrompt) => "prompt",
        Some(MemoryType::AssistantResponse) => "answer",
        Some(MemoryType::ToolUsage) => "changes",
        Some(MemoryType::Error) => "error",
        Some(MemoryType::SubagentResult) => "subagent",
        Some(MemoryType::Decision) => "decision",
        Some(MemoryType::Learning) => "learning",
        Some(MemoryType::ErrorFix) => "fix",
        Some(MemoryType::SessionSummary) => "summary",
        Some(MemoryType::Preference) => "preference",
        Some(MemoryType::Convention) => "convention",
        Some(MemoryType::Architecture) => "architecture",
        Some(MemoryType::Pattern) => "pattern",
        Some(MemoryType::Task) => "task",
    }
}

fn draw_text(frame: &mut Frame<'_>, model: &BrowseModel, rule: Rect, area: Rect) {
    let Some(opened) = model.opened.as_ref().filter(|_| rule.width > 0) else { return };
    let columns = usize::from(rule.width);
    let about = fit_columns(&opened.about, columns.saturating_sub(4));
    let rest = "─".repeat(columns.saturating_sub(display_width(&about) + 4));
    frame.render_widget(Line::styled(format!("── {about} {rest}"), DIM), rule);
    let lines = wrap(&opened.content, area.width.into());
    let first = model.scroll.min(lines.len().saturating_sub(1));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(first).take(area.height.into()).map(Line::raw).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn draw_bottom(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let columns = usize::from(area.width);
    let line = match &model.status {
        Some(StatusMessage::Done(text)) => Line::styled(fit_columns(text, columns), DONE),
        Some(StatusMessage::Fault(text)) => Line::styled(fit_columns(text, columns), FAULT),
        None => key_hints(model, columns),
    };
    frame.render_widget(line, area);
}

/// The most useful keys, as many as fit.
fn key_hints<'l>(model: &BrowseModel, columns: usize) -> Line<'l> {
    let hints: &[(&str, &str)] = match model.focus {
        _ if model.replacing.is_some() => &[("Enter", "replace"), ("/", "search"), ("Esc", "cancel")],
        Focus::Query => {
            &[("Tab", "commands"), ("Enter", "read"), ("Esc", "clear, quit"), ("F1", "help"), ("↑↓", "choose")]
        }
        Focus::List => &[
            ("?", "help"),
            ("/", "search"),
            ("q", "quit"),
            ("Enter", "read"),
            ("e", "edit"),
            ("d", "delete"),
            ("p", "promote"),
            ("s", "supersede"),
            ("t", "type"),
            ("w", "when"),
        ],
        Focus::Text => &[
            ("Esc", "back"),
            ("↑↓", "scroll"),
            ("←→", "others"),
            ("e", "edit"),
            ("d", "delete"),
            ("p", "promote"),
            ("?", "help"),
        ],
    };
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, what) in hints {
        let wide = display_width(key) + 1 + display_width(what) + if spans.is_empty() { 0 } else { 2 };
        if used + wide > columns {
            break;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.extend([Span::styled((*key).to_owned(), STRONG), Span::styled(format!(" {what}"), DIM)]);
        used += wide;
    }
    Line::from(spans)
}

const HELP: &str = "\
Type to search by words, by meaning, and in any language.

Tab or /     between search and commands
Up, Down     choose; PgUp, PgDn a page
Enter        read; Esc back
Left, Right  previous, next while reading
t, w         filter by type, by time
e            edit in $EDITOR
d            delete for good, after a question
p            promote to MEMORY.md
P            pin: protect from deletion
s            mark as superseded by another
q, Ctrl-C    quit

M in MEMORY.md  * pinned  † superseded";

/// The largest scroll offset of the help.
pub(super) fn max_help_scroll(model: &BrowseModel) -> usize {
    let (columns, rows) = model.size;
    let lines = wrap(HELP, overlay_columns(columns)).len();
    lines.saturating_sub(usize::from(rows.saturating_sub(2)))
}

/// Columns of a dialog's text.
fn overlay_columns(columns: u16) -> usize {
    usize::from(columns.saturating_sub(4)).min(64)
}

fn draw_overlay(frame: &mut Frame<'_>, overlay: &Overlay) {
    let area = frame.area();
    let room = overlay_columns(area.width);
    let (title, lines): (&str, Vec<Line<'_>>) = match overlay {
        Overlay::Help(_) => ("Keys", wrap(HELP, room).into_iter().map(Line::raw).collect()),
        Overlay::Ask { question, .. } => {
            let mut lines: Vec<Line<'_>> = wrap(question, room).into_iter().map(Line::raw).collect();
            lines.extend([Line::raw(""), Line::styled("y  yes    n  no", STRONG)]);
            ("", lines)
        }
        Overlay::Menu(menu) => {
            let line = |(at, label): (usize, String)| match at == menu.selected {
                true => Line::styled(format!("> {}", pad_columns(&label, 22)), SELECTED),
                false => Line::raw(format!("  {label}")),
            };
            let labels = menu.choices.iter().map(|choice| fit_columns(&choice.label(), room.saturating_sub(2)));
            (menu.title, labels.enumerate().map(line).collect())
        }
    };
    let columns = lines.iter().map(Line::width).max().unwrap_or_default().max(display_width(title) + 2) + 4;
    let columns = u16::try_from(columns).unwrap_or(u16::MAX).min(area.width);
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let middle = Rect::new((area.width - columns) / 2, (area.height - rows) / 2, columns, rows);
    frame.render_widget(Clear, middle);
    // A wide character to the left would overlap the frame.
    for row in middle.top()..middle.bottom() {
        let cell = middle.x.checked_sub(1).and_then(|column| frame.buffer_mut().cell_mut((column, row)));
        if let Some(cell) = cell.filter(|cell| display_width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
    let title = if title.is_empty() { String::new() } else { format!(" {title} ") };
    let mut block = Block::bordered().title(title);
    if let Overlay::Help(above) = overlay
        && lines.len().saturating_sub(*above) + 2 > usize::from(rows)
    {
        block = block.title_bottom(" more: ↓ ");
    }
    let inside = block.inner(middle).inner(Margin { horizontal: 1, vertical: 0 });
    frame.render_widget(block, middle);
    // On a low screen, scrolls to the selected choice or to the help offset.
    let below = match overlay {
        Overlay::Menu(menu) => (menu.selected + 1).saturating_sub(usize::from(inside.height)),
        Overlay::Help(above) => *above,
        Overlay::Ask { .. } => 0,
    };
    let shown: Vec<Line<'_>> = lines.into_iter().skip(below).collect();
    frame.render_widget(Paragraph::new(shown), inside);
}
