//! Tests of the browser without a terminal: key handling and appearance.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use schema::model::memory::MemoryType;

use super::message::{BrowseEffect, BrowseReply, BrowseRequest, ListItem, OpenedItem, ReadMode};
use super::model::{BrowseModel, Focus, Overlay, StatusMessage};
use super::update::{BrowseEvent, update};
use super::view;
use crate::cli::terminal_text::clean_for_terminal;

const CONTENT: &str = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지 않는다.\n\nAcknowledge \
                       webhooks only after the database commit, because a serialization failure must requeue them.";

fn item(id: &str, kind: Option<MemoryType>, text: &str) -> ListItem {
    ListItem {
        id: id.to_owned(),
        kind,
        date: "2026-01-28 10:30:15".to_owned(),
        text: text.to_owned(),
        is_pinned: false,
        is_superseded: false,
        is_long_term: false,
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
    let BrowseEffect::Ask(BrowseRequest::Find { generation, .. }) = model.search_effect() else { panic!("a search") };
    let effects =
        update(&mut model, BrowseEvent::Answered(BrowseReply::Results { generation, items: items(), notice: None }));
    let [BrowseEffect::Ask(BrowseRequest::Open { id, mode: ReadMode::Preview })] = &effects[..] else {
        panic!("{effects:?}")
    };
    let about = "Decision, 2026-01-28 10:30:15, 2026-01-28.md:12, session 4f368b8b".to_owned();
    let opened = OpenedItem { id: id.clone(), about, content: clean_for_terminal(CONTENT) };
    update(&mut model, BrowseEvent::Answered(BrowseReply::Opened(opened)));
    model
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
fn screen_fits_eighty_columns() {
    insta::assert_snapshot!(rendered(&model((80, 24))), @r"
    Search: 웹훅                                                                   5
    all types · any time
    >2026-01-28 10:30 decision     결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍…
     2026-01-28 10:30 decision   † Acknowledge webhooks at once
     2026-01-28 10:30 prompt       결제 웹훅이 두 번 처리되는 문제를 고쳐줘
     2026-01-28 10:30 preference * 한국어로 대답하기
     2026-01-28 10:30 note         api.md: GET /v1/webhooks lists 👩‍💻 what is regist…







    ── Decision, 2026-01-28 10:30:15, 2026-01-28.md:12, session 4f368b8b ───────────
    결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지
    않는다.

    Acknowledge webhooks only after the database commit, because a serialization
    failure must requeue them.



    Tab commands  Enter read  Esc clear, quit  F1 help  ↑↓ choose
    ");
}

#[test]
fn screen_fits_forty_columns() {
    insta::assert_snapshot!(rendered(&model((40, 20))), @r"
    Search: 웹훅                           5
    all types · any time
    >01-28 decision     결제 웹훅은 커밋한…
     01-28 decision   † Acknowledge webhook…
     01-28 prompt       결제 웹훅이 두 번…
     01-28 preference * 한국어로 대답하기
     01-28 note         api.md: GET /v1/web…




    ── Decision, 2026-01-28 10:30:15, 2026…
    결제 웹훅은 커밋한 다음에 확인 응답을
    보낸다 👍 그래야 재시도해도 두 번
    처리되지 않는다.

    Acknowledge webhooks only after the
    database commit, because a serialization
    failure must requeue them.
    Tab commands  Enter read
    ");
}

#[test]
fn wide_terminal_shows_text_next_to_the_list() {
    insta::assert_snapshot!(rendered(&model((120, 10))), @r"
    Search: 웹훅                                                                                                           5
    all types · any time
    >2026-01-28 10:30 decision     결제 웹훅은 커밋한 다음에 확… ── Decision, 2026-01-28 10:30:15, 2026-01-28.md:12, sess…
     2026-01-28 10:30 decision   † Acknowledge webhooks at once  결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야
     2026-01-28 10:30 prompt       결제 웹훅이 두 번 처리되는…   재시도해도 두 번 처리되지 않는다.
     2026-01-28 10:30 preference * 한국어로 대답하기
     2026-01-28 10:30 note         api.md: GET /v1/webhooks lis… Acknowledge webhooks only after the database commit,
                                                                 because a serialization failure must requeue them.

    Tab commands  Enter read  Esc clear, quit  F1 help  ↑↓ choose
    ");
}

#[test]
fn reading_fills_the_screen_and_goes_back() {
    let mut model = model((40, 12));
    let effects = key(&mut model, KeyCode::Enter);
    assert!(
        matches!(&effects[..], [BrowseEffect::Ask(BrowseRequest::Open { mode: ReadMode::Read, .. })]),
        "{effects:?}"
    );
    insta::assert_snapshot!(rendered(&model), @r"
    Search: 웹훅                           5
    all types · any time
    ── Decision, 2026-01-28 10:30:15, 2026…
    결제 웹훅은 커밋한 다음에 확인 응답을
    보낸다 👍 그래야 재시도해도 두 번
    처리되지 않는다.

    Acknowledge webhooks only after the
    database commit, because a serialization
    failure must requeue them.

    Esc back  ↑↓ scroll  ←→ others  e edit
    ");
    key(&mut model, KeyCode::End);
    let end = model.scroll;
    press(&mut model, "jj");
    assert_eq!(model.scroll, end, "it does not scroll past the end");
    key(&mut model, KeyCode::Esc);
    assert_eq!((model.focus, model.scroll), (Focus::List, 0));
}

#[test]
fn menus_and_questions_overlay_the_screen() {
    let mut model = model((50, 18));
    key(&mut model, KeyCode::Tab);
    press(&mut model, "w");
    insta::assert_snapshot!(rendered(&model), @r"
    Search: 웹훅                                     5
    all types · any time
    >01-28 decision     결제 웹훅은 커밋한 다음에 확…
     01-28 decision   † Acknowledge webhooks at once
     01-28 prompt       결제 웹훅이 두 번 처리되는 문…
     01-28 pref┌ When ────────────────────┐
     01-28 note│ > any time               │hooks list…
               │   last 24 hours          │
               │   last 7 days            │
               │   last 30 days           │
    ── Decision│   last year              │01-28.md:…
    결제 웹훅은└──────────────────────────┘ 낸다 👍
    그래야 재시도해도 두 번 처리되지 않는다.

    Acknowledge webhooks only after the database
    commit, because a serialization failure must
    requeue them.
    ? help  / search  q quit  Enter read  e edit
    ");
    let effects = [press(&mut model, "jj"), key(&mut model, KeyCode::Enter)].concat_effects();
    assert!(matches!(&effects[..], [BrowseEffect::Ask(BrowseRequest::Find { since: Some(_), .. })]), "{effects:?}");
    press(&mut model, "d");
    insta::assert_snapshot!(rendered(&model), @r"
    Search: 웹훅                                     …
    all types · last 7 days
    >01-28 decision     결제 웹훅은 커밋한 다음에 확…
     01-28 decision   † Acknowledge webhooks at once
     01-28 prompt       결제 웹훅이 두 번 처리되는 문…
     ┌──────────────────────────────────────────────┐
     │ Delete this memory for good?                 │…
     │                                              │
     │ 결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 │
     │ 👍 그래야 재시도해도 두 번 처리되지 않는다.  │
    ─│                                              │
     │ y  yes    n  no                              │
     └──────────────────────────────────────────────┘

    Acknowledge webhooks only after the database
    commit, because a serialization failure must
    requeue them.
    ? help  / search  q quit  Enter read  e edit
    ");
    assert!(press(&mut model, "xn").is_empty() && model.overlay.is_none());
    press(&mut model, "?");
    insta::assert_snapshot!(rendered(&model), @r"
    ┌ Keys ──────────────────────────────────────────┐
    │ Type to search by words, by meaning, and in    │
    │ any language.                                  │
    │                                                │
    │ Tab or /     between search and commands       │
    │ Up, Down     choose; PgUp, PgDn a page         │
    │ Enter        read; Esc back                    │
    │ Left, Right  previous, next while reading      │
    │ t, w         filter by type, by time           │
    │ e            edit in $EDITOR                   │
    │ d            delete for good, after a question │
    │ p            promote to MEMORY.md              │
    │ P            pin: protect from deletion        │
    │ s            mark as superseded by another     │
    │ q, Ctrl-C    quit                              │
    │                                                │
    │ M in MEMORY.md  * pinned  † superseded         │
    └────────────────────────────────────────────────┘
    ");
}

trait ConcatEffects {
    fn concat_effects(self) -> Vec<BrowseEffect>;
}

impl ConcatEffects for [Vec<BrowseEffect>; 2] {
    fn concat_effects(self) -> Vec<BrowseEffect> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn long_help_shows_that_it_scrolls() {
    let mut model = model((40, 12));
    model.overlay = Some(Overlay::Help(0));
    assert!(rendered(&model).contains("more: ↓"), "{}", rendered(&model));
    model.overlay = Some(Overlay::Help(view::max_help_scroll(&model)));
    assert!(!rendered(&model).contains("more: ↓"), "{}", rendered(&model));
}

#[test]
fn tiny_terminals_do_not_panic() {
    for size in [(1, 1), (3, 2), (10, 5), (20, 14), (40, 10), (300, 80)] {
        let mut model = model(size);
        rendered(&model);
        key(&mut model, KeyCode::Enter);
        rendered(&model);
        for keys in ["t", "?", "d", "s"] {
            press(&mut model, keys);
            rendered(&model);
            key(&mut model, KeyCode::Esc);
        }
    }
}

#[test]
fn each_key_searches_and_late_results_are_ignored() {
    let mut model = model((80, 24));
    let effects = press(&mut model, " q");
    let asked: Vec<&str> = effects
        .iter()
        .map(|effect| match effect {
            BrowseEffect::Ask(BrowseRequest::Find { query, .. }) => query.as_str(),
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

#[test]
fn actions_use_the_id_of_the_selected_memory() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Tab);
    let done = |effects: Vec<BrowseEffect>| match &effects[..] {
        [BrowseEffect::Ask(request)] => request.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(done(press(&mut model, "e")), BrowseRequest::Locate { id: "a1".into() });
    assert_eq!(done(press(&mut model, "dy")), BrowseRequest::Delete { id: "a1".into() });
    assert_eq!(done(press(&mut model, "p")), BrowseRequest::Promote { id: "a1".into(), kind: None });
    assert_eq!(done(press(&mut model, "P")), BrowseRequest::Pin { id: "a1".into(), pinned: true });
    // A session event needs a new type.
    press(&mut model, "jjp");
    let promoted = done(key(&mut model, KeyCode::Enter));
    assert_eq!(promoted, BrowseRequest::Promote { id: "c3".into(), kind: Some(MemoryType::Decision) });
    press(&mut model, "jp");
    assert_eq!(model.status, Some(StatusMessage::Fault("Already in MEMORY.md".into())));
    press(&mut model, "jd");
    assert!(
        matches!(&model.status, Some(StatusMessage::Fault(text)) if text.contains("not a memory")),
        "{:?}",
        model.status
    );
}

#[test]
fn superseding_names_both_memories() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Tab);
    press(&mut model, "js");
    assert!(key(&mut model, KeyCode::Enter).is_empty());
    assert!(matches!(&model.status, Some(StatusMessage::Fault(text)) if text.contains("itself")), "{:?}", model.status);
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
    assert!(!ends(&key(&mut model, KeyCode::Esc)), "the query is cleared first");
    assert!(ends(&key(&mut model, KeyCode::Esc)));
    assert!(ends(&update(&mut model, BrowseEvent::Key(control_c))));
    assert!(ends(&update(&mut model, BrowseEvent::Ended)));
    press(&mut model, "d");
    key(&mut model, KeyCode::Tab);
    assert!(ends(&press(&mut model, "q")));
    press(&mut model, "?");
    assert!(ends(&update(&mut model, BrowseEvent::Key(control_c))), "also over help");
}

#[test]
fn new_query_selects_its_best_hit() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Down);
    press(&mut model, "x");
    let mut items = items();
    items.swap(0, 4);
    let generation = model.generation;
    update(&mut model, BrowseEvent::Answered(BrowseReply::Results { generation, items, notice: None }));
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
    let generation = model.generation;
    update(&mut model, BrowseEvent::Answered(BrowseReply::Results { generation, items, notice: None }));
    assert_eq!(model.item().unwrap().id, "c3");
    let notice = Some("nothing fits \u{1b}".to_owned());
    update(&mut model, BrowseEvent::Answered(BrowseReply::Results { generation, items: vec![], notice }));
    assert!(model.opened.is_none() && !rendered(&model).contains('\u{1b}'));
}
