//! Handles events: changes the model and returns actions.

mod commands;

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::message::{BrowseEffect, BrowseReply, BrowseRequest, ItemKind, ListKind, ReadMode};
use super::model::{BrowseModel, Focus, Menu, MenuChoice, Overlay, StatusMessage};
use super::view;
use crate::cli::terminal_text::{count_of_memories, count_with_unit, fit_columns, one_line};
use commands::{QUOTE_COLUMNS, handle_command_key};

/// Bytes of a text that terminals accept for the clipboard.
const MAX_COPIED: usize = 72_000;

#[derive(Debug)]
pub(super) enum BrowseEvent {
    Key(KeyEvent),
    Pasted(String),
    Resized((u16, u16)),
    Answered(BrowseReply),
    /// The editor has ended, or could not start.
    Edited(Result<(), String>),
    /// The last deletion cannot be undone any more.
    UndoExpired,
    /// A signal to end.
    Ended,
}

pub(super) fn update(model: &mut BrowseModel, event: BrowseEvent) -> Vec<BrowseEffect> {
    let mut effects = handle_event(model, event);
    // The end of the browser is the end of the time for an undo.
    if effects.iter().any(|effect| matches!(effect, BrowseEffect::End(_))) {
        effects.splice(0..0, model.finish_deletion());
    }
    effects
}

fn handle_event(model: &mut BrowseModel, event: BrowseEvent) -> Vec<BrowseEffect> {
    match event {
        BrowseEvent::Key(key) if is_control_key(key, 'c') => vec![BrowseEffect::End(None)],
        BrowseEvent::Ended => vec![BrowseEffect::End(None)],
        BrowseEvent::Key(key) => {
            model.status = None;
            handle_key(model, key)
        }
        BrowseEvent::Pasted(text) => handle_paste(model, &text),
        BrowseEvent::Resized(size) => {
            model.size = size;
            model.scroll = model.scroll.min(view::max_scroll(model));
            Vec::new()
        }
        BrowseEvent::Answered(answer) => handle_reply(model, answer),
        BrowseEvent::UndoExpired => model.finish_deletion().into_iter().collect(),
        BrowseEvent::Edited(outcome) => {
            model.status = outcome.err().map(|error| StatusMessage::Error(one_line(&error)));
            vec![model.search_effect()]
        }
    }
}

fn handle_reply(model: &mut BrowseModel, answer: BrowseReply) -> Vec<BrowseEffect> {
    match answer {
        // A late result of an earlier search.
        BrowseReply::Results { generation, .. } if generation != model.generation => Vec::new(),
        BrowseReply::Results { items, notice, .. } => {
            model.show_items(items, notice.as_deref());
            if model.items.is_empty() {
                model.opened = None;
                if model.focus == Focus::Text {
                    model.focus = Focus::List;
                }
            }
            model.open_effect(ReadMode::Preview).into_iter().collect()
        }
        BrowseReply::Opened(opened) => {
            if model.item().is_some_and(|item| item.id == opened.id) {
                let is_new = model.opened.as_ref().is_none_or(|before| before.id != opened.id);
                model.opened = Some(opened);
                let first = if is_new { view::scroll_to_match(model) } else { model.scroll };
                model.scroll = first.min(view::max_scroll(model));
            }
            Vec::new()
        }
        BrowseReply::Location { path, line } => vec![BrowseEffect::Edit { path, line }],
        BrowseReply::Copied { text, count } => copy_text(model, text, count),
        BrowseReply::Done(text) => {
            model.status = Some(StatusMessage::Done(text));
            vec![model.search_effect()]
        }
        BrowseReply::Failed(error) => model.show_error(&error),
        BrowseReply::ChangeFailed(error) => {
            model.show_error(&error);
            // A memory that could not be deleted is there again.
            vec![model.search_effect()]
        }
        BrowseReply::Ended(error) => vec![BrowseEffect::End(Some(error))],
    }
}

fn copy_text(model: &mut BrowseModel, text: String, count: usize) -> Vec<BrowseEffect> {
    if text.len() > MAX_COPIED {
        return model.show_error("This is too long for the terminal's clipboard. Use export");
    }
    let what = count_with_unit(count as u64, "text");
    model.status = Some(StatusMessage::Done(format!("Copied {what}, if the terminal allows it")));
    vec![BrowseEffect::Copy(text)]
}

fn handle_paste(model: &mut BrowseModel, text: &str) -> Vec<BrowseEffect> {
    if model.overlay.is_some() || model.focus == Focus::Text {
        return Vec::new();
    }
    model.focus = Focus::Query;
    model.query.insert(text);
    handle_query_change(model)
}

fn handle_key(model: &mut BrowseModel, key: KeyEvent) -> Vec<BrowseEffect> {
    match (model.overlay.take(), model.focus) {
        (Some(overlay), _) => handle_overlay_key(model, overlay, key),
        (None, _) if key.code == KeyCode::F(1) => model.open_help(),
        (None, Focus::Query) => handle_query_key(model, key),
        (None, Focus::List) => handle_list_key(model, key),
        (None, Focus::Text) => handle_text_key(model, key),
    }
}

/// Handles keys for a dialog, which has been removed from the model.
fn handle_overlay_key(model: &mut BrowseModel, overlay: Overlay, key: KeyEvent) -> Vec<BrowseEffect> {
    match overlay {
        Overlay::Help(above) => {
            let above = match key.code {
                KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j' | ' ') => {
                    (above + 1).min(view::max_help_scroll(model))
                }
                KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => above.saturating_sub(1),
                _ => return Vec::new(),
            };
            model.overlay = Some(Overlay::Help(above));
            Vec::new()
        }
        Overlay::Ask { question, then } => match key.code {
            KeyCode::Char('y' | 'Y') => confirm_request(model, then),
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => Vec::new(),
            _ => {
                // Other keys are ignored.
                model.overlay = Some(Overlay::Ask { question, then });
                Vec::new()
            }
        },
        Overlay::Menu(mut menu) => {
            let last = menu.choices.len().saturating_sub(1);
            match key.code {
                KeyCode::Esc | KeyCode::Char('q') => return Vec::new(),
                KeyCode::Enter => return apply_choice(model, &menu),
                KeyCode::Up | KeyCode::Char('k') => menu.selected = menu.selected.saturating_sub(1),
                KeyCode::Down | KeyCode::Char('j') => menu.selected = (menu.selected + 1).min(last),
                KeyCode::Home => menu.selected = 0,
                KeyCode::End => menu.selected = last,
                _ => {}
            }
            model.overlay = Some(Overlay::Menu(menu));
            Vec::new()
        }
    }
}

/// After a yes. A deletion waits, so that it can be undone.
fn confirm_request(model: &mut BrowseModel, request: BrowseRequest) -> Vec<BrowseEffect> {
    model.replacing = None;
    let BrowseRequest::Delete { ids } = request else { return vec![BrowseEffect::Ask(request)] };
    let count = count_of_memories(ids.len() as u64);
    let mut effects: Vec<BrowseEffect> = model.begin_deletion(ids, Instant::now()).into_iter().collect();
    model.status =
        Some(StatusMessage::Done(format!("{count} will be deleted in 30 s, or when you quit; press u to undo")));
    if model.focus == Focus::Text {
        model.focus = Focus::List;
    }
    effects.extend(model.open_effect(ReadMode::Preview));
    effects
}

fn apply_choice(model: &mut BrowseModel, menu: &Menu) -> Vec<BrowseEffect> {
    match menu.choices.get(menu.selected) {
        Some(MenuChoice::Kind(kind)) => model.kind = *kind,
        Some(MenuChoice::TimeSpan(span)) => model.time_span = *span,
        Some(MenuChoice::Promote { id, kind }) => {
            return vec![BrowseEffect::Ask(BrowseRequest::Promote { id: id.clone(), kind: Some(*kind) })];
        }
        None => return Vec::new(),
    }
    vec![model.search_effect()]
}

fn handle_query_key(model: &mut BrowseModel, key: KeyEvent) -> Vec<BrowseEffect> {
    let query = &mut model.query;
    match key.code {
        KeyCode::Enter => return activate_item(model),
        // Escape leaves the box and keeps the query, so that a `q` after it does not type.
        KeyCode::Tab | KeyCode::BackTab | KeyCode::Esc => {
            model.focus = Focus::List;
            return Vec::new();
        }
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => {
            return model.select_by_key(key.code);
        }
        KeyCode::Left => return without_effects(|| query.move_left()),
        KeyCode::Right => return without_effects(|| query.move_right()),
        KeyCode::Home => return without_effects(|| query.move_to_start()),
        KeyCode::End => return without_effects(|| query.move_to_end()),
        KeyCode::Backspace => query.backspace(),
        KeyCode::Delete => query.delete(),
        KeyCode::Char('a') if is_control_key(key, 'a') => return without_effects(|| query.move_to_start()),
        KeyCode::Char('e') if is_control_key(key, 'e') => return without_effects(|| query.move_to_end()),
        KeyCode::Char('n') if is_control_key(key, 'n') => return model.select_by_key(KeyCode::Down),
        KeyCode::Char('p') if is_control_key(key, 'p') => return model.select_by_key(KeyCode::Up),
        KeyCode::Char('u') if is_control_key(key, 'u') => query.clear(),
        KeyCode::Char('w') if is_control_key(key, 'w') => query.delete_word(),
        KeyCode::Char(c) if is_text_key(key) => query.insert(c.encode_utf8(&mut [0; 4])),
        _ => return Vec::new(),
    }
    handle_query_change(model)
}

/// After a change of the query, the best hit is selected.
fn handle_query_change(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    model.selected = 0;
    model.is_new_query = true;
    vec![model.search_effect()]
}

fn without_effects(change: impl FnOnce()) -> Vec<BrowseEffect> {
    change();
    Vec::new()
}

fn handle_list_key(model: &mut BrowseModel, key: KeyEvent) -> Vec<BrowseEffect> {
    match key.code {
        KeyCode::Char('/') | KeyCode::Tab | KeyCode::BackTab => {
            model.focus = Focus::Query;
            Vec::new()
        }
        KeyCode::Esc => step_back(model),
        KeyCode::Char('q') => vec![BrowseEffect::End(None)],
        KeyCode::Enter => activate_item(model),
        KeyCode::Char(' ') => toggle_mark(model),
        KeyCode::Char('j') => model.select_by_key(KeyCode::Down),
        KeyCode::Char('k') => model.select_by_key(KeyCode::Up),
        KeyCode::Char('g') => model.select_by_key(KeyCode::Home),
        KeyCode::Char('G') => model.select_by_key(KeyCode::End),
        _ => handle_command_key(model, key),
    }
}

/// Undoes one step: a choice, the marks, the query, or a session.
fn step_back(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    if model.replacing.take().is_some() {
        return Vec::new();
    }
    if !model.marked.is_empty() {
        model.marked.clear();
        return Vec::new();
    }
    if !model.query.text().is_empty() {
        model.query.clear();
        return handle_query_change(model);
    }
    if model.session.is_some() {
        return vec![model.switch_list(ListKind::Sessions, None)];
    }
    model.status = Some(StatusMessage::Done("q quits".to_owned()));
    Vec::new()
}

/// Marks the selected memory or removes its mark, and goes to the next one.
fn toggle_mark(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    let Some(item) = model.item() else { return Vec::new() };
    if item.memory_type().is_none() {
        return model.show_error("Only memories can be marked");
    }
    let id = item.id.clone();
    if !model.marked.remove(&id) {
        model.marked.insert(id);
    }
    model.select_by_key(KeyCode::Down)
}

fn handle_text_key(model: &mut BrowseModel, key: KeyEvent) -> Vec<BrowseEffect> {
    let last = view::max_scroll(model);
    let page = view::text_rows(model).saturating_sub(1).max(1);
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') | KeyCode::Enter | KeyCode::Backspace => {
            model.focus = Focus::List;
            model.scroll = view::scroll_to_match(model).min(view::max_scroll(model));
        }
        KeyCode::Down | KeyCode::Char('j') => model.scroll = (model.scroll + 1).min(last),
        KeyCode::Up | KeyCode::Char('k') => model.scroll = model.scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => model.scroll = (model.scroll + page).min(last),
        KeyCode::PageUp | KeyCode::Char('b') => model.scroll = model.scroll.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => model.scroll = 0,
        KeyCode::End | KeyCode::Char('G') => model.scroll = last,
        KeyCode::Right | KeyCode::Char('n') => return open_neighbour(model, KeyCode::Down),
        KeyCode::Left | KeyCode::Char('N') => return open_neighbour(model, KeyCode::Up),
        _ => return handle_command_key(model, key),
    }
    Vec::new()
}

/// Reads the next or the previous item.
fn open_neighbour(model: &mut BrowseModel, direction: KeyCode) -> Vec<BrowseEffect> {
    model.move_selection(direction);
    model.scroll = 0;
    model.open_effect(ReadMode::Read).into_iter().collect()
}

/// Reads the selected item, lists the memories of a session, or chooses the item as the replacement.
fn activate_item(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    let Some(item) = model.item().cloned() else { return Vec::new() };
    if let Some(old) = model.replacing.clone() {
        if item.memory_type().is_none() {
            return model.show_error("This is a passage of a note. Choose a memory");
        }
        if old.id == item.id {
            return model.show_error("A memory cannot replace itself. Choose another one");
        }
        let (before, after) = (fit_columns(&old.text, QUOTE_COLUMNS), fit_columns(&item.text, QUOTE_COLUMNS));
        let question = format!("Mark as superseded?\n\n{before}\n\nReplaced by:\n{after}");
        model.overlay = Some(Overlay::Ask { question, then: BrowseRequest::Supersede { old: old.id, new: item.id } });
        return Vec::new();
    }
    if item.kind == ItemKind::Session {
        return vec![model.switch_list(ListKind::Memories, Some((item.id, item.text)))];
    }
    model.focus = Focus::Text;
    model.scroll = 0;
    model.open_effect(ReadMode::Read).into_iter().collect()
}

fn is_control_key(key: KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Whether a key types a letter. AltGr is reported as Control and Alt.
fn is_text_key(key: KeyEvent) -> bool {
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
    held.is_empty() || held == KeyModifiers::CONTROL | KeyModifiers::ALT
}
