//! Days, sessions and usage of a hand-written store.

use schema::files::layout::Layout;
use schema::model::memory::MemoryType;

use super::*;
use crate::control::Control;

const FIRST: &str = "# 2026-01-27

<!-- session aaaa1111 +09:00 -->
- [23:50:00] **User Prompt**: Fix the webhook
- [23:55:00] **Tool Usage**: Files modified: src/webhook.rs

## Decision

- Acknowledge after the commit. <!-- {\"id\":\"decision1\",\"at\":\"2026-01-27T23:56:00+09:00\",\"session\":\"aaaa1111\"} -->
";

const SECOND: &str = "# 2026-01-28

<!-- session aaaa1111 +09:00 -->
- [00:10:00] **User Prompt**: And the tests
- [00:20:00] **Error**: Exit code 3

<!-- session bbbb2222 +09:00 -->
- [10:00:00] **User Prompt**: 왜 Redis를 쓰기로 했지
- [10:01:00] **Tool Usage**: Files modified: src/cache/redis.rs, src/cache.rs
- [10:02:00] **Tool Usage**: Files modified: src/cache.rs
";

fn engine() -> (tempfile::TempDir, Engine) {
    let project = tempfile::tempdir().unwrap();
    let layout = Layout::new(project.path());
    layout.create_dirs_and_gitignore().unwrap();
    for (name, text) in [("2026-01-27.md", FIRST), ("2026-01-28.md", SECOND)] {
        std::fs::write(layout.store_path(name), text).unwrap();
    }
    let mut engine = Engine::open_with_settings(project.path(), &schema::settings::Settings::default()).unwrap();
    engine.refresh(&mut Control::default()).unwrap();
    (project, engine)
}

fn filter_for_path(engine: &Engine, path: &str) -> HistoryFilter {
    let mut wanted = HistoryFilter::default();
    engine.narrow_to_path(&mut wanted, path).unwrap();
    wanted
}

#[test]
fn a_day_lists_sessions_and_conclusions() {
    let (_project, mut engine) = engine();
    let days = engine.timeline(&HistoryFilter::default(), 7).unwrap();
    let lines: Vec<String> = days
        .iter()
        .flat_map(|day| {
            let visits = day.sessions.iter().map(|visit| {
                format!(
                    "{} {} {:?} {}-{} {} prompts {} errors {}",
                    day.date,
                    visit.session_id,
                    visit.title.as_deref().unwrap_or_default(),
                    visit.from.time(),
                    visit.to.time(),
                    visit.prompts,
                    visit.errors,
                    visit.files.join(",")
                )
            });
            let noted =
                day.conclusions.iter().map(|row| format!("{} {} {}", day.date, row.memory.kind, row.memory.content));
            visits.chain(noted).collect::<Vec<_>>()
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    2026-01-28 aaaa1111 "Fix the webhook" 00:10:00-00:20:00 1 prompts 1 errors 
    2026-01-28 bbbb2222 "왜 Redis를 쓰기로 했지" 10:00:00-10:02:00 1 prompts 0 errors src/cache/redis.rs,src/cache.rs
    2026-01-27 aaaa1111 "Fix the webhook" 23:50:00-23:56:00 1 prompts 0 errors src/webhook.rs
    2026-01-27 decision Acknowledge after the commit.
    "#);
    let last = engine.timeline(&HistoryFilter::default(), 1).unwrap();
    assert_eq!(last, days[..1]);
}

#[test]
fn filtered_day_counts_all_of_its_sessions() {
    let (_project, mut engine) = engine();
    let wanted = HistoryFilter { kinds: vec![MemoryType::Error], ..HistoryFilter::default() };
    let days = engine.timeline(&wanted, 7).unwrap();
    let [TimelineDay { memories: 1, sessions: visits, .. }] = &days[..] else { panic!("{days:?}") };
    let [visit] = &visits[..] else { panic!("{visits:?}") };
    assert_eq!((visit.memories, visit.prompts, visit.errors), (1, 1, 1));
    assert_eq!((visit.from.time().as_str(), visit.to.time().as_str()), ("00:10:00", "00:20:00"));
}

#[test]
fn sessions_match_changed_files_and_id_prefixes() {
    let (_project, mut engine) = engine();
    let ids = |engine: &mut Engine, wanted: &HistoryFilter| -> Vec<String> {
        engine.sessions(wanted, 10).unwrap().into_iter().map(|session| session.id).collect()
    };
    assert_eq!(ids(&mut engine, &HistoryFilter::default()), ["bbbb2222", "aaaa1111"]);
    for (path, expected) in [
        ("src/webhook.rs", vec!["aaaa1111"]),
        ("src/cache", vec!["bbbb2222"]),
        ("./src/", vec!["bbbb2222", "aaaa1111"]),
    ] {
        let wanted = filter_for_path(&engine, path);
        assert_eq!(ids(&mut engine, &wanted), expected, "{path}");
    }
    for (kinds, path, expected) in [
        (vec![MemoryType::Error], None, vec!["aaaa1111"]),
        (vec![MemoryType::ToolUsage, MemoryType::Decision], None, vec!["bbbb2222", "aaaa1111"]),
        (vec![], Some("2026-01-27.md"), vec!["aaaa1111"]),
        (vec![MemoryType::Convention], None, vec![]),
    ] {
        let mut wanted = path.map_or_else(HistoryFilter::default, |path| filter_for_path(&engine, path));
        wanted.kinds = kinds;
        assert_eq!(ids(&mut engine, &wanted), expected, "{wanted:?}");
    }
    let session = engine.sessions(&filter_for_session("aaaa1111"), 1).unwrap().remove(0);
    assert_eq!((session.duration(), session.prompts, session.errors, session.memories), (1_800, 2, 1, 5));
    assert_eq!(session.started.rfc3339(), "2026-01-27T23:50:00+09:00");
    assert_eq!(engine.resolve_session_id("bb").unwrap(), "bbbb2222");
    assert_eq!(engine.resolve_session_id("c").unwrap(), "c");
    assert!(engine.resolve_session_id("").unwrap_err().to_string().contains("aaaa1111 and bbbb2222"));
}

fn filter_for_session(id: &str) -> HistoryFilter {
    HistoryFilter {
        filter: MemoryFilter { session_id: Some(id.to_owned()), ..MemoryFilter::default() },
        ..HistoryFilter::default()
    }
}

#[test]
fn path_filter_matches_logs_and_project_files() {
    let (_project, mut engine) = engine();
    for (path, expected) in [
        ("2026-01-27.md", 3),
        (".jikime/memory/2026-01-28.md", 5),
        ("src/cache.rs", 2),
        ("src/no.rs", 0),
        ("README.md", 0),
    ] {
        let wanted = filter_for_path(&engine, path);
        assert_eq!(engine.list_history(&wanted, 10).unwrap().len(), expected, "{path}");
    }
    assert!(engine.narrow_to_path(&mut HistoryFilter::default(), " ").is_err());
}

#[test]
fn usage_lists_months_and_most_opened() {
    let (_project, mut engine) = engine();
    let id = schema::tool::GetInput { id: Some("decision1".to_owned()), ..schema::tool::GetInput::default() };
    for _ in 0..2 {
        engine.get(&id).unwrap();
    }
    let usage = engine.store_usage(5).unwrap();
    assert_eq!(usage.months, [("2026-01".to_owned(), 8)]);
    assert_eq!(usage.storage.markdown, (FIRST.len() + SECOND.len()) as u64);
    assert!(usage.storage.rows > 0 && usage.storage.index > 0);
    let recalled: Vec<(&str, i64)> =
        usage.recalled.iter().map(|recalls| (recalls.row.memory.id.as_str(), recalls.row.access_count)).collect();
    assert_eq!(recalled, [("decision1", 2)]);
    let peeked = engine.peek("decision1").unwrap().unwrap();
    assert_eq!((peeked.memory.kind, peeked.access_count), (MemoryType::Decision, 2));
}
