//! Engines for tests, and: no comment in a log makes a tool fail.

use proptest::prelude::*;
use schema::files::layout::Layout;
use schema::settings::{EmbeddingProvider, Settings};
use schema::tool::{GetInput, LoadInput, LoadSource, SaveInput, SearchInput};

use super::*;
use crate::control::Control;

/// An engine of a new store with the default settings.
pub(super) fn new_engine() -> (tempfile::TempDir, Engine) {
    let project = tempfile::tempdir().unwrap();
    let engine = Engine::open_with_settings(project.path(), &Settings::default()).unwrap();
    (project, engine)
}

pub(super) fn engine_without_vectors(project: &Path) -> Engine {
    let settings = Settings { embedding_provider: EmbeddingProvider::None, ..Settings::default() };
    Engine::open_with_settings(project, &settings).unwrap()
}

const FIELDS: [&str; 11] =
    ["id", "type", "at", "session", "importance", "pinned", "supersedes", "origin", "metadata", "context", "later"];

/// JSON values, most of them invalid for every field.
const VALUES: [&str; 27] = [
    "null",
    "true",
    "-1",
    "3",
    "1e999",
    "123456789012345678901234567890",
    "2.5",
    "[]",
    "{\"a\":{\"b\":[null,{\"c\":1e308}]}}",
    "{\"topics\":7,\"files\":{},\"started_at\":[]}",
    "\"\"",
    "\"a1\"",
    "\"a1.00000000\"",
    "\"../../etc\"",
    "\"\\u0000\\u001b[31m\\u202e\"",
    "\"\\ud800\"",
    "\"decision\"",
    "\"user_prompt\"",
    "\"0000-01-01T00:00:00+14:00\"",
    "\"9999-12-31T23:59:59-12:00\"",
    "\"+10000-01-01T00:00:00Z\"",
    "\"-5000-01-01T00:00:00\"",
    "\"2026-01-28T10:30:60+23:59\"",
    "\"2026-01-28T10:30:15+24:00\"",
    "\"10:30:15-2359\"",
    "\"23:59:60\"",
    "\"한\\u0301글\"",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (0..VALUES.len()).prop_map(|n| VALUES[n].to_owned()),
        1 => Just(format!("\"{}\"", "x".repeat(1_000_000))),
        1 => (1_usize..300).prop_map(|depth| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth)),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ]
}

fn comment() -> impl Strategy<Value = String> {
    let field = (0..FIELDS.len(), value()).prop_map(|(n, value)| format!("\"{}\":{value}", FIELDS[n]));
    proptest::collection::vec(field, 0..6).prop_map(|fields| format!("<!-- {{{}}} -->", fields.join(",")))
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        comment().prop_map(|comment| format!("- cache entry {comment}")),
        comment().prop_map(|comment| format!("- [10:30:15] **User Prompt**: cache prompt {comment}")),
        comment().prop_map(|comment| comment.replace("<!-- ", "<!-- note ")),
        (value(), value()).prop_map(|(id, offset)| format!("<!-- session {id} {offset} -->")),
        Just("<!-- session a1 +23:59 -->".to_owned()),
        Just("## Decision\n".to_owned()),
        Just("## Log\n".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn no_value_of_a_comment_makes_a_tool_fail(logs in proptest::collection::vec(proptest::collection::vec(line(), 1..12), 4)) {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        for (name, lines) in ["2026-01-28.md", "MEMORY.md", "0000-01-01.md", "+10000-01-01.md"].iter().zip(logs) {
            let text = format!("# {}\n\n- cache a1 <!-- {{\"id\":\"a1\"}} -->\n", &name[..name.len() - 3]);
            std::fs::write(layout.store_path(name), text + &lines.join("\n")).unwrap();
        }
        let mut engine = engine_without_vectors(project.path());
        for _ in 0..2 {
            engine.refresh(&mut Control::default()).unwrap();
            let rows = engine.list(&MemoryFilter::default(), 1000).unwrap();
            let input = SearchInput { query: "cache entry".to_owned(), min_score: Some(0.0), ..SearchInput::default() };
            prop_assert_eq!(engine.search(&input).unwrap().results.is_empty(), rows.is_empty());
            engine.load(&LoadInput { source: LoadSource::Full, ..LoadInput::default() }).unwrap();
            engine.stats().unwrap();
            engine.sessions(&HistoryFilter::default(), 100).unwrap();
            for row in rows {
                let input = GetInput { id: Some(row.memory.id.to_string()), ..GetInput::default() };
                prop_assert!(engine.get(&input).unwrap().memory.is_some());
            }
            engine.reindex(&ReindexInput { full: true, ..ReindexInput::default() }, &mut Control::default()).unwrap();
        }
        prop_assert_eq!(engine.take_repair_messages(), Vec::<String>::new());
    }
}

#[test]
fn short_ids_of_four_digits_open_a_memory() {
    let (_project, mut engine) = new_engine();
    let saved = engine
        .save(&SaveInput::new(schema::model::memory::MemoryType::Decision, "Cache tokens in Redis".to_owned()))
        .unwrap();
    for id in [saved.id[..4].to_owned(), saved.id[..8].to_uppercase()] {
        let found = engine.get(&GetInput { id: Some(id.clone()), ..GetInput::default() }).unwrap();
        assert!(found.content.contains("Redis"), "{id}");
        assert_eq!(engine.resolve_id(&id).unwrap(), saved.id);
    }
}
