//! The browser without a terminal: what keys make of it, and how it looks.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use schema::memory::MemoryType;

use super::model::{Focus, Item, Model, Opened, Overlay, Status};
use super::update::{Effect, Event, update};
use super::view;
use super::worker::{Answer, Look, Request};
use crate::cli::text::harmless;

const CONTENT: &str = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지 않는다.\n\nAcknowledge \
                       webhooks only after the database commit, because a serialization failure must requeue them.";

fn item(id: &str, kind: Option<MemoryType>, text: &str) -> Item {
    Item {
        id: id.to_owned(),
        kind,
        date: "2026-01-28 10:30:15".to_owned(),
        text: text.to_owned(),
        is_pinned: false,
        is_superseded: false,
        is_long_term: false,
    }
}

fn items() -> Vec<Item> {
    vec![
        item(
            "a1",
            Some(MemoryType::Decision),
            "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지 않는다.",
        ),
        Item { is_superseded: true, ..item("b2", Some(MemoryType::Decision), "Acknowledge webhooks at once") },
        item("c3", Some(MemoryType::UserPrompt), "결제 웹훅이 두 번 처리되는 문제를 고쳐줘"),
        Item {
            is_long_term: true, is_pinned: true, ..item("d4", Some(MemoryType::Preference), "한국어로 대답하기")
        },
        item("e5", None, "api.md: GET /v1/webhooks lists 👩‍💻 what is registered"),
    ]
}

/// A browser that has been answered its first search.
fn model(size: (u16, u16)) -> Model {
    let mut model = Model::new("웹훅", size);
    let Effect::Ask(Request::Find { generation, .. }) = model.find() else { panic!("a search") };
    let effects = update(&mut model, Event::Answered(Answer::Found { generation, items: items(), notice: None }));
    let [Effect::Ask(Request::Open { id, look: Look::Glance })] = &effects[..] else { panic!("{effects:?}") };
    let about = "Decision, 2026-01-28 10:30:15, 2026-01-28.md:12, session 4f368b8b".to_owned();
    let opened = Opened { id: id.clone(), about, content: harmless(CONTENT) };
    update(&mut model, Event::Answered(Answer::Opened(opened)));
    model
}

fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    keys.chars().flat_map(|key| update(model, Event::Key(KeyEvent::from(KeyCode::Char(key))))).collect()
}

fn key(model: &mut Model, code: KeyCode) -> Vec<Effect> {
    update(model, Event::Key(KeyEvent::from(code)))
}

fn looks(model: &Model) -> String {
    let (columns, rows) = model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| view::draw(frame, model)).unwrap();
    // Without the quotes, and without what is told of cells behind wide characters.
    let line = |line: &str| line[1..line.rfind("\" Hidden by").unwrap_or(line.len() - 1)].trim_end().to_owned();
    terminal.backend().to_string().lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn it_fits_a_usual_terminal() {
    insta::assert_snapshot!(looks(&model((80, 24))), @r"
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
fn it_fits_forty_columns() {
    insta::assert_snapshot!(looks(&model((40, 20))), @r"
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
fn on_a_wide_terminal_the_text_stands_beside_the_list() {
    insta::assert_snapshot!(looks(&model((120, 10))), @r"
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
fn reading_takes_the_whole_screen_and_goes_back() {
    let mut model = model((40, 12));
    let effects = key(&mut model, KeyCode::Enter);
    assert!(matches!(&effects[..], [Effect::Ask(Request::Open { look: Look::Read, .. })]), "{effects:?}");
    insta::assert_snapshot!(looks(&model), @r"
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
fn menus_and_questions_lie_over_the_rest() {
    let mut model = model((50, 18));
    key(&mut model, KeyCode::Tab);
    press(&mut model, "w");
    insta::assert_snapshot!(looks(&model), @r"
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
    assert!(matches!(&effects[..], [Effect::Ask(Request::Find { since: Some(_), .. })]), "{effects:?}");
    press(&mut model, "d");
    insta::assert_snapshot!(looks(&model), @r"
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
    insta::assert_snapshot!(looks(&model), @r"
    ┌ Keys ──────────────────────────────────────────┐
    │ Type to search by words, by meaning, and in    │
    │ any language.                                  │
    │                                                │
    │ Tab or /     between search and commands       │
    │ Up, Down     choose; PgUp, PgDn a page         │
    │ Enter        read; Esc back                    │
    │ Left, Right  the next one while reading        │
    │ t, w         only a type, only a time          │
    │ e            edit in $EDITOR                   │
    │ d            delete for good, after a question │
    │ p            promote to MEMORY.md              │
    │ P            pin, so that no clean-up takes it │
    │ s            mark as superseded by another     │
    │ q, Ctrl-C    quit                              │
    │                                                │
    │ M in MEMORY.md  * pinned  † superseded         │
    └────────────────────────────────────────────────┘
    ");
}

trait Concat {
    fn concat_effects(self) -> Vec<Effect>;
}

impl Concat for [Vec<Effect>; 2] {
    fn concat_effects(self) -> Vec<Effect> {
        self.into_iter().flatten().collect()
    }
}

#[test]
fn keys_that_do_not_fit_say_that_there_are_more() {
    let mut model = model((40, 12));
    model.overlay = Some(Overlay::Help(0));
    assert!(looks(&model).contains("more: ↓"), "{}", looks(&model));
    model.overlay = Some(Overlay::Help(view::last_help(&model)));
    assert!(!looks(&model).contains("more: ↓"), "{}", looks(&model));
}

#[test]
fn no_size_of_a_terminal_is_too_small() {
    for size in [(1, 1), (3, 2), (10, 5), (20, 14), (40, 10), (300, 80)] {
        let mut model = model(size);
        looks(&model);
        key(&mut model, KeyCode::Enter);
        looks(&model);
        for keys in ["t", "?", "d", "s"] {
            press(&mut model, keys);
            looks(&model);
            key(&mut model, KeyCode::Esc);
        }
    }
}

#[test]
fn every_letter_searches_and_late_answers_do_not_count() {
    let mut model = model((80, 24));
    let effects = press(&mut model, " q");
    let asked: Vec<&str> = effects
        .iter()
        .map(|effect| match effect {
            Effect::Ask(Request::Find { query, .. }) => query.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, ["웹훅", "웹훅 q"]);
    let late = Answer::Found { generation: model.generation - 1, items: vec![], notice: None };
    assert!(update(&mut model, Event::Answered(late)).is_empty() && model.is_searching);
    assert_eq!(model.items.len(), 5);
    update(&mut model, Event::Pasted("\u{1b}[2J두\n번".to_owned()));
    assert_eq!(model.query.text(), "웹훅 q[2J두 번");
}

#[test]
fn what_is_done_to_a_memory_is_asked_for_by_its_id() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Tab);
    let done = |effects: Vec<Effect>| match &effects[..] {
        [Effect::Ask(request)] => request.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(done(press(&mut model, "e")), Request::Locate { id: "a1".into() });
    assert_eq!(done(press(&mut model, "dy")), Request::Delete { id: "a1".into() });
    assert_eq!(done(press(&mut model, "p")), Request::Promote { id: "a1".into(), kind: None });
    assert_eq!(done(press(&mut model, "P")), Request::Pin { id: "a1".into(), pinned: true });
    // What a session said is promoted as something.
    press(&mut model, "jjp");
    let promoted = done(key(&mut model, KeyCode::Enter));
    assert_eq!(promoted, Request::Promote { id: "c3".into(), kind: Some(MemoryType::Decision) });
    press(&mut model, "jp");
    assert_eq!(model.status, Some(Status::Fault("It is in MEMORY.md already".into())));
    press(&mut model, "jd");
    assert!(matches!(&model.status, Some(Status::Fault(text)) if text.contains("no memory")), "{:?}", model.status);
}

#[test]
fn superseding_names_the_one_that_replaces() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Tab);
    press(&mut model, "js");
    assert!(key(&mut model, KeyCode::Enter).is_empty());
    assert!(matches!(&model.status, Some(Status::Fault(text)) if text.contains("itself")), "{:?}", model.status);
    press(&mut model, "k");
    key(&mut model, KeyCode::Enter);
    assert!(matches!(&model.overlay, Some(Overlay::Ask { .. })), "{:?}", model.overlay);
    let effects = press(&mut model, "y");
    let [Effect::Ask(request)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(*request, Request::Supersede { old: "b2".into(), new: "a1".into() });
    assert_eq!(model.replacing, None);
}

#[test]
fn it_ends_when_it_is_told_to() {
    let ends = |effects: &[Effect]| matches!(effects, [Effect::End(None)]);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    let mut model = model((80, 24));
    assert!(!ends(&key(&mut model, KeyCode::Esc)), "the query is cleared first");
    assert!(ends(&key(&mut model, KeyCode::Esc)));
    assert!(ends(&update(&mut model, Event::Key(control_c))));
    assert!(ends(&update(&mut model, Event::Ended)));
    press(&mut model, "d");
    key(&mut model, KeyCode::Tab);
    assert!(ends(&press(&mut model, "q")));
    press(&mut model, "?");
    assert!(ends(&update(&mut model, Event::Key(control_c))), "also over help");
}

#[test]
fn another_query_begins_with_its_best_hit() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Down);
    press(&mut model, "x");
    let mut items = items();
    items.swap(0, 4);
    let generation = model.generation;
    update(&mut model, Event::Answered(Answer::Found { generation, items, notice: None }));
    assert_eq!(model.item().unwrap().id, "e5");
}

#[test]
fn help_is_read_to_its_end_on_a_low_screen() {
    let mut model = model((40, 8));
    key(&mut model, KeyCode::F(1));
    assert!(!looks(&model).contains("superseded "));
    press(&mut model, &"j".repeat(40));
    assert!(looks(&model).contains("superseded"), "{}", looks(&model));
    press(&mut model, "q");
    assert_eq!(model.overlay, None);
}

#[test]
fn what_is_gone_is_not_shown_and_the_place_in_the_list_stays() {
    let mut model = model((80, 24));
    key(&mut model, KeyCode::Down);
    let mut items = items();
    items.remove(1);
    let generation = model.generation;
    update(&mut model, Event::Answered(Answer::Found { generation, items, notice: None }));
    assert_eq!(model.item().unwrap().id, "c3");
    let notice = Some("nothing fits \u{1b}".to_owned());
    update(&mut model, Event::Answered(Answer::Found { generation, items: vec![], notice }));
    assert!(model.opened.is_none() && !looks(&model).contains('\u{1b}'));
}
