//! Keys for the chosen items, the filters and the lists.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use schema::model::memory::MemoryType;

use super::super::message::{BrowseEffect, BrowseRequest, ItemKind, ListItem, ListKind};
use super::super::model::{BrowseModel, Focus, Menu, MenuChoice, Overlay, StatusMessage, TimeSpan};
use crate::cli::terminal_text::{count_of_memories, fit_columns};

/// Columns of a memory's text in a question.
pub(super) const QUOTE_COLUMNS: usize = 120;

/// Texts of marked memories in a question.
const MAX_QUOTED: usize = 3;

/// Columns of each of them.
const SHORT_QUOTE_COLUMNS: usize = 50;

pub(super) fn handle_command_key(model: &mut BrowseModel, key: KeyEvent) -> Vec<BrowseEffect> {
    if key.modifiers.contains(KeyModifiers::CONTROL) || key.modifiers.contains(KeyModifiers::ALT) {
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('?') => model.open_help(),
        KeyCode::Char('1') => vec![model.switch_list(ListKind::Memories, None)],
        KeyCode::Char('2') => vec![model.switch_list(ListKind::Sessions, None)],
        KeyCode::Char('3') => vec![model.switch_list(ListKind::Tasks, None)],
        KeyCode::Char('t') if model.list != ListKind::Memories => {
            model.show_error("Only memories have types. Press 1 to list them")
        }
        KeyCode::Char('t') => {
            let kinds = std::iter::once(None).chain(MemoryType::ALL.map(Some));
            let choices: Vec<MenuChoice> = kinds.map(MenuChoice::Kind).collect();
            open_menu(model, "Type", choices, &MenuChoice::Kind(model.kind))
        }
        KeyCode::Char('w') => {
            let choices = TimeSpan::ALL.map(MenuChoice::TimeSpan).to_vec();
            open_menu(model, "When", choices, &MenuChoice::TimeSpan(model.time_span))
        }
        KeyCode::Char('u') => undo_deletion(model),
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End => {
            model.select_by_key(key.code)
        }
        _ => match model.item().cloned() {
            Some(item) => handle_item_key(model, key.code, item),
            None => Vec::new(),
        },
    }
}

fn open_menu(
    model: &mut BrowseModel,
    title: &'static str,
    choices: Vec<MenuChoice>,
    current: &MenuChoice,
) -> Vec<BrowseEffect> {
    let selected = choices.iter().position(|choice| choice == current).unwrap_or_default();
    model.overlay = Some(Overlay::Menu(Menu { title, choices, selected }));
    Vec::new()
}

fn handle_item_key(model: &mut BrowseModel, code: KeyCode, item: ListItem) -> Vec<BrowseEffect> {
    match code {
        KeyCode::Char('y') => {
            let items = model.chosen_items().into_iter().map(ListItem::reference).collect();
            vec![BrowseEffect::Ask(BrowseRequest::Copy { items })]
        }
        KeyCode::Char('d' | 'p' | 's' | 'P' | 'x' | 'e') | KeyCode::Delete if item.kind == ItemKind::Session => {
            model.show_error("This is a session. Press Enter to list its memories")
        }
        // The file has the memories of a deletion that can be undone, so that ends before the editor opens it.
        KeyCode::Char('e') => {
            let mut effects: Vec<BrowseEffect> = model.finish_deletion().into_iter().collect();
            effects.push(BrowseEffect::Ask(BrowseRequest::Locate { id: item.id }));
            effects
        }
        KeyCode::Char('d' | 'p' | 's' | 'P' | 'x') | KeyCode::Delete if item.kind == ItemKind::Note => {
            model.show_error("This is a passage of a note, not a memory. Press e to edit the note")
        }
        KeyCode::Char('d') | KeyCode::Delete => ask_for_deletion(model),
        KeyCode::Char('p') => begin_promotion(model, item),
        KeyCode::Char('P') => {
            let ids = model.chosen_items().iter().map(|item| item.id.clone()).collect();
            vec![BrowseEffect::Ask(BrowseRequest::Pin { ids, pinned: !item.is_pinned })]
        }
        KeyCode::Char('x') if item.memory_type() != Some(MemoryType::Task) => {
            model.show_error("This is not a task. Press 3 to list tasks")
        }
        KeyCode::Char('x') => vec![BrowseEffect::Ask(BrowseRequest::Close { id: item.id, closed: !item.is_done })],
        KeyCode::Char('s') => {
            model.focus = Focus::List;
            model.replacing = Some(item);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn ask_for_deletion(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    let chosen = model.chosen_items();
    let ids: Vec<String> = chosen.iter().map(|item| item.id.clone()).collect();
    let question = match &chosen[..] {
        [only] => format!("Delete this memory for good?\n\n{}", fit_columns(&only.text, QUOTE_COLUMNS)),
        several => {
            let quotes: Vec<String> =
                several.iter().take(MAX_QUOTED).map(|item| fit_columns(&item.text, SHORT_QUOTE_COLUMNS)).collect();
            let more = if several.len() > MAX_QUOTED { "\n…" } else { "" };
            let count = count_of_memories(several.len() as u64);
            format!("Delete {count} for good?\n\n{}{more}", quotes.join("\n"))
        }
    };
    model.overlay = Some(Overlay::Ask { question, then: BrowseRequest::Delete { ids } });
    Vec::new()
}

fn undo_deletion(model: &mut BrowseModel) -> Vec<BrowseEffect> {
    let Some(deletion) = model.deletion.take() else {
        return model.show_error("There is no deletion to undo; one can be undone for 30 seconds");
    };
    let count = count_of_memories(deletion.ids.len() as u64);
    model.select_next = deletion.ids.into_iter().next();
    model.status = Some(StatusMessage::Done(format!("Kept {count}")));
    vec![model.search_effect()]
}

fn begin_promotion(model: &mut BrowseModel, item: ListItem) -> Vec<BrowseEffect> {
    match item.memory_type() {
        _ if item.is_long_term => model.show_error("Already in MEMORY.md"),
        Some(kind) if kind.is_event() => {
            let kinds = MemoryType::ALL.into_iter().filter(|kind| !kind.is_event());
            let choices: Vec<MenuChoice> =
                kinds.map(|kind| MenuChoice::Promote { id: item.id.clone(), kind }).collect();
            let first = choices[0].clone();
            open_menu(model, "Promote as", choices, &first)
        }
        _ => vec![BrowseEffect::Ask(BrowseRequest::Promote { id: item.id, kind: None })],
    }
}
