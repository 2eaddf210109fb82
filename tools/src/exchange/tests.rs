//! An export imports unchanged, in every format.

use proptest::prelude::*;
use schema::files::database::LockTimeout;
use schema::intake::capture::{append_notes, capture};
use schema::store::Store;

use super::*;
use crate::bulk_import::{BATCH, BulkImporter, ImportMode};

/// Texts that imitate the syntax of a format.
const HOSTILE: [&str; 12] = [
    "- [10:30:15] **Error**: x",
    "# 2026-01-28\n\n## Decision\n\n- not one <!-- {\"id\":\"x1\"} -->",
    "# Memory\n\n- nor this",
    "## Learning",
    "```md\n# 2026-01-29\n```",
    "a <!-- session b +09:00 -->\n\n<!-- session c -->",
    "\u{feff}\"quoted\"\\ {\"memories\": []}",
    "one\r\ntwo\rthree\u{2028}four\u{0}",
    "  indented\n\n\n    more  \n\t",
    "&#10; &amp; -->",
    "결제 👩‍💻 \u{202e}txt",
    "]}\n---\n***",
];

fn store() -> (tempfile::TempDir, Store) {
    let project = tempfile::tempdir().unwrap();
    let store = Store::open(project.path(), LockTimeout::Server).unwrap();
    (project, store)
}

fn export(store: &Store, row: &MemoryRow) -> ExportedMemory {
    ExportedMemory::from_row(row, &store.rows().notes_about(&row.memory.id).unwrap())
}

fn rows(store: &Store) -> Vec<MemoryRow> {
    store.rows().inserted_after(0, 10_000).unwrap()
}

/// The export of a store, in an order that does not depend on insertion.
fn exported(store: &Store) -> Vec<ExportedMemory> {
    let mut exported: Vec<ExportedMemory> = rows(store).iter().map(|row| export(store, row)).collect();
    exported.sort_by(|a, b| a.id.cmp(&b.id));
    exported
}

/// Reads the export of a store in a format.
fn parse_export(store: &Store, format: &str) -> Vec<ExportedMemory> {
    let rows = rows(store);
    match format {
        "jsonl" => {
            let line = |row| ExportedMemory::parse(&serde_json::to_vec(&export(store, row)).unwrap()).unwrap();
            rows.iter().map(line).collect()
        }
        "json" => {
            let memories: Vec<ExportedMemory> = rows.iter().map(|row| export(store, row)).collect();
            let document = serde_json::to_vec_pretty(&serde_json::json!({ "memories": memories })).unwrap();
            from_json(&document).unwrap().into_iter().map(Result::unwrap).collect()
        }
        _ => {
            let mut logs = MarkdownLogs::default();
            let notes: Vec<_> = rows.iter().flat_map(|row| store.rows().notes_about(&row.memory.id).unwrap()).collect();
            assert!(logs.add(&render_markdown(&rows, &notes), None) || rows.is_empty());
            assert_eq!(logs.prose_lines, 0);
            logs.into_memories()
        }
    }
}

fn import(store: &mut Store, mut memories: Vec<ExportedMemory>) -> crate::bulk_import::ImportOutcome {
    memories.sort_by_key(ExportedMemory::is_copy);
    let mut bulk = BulkImporter::new(store, ImportMode::Write).unwrap();
    for memories in memories.chunks(BATCH) {
        let incoming = |memory: &ExportedMemory| memory.clone().into_incoming(&Sanitizer::default()).unwrap();
        bulk.import(store, memories.iter().filter_map(incoming).collect()).unwrap();
    }
    sync(store);
    bulk.outcome
}

fn sync(store: &mut Store) {
    for path in store.changed_logs().unwrap() {
        store.sync_log(&path).unwrap();
    }
}

fn draft() -> impl Strategy<Value = Draft> {
    let content = prop_oneof![
        "[a-zA-Z가-힣 \n\t`<>&#;:-]{1,60}",
        Just("same".to_owned()),
        (0..HOSTILE.len()).prop_map(|n| HOSTILE[n].to_owned()),
        "[# \n*0-9a-]{1,24}",
    ];
    let metadata = prop_oneof![
        Just(serde_json::Map::new()),
        Just(serde_json::Map::from_iter([("context".to_owned(), "SPEC-1 --> <b>".into())]))
    ];
    (0..14usize, content, 0..3usize, 0..400_000i64, any::<bool>(), 0..3usize, metadata).prop_map(
        |(kind, content, session, second, pinned, importance, metadata)| {
            let kind = MemoryType::ALL[kind];
            let long_term = pinned && !kind.is_event();
            let attributes = MemoryAttributes {
                importance: [None, Some(0), Some(3)][importance],
                pinned,
                done: kind == MemoryType::Task && importance == 2,
                supersedes: (importance == 1).then(|| MemoryId::parse("0af3").unwrap()),
                origin: (importance == 2).then(|| "auto-memory".to_owned()),
                auto: importance == 1,
                source: (importance == 2).then(|| MemoryId::parse("0af4").unwrap()),
                also: (importance == 2).then(|| "토큰 캐시 --> <b>".to_owned()),
                metadata,
            };
            Draft {
                session_id: ["", "a", "b-2"][session].to_owned(),
                kind,
                content,
                at: Moment::from_unix(1_769_563_800 + second / 2, Some(9 * 3600)).unwrap(),
                attributes,
                destination: if long_term { Destination::LongTerm } else { Destination::DailyLog },
            }
        },
    )
}

/// Imports an export into an empty store and expects the same store. A second import changes nothing, and Markdown gives
/// the same as rows.
fn assert_round_trip(store: &Store, format: &str) {
    let (_project, mut other) = self::store();
    let total = rows(store).len();
    assert_eq!(import(&mut other, parse_export(store, format)).total(), total, "{format}");
    assert_eq!(exported(&other), exported(store), "{format}");
    let again = import(&mut other, parse_export(store, format));
    assert_eq!((again.total(), again.duplicates), (0, total), "{format}");
    for path in other.all_logs().unwrap() {
        other.sync_log(&path).unwrap();
    }
    assert_eq!(exported(&other), exported(store), "{format}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn export_and_import_recreate_the_store(drafts in proptest::collection::vec(draft(), 1..40)) {
        let (_first, mut store) = store();
        for draft in drafts {
            capture(&mut store, draft, &Sanitizer::default()).unwrap();
        }
        sync(&mut store);
        let changes = rows(&store).into_iter().enumerate().map(|(n, row)| {
            let change = match n % 4 {
                0 => StateChange::Closed(Settlement::by("merged --> #41")),
                1 => StateChange::Resolved(Settlement::DoneBy("0af3".to_owned())),
                2 => StateChange::Repeated(1),
                _ => StateChange::Confirmed(Map::from_iter([("session".to_owned(), "a".into())])),
            };
            StateNote { about: row.memory.id, at: Moment::from_unix(1_769_563_800 + 86_400 * n as i64, Some(0)).unwrap(), change }
        });
        append_notes(&mut store, &changes.collect::<Vec<_>>()).unwrap();
        for format in ["jsonl", "json", "md"] {
            assert_round_trip(&store, format);
        }
    }
}

#[test]
fn all_types_and_hostile_texts_import_unchanged() {
    let (project, mut store) = store();
    for (n, text) in HOSTILE.iter().enumerate() {
        for (k, kind) in MemoryType::ALL.into_iter().enumerate() {
            let second = i64::try_from(n * 40_000 + k * 90).unwrap();
            let at = Moment::from_unix(1_769_563_800 + second, Some(-5 * 3600)).unwrap();
            let (attributes, destination) = (MemoryAttributes::default(), Destination::DailyLog);
            let draft = Draft { session_id: "s".into(), kind, content: (*text).into(), at, attributes, destination };
            let captured = capture(&mut store, draft, &Sanitizer::default()).unwrap();
            assert!(
                matches!(captured, Some(schema::intake::capture::CaptureOutcome::Saved { .. })),
                "{kind} {text:?}: {captured:?}"
            );
        }
    }
    let copied = "- Once said <!-- {\"id\":\"c1\",\"at\":\"2026-01-28T10:00:00+09:00\",\"supersedes\":\"c0\"} -->\n";
    let older = "- Before <!-- {\"id\":\"c0\",\"at\":\"2026-01-28T09:00:00+09:00\",\"pinned\":true} -->\n";
    let dir = project.path().join(".jikime/memory");
    std::fs::write(dir.join("2026-01-20.md"), format!("# 2026-01-20\n\n## Decision\n\n{copied}")).unwrap();
    std::fs::write(dir.join("2026-03-01.md"), format!("# 2026-03-01\n\n## Decision\n\n{copied}{older}")).unwrap();
    std::fs::write(dir.join("MEMORY.md"), format!("# Mine\n\nprose\n\n{copied}")).unwrap();
    sync(&mut store);
    let copies = rows(&store).iter().filter(|row| export(&store, row).is_copy()).count();
    assert_eq!((copies, rows(&store).len()), (2, HOSTILE.len() * MemoryType::ALL.len() + 4));
    for format in ["jsonl", "json", "md"] {
        assert_round_trip(&store, format);
    }
}

/// Its place no longer determines its id, and it is still imported once.
#[test]
fn moved_event_is_imported_once() {
    let (project, mut store) = store();
    let moved =
        "- Exit 3 <!-- {\"id\":\"e1\",\"type\":\"error\",\"at\":\"2026-01-28T10:00:00+09:00\",\"session\":\"s\"} -->\n";
    let dir = project.path().join(".jikime/memory");
    std::fs::write(dir.join("2026-01-28.md"), format!("# 2026-01-28\n\n## Error Fix\n\n{moved}")).unwrap();
    sync(&mut store);
    for format in ["jsonl", "json", "md"] {
        let (_project, mut other) = self::store();
        assert_eq!(import(&mut other, parse_export(&store, format)).total(), 1, "{format}");
        assert_eq!(import(&mut other, parse_export(&store, format)).total(), 0, "{format}");
        assert_eq!(rows(&other)[0].memory.content, "Exit 3");
    }
}

#[test]
fn document_type_follows_title_or_name() {
    let log = "## Decision\n\n- One\n\nprose of mine\n\n# 2026-01-29\n\n- Two\n";
    let day = LogKind::from_path("2026-01-28.md");
    let read = |text: &str, named| {
        let mut logs = MarkdownLogs::default();
        let is_one = logs.add(text, named);
        let prose = logs.prose_lines;
        (is_one, logs.into_memories().into_iter().map(|memory| memory.content).collect::<Vec<_>>(), prose)
    };
    assert_eq!(read(log, None), (false, vec![], 0));
    assert_eq!(read(log, day), (true, vec!["One".to_owned(), "Two".to_owned()], 1));
    let whole = format!("\u{feff}# 2026-01-28\r\n\r\n{}", log.replace('\n', "\r\n"));
    // There is no section below the second title.
    assert_eq!(read(&whole, Some(LogKind::LongTerm)), (true, vec!["One".to_owned()], 2));
}

#[test]
fn invalid_memory_is_refused_with_the_reason() {
    let line = |id: &str, at: &str| format!("{{\"id\":\"{id}\",\"type\":\"error\",\"at\":\"{at}\",\"content\":\"x\"}}");
    let read = |line: String| {
        ExportedMemory::parse(line.as_bytes()).and_then(|line| line.into_incoming(&Sanitizer::default()))
    };
    assert!(matches!(read("{".into()), Err(ExportLineError::Json(_))));
    assert!(matches!(read(line("a b", "2026-01-28T10:30:15Z")), Err(ExportLineError::Id(_))));
    assert!(matches!(read(line("a", "yesterday")), Err(ExportLineError::Time(_))));
    assert!(read(line("a", "2026-01-28T10:30:15Z")).unwrap().is_some());
    let good = line("a", "2026-01-28T10:30:15Z");
    for document in [format!("\u{feff}[{good}, 3]"), format!(" {{\"memories\": [{good}, 3], \"later\": 1}}")] {
        let read = from_json(document.as_bytes()).unwrap();
        assert!(matches!(read[..], [Ok(_), Err(ExportLineError::Json(_))]), "{read:?}");
    }
    let Err(ExportLineError::Json(error)) = from_json(b"{\n  \"memories\": [\n") else { panic!("it is cut") };
    assert!(error.contains("line 3"), "{error}");
}

#[test]
fn odd_fields_of_a_line_are_ignored_and_named() {
    let line = r#"{"id":"a","type":"error","at":"9999-12-31T23:59:59-12:00","content":"x","session":7,"importance":1e999,
        "pinned":"yes","supersedes":[],"origin":{},"metadata":"none","path":null,"later":[[]]}"#;
    let line = ExportedMemory::parse(line.as_bytes()).unwrap();
    assert_eq!(line.odd, ["at", "session", "importance", "pinned", "supersedes", "origin", "metadata", "path"]);
    let IncomingMemory { prepared, .. } = line.into_incoming(&Sanitizer::default()).unwrap().unwrap();
    assert_eq!(
        (prepared.draft().at.date().to_string(), &prepared.draft().attributes),
        ("9999-12-30".to_owned(), &MemoryAttributes::default())
    );
}
