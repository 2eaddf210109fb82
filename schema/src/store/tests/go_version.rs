//! Upgrades of databases of the Go version.

use super::*;

#[test]
fn go_database_is_upgraded_without_loss() {
    let project = tempfile::tempdir().unwrap();
    let layout = Layout::new(project.path());
    layout.create_dirs_and_gitignore().unwrap();
    fs::write(
        layout.store_path(LOG),
        "# 2026-01-28\n\n- [10:30:15] **User Prompt**: held by the log\n\n## Decision\n\n- a decision held\n",
    )
    .unwrap();
    let db = Connection::open(layout.memory_db()).unwrap();
    db.execute_batch(GO_TABLES).unwrap();
    let local =
        Moment::from_local_unknown(moment("10:30:15").date(), chrono::NaiveTime::from_hms_opt(10, 30, 15).unwrap());
    for (id, kind, content, created) in [
        ("go-1", "user_prompt", "held by the log", local.utc()),
        ("go-2", "decision", "a decision held", local.utc()),
        ("go-3", "decision", "a decision that only\nthe database knows", local.utc()),
        ("go-4", "assistant_response", "an answer", local.unix().to_string()),
        ("go-5", "insight", "of a type that is gone", "2026-01-29 10:30:15.5 +0900 KST".to_owned()),
    ] {
        db.execute(
            "INSERT INTO memories VALUES (?1, 's', '/p', ?2, ?3, 'h', '{\"a\":1}', x'0000803f', ?4, ?4, 7)",
            [id, kind, content, &created],
        )
        .unwrap();
    }
    db.execute("INSERT INTO embedding_cache VALUES ('h', 'openai', 'm', x'0000803f', 1, '2026')", []).unwrap();
    drop(db);
    assert!(matches!(Store::open(project.path(), LockTimeout::Hook), Err(StoreError::NeedsServer)));

    let mut store = open(project.path());
    assert!(store.messages()[0].contains("5 memories, 3 of them written"), "{:?}", store.messages());
    assert_eq!(sync(&mut store), SyncReport::default());
    let memories = all_memories(&store);
    assert_eq!(memories.len(), 5, "{memories:#?}");
    let go3 = store.rows().by_id(&MemoryId::parse("go-3").unwrap()).unwrap().unwrap();
    assert_eq!(go3.memory.content, "a decision that only\nthe database knows");
    assert_eq!(go3.access_count, 7);
    assert_eq!(detect_kind(&store.db), Ok(DatabaseKind::Current), "nothing of it stays");
    let backup = Connection::open(layout.store_path("memory.db.go-backup")).unwrap();
    let kept: i64 = backup.query_row("SELECT count(*) FROM memories", [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 5);
}

/// Creates a store with a database of the Go version. A row has id, session, type, content, metadata and time.
fn go_store(project: &Path, rows: &[[&str; 6]]) -> Layout {
    let layout = Layout::new(project);
    layout.create_dirs_and_gitignore().unwrap();
    let db = Connection::open(layout.memory_db()).unwrap();
    db.execute_batch(GO_TABLES).unwrap();
    for row in rows {
        let sql = "INSERT INTO memories VALUES (?1, ?2, '/p', ?3, ?4, 'h', ?5, NULL, ?6, ?6, 7)";
        db.execute(sql, row).unwrap();
    }
    layout
}

/// Returns a local time in the form in which the Go version stored it.
fn local_time(time: &str) -> String {
    let time = chrono::NaiveTime::parse_from_str(time, "%H:%M:%S").unwrap();
    Moment::from_local_unknown(moment("10:00:00").date(), time).rfc3339()
}

#[test]
fn go_texts_are_cleaned_and_long_ones_stay_complete() {
    let project = tempfile::tempdir().unwrap();
    let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
    let long = format!("{}end", "word ".repeat(40_000));
    let private = format!("<private>diary</private>stays Falcon {token}");
    let metadata = format!("{{\"note\":\"{token}\"}}");
    let time = local_time("10:00:00");
    let layout = go_store(
        project.path(),
        &[
            ["g1", "s1", "decision", &private, &metadata, &time],
            ["g2", "s1", "assistant_response", &long, "", &time],
            ["g3", "s1", "user_prompt", "<private>all of it</private>", "", &time],
        ],
    );
    fs::write(layout.settings_file(), "redact = [\"Falcon\"]\n").unwrap();
    let store = open(project.path());
    let text = fs::read_to_string(layout.store_path(LOG)).unwrap();
    assert!(!text.contains(&token) && !text.contains("diary") && !text.contains("Falcon"), "{}", &text[..500]);
    assert!(text.contains("- stays [redacted: custom] [redacted: github token]"));
    assert!(text.contains(&long));
    assert_eq!(all_memories(&store).len(), 2);
    assert_eq!(store.rows().meta("redactions").unwrap().as_deref(), Some("3"));
    assert!(store.messages()[0].contains("; secrets removed: 3"), "{:?}", store.messages());
}

#[test]
fn go_row_completes_its_entry_in_the_log() {
    let project = tempfile::tempdir().unwrap();
    let times = ["10:30:15", "10:31:00", "10:31:05", "10:32:10", "10:33:00"].map(local_time);
    let layout = go_store(
        project.path(),
        &[
            ["g1", "s1", "user_prompt", "Implement the watcher", "", &times[0]],
            ["g2", "s2", "user_prompt", "yes", "{\"n\":1}", &times[1]],
            ["g3", "s2", "user_prompt", "yes", "", &times[2]],
            ["g4", "s1", "decision", "Use Redis", "{\"context\":\"SPEC-001\"}", &times[3]],
            ["g5", "s1", "learning", "two\nlines", "", &times[4]],
        ],
    );
    let log = "# 2026-01-28\n\nA note.\n- [10:30:15] **User Prompt**: Implement the watcher\n\
               - [10:30:20] **Error**: only here\n- [10:31:00] **User Prompt**: yes\n\n## Decision\n\n- Use Redis\n\
               - only here too\n\n## Learning\n\n- two lines\n\n## Mine\n\n- x\n";
    fs::write(layout.store_path(LOG), log).unwrap();
    let store = open(project.path());
    assert!(store.messages()[0].contains("5 memories, 1 of them written into"), "{:?}", store.messages());
    let rows = store.rows().list(&MemoryFilter::default(), 100).unwrap();
    let mut found: Vec<_> = rows
        .iter()
        .map(|row| {
            let Memory { session_id, content, at, attributes, .. } = &row.memory;
            let metadata = serde_json::to_string(&attributes.metadata).unwrap();
            (at.time(), session_id.as_str(), content.as_str(), metadata, row.access_count)
        })
        .collect();
    found.sort();
    let row = |time: &str, session, content, metadata: &str, count| {
        (time.to_owned(), session, content, metadata.to_owned(), count)
    };
    assert_eq!(
        found,
        [
            row("00:00:00", "", "only here too", "{}", 0),
            row("10:30:15", "s1", "Implement the watcher", "{}", 7),
            row("10:30:20", "", "only here", "{}", 0),
            row("10:31:00", "s2", "yes", "{\"n\":1}", 7),
            row("10:31:05", "s2", "yes", "{}", 7),
            row("10:32:10", "s1", "Use Redis", "{\"context\":\"SPEC-001\"}", 7),
            row("10:33:00", "s1", "two\nlines", "{}", 7),
        ]
    );
    let decision = rows.iter().find(|row| row.memory.content == "Use Redis").unwrap();
    assert_eq!(decision.memory.id.as_str(), "g4");
    let text = fs::read_to_string(layout.store_path(LOG)).unwrap();
    for kept in ["# 2026-01-28\n\nA note.\n", "\n- [10:30:20] **Error**: only here\n", "\n\n## Mine\n\n- x\n"] {
        assert!(text.contains(kept), "{text}");
    }

    let before = all_memories(&store);
    drop(store);
    fs::remove_file(layout.memory_db()).unwrap();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(all_memories(&store), before, "Markdown carries it");
}

#[test]
fn interrupted_upgrade_writes_nothing_twice() {
    let project = tempfile::tempdir().unwrap();
    let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
    let (prompt, decision) = (format!("my token\n{token}"), format!("use {token}"));
    let rows: [[&str; 6]; 3] = [
        ["g1", "s1", "user_prompt", &prompt, "{\"a\":1}", "1769563815"],
        ["g2", "s1", "decision", &decision, "{\"a\":1}", "1769563816000"],
        ["g3", "", "decision", "undated", "", "some day"],
    ];
    let layout = go_store(project.path(), &rows);
    let before = all_memories(&open(project.path()));
    let logs = || {
        let files = layout.markdown_files().unwrap();
        files
            .into_iter()
            .map(|path| (path.clone(), fs::read_to_string(layout.store_path(&path)).unwrap()))
            .collect::<Vec<_>>()
    };
    let written = logs();
    assert_eq!(written.len(), 2, "{written:?}");
    fs::remove_file(layout.memory_db()).unwrap();
    go_store(project.path(), &rows);
    let store = open(project.path());
    assert_eq!(logs(), written);
    assert_eq!(all_memories(&store), before);
}

#[rstest]
#[case::seconds("1769563815")]
#[case::milliseconds("1769563815123")]
#[case::microseconds("1769563815123456")]
#[case::nanoseconds("1769563815123456789")]
#[case::with_a_fraction("1769563815.25")]
fn numeric_text_is_a_time_of_the_go_version(#[case] time: &str) {
    let project = tempfile::tempdir().unwrap();
    go_store(project.path(), &[["g1", "s1", "decision", "Use Redis", "", time]]);
    let store = open(project.path());
    assert_eq!(all_memories(&store)[0].at.unix(), 1_769_563_815);
    assert!(!store.messages()[0].contains("dated"), "{:?}", store.messages());
}

#[test]
fn undated_rows_get_the_date_of_their_log_or_are_counted() {
    let project = tempfile::tempdir().unwrap();
    let rows: [[&str; 6]; 2] =
        [["g1", "s1", "decision", "in a log", "", "some day"], ["g2", "s1", "decision", "nowhere", "", ""]];
    let layout = go_store(project.path(), &rows);
    fs::write(layout.store_path(LOG), "# 2026-01-28\n\n## Decision\n\n- [10:40:00] in a log\n").unwrap();
    let store = open(project.path());
    let found = store.rows().by_id(&MemoryId::parse("g1").unwrap()).unwrap().unwrap();
    assert_eq!(found.memory.at.local_second(), "2026-01-28T10:40:00");
    assert_eq!(all_memories(&store).len(), 2);
    assert!(store.messages()[0].contains("; 1 had no readable date and are dated today"), "{:?}", store.messages());
}

/// Creates a store as a version of the Go program leaves it.
fn store_of_go_version(project: &Path, version: usize) -> Layout {
    let layout = Layout::new(project);
    layout.create_dirs_and_gitignore().unwrap();
    let fixture = |name: &str| {
        fs::read(format!("{}/../tests/fixtures/stores/go-versions/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    };
    for name in [LOG, LONG_TERM_FILE] {
        fs::write(layout.store_path(name), fixture(name)).unwrap();
    }
    go_database(&layout, version);
    layout
}

const ANSWER: &str = "I will create watcher.rs.\n\n## Decision\n\n- one loop for all paths\n\
    - [10:00:00] **User Prompt**: a line of a log that it quotes\n```md\n# 2026-01-28\n```";

fn go_database(layout: &Layout, version: usize) {
    let db = Connection::open(layout.memory_db()).unwrap();
    for step in 1..=version {
        let path = format!("{}/../tests/fixtures/stores/go-versions/{step}.sql", env!("CARGO_MANIFEST_DIR"));
        db.execute_batch(&fs::read_to_string(path).unwrap()).unwrap();
    }
}

/// Returns the logs of a store with their names.
fn log_texts(layout: &Layout) -> Vec<(String, String)> {
    let files = layout.markdown_files().unwrap();
    let text = |path: &String| String::from_utf8_lossy(&fs::read(layout.store_path(path)).unwrap()).into_owned();
    files.into_iter().map(|path| (path.clone(), text(&path))).collect()
}

#[rstest]
#[case(1)]
#[case(2)]
#[case(3)]
fn every_go_version_is_upgraded(#[case] version: usize) {
    let project = tempfile::tempdir().unwrap();
    let layout = store_of_go_version(project.path(), version);
    let mut store = open(project.path());
    assert_eq!(sync(&mut store), SyncReport::default());
    let memories = all_memories(&store);
    let mut found: Vec<String> = memories
        .iter()
        .map(|Memory { kind, session_id, content, at, attributes, .. }| {
            let metadata =
                serde_json::to_string(&attributes.metadata).unwrap().replace(&local_time("10:30:00"), "STARTED");
            format!("{} {kind} [{session_id}] {content} {metadata}", at.local_second())
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "2026-01-27T09:01:00 pattern [] One transaction a request {}",
            "2026-01-27T09:02:00 convention [] Tests next to the code {}",
            "2026-01-27T09:03:00 decision [] PostgreSQL for storage {\"file\":\"src/db.rs\"}",
            "2026-01-27T09:30:00 architecture [] Gateway, service, repository {\"file\":\"docs/design.md\"}",
            "2026-01-28T00:00:00 learning [] Tokens expire after five minutes {\"source\":\"transcript_user\",\"trigger\":\"auto\"}",
            "2026-01-28T10:30:15 user_prompt [aaaa1111] Implement the watcher {}",
            &format!("2026-01-28T10:30:46 assistant_response [aaaa1111] {ANSWER} {{}}"),
            "2026-01-28T10:30:46 tool_usage [aaaa1111] Files modified: src/watcher.rs {}",
            "2026-01-28T10:34:00 session_summary [aaaa1111] Implemented the watcher\nTopics: watcher, debounce\n\
             Files: src/watcher.rs {\"files\":[\"src/watcher.rs\"],\"model\":\"claude-opus\",\
             \"started_at\":\"STARTED\",\"topics\":[\"watcher\",\"debounce\"]}",
            "2026-01-28T10:35:20 user_prompt [bbbb2222] 캐시는 어디에 두나요? {}",
            "2026-01-28T10:35:31 assistant_response [bbbb2222] 레\u{fffd}... {}",
            "2026-01-28T10:35:40 decision [] Only the database knows this {\"context\":\"SPEC-002\"}",
            "2026-01-28T10:35:50 learning [bbbb2222] Of a type of its own {\"type\":\"insight\"}",
            "2026-01-28T10:40:00 session_summary [bbbb2222] Talked about the cache {}",
        ]
    );
    let session = store.rows().session("aaaa1111").unwrap().unwrap();
    assert_eq!((session.started.time().as_str(), session.files), ("10:30:00", vec!["src/watcher.rs".to_owned()]));
    let session = store.rows().session("bbbb2222").unwrap().unwrap();
    assert_eq!(
        (session.ended.time(), session.summary),
        ("10:40:00".to_owned(), Some("Talked about the cache".to_owned()))
    );
    let written = log_texts(&layout);
    let kept = "\n- Tokens expire after five minutes ({\"source\":\"transcript_user\",\"trigger\":\"auto\"})\n";
    assert!(written[0].1.contains("Gateway") && written[1].1.contains(kept), "{}", written[1].1);
    assert_eq!(written[2], (LONG_TERM_FILE.to_owned(), fs::read_to_string(layout.store_path(LONG_TERM_FILE)).unwrap()));

    // Markdown has all of it, and an upgrade that was interrupted before the reset writes nothing twice.
    drop(store);
    fs::remove_file(layout.memory_db()).unwrap();
    let mut store = open(project.path());
    sync(&mut store);
    assert_eq!(all_memories(&store), memories);
    drop(store);
    fs::remove_file(layout.memory_db()).unwrap();
    go_database(&layout, version);
    assert_eq!(all_memories(&open(project.path())), memories);
    assert_eq!(log_texts(&layout), written);
}

#[test]
fn invalid_values_in_a_go_database_lose_no_text() {
    let project = tempfile::tempdir().unwrap();
    let layout = go_store(project.path(), &[]);
    let db = Connection::open(layout.memory_db()).unwrap();
    db.execute_batch(
        "CREATE TABLE project_knowledge (id, project_dir, file_path, knowledge_type, content, created_at, updated_at);
         CREATE TABLE session_history (session_id, project_dir, started_at, ended_at, summary, topics, files_modified, model);",
    )
    .unwrap();
    let values = [
        "NULL",
        "''",
        "-1",
        "9e999",
        "x'ff00'",
        "'{'",
        "'[1,2'",
        "'{\"a\":1e999}'",
        "'same'",
        "char(0)",
        "'-5000-01-01T00:00:00Z'",
        "'9999-12-31T23:59:59Z'",
        "'2026-01-28T10:30:60Z'",
        "'0000-01-01 00:00:00'",
        "99999999999999999",
        "'<!-- -->'",
    ];
    let tables = [
        ("memories", "content", &["id", "session_id", "type", "metadata", "created_at", "access_count"][..]),
        ("project_knowledge", "content", &["id", "file_path", "knowledge_type", "created_at", "updated_at"]),
        ("session_history", "summary", &["session_id", "started_at", "ended_at", "topics", "files_modified", "model"]),
    ];
    let mut texts = Vec::new();
    for (table, content, columns) in tables {
        for (n, column) in columns.iter().enumerate() {
            for (m, value) in values.iter().enumerate() {
                let text = format!("text {table} {n} {m}.");
                // The id in a Go database is unique or NULL.
                let value = if (table, *column, *value) == ("memories", "id", "'same'") { "'only'" } else { value };
                db.execute(&format!("INSERT INTO {table} ({content}, {column}) VALUES ('{text}', {value})"), [])
                    .unwrap();
                texts.push(text);
            }
        }
    }
    drop(db);
    let mut store = open(project.path());
    assert_eq!(sync(&mut store), SyncReport::default());
    let found: Vec<String> = all_memories(&store).into_iter().map(|memory| memory.content).collect();
    assert_eq!(found.len(), texts.len());
    let missing: Vec<_> = texts.iter().filter(|text| !found.iter().any(|found| found.starts_with(*text))).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

const GO_TABLES: &str = "
    CREATE TABLE memories (id TEXT PRIMARY KEY, session_id TEXT, project_dir TEXT, type TEXT, content TEXT,
        content_hash TEXT, metadata TEXT, embedding BLOB, created_at, accessed_at, access_count INTEGER);
    CREATE TABLE chunks (id INTEGER PRIMARY KEY, path TEXT, start_line INTEGER, end_line INTEGER, text TEXT, hash TEXT,
        heading TEXT, embedding BLOB);
    CREATE TABLE files (path TEXT PRIMARY KEY, hash TEXT, mtime INTEGER, size INTEGER, indexed_at TEXT);
    CREATE TABLE embedding_cache (content_hash TEXT, provider TEXT, model TEXT, embedding BLOB, dims INTEGER,
        created_at TEXT, PRIMARY KEY (content_hash, provider, model));";
