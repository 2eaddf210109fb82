//! Draws the model.

mod highlight;
mod overlay;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use schema::model::memory::MemoryType;

use super::message::{ListItem, ListKind, MAX_ITEMS};
use super::model::{BrowseModel, Focus, StatusMessage};
use crate::cli::terminal_text::{display_width, fit_columns, group_thousands, pad_columns, wrap};
use highlight::{highlighted, match_ranges, part_with_match};
pub(super) use overlay::max_help_scroll;
use overlay::{DIM, DONE, ERROR, NAME, SELECTED, STRONG, draw_overlay};

/// Columns from which on the text is next to the list.
const WIDE: u16 = 110;

/// Rows from which on the text is below the list.
const HIGH: u16 = 14;

/// The share of the columns that the list has next to the text, in percent.
const LIST_SHARE: u16 = 60;

/// The share of the rows that the list has above the text, in percent.
const LIST_SHARE_ABOVE: u16 = 55;

/// Columns of an age.
const AGE: usize = 5;

/// Labels get at most one in so many columns.
const LABEL_DIVISOR: usize = 4;

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
            let [list, text] = Layout::horizontal([Constraint::Percentage(LIST_SHARE), Constraint::Min(0)]).areas(body);
            (list, text.inner(Margin { horizontal: 1, vertical: 0 }))
        }
        _ if area.height >= HIGH => {
            let [list, text] =
                Layout::vertical([Constraint::Percentage(LIST_SHARE_ABOVE), Constraint::Min(0)]).areas(body);
            (list, text)
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

/// The scroll offset at which the first match in the text is in view.
pub(super) fn scroll_to_match(model: &BrowseModel) -> usize {
    let area = text_area(model);
    let words = model.query_words();
    let lines = model.opened.as_ref().map(|opened| wrap(&opened.content, area.width.into())).unwrap_or_default();
    let first = lines.iter().position(|line| !match_ranges(line, &words).is_empty()).unwrap_or_default();
    // A third of the area shows what is before it.
    if first < area.height.into() { 0 } else { first.saturating_sub(usize::from(area.height) / 3) }
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
    let columns = usize::from(area.width);
    if let Some(old) = &model.replacing {
        let text = format!("Choose what replaces: {}", old.text);
        frame.render_widget(Line::styled(fit_columns(&text, columns), STRONG), area);
        return;
    }
    let mut parts = vec![filter_text(model)];
    let marked = model.marked.len();
    parts.extend((marked > 0).then(|| format!("{marked} marked")));
    parts.extend(model.deletion.as_ref().map(|deletion| format!("{} deleted, u undoes", deletion.ids.len())));
    frame.render_widget(Line::styled(fit_columns(&parts.join(" · "), columns), DIM), area);
}

/// What is listed.
fn filter_text(model: &BrowseModel) -> String {
    let span = model.time_span.label;
    match (model.list, &model.session) {
        (ListKind::Memories, Some((_, title))) => format!("session: {title}"),
        (ListKind::Memories, None) => format!("{} · {span}", model.kind.map_or("all types", MemoryType::as_str)),
        (list, _) => format!("{} · {span}", list.title()),
    }
}

fn draw_list(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    if rows == 0 {
        return;
    }
    if model.items.is_empty() {
        let nothing = match &model.notice {
            _ if model.is_searching => String::new(),
            Some(notice) => notice.clone(),
            None => format!("No {} match.", model.list.title()),
        };
        let lines: Vec<Line<'_>> = wrap(&nothing, columns).into_iter().map(|line| Line::styled(line, DIM)).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    // Keeps the selected item in the middle, if possible.
    let first = model.selected.saturating_sub(rows / 2).min(model.items.len().saturating_sub(rows));
    let shown = model.items.iter().enumerate().skip(first).take(rows);
    let widest = model.items.iter().map(|item| display_width(&item.label)).max().unwrap_or_default();
    let style = ItemStyle { columns, labels: widest.min(columns / LABEL_DIVISOR), words: model.query_words() };
    let lines: Vec<Line<'_>> = shown.map(|(at, item)| item_line(model, item, at == model.selected, &style)).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// What all lines of a list have in common.
struct ItemStyle {
    columns: usize,
    /// Columns of the labels.
    labels: usize,
    words: Vec<String>,
}

fn item_line(model: &BrowseModel, item: &ListItem, is_selected: bool, style: &ItemStyle) -> Line<'static> {
    let age = pad_columns(&item.age, AGE);
    let label = pad_columns(&item.label, style.labels);
    let is_replaced = model.replacing.as_ref().is_some_and(|old| old.id == item.id);
    let is_marked = model.marked.contains(&item.id);
    let marks = [(is_replaced, "✗"), (is_marked, "+"), (item.is_superseded, "†"), (item.is_pinned, "*")];
    let mark = marks.into_iter().find(|(is_so, _)| *is_so).map_or(" ", |(_, mark)| mark);
    let file = if item.is_long_term { "M" } else { " " };
    let arrow = if is_selected { ">" } else { " " };
    let room = style.columns.saturating_sub(1 + AGE + 1 + style.labels + 1 + 2 + 1);
    let text = pad_columns(&part_with_match(&item.text, &style.words, room), room);
    let text_style = if item.is_superseded || item.is_done { DIM } else { Style::new() };
    let styled = |style: Style| if is_selected { SELECTED } else { style };
    let mut spans = vec![
        Span::styled(format!("{arrow}{age} "), styled(DIM)),
        Span::styled(format!("{label} "), styled(NAME)),
        Span::styled(format!("{mark}{file} "), styled(Style::new()).patch(STRONG)),
    ];
    spans.extend(highlighted(&text, &style.words, styled(text_style)));
    Line::from(spans)
}

fn draw_text(frame: &mut Frame<'_>, model: &BrowseModel, rule: Rect, area: Rect) {
    let Some(opened) = model.opened.as_ref().filter(|_| rule.width > 0) else { return };
    let columns = usize::from(rule.width);
    let about = fit_columns(&opened.about, columns.saturating_sub(4));
    let rest = "─".repeat(columns.saturating_sub(display_width(&about) + 4));
    frame.render_widget(Line::styled(format!("── {about} {rest}"), DIM), rule);
    let lines = wrap(&opened.content, area.width.into());
    let first = model.scroll.min(lines.len().saturating_sub(1));
    let words = model.query_words();
    let shown = lines.iter().skip(first).take(area.height.into());
    let shown: Vec<Line<'_>> = shown.map(|line| Line::from(highlighted(line, &words, Style::new()))).collect();
    frame.render_widget(Paragraph::new(shown), area);
}

fn draw_bottom(frame: &mut Frame<'_>, model: &BrowseModel, area: Rect) {
    let columns = usize::from(area.width);
    let line = match &model.status {
        Some(StatusMessage::Done(text)) => Line::styled(fit_columns(text, columns), DONE),
        Some(StatusMessage::Error(text)) => Line::styled(fit_columns(text, columns), ERROR),
        None => key_hints(model, columns),
    };
    frame.render_widget(line, area);
}

/// The most useful keys, as many as fit.
fn key_hints(model: &BrowseModel, columns: usize) -> Line<'static> {
    let hints = match (model.focus, model.list) {
        _ if model.replacing.is_some() => "Enter replace  / search  Esc cancel",
        (Focus::Query, _) => "Enter read  Esc list  ↑↓ choose  Ctrl-U clear  F1 help",
        (Focus::List, ListKind::Sessions) => "? help  / search  q quit  Enter memories  1 memories  3 tasks",
        (Focus::List, ListKind::Tasks) => "? help  / search  q quit  Enter read  x close  1 memories  2 sessions",
        (Focus::List, ListKind::Memories) => {
            "? help  / search  q quit  Enter read  Space mark  d delete  2 sessions  3 tasks  \
             y copy  e edit  p promote  t type  w when"
        }
        (Focus::Text, _) => "Esc back  ↑↓ scroll  ←→ others  y copy  e edit  d delete  p promote  ? help",
    };
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, what) in hints.split("  ").filter_map(|hint| hint.split_once(' ')) {
        let wide = display_width(key) + 1 + display_width(what) + if spans.is_empty() { 0 } else { 2 };
        if used + wide > columns {
            break;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.extend([Span::styled(key, STRONG), Span::styled(format!(" {what}"), DIM)]);
        used += wide;
    }
    Line::from(spans)
}
