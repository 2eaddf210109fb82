//! The styles of the screen and its dialogs.

use ratatui::style::{Color, Modifier, Style};

pub(super) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(super) const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const NAME: Style = Style::new().fg(Color::Cyan);
pub(super) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub(super) const ERROR: Style = Style::new().fg(Color::Red);
pub(super) const DONE: Style = Style::new().fg(Color::Green);
