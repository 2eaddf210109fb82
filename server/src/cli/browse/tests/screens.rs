//! The appearance of the browser.

use super::*;

#[test]
fn screen_fits_eighty_columns() {
    insta::assert_snapshot!(rendered(&model((80, 24))), @r"
    Search: 웹훅                                                                   5
    all types · any time
    >3d    decision       결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재…
     3d    decision    †  Acknowledge webhooks at once
     3d    user_prompt    결제 웹훅이 두 번 처리되는 문제를 고쳐줘
     3d    preference  *M 한국어로 대답하기
     3d    note           api.md: GET /v1/webhooks lists 👩‍💻 what is registered







    ── decision, 2026-01-28 10:30:15, 2026-01-28.md:12, session 4f368b8b ───────────
    결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍 그래야 재시도해도 두 번 처리되지
    않는다.

    Acknowledge webhooks only after the database commit, because a serialization
    failure must requeue them.



    ? help  / search  q quit  Enter read  Space mark  d delete  2 sessions  3 tasks
    ");
}

#[test]
fn screen_fits_forty_columns() {
    insta::assert_snapshot!(rendered(&model((40, 20))), @r"
    Search: 웹훅                           5
    all types · any time
    >3d    decision      결제 웹훅은 커밋한…
     3d    decision   †  Acknowledge webhoo…
     3d    user_prom…    결제 웹훅이 두 번…
     3d    preference *M 한국어로 대답하기
     3d    note          api.md: GET /v1/we…




    ── decision, 2026-01-28 10:30:15, 2026…
    결제 웹훅은 커밋한 다음에 확인 응답을
    보낸다 👍 그래야 재시도해도 두 번
    처리되지 않는다.

    Acknowledge webhooks only after the
    database commit, because a serialization
    failure must requeue them.
    ? help  / search  q quit  Enter read
    ");
}

#[test]
fn wide_terminal_shows_text_next_to_the_list() {
    insta::assert_snapshot!(rendered(&model((120, 10))), @r"
    Search: 웹훅                                                                                                           5
    all types · any time
    >3d    decision       결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍…   ── decision, 2026-01-28 10:30:15, 2026-01-28…
     3d    decision    †  Acknowledge webhooks at once                       결제 웹훅은 커밋한 다음에 확인 응답을 보낸다
     3d    user_prompt    결제 웹훅이 두 번 처리되는 문제를 고쳐줘           👍 그래야 재시도해도 두 번 처리되지 않는다.
     3d    preference  *M 한국어로 대답하기
     3d    note           api.md: GET /v1/webhooks lists 👩‍💻 what is registe… Acknowledge webhooks only after the database
                                                                             commit, because a serialization failure must
                                                                             requeue them.
    ? help  / search  q quit  Enter read  Space mark  d delete  2 sessions  3 tasks  y copy  e edit  p promote  t type
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
    ── decision, 2026-01-28 10:30:15, 2026…
    결제 웹훅은 커밋한 다음에 확인 응답을
    보낸다 👍 그래야 재시도해도 두 번
    처리되지 않는다.

    Acknowledge webhooks only after the
    database commit, because a serialization
    failure must requeue them.

    Esc back  ↑↓ scroll  ←→ others  y copy
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
    press(&mut model, "w");
    insta::assert_snapshot!(rendered(&model), @r"
    Search: 웹훅                                     5
    all types · any time
    >3d    decision       결제 웹훅은 커밋한 다음에…
     3d    decision    †  Acknowledge webhooks at once
     3d    user_prompt    결제 웹훅이 두 번 처리되는…
     3d    pref┌ When ────────────────────┐
     3d    note│ > any time               │ebhooks li…
               │   last 24 hours          │
               │   last 7 days            │
               │   last 30 days           │
    ── decision│   last year              │01-28.md:…
    결제 웹훅은└──────────────────────────┘ 낸다 👍
    그래야 재시도해도 두 번 처리되지 않는다.

    Acknowledge webhooks only after the database
    commit, because a serialization failure must
    requeue them.
    ? help  / search  q quit  Enter read  Space mark
    ");
    let effects = [press(&mut model, "jj"), key(&mut model, KeyCode::Enter)].concat_effects();
    let [BrowseEffect::Ask(BrowseRequest::Find(FindRequest { since: Some(_), .. }))] = &effects[..] else {
        panic!("{effects:?}")
    };
    press(&mut model, "d");
    insta::assert_snapshot!(rendered(&model), @r"
    Search: 웹훅                                     …
    all types · last 7 days
    >3d    decision       결제 웹훅은 커밋한 다음에…
     3d    decision    †  Acknowledge webhooks at once
     3d    user_prompt    결제 웹훅이 두 번 처리되는…
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
    ? help  / search  q quit  Enter read  Space mark
    ");
    assert!(press(&mut model, "xn").is_empty() && model.overlay.is_none());
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
fn help_fits_eighty_columns() {
    let mut model = model((80, 24));
    press(&mut model, "?");
    let screen = rendered(&model);
    assert!(screen.contains("x            close or reopen a task") && screen.contains("† superseded"), "{screen}");
    assert!(!screen.contains("more: ↓"), "{screen}");
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
