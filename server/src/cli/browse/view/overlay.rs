//! Draws help, menus and questions over the screen. Has the styles of both.

use ratatui::Frame;
use ratatui::layout::{Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use super::super::model::{BrowseModel, Overlay};
use crate::cli::terminal_text::{display_width, fit_columns, pad_columns, wrap};

pub(super) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const NAME: Style = Style::new().fg(Color::Cyan);
pub(super) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const ERROR: Style = Style::new().fg(Color::Red);
pub(super) const DONE: Style = Style::new().fg(Color::Green);

const HELP: &str = "\
Search by words, by meaning, and in any language.

/ or Tab     the search box; Esc leaves it
Up, Down     choose; PgUp, PgDn a page
Enter        read, or list a session; Esc back
Left, Right  previous, next while reading
1, 2, 3      memories, sessions, tasks
t, w         filter by type, by time
Space        mark several for d, y and P
y            copy to the clipboard
e            edit in $EDITOR
d            delete, after a question
u            undo the last deletion, for 30 s
p            promote to MEMORY.md
P            pin: never delete automatically
s            mark as superseded by another
x            close or reopen a task
q, Ctrl-C    quit

+ marked  M in MEMORY.md  * pinned  † superseded";

/// The largest scroll offset of the help.
pub(in super::super) fn max_help_scroll(model: &BrowseModel) -> usize {
    let (columns, rows) = model.size;
    let lines = wrap(HELP, overlay_columns(columns)).len();
    lines.saturating_sub(usize::from(rows.saturating_sub(2)))
}

/// Columns of a dialog's text.
fn overlay_columns(columns: u16) -> usize {
    usize::from(columns.saturating_sub(4)).min(64)
}

pub(super) fn draw_overlay(frame: &mut Frame<'_>, overlay: &Overlay) {
    let area = frame.area();
    let (title, lines) = overlay_lines(overlay, overlay_columns(area.width));
    let columns = lines.iter().map(Line::width).max().unwrap_or_default().max(display_width(title) + 2) + 4;
    let columns = u16::try_from(columns).unwrap_or(u16::MAX).min(area.width);
    let rows = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
    let middle = Rect::new((area.width - columns) / 2, (area.height - rows) / 2, columns, rows);
    frame.render_widget(Clear, middle);
    clear_wide_neighbours(frame, middle);
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

/// The title and the text of a dialog.
fn overlay_lines(overlay: &Overlay, room: usize) -> (&'static str, Vec<Line<'static>>) {
    match overlay {
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
    }
}

/// A wide character to the left would overlap the frame.
fn clear_wide_neighbours(frame: &mut Frame<'_>, middle: Rect) {
    for row in middle.top()..middle.bottom() {
        let cell = middle.x.checked_sub(1).and_then(|column| frame.buffer_mut().cell_mut((column, row)));
        if let Some(cell) = cell.filter(|cell| display_width(cell.symbol()) > 1) {
            cell.set_symbol(" ");
        }
    }
}
