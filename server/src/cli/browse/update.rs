//! What an event makes of the model, and what is to be done about it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use schema::memory::MemoryType;
use tools::error::ToolError;

use super::model::{Choice, Focus, Item, Menu, Model, Overlay, Span, Status};
use super::view;
use super::worker::{Answer, Look, Request};
use crate::cli::text::{fit, one_line};

/// Rows that a page goes.
const PAGE: isize = 10;

/// Columns of a memory's text in a question.
const QUOTE: usize = 120;

/// What happens.
#[derive(Debug)]
pub(super) enum Event {
    Key(KeyEvent),
    Pasted(String),
    Resized((u16, u16)),
    Answered(Answer),
    /// The editor came back, or says why it did not run.
    Edited(Result<(), String>),
    /// The process is asked to end.
    Ended,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Effect {
    Ask(Request),
    Edit { path: String, line: usize },
    End(Option<ToolError>),
}

pub(super) fn update(model: &mut Model, event: Event) -> Vec<Effect> {
    match event {
        Event::Key(key) if is_control(key, 'c') => vec![Effect::End(None)],
        Event::Ended => vec![Effect::End(None)],
        Event::Key(key) => {
            model.status = None;
            pressed(model, key)
        }
        Event::Pasted(text) => pasted(model, &text),
        Event::Resized(size) => {
            model.size = size;
            model.scroll = model.scroll.min(view::last_scroll(model));
            Vec::new()
        }
        Event::Answered(answer) => answered(model, answer),
        Event::Edited(outcome) => {
            model.status = outcome.err().map(|fault| Status::Fault(one_line(&fault)));
            vec![model.find()]
        }
    }
}

fn answered(model: &mut Model, answer: Answer) -> Vec<Effect> {
    match answer {
        // An earlier search than the last one asked for.
        Answer::Found { generation, .. } if generation != model.generation => Vec::new(),
        Answer::Found { items, notice, .. } => {
            model.show(items, notice.as_deref());
            if model.items.is_empty() {
                model.opened = None;
                if model.focus == Focus::Text {
                    model.focus = Focus::List;
                }
            }
            model.open(Look::Glance).into_iter().collect()
        }
        Answer::Opened(opened) => {
            if model.item().is_some_and(|item| item.id == opened.id) {
                model.opened = Some(opened);
                model.scroll = model.scroll.min(view::last_scroll(model));
            }
            Vec::new()
        }
        Answer::Located { path, line } => vec![Effect::Edit { path, line }],
        Answer::Done(text) => {
            model.status = Some(Status::Done(text));
            vec![model.find()]
        }
        Answer::Failed(fault) => {
            model.status = Some(Status::Fault(fault));
            Vec::new()
        }
        Answer::Ended(fault) => vec![Effect::End(Some(fault))],
    }
}

fn pasted(model: &mut Model, text: &str) -> Vec<Effect> {
    if model.overlay.is_some() || model.focus == Focus::Text {
        return Vec::new();
    }
    model.focus = Focus::Query;
    model.query.insert(text);
    typed(model)
}

fn pressed(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    match (model.overlay.take(), model.focus) {
        (Some(overlay), _) => over(model, overlay, key),
        (None, _) if key.code == KeyCode::F(1) => help(model),
        (None, Focus::Query) => in_query(model, key),
        (None, Focus::List) => in_list(model, key),
        (None, Focus::Text) => in_text(model, key),
    }
}

fn help(model: &mut Model) -> Vec<Effect> {
    model.overlay = Some(Overlay::Help(0));
    Vec::new()
}

/// Keys for what lies over the rest, which has been taken off.
fn over(model: &mut Model, overlay: Overlay, key: KeyEvent) -> Vec<Effect> {
    match overlay {
        Overlay::Help(above) => {
            let above = match key.code {
                KeyCode::Down | KeyCode::PageDown | KeyCode::Char('j' | ' ') => (above + 1).min(view::last_help(model)),
                KeyCode::Up | KeyCode::PageUp | KeyCode::Char('k') => above.saturating_sub(1),
                _ => return Vec::new(),
            };
            model.overlay = Some(Overlay::Help(above));
            Vec::new()
        }
        Overlay::Ask { question, then } => match key.code {
            KeyCode::Char('y' | 'Y') => {
                model.replacing = None;
                vec![Effect::Ask(then)]
            }
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => Vec::new(),
            _ => {
                // Anything else is no answer.
                model.overlay = Some(Overlay::Ask { question, then });
                Vec::new()
            }
        },
        Overlay::Menu(mut menu) => {
            let last = menu.choices.len().saturating_sub(1);
            match key.code {
                KeyCode::Esc | KeyCode::Char('q') => return Vec::new(),
                KeyCode::Enter => return chosen(model, &menu),
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

fn chosen(model: &mut Model, menu: &Menu) -> Vec<Effect> {
    match menu.choices.get(menu.selected) {
        Some(Choice::Kind(kind)) => model.kind = *kind,
        Some(Choice::Span(span)) => model.span = *span,
        Some(Choice::Promote { id, kind }) => {
            return vec![Effect::Ask(Request::Promote { id: id.clone(), kind: Some(*kind) })];
        }
        None => return Vec::new(),
    }
    vec![model.find()]
}

fn in_query(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let query = &mut model.query;
    match key.code {
        KeyCode::Enter => return enter(model),
        KeyCode::Tab => {
            model.focus = Focus::List;
            return Vec::new();
        }
        KeyCode::Esc if model.replacing.take().is_some() => return Vec::new(),
        KeyCode::Esc if query.is_empty() => return vec![Effect::End(None)],
        KeyCode::Esc => query.clear(),
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => return moved(model, key.code),
        KeyCode::Left => return still(|| query.left()),
        KeyCode::Right => return still(|| query.right()),
        KeyCode::Home => return still(|| query.home()),
        KeyCode::End => return still(|| query.end()),
        KeyCode::Backspace => query.backspace(),
        KeyCode::Delete => query.delete(),
        KeyCode::Char('a') if is_control(key, 'a') => return still(|| query.home()),
        KeyCode::Char('e') if is_control(key, 'e') => return still(|| query.end()),
        KeyCode::Char('n') if is_control(key, 'n') => return moved(model, KeyCode::Down),
        KeyCode::Char('p') if is_control(key, 'p') => return moved(model, KeyCode::Up),
        KeyCode::Char('u') if is_control(key, 'u') => query.clear(),
        KeyCode::Char('w') if is_control(key, 'w') => query.delete_word(),
        KeyCode::Char(c) if is_text(key) => query.insert(c.encode_utf8(&mut [0; 4])),
        _ => return Vec::new(),
    }
    typed(model)
}

/// The query changed: the best hit is what people look for.
fn typed(model: &mut Model) -> Vec<Effect> {
    model.selected = 0;
    model.is_new_query = true;
    vec![model.find()]
}

fn still(change: impl FnOnce()) -> Vec<Effect> {
    change();
    Vec::new()
}

fn in_list(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    match key.code {
        KeyCode::Char('/') | KeyCode::Tab | KeyCode::BackTab => {
            model.focus = Focus::Query;
            Vec::new()
        }
        KeyCode::Esc if model.replacing.take().is_some() => Vec::new(),
        KeyCode::Esc => {
            model.focus = Focus::Query;
            Vec::new()
        }
        KeyCode::Char('q') => vec![Effect::End(None)],
        KeyCode::Enter | KeyCode::Char(' ') => enter(model),
        KeyCode::Char('j') => moved(model, KeyCode::Down),
        KeyCode::Char('k') => moved(model, KeyCode::Up),
        KeyCode::Char('g') => moved(model, KeyCode::Home),
        KeyCode::Char('G') => moved(model, KeyCode::End),
        _ => command(model, key),
    }
}

fn in_text(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    let last = view::last_scroll(model);
    let page = view::text_rows(model).saturating_sub(1).max(1);
    match key.code {
        KeyCode::Esc | KeyCode::Char('q') | KeyCode::Enter | KeyCode::Backspace => {
            model.focus = Focus::List;
            model.scroll = 0;
        }
        KeyCode::Down | KeyCode::Char('j') => model.scroll = (model.scroll + 1).min(last),
        KeyCode::Up | KeyCode::Char('k') => model.scroll = model.scroll.saturating_sub(1),
        KeyCode::PageDown | KeyCode::Char(' ') => model.scroll = (model.scroll + page).min(last),
        KeyCode::PageUp | KeyCode::Char('b') => model.scroll = model.scroll.saturating_sub(page),
        KeyCode::Home | KeyCode::Char('g') => model.scroll = 0,
        KeyCode::End | KeyCode::Char('G') => model.scroll = last,
        KeyCode::Right | KeyCode::Char('n') => return beside(model, KeyCode::Down),
        KeyCode::Left | KeyCode::Char('N') => return beside(model, KeyCode::Up),
        _ => return command(model, key),
    }
    Vec::new()
}

/// The next or the previous one, read as well.
fn beside(model: &mut Model, direction: KeyCode) -> Vec<Effect> {
    select(model, direction);
    model.scroll = 0;
    model.open(Look::Read).into_iter().collect()
}

fn moved(model: &mut Model, key: KeyCode) -> Vec<Effect> {
    select(model, key);
    model.open(Look::Glance).into_iter().collect()
}

fn select(model: &mut Model, key: KeyCode) {
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

/// Reads what is selected, or takes it for what replaces another memory.
fn enter(model: &mut Model) -> Vec<Effect> {
    let Some(item) = model.item().cloned() else { return Vec::new() };
    if let Some(old) = model.replacing.clone() {
        if item.kind.is_none() {
            return refuse(model, "A passage of a note replaces nothing: choose a memory");
        }
        if old.id == item.id {
            return refuse(model, "A memory does not replace itself: choose another one");
        }
        let (before, after) = (fit(&old.text, QUOTE), fit(&item.text, QUOTE));
        let question = format!("Mark as superseded?\n\n{before}\n\nReplaced by:\n{after}");
        model.overlay = Some(Overlay::Ask { question, then: Request::Supersede { old: old.id, new: item.id } });
        return Vec::new();
    }
    model.focus = Focus::Text;
    model.scroll = 0;
    model.open(Look::Read).into_iter().collect()
}

/// Keys that do something with what is selected, or with the filters.
fn command(model: &mut Model, key: KeyEvent) -> Vec<Effect> {
    if key.modifiers.contains(KeyModifiers::CONTROL) || key.modifiers.contains(KeyModifiers::ALT) {
        return Vec::new();
    }
    match key.code {
        KeyCode::Char('?') => return help(model),
        KeyCode::Char('t') => {
            let kinds = std::iter::once(None).chain(MemoryType::ALL.map(Some));
            let choices: Vec<Choice> = kinds.map(Choice::Kind).collect();
            return choose(model, "Type", choices, &Choice::Kind(model.kind));
        }
        KeyCode::Char('w') => {
            let choices = Span::ALL.map(Choice::Span).to_vec();
            return choose(model, "When", choices, &Choice::Span(model.span));
        }
        KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown | KeyCode::Home | KeyCode::End => {
            return moved(model, key.code);
        }
        _ => {}
    }
    let Some(item) = model.item().cloned() else { return Vec::new() };
    match key.code {
        KeyCode::Char('e') => vec![Effect::Ask(Request::Locate { id: item.id })],
        KeyCode::Char('d' | 'p' | 's' | 'P') if item.kind.is_none() => {
            refuse(model, "This is a passage of a note, no memory: press e to edit the note")
        }
        KeyCode::Char('d') | KeyCode::Delete if item.kind.is_some() => {
            let question = format!("Delete this memory for good?\n\n{}", fit(&item.text, QUOTE));
            model.overlay = Some(Overlay::Ask { question, then: Request::Delete { id: item.id } });
            Vec::new()
        }
        KeyCode::Char('p') => promote(model, item),
        KeyCode::Char('P') => vec![Effect::Ask(Request::Pin { id: item.id, pinned: !item.is_pinned })],
        KeyCode::Char('s') => {
            model.focus = Focus::List;
            model.replacing = Some(item);
            Vec::new()
        }
        _ => Vec::new(),
    }
}

fn promote(model: &mut Model, item: Item) -> Vec<Effect> {
    match item.kind {
        _ if item.is_long_term => refuse(model, "It is in MEMORY.md already"),
        Some(kind) if kind.is_session_data() => {
            let kinds = MemoryType::ALL.into_iter().filter(|kind| !kind.is_session_data());
            let choices: Vec<Choice> = kinds.map(|kind| Choice::Promote { id: item.id.clone(), kind }).collect();
            let first = choices[0].clone();
            choose(model, "Keep it as", choices, &first)
        }
        _ => vec![Effect::Ask(Request::Promote { id: item.id, kind: None })],
    }
}

fn choose(model: &mut Model, title: &'static str, choices: Vec<Choice>, current: &Choice) -> Vec<Effect> {
    let selected = choices.iter().position(|choice| choice == current).unwrap_or_default();
    model.overlay = Some(Overlay::Menu(Menu { title, choices, selected }));
    Vec::new()
}

fn refuse(model: &mut Model, why: &str) -> Vec<Effect> {
    model.status = Some(Status::Fault(why.to_owned()));
    Vec::new()
}

fn is_control(key: KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// Whether a key is a letter to be typed. AltGr is told as both of the others.
fn is_text(key: KeyEvent) -> bool {
    let held = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
    held.is_empty() || held == KeyModifiers::CONTROL | KeyModifiers::ALT
}
