//! Changes of the model by keys that several parts of the screen have in common.

use crossterm::event::KeyCode;

use super::super::message::{BrowseEffect, ReadMode};
use super::super::model::{BrowseModel, Overlay, StatusMessage};

/// Rows of a page.
const PAGE: isize = 10;

/// Columns of a memory's text in a question.
pub(super) const QUOTE: usize = 120;

pub(super) fn open_help(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    model.overlay = Some(Overlay::Help(0));
    Vec::new()
}

pub(super) fn move_selection_by_key(model: &mut BrowseModel, key: KeyCode) -> Vec<BrowseEffect> {
    move_selection(model, key);
    model.open_effect(ReadMode::Preview).into_iter().collect()
}

pub(super) fn move_selection(model: &mut BrowseModel, key: KeyCode) {
    model.is_new_query = false;
    let last = model.items.len().saturating_sub(1);
    let by = |rows: isize| model.selected.saturating_add_signed(rows).min(last);
    model.selected = match key {
        KeyCode::Up => by(-1),
        KeyCode::Down => by(1),
        KeyCode::PageUp => by(-PAGE),
        KeyCode::PageDown => by(PAGE),
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => model.selected,
    };
}

pub(super) fn show_fault(model: &mut BrowseModel, why: &str) -> Vec<BrowseEffect> {
    model.status = Some(StatusMessage::Fault(why.to_owned()));
    Vec::new()
}
