//! Imports from other programs, on data that these programs wrote; see `fixtures/imports/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use harness::{Sandbox, fixtures_dir, run_to_end, sandbox};
use serde_json::{Value, json};

/// The secret in each fixture.
const SECRET: &str = "hunter2";

/// 2026-01-28T22:30:00Z
const FILE_TIME: Duration = Duration::from_mins(29_493_990);

fn fixture(name: &str) -> PathBuf {
    fixtures_dir().join("imports").join(name)
}

/// Writes a fixture into the home directory, as if it were of this project.
fn place(sandbox: &Sandbox, name: &str, to: &str) -> PathBuf {
    let to = sandbox.home().join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let text = fs::read_to_string(fixture(name)).unwrap();
    let text = text.replace("/home/dev/project", &sandbox.project().to_string_lossy());
    if name.ends_with(".sql") {
        let db = rusqlite::Connection::open(&to).unwrap();
        // Data in the write-ahead log must be found too, so the tests of databases keep it there.
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch(&text).unwrap();
    } else {
        fs::write(&to, text).unwrap();
    }
    set_time(&to);
    to
}

fn set_time(path: &Path) {
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + FILE_TIME).unwrap();
}

fn place_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(|item| item.unwrap().path()) {
        let copy = to.join(item.file_name().unwrap());
        if item.is_dir() {
            place_folder(&item, &copy);
        } else {
            fs::copy(&item, &copy).unwrap();
            set_time(&copy);
        }
    }
}

/// Puts the data of a program into its usual place.
fn place_source(sandbox: &Sandbox, source: &str) {
    match source {
        "claude-mem" => drop(place(sandbox, "claude-mem.sql", ".claude-mem/claude-mem.db")),
        "jikime-mem" => drop(place(sandbox, "jikime-mem.sql", ".jikime-mem/jikime-mem.db")),
        "mcp-memory-service" => {
            drop(place(sandbox, "mcp-memory-service.sql", ".local/share/mcp-memory/sqlite_vec.db"));
        }
        "server-memory" => {
            let file = place(sandbox, "server-memory.jsonl", "graph.jsonl");
            let settings = json!({ "mcpServers": { "memory": { "env": { "MEMORY_FILE_PATH": file } } } });
            fs::write(sandbox.home().join(".claude.json"), settings.to_string()).unwrap();
        }
        "basic-memory" => place_folder(&fixture("basic-memory"), &sandbox.home().join("basic-memory")),
        "openclaw" => place_folder(&fixture("openclaw"), &sandbox.home().join(".openclaw/workspace")),
        "codex" => {
            let name = "rollout-2026-01-28T22-29-04-01a20fad-4af1-78d0-90e0-737f519bedda.jsonl";
            drop(place(sandbox, "codex.jsonl", &format!(".codex/sessions/2026/01/28/{name}")));
        }
        "gemini" => {
            drop(place(sandbox, "gemini.jsonl", ".gemini/tmp/project/chats/session-2026-01-28T22-29-832198d0.jsonl"));
            let root = sandbox.home().join(".gemini/tmp/project/.project_root");
            fs::write(root, sandbox.project().to_string_lossy().as_bytes()).unwrap();
        }
        other => panic!("no fixture of {other}"),
    }
}

fn import(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let outcome = sandbox.run_cli(["import", "--json"].iter().chain(arguments));
    outcome.assert_success();
    outcome.json()
}

fn kept(summary: &Value) -> BTreeMap<String, u64> {
    let kept = summary["kept"].as_object().unwrap();
    kept.iter().map(|(kind, count)| (kind.clone(), count.as_u64().unwrap())).collect()
}

fn exported(sandbox: &Sandbox) -> Vec<Value> {
    let outcome = sandbox.run_cli(["export"]);
    outcome.assert_success();
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The bytes of all files below a folder.
fn files_below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(folder).into_iter().flatten().map(|item| item.unwrap().path()) {
        if item.is_dir() {
            found.extend(files_below(&item));
        } else {
            found.insert(item.clone(), fs::read(&item).unwrap());
        }
    }
    found
}

#[rstest::rstest]
#[case::claude_mem("claude-mem", &[("decision", 1), ("error_fix", 1), ("learning", 2), ("session_summary", 1), ("user_prompt", 2)],
    "멱등 키 데이터베이스", "claude-mem/observation/3")]
#[case::jikime_mem("jikime-mem", &[("assistant_response", 1), ("decision", 1), ("error", 1), ("session_summary", 1), ("tool_usage", 1), ("user_prompt", 2)],
    "login tokens Redis expire", "jikime-mem/response/mkxq4a")]
#[case::server_memory("server-memory", &[("architecture", 1), ("decision", 1), ("error_fix", 1), ("preference", 1)],
    "한국어로 짧게 답하는", "server-memory/entity/default_user")]
#[case::mcp_memory_service("mcp-memory-service", &[("decision", 1), ("error_fix", 1), ("learning", 2)],
    "웹훅은 커밋이 끝난 다음", "mcp-memory-service/0ff49d60ba6485af465ac8ecfbd36ec00253220ca152be7c7c429d60b7a25657")]
#[case::basic_memory("basic-memory", &[("decision", 1), ("learning", 1), ("pattern", 1)],
    "업로더는 먼저 큐에 저장", "basic-memory/main/design/eobrodeo-seolgye")]
#[case::openclaw("openclaw", &[("decision", 1), ("learning", 1), ("preference", 1), ("session_summary", 2)],
    "업로더 마감일 금요일", "openclaw/memory/2026-01-28.md#회의")]
#[case::codex("codex", &[("assistant_response", 2), ("decision", 1), ("error", 1), ("tool_usage", 1), ("user_prompt", 2)],
    "백업은 매일 밤 실행됩니다", "codex/01a20fad-4af1-78d0-90e0-737f519bedda")]
#[case::gemini("gemini", &[("assistant_response", 1), ("decision", 1), ("error", 2), ("tool_usage", 1), ("user_prompt", 1)],
    "backups in the object store", "gemini/832198d0-1541-41df-9a3e-48c3da8625b9")]
fn memories_of_another_program_are_imported_once(
    #[case] source: &str,
    #[case] expected: &[(&str, u64)],
    #[case] query: &str,
    #[case] from: &str,
) {
    let sandbox = sandbox!();
    place_source(&sandbox, source);
    let theirs = files_below(&sandbox.home());
    let preview = import(&sandbox, &[source, "--dry-run"]);
    assert!(!sandbox.store().exists(), "a dry run creates no store");
    assert!(!preview.to_string().contains(SECRET), "{preview:#}");
    let examples = preview["examples"].as_array().unwrap();
    let first = import(&sandbox, &[source]);
    let expected: BTreeMap<String, u64> = expected.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    assert_eq!((kept(&first), kept(&preview)), (expected.clone(), expected), "{first:#}\n{:#?}", exported(&sandbox));
    let kinds: BTreeSet<&str> = examples.iter().map(|example| example["type"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), kept(&first).len(), "{examples:#?}");

    let memories = exported(&sandbox);
    let all = json!(memories).to_string();
    assert!(!all.contains(SECRET) && all.contains("[redacted: password]"), "{memories:#?}");
    assert!(first["secrets_taken_out"].as_u64().unwrap() >= 1, "{first:#}");
    let days: BTreeSet<&str> = memories.iter().map(|memory| &memory["at"].as_str().unwrap()[..7]).collect();
    assert_eq!(days, BTreeSet::from(["2026-01"]), "times of the source, also if one of them is impossible");
    let found = sandbox.run_cli(["search", "--json", query]).json();
    let ids: Vec<&str> = found["results"].as_array().unwrap().iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    let origin = |id: &&str| memories.iter().find(|memory| memory["id"].as_str().unwrap().starts_with(*id));
    let origins: Vec<&Value> = ids.iter().filter_map(origin).map(|memory| &memory["metadata"]["from"]).collect();
    assert!(origins.contains(&&json!(from)), "{origins:?} {found:#}");
    assert!(memories.iter().all(|memory| memory["metadata"]["from"].as_str().unwrap().starts_with(source)));

    let again = if matches!(source, "codex" | "gemini") { &[source, "--again"][..] } else { &[source] };
    let second = import(&sandbox, again);
    assert_eq!(kept(&second), BTreeMap::new(), "{second:#}");
    assert_eq!(exported(&sandbox), memories);
    let kept_files: BTreeMap<_, _> =
        files_below(&sandbox.home()).into_iter().filter(|(path, _)| theirs.contains_key(path)).collect();
    assert_eq!(kept_files, theirs, "the program's own files are unchanged");
}

#[test]
fn only_memories_of_this_project_are_imported() {
    for (source, other) in [("claude-mem", "Renamed a module elsewhere"), ("jikime-mem", "about another project")] {
        let sandbox = sandbox!();
        place_source(&sandbox, source);
        let summary = import(&sandbox, &[source]);
        assert!(summary["problems"].to_string().contains("--all"), "{summary:#}");
        assert!(!json!(exported(&sandbox)).to_string().contains(other));
        import(&sandbox, &[source, "--all"]);
        assert!(json!(exported(&sandbox)).to_string().contains(other));
    }
}

#[test]
fn data_in_the_log_of_a_running_program_is_imported() {
    let sandbox = sandbox!();
    place_source(&sandbox, "claude-mem");
    let path = sandbox.home().join(".claude-mem/claude-mem.db");
    let running = rusqlite::Connection::open(&path).unwrap();
    running.execute_batch("UPDATE observations SET title = 'Said while it runs' WHERE id = 3").unwrap();
    let wal = sandbox.home().join(".claude-mem/claude-mem.db-wal");
    assert!(fs::metadata(&wal).unwrap().len() > 0);
    let before = files_below(&sandbox.home().join(".claude-mem"));
    import(&sandbox, &["claude-mem"]);
    assert_eq!(files_below(&sandbox.home().join(".claude-mem")), before);
    assert!(json!(exported(&sandbox)).to_string().contains("Said while it runs"));
}

#[test]
fn changed_entry_supersedes_and_edited_memory_stays() {
    let sandbox = sandbox!();
    place_source(&sandbox, "claude-mem");
    import(&sandbox, &["claude-mem"]);
    let path = sandbox.home().join(".claude-mem/claude-mem.db");
    let change = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    change("UPDATE observations SET title = 'Ledger rule of the auditors' WHERE id = 1");
    let summary = import(&sandbox, &["claude-mem"]);
    assert_eq!(kept(&summary), BTreeMap::from([("learning".to_owned(), 1)]), "{summary:#}");
    let memories = exported(&sandbox);
    let replacement = memories.iter().find(|memory| memory["supersedes"].is_string()).unwrap();
    assert!(replacement["content"].as_str().unwrap().starts_with("Ledger rule of the auditors"));

    let log = sandbox.store().join("2026-01-29.md");
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("멱등 키를"), "{text}");
    fs::write(&log, text.replace("멱등 키를", "멱등성 키를")).unwrap();
    let summary = import(&sandbox, &["claude-mem"]);
    assert_eq!(kept(&summary), BTreeMap::new(), "{summary:#}\n{}", sandbox.logs());
}

#[test]
fn same_number_in_another_database_is_another_entry() {
    let sandbox = sandbox!();
    place_source(&sandbox, "claude-mem");
    import(&sandbox, &["claude-mem"]);
    let path = sandbox.home().join(".claude-mem/claude-mem.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    let change = "UPDATE observations SET title = 'Of another machine', created_at_epoch = 1769000000000 WHERE id = 1";
    db.execute_batch(change).unwrap();
    drop(db);
    let summary = import(&sandbox, &["claude-mem"]);
    assert_eq!(kept(&summary), BTreeMap::from([("learning".to_owned(), 1)]), "{summary:#}");
    assert!(exported(&sandbox).iter().all(|memory| memory["supersedes"].is_null()));
}

#[test]
fn forgotten_entry_is_not_imported_again() {
    let sandbox = sandbox!();
    place_source(&sandbox, "mcp-memory-service");
    import(&sandbox, &["mcp-memory-service"]);
    sandbox.run_cli(["forget", "--query", "nightly job", "--yes"]).assert_success();
    let summary = import(&sandbox, &["mcp-memory-service"]);
    assert_eq!((kept(&summary), summary["forgotten_before"].as_u64()), (BTreeMap::new(), Some(1)), "{summary:#}");
}

#[test]
fn odd_databases_are_read_as_far_as_possible() {
    let sandbox = sandbox!();
    let path = sandbox.home().join("odd.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    let long = format!("{} the end", "A very long observation. ".repeat(210_000));
    assert!(long.len() > 5_000_000);
    db.execute_batch("CREATE TABLE memories (content, created_at, content_hash)").unwrap();
    let mut insert = db.prepare("INSERT INTO memories VALUES (?1, ?2, ?3)").unwrap();
    insert.execute((&long, "1e999", "a")).unwrap();
    insert.execute(("At the beginning of time", 0, "b")).unwrap();
    insert.execute(("At the end of time", i64::MAX, "c")).unwrap();
    insert.execute((b"bytes\xff".as_slice(), "", "d")).unwrap();
    insert.execute(("   ", "yesterday", "e")).unwrap();
    insert.execute(("Last year", 1_735_689_600_123_i64, "f")).unwrap();
    drop(insert);
    drop(db);
    set_time(&path);
    let place = path.to_str().unwrap();
    let summary = import(&sandbox, &["mcp-memory-service", "--from", place]);
    assert_eq!(kept(&summary), BTreeMap::from([("learning".to_owned(), 4)]), "{summary:#}");
    let memories = exported(&sandbox);
    let of = |memory: &Value| {
        let (at, text) = (memory["at"].as_str().unwrap(), memory["content"].as_str().unwrap());
        (at[..10].to_owned(), text[..8].to_owned(), text.len() < 70_000)
    };
    let found: BTreeSet<_> = memories.iter().map(of).collect();
    let row = |day: &str, text: &str| (day.to_owned(), text.to_owned(), true);
    let expected = [
        row("2026-01-29", "A very l"),
        row("2026-01-29", "At the b"),
        row("2026-01-29", "At the e"),
        row("2025-01-01", "Last yea"),
    ];
    assert_eq!(found, BTreeSet::from(expected));
    assert_eq!(kept(&import(&sandbox, &["mcp-memory-service", "--from", place])), BTreeMap::new());
}

#[rstest::rstest]
#[case::missing(&["claude-mem"], "found nothing of claude-mem")]
#[case::no_database(&["claude-mem", "--from", "notes.txt"], "it is not a SQLite database")]
#[case::other_database(&["mcp-memory-service", "--from", "other.db"], "it has no table of mcp-memory-service")]
#[case::no_workspace(&["openclaw", "--from", "."], "neither MEMORY.md nor memory/*.md")]
#[case::no_rules(&["rules"], "found no instructions")]
fn unusable_source_is_refused_without_a_store(#[case] arguments: &[&str], #[case] error: &str) {
    let sandbox = sandbox!();
    sandbox.write("notes.txt", "just a text, not a database");
    let db = rusqlite::Connection::open(sandbox.project().join("other.db")).unwrap();
    db.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(db);
    let outcome = sandbox.run_cli(["import"].iter().chain(arguments));
    assert!(!outcome.status.success() && outcome.stderr.contains(error), "{outcome:?}");
    assert!(!sandbox.store().exists());
}

#[test]
fn rules_are_proposed_and_saved_only_on_request() {
    let sandbox = sandbox!();
    sandbox.write(
        "AGENTS.md",
        "# Guide\n## Testing\n- Run the tests with nextest only\n- The password: hunter2hunter2 is for CI\n",
    );
    sandbox.write(
        ".cursor/rules/style.mdc",
        "---\ndescription: Style\nalwaysApply: true\n---\n- 주석은 한국어로 작성한다\n",
    );
    let user = sandbox.home().join(".claude/CLAUDE.md");
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(user, "- Answer in short sentences please\n").unwrap();
    for arguments in [&["rules"][..], &["rules", "--dry-run"]] {
        let proposals = import(&sandbox, arguments);
        let kinds: Vec<&str> =
            proposals.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["convention", "convention", "convention", "preference"], "{proposals:#}");
        assert!(!proposals.to_string().contains(SECRET), "{proposals:#}");
        assert!(!sandbox.store().exists());
    }
    let told = sandbox.run_cli(["import", "rules"]).assert_success().stdout.clone();
    assert!(told.contains("--yes to save all"), "{told}");
    let summary = import(&sandbox, &["rules", "--yes"]);
    let expected = BTreeMap::from([("convention".to_owned(), 3), ("preference".to_owned(), 1)]);
    assert_eq!((kept(&summary), summary["secrets_taken_out"].as_u64()), (expected, Some(1)), "{summary:#}");
    assert_eq!(kept(&import(&sandbox, &["rules", "--yes"])), BTreeMap::new());
    assert_eq!(import(&sandbox, &["rules"]), json!([]), "only new items are proposed");
    let memories = json!(exported(&sandbox)).to_string();
    assert!(memories.contains("Testing: Run the tests with nextest only") && memories.contains("rules/AGENTS.md#"));
}

#[test]
fn import_without_a_source_lists_what_exists() {
    let sandbox = sandbox!();
    let nothing = sandbox.run_cli(["import"]).assert_success().stdout.clone();
    assert!(nothing.starts_with("Found nothing to import"), "{nothing}");
    for source in [
        "claude-mem",
        "jikime-mem",
        "server-memory",
        "mcp-memory-service",
        "basic-memory",
        "openclaw",
        "codex",
        "gemini",
    ] {
        place_source(&sandbox, source);
    }
    sandbox.write("AGENTS.md", "- Run the tests with nextest only\n");
    let found = import(&sandbox, &[]);
    let counts: Vec<(&str, u64, u64)> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|source| {
            let number = |name: &str| source[name].as_u64().unwrap();
            (source["source"].as_str().unwrap(), number("count"), number("of_other_projects"))
        })
        .collect();
    let expected = [
        ("codex", 1, 0),
        ("gemini", 1, 0),
        ("rules", 1, 0),
        ("claude-mem", 7, 2),
        ("jikime-mem", 7, 1),
        ("server-memory", 4, 0),
        ("mcp-memory-service", 4, 0),
        ("basic-memory", 3, 0),
        ("openclaw", 5, 0),
    ];
    assert_eq!(counts, expected, "{found:#}");
    assert!(!sandbox.store().exists());
    let mut command = sandbox.memory_command();
    command.arg("import").current_dir(sandbox.home());
    let at_home = run_to_end(command, "", Duration::from_mins(1));
    let text = &at_home.assert_success().stdout;
    assert!(
        text.contains("jikime-memory import claude-mem --all") && text.contains("jikime-memory import basic-memory"),
        "{text}"
    );
}
