//! Tests of the browser without a terminal: key handling and appearance.

mod screens;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use schema::model::memory::MemoryType;

use super::message::{
    BrowseEffect, BrowseReply, BrowseRequest, FindRequest, ItemKind, ItemRef, ListItem, ListKind, OpenedItem, ReadMode,
};
use super::model::{BrowseModel, Focus, Overlay, StatusMessage};
use super::update::{BrowseEvent, update};
use super::view;
use crate::cli::terminal_text::clean_for_terminal;

const CONTENT: &str = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지 않는다.\n\nAcknowledge \
                       webhooks only after the database commit, because a serialization failure must requeue them.";

fn item(id: &str, kind: Option<MemoryType>, text: &str) -> ListItem {
    ListItem {
        id: id.to_owned(),
        kind: kind.map_or(ItemKind::Note, ItemKind::Memory),
        age: "3d".to_owned(),
        label: kind.map_or("note", MemoryType::as_str).to_owned(),
        text: text.to_owned(),
        is_pinned: false,
        is_superseded: false,
        is_long_term: false,
        is_done: false,
    }
}

fn items() -> Vec<ListItem> {
    vec![
        item(
            "a1",
            Some(MemoryType::Decision),
            "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지 않는다.",
        ),
        ListItem { is_superseded: true, ..item("b2", Some(MemoryType::Decision), "Acknowledge webhooks at once") },
        item("c3", Some(MemoryType::UserPrompt), "결제 웹훅이 두 번 처리되는 문제를 고쳐줘"),
        ListItem {
            is_long_term: true,
            is_pinned: true,
            ..item("d4", Some(MemoryType::Preference), "한국어로 대답하기")
        },
        item("e5", None, "api.md: GET /v1/webhooks lists 👩‍💻 what is registered"),
    ]
}

/// A browser after the first search.
fn model(size: (u16, u16)) -> BrowseModel {
    let mut model = BrowseModel::new("웹훅", size);
    model.search_effect();
    let effects = show(&mut model, items());
    let [BrowseEffect::Ask(BrowseRequest::Open { item, mode: ReadMode::Preview })] = &effects[..] else {
        panic!("{effects:?}")
    };
    let about = "decision, 2026-01-28 10:30:15, 2026-01-28.md:12, session 4f368b8b".to_owned();
    let opened = OpenedItem { id: item.id.clone(), about, content: clean_for_terminal(CONTENT) };
    update(&mut model, BrowseEvent::Answered(BrowseReply::Opened(opened)));
    model
}

/// Answers the last search.
fn show(model: &mut BrowseModel, items: Vec<ListItem>) -> Vec<BrowseEffect> {
    let generation = model.generation;
    update(model, BrowseEvent::Answered(BrowseReply::Results { generation, items, notice: None }))
}

fn press(model: &mut BrowseModel, keys: &str) -> Vec<BrowseEffect> {
    keys.chars().flat_map(|key| update(model, BrowseEvent::Key(KeyEvent::from(KeyCode::Char(key))))).collect()
}

fn key(model: &mut BrowseModel, code: KeyCode) -> Vec<BrowseEffect> {
    update(model, BrowseEvent::Key(KeyEvent::from(code)))
}

fn rendered(model: &BrowseModel) -> String {
    let (columns, rows) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| view::draw_screen(frame, model)).unwrap();
    // Removes the quotes and the remarks about cells behind wide characters.
    let line = |line: &str| line[1..line.rfind("\" Hidden by").unwrap_or(line.len() - 1)].trim_end().to_owned();
    terminal.backend().to_string().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_key_searches_and_late_results_are_ignored() {
    let mut model = model((80, 24));
    let effects = press(&mut model, "/ q");
    let asked: Vec<&str> = effects
        .iter()
        .map(|effect| match effect {
            BrowseEffect::Ask(BrowseRequest::Find(request)) => request.query.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, ["웹훅", "웹훅 q"]);
    let late = BrowseReply::Results { generation: model.generation - 1, items: vec![], notice: None };
    assert!(update(&mut model, BrowseEvent::Answered(late)).is_empty() && model.is_searching);
    assert_eq!(model.items.len(), 5);
    update(&mut model, BrowseEvent::Pasted("\u{1b}[2J두\n번".to_owned()));
    assert_eq!(model.query.text(), "웹훅 q[2J두 번");
}

/// The only request of these effects.
fn request(effects: Vec<BrowseEffect>) -> BrowseRequest {
    match <[BrowseEffect; 1]>::try_from(effects) {
        Ok([BrowseEffect::Ask(request)]) => request,
        other => panic!("{other:?}"),
    }
}

fn error(model: &BrowseModel) -> &str {
    match &model.status {
        Some(StatusMessage::Error(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn actions_use_the_id_of_the_selected_memory() {
    let mut model = model((80, 24));
    assert_eq!(request(press(&mut model, "e")), BrowseRequest::Locate { id: "a1".into() });
    assert_eq!(request(press(&mut model, "p")), BrowseRequest::Promote { id: "a1".into(), kind: None });
    assert_eq!(request(press(&mut model, "P")), BrowseRequest::Pin { ids: vec!["a1".into()], pinned: true });
    let item = ItemRef { id: "a1".into(), kind: ItemKind::Memory(MemoryType::Decision) };
    assert_eq!(request(press(&mut model, "y")), BrowseRequest::Copy { items: vec![item] });
    // A session event needs a new type.
    press(&mut model, "jjp");
    let promoted = request(key(&mut model, KeyCode::Enter));
    assert_eq!(promoted, BrowseRequest::Promote { id: "c3".into(), kind: Some(MemoryType::Decision) });
    press(&mut model, "x");
    assert!(error(&model).contains("not a task"));
    press(&mut model, "jp");
    assert_eq!(error(&model), "Already in MEMORY.md");
    press(&mut model, "jd");
    assert!(error(&model).contains("not a memory"));
}

#[test]
fn deletion_waits_until_it_cannot_be_undone() {
    let delete = |ids: &[&str]| BrowseRequest::Delete { ids: ids.iter().map(|id| (*id).to_owned()).collect() };
    let deleted = |effects: &[BrowseEffect]| -> Vec<BrowseRequest> {
        let requests = effects.iter().filter_map(|effect| match effect {
            BrowseEffect::Ask(request @ BrowseRequest::Delete { .. }) => Some(request.clone()),
            _ => None,
        });
        requests.collect()
    };
    let mut model = model((80, 24));
    assert_eq!(deleted(&press(&mut model, "dy")), []);
    assert!(rendered(&model).contains("1 deleted, u undoes") && model.items.len() == 4);
    // A search does not show it again.
    show(&mut model, items());
    assert!(model.items.iter().all(|item| item.id != "a1"));
    press(&mut model, "ju");
    show(&mut model, items());
    assert_eq!(model.item().map(|item| item.id.as_str()), Some("a1"), "the kept memory is selected");
    assert!(model.items.len() == 5 && deleted(&update(&mut model, BrowseEvent::UndoExpired)).is_empty());
    press(&mut model, "u");
    assert!(error(&model).contains("no deletion to undo"));

    // The next deletion, the end of the time, an editor and the end of the browser make it final.
    press(&mut model, "gdy");
    assert_eq!(deleted(&press(&mut model, "dy")), [delete(&["a1"])]);
    assert_eq!(deleted(&update(&mut model, BrowseEvent::UndoExpired)), [delete(&["b2"])]);
    press(&mut model, "dy");
    assert_eq!(deleted(&press(&mut model, "e")), [delete(&["c3"])]);
    press(&mut model, "dy");
    let effects = press(&mut model, "q");
    assert_eq!(deleted(&effects[..1]), [delete(&["d4"])]);
    assert!(matches!(effects[1..], [BrowseEffect::End(None)]), "{effects:?}");
}

#[test]
fn marked_memories_are_deleted_together() {
    let mut model = model((80, 24));
    press(&mut model, "  ");
    assert_eq!((model.marked.len(), model.selected), (2, 2));
    assert!(rendered(&model).contains("2 marked"));
    press(&mut model, "d");
    assert!(rendered(&model).contains("Delete 2 memories for good?"), "{}", rendered(&model));
    press(&mut model, "y");
    assert_eq!(model.deletion.as_ref().map(|deletion| deletion.ids.clone()), Some(vec!["a1".into(), "b2".into()]));
    assert_eq!((model.marked.len(), model.items.len()), (0, 3));
    press(&mut model, "G ");
    assert!(error(&model).contains("Only memories"));
    press(&mut model, "k ");
    key(&mut model, KeyCode::Esc);
    assert!(model.marked.is_empty() && model.query.text() == "웹훅", "the marks go before the query");
}

#[test]
fn session_lists_its_memories() {
    let mut model = model((80, 24));
    let BrowseRequest::Find(asked) = request(press(&mut model, "2")) else { panic!("a search") };
    assert_eq!((asked.list, asked.query.as_str()), (ListKind::Sessions, ""));
    let session =
        ListItem { kind: ItemKind::Session, label: "5 prompts".into(), ..item("s9", None, "Fix the webhook") };
    show(&mut model, vec![session]);
    press(&mut model, "d");
    assert!(error(&model).contains("Press Enter"));
    let BrowseRequest::Find(asked) = request(key(&mut model, KeyCode::Enter)) else { panic!("a search") };
    assert_eq!((asked.list, asked.session.as_deref()), (ListKind::Memories, Some("s9")));
    assert!(rendered(&model).contains("session: Fix the webhook"));
    let BrowseRequest::Find(asked) = request(key(&mut model, KeyCode::Esc)) else { panic!("a search") };
    assert_eq!((asked.list, asked.session), (ListKind::Sessions, None));
}

#[test]
fn tasks_are_closed_and_reopened() {
    let mut model = model((80, 24));
    press(&mut model, "3");
    let task = |id: &str, is_done| ListItem { is_done, ..item(id, Some(MemoryType::Task), "Rename the job") };
    show(&mut model, vec![task("t1", false), task("t2", true)]);
    assert_eq!(request(press(&mut model, "x")), BrowseRequest::Close { id: "t1".into(), closed: true });
    press(&mut model, "j");
    assert_eq!(request(press(&mut model, "x")), BrowseRequest::Close { id: "t2".into(), closed: false });
}

#[test]
fn long_text_is_not_copied() {
    let mut model = model((80, 24));
    let copied = |text: String| BrowseEvent::Answered(BrowseReply::Copied { text, count: 1 });
    let effects = update(&mut model, copied("short".to_owned()));
    assert!(matches!(&effects[..], [BrowseEffect::Copy(text)] if text == "short"), "{effects:?}");
    assert!(update(&mut model, copied("x".repeat(80_000))).is_empty() && error(&model).contains("too long"));
}

#[test]
fn late_match_is_in_view() {
    let mut model = BrowseModel::new("falcon", (120, 12));
    let before = "word ".repeat(60);
    let late = format!("{before}the Falcon flies");
    show(&mut model, vec![item("a1", Some(MemoryType::Decision), &late)]);
    let content = format!("{}\nthe Falcon flies\n{}", "line\n".repeat(40), "line\n".repeat(40));
    let opened = OpenedItem { id: "a1".into(), about: String::new(), content };
    update(&mut model, BrowseEvent::Answered(BrowseReply::Opened(opened)));
    assert_eq!(rendered(&model).matches("Falcon").count(), 2, "{}", rendered(&model));
}

#[test]
fn superseding_names_both_memories() {
    let mut model = model((80, 24));
    press(&mut model, "js");
    assert!(key(&mut model, KeyCode::Enter).is_empty());
    assert!(matches!(&model.status, Some(StatusMessage::Error(text)) if text.contains("itself")), "{:?}", model.status);
    press(&mut model, "k");
    key(&mut model, KeyCode::Enter);
    assert!(matches!(&model.overlay, Some(Overlay::Ask { .. })), "{:?}", model.overlay);
    let effects = press(&mut model, "y");
    let [BrowseEffect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*request, BrowseRequest::Supersede { old: "b2".into(), new: "a1".into() });
    assert_eq!(model.replacing, None);
}

#[test]
fn quit_keys_and_signals_end_the_browser() {
    let ends = |effects: &[BrowseEffect]| matches!(effects, [BrowseEffect::End(None)]);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut model = model((80, 24));
    assert!(ends(&press(&mut model, "q")));
    assert!(ends(&update(&mut model, BrowseEvent::Key(control_c))));
    assert!(ends(&update(&mut model, BrowseEvent::Ended)));
    press(&mut model, "?");
    assert!(ends(&update(&mut model, BrowseEvent::Key(control_c))), "also over help");
}

#[test]
fn escape_steps_back_and_never_types() {
    let mut model = model((80, 24));
    press(&mut model, "/x");
    assert!(key(&mut model, KeyCode::Esc).is_empty());
    assert_eq!((model.focus, model.query.text()), (Focus::List, "웹훅x"));
    // Escape and a fast `q` may come as one key with Alt.
    press(&mut model, "/");
    let alt_q = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT);
    assert!(update(&mut model, BrowseEvent::Key(alt_q)).is_empty() && model.query.text() == "웹훅x");
    key(&mut model, KeyCode::Esc);
    assert!(matches!(request(key(&mut model, KeyCode::Esc)), BrowseRequest::Find(find) if find.query.is_empty()));
    for _ in 0..3 {
        assert!(key(&mut model, KeyCode::Esc).is_empty() && model.focus == Focus::List);
    }
    assert!(matches!(press(&mut model, "q")[..], [BrowseEffect::End(None)]));
}

#[test]
fn new_query_selects_its_best_hit() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Down);
    press(&mut model, "/x");
    let mut items = items();
    items.swap(0, 4);
    show(&mut model, items);
    assert_eq!(model.item().unwrap().id, "e5");
}

#[test]
fn help_scrolls_on_a_low_screen() {
    let mut model = model((40, 8));
    key(&mut model, KeyCode::F(1));
    assert!(!rendered(&model).contains("superseded "));
    press(&mut model, &"j".repeat(40));
    assert!(rendered(&model).contains("superseded"), "{}", rendered(&model));
    press(&mut model, "q");
    assert_eq!(model.overlay, None);
}

#[test]
fn deleted_item_disappears_and_selection_stays() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Down);
    let mut items = items();
    items.remove(1);
    show(&mut model, items);
    assert_eq!(model.item().unwrap().id, "c3");
    let generation = model.generation;
    let notice = Some("nothing fits \u{1b}".to_owned());
    update(&mut model, BrowseEvent::Answered(BrowseReply::Results { generation, items: vec![], notice }));
    assert!(model.opened.is_none() && !rendered(&model).contains('\u{1b}'));
}
