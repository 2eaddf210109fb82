//! Real disks, clocks and files: changes, copies and formats of other programs are read without loss.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use harness::environment;
use harness::proof::{check_at_rest, texts_in_rows};
use harness::{Era, McpClient, Sandbox, binaries, eventually, sandbox};
use rstest::rstest;
use serde_json::json;

/// Time limit for a server to notice a change.
const SEEN: Duration = Duration::from_secs(30);

fn texts(sandbox: &Sandbox) -> BTreeSet<String> {
    let there = texts_in_rows(&sandbox.store()).unwrap();
    assert!(there.values().all(|times| *times == 1), "{there:?}");
    there.into_keys().collect()
}

fn is_found(client: &mut McpClient, word: &str) -> bool {
    let found = client.call("memory_search", json!({ "query": word })).unwrap();
    found.expect_success()["count"].as_u64().unwrap() > 0
}

fn prompt(sandbox: &Sandbox, text: &str) {
    sandbox.run_hook("memory-prompt-save", &sandbox.prompt_event(text).to_string()).assert_success().assert_no_stderr();
}

/// Logs in the formats of other programs and systems.
#[rstest]
#[case::windows_lines("# 2026-01-28\r\n\r\n- [10:30:15] **User Prompt**: one\r\n  and more\r\n\r\n## Decision\r\n\r\n- two\r\n", &["one\nand more", "two"])]
#[case::byte_order_mark("\u{feff}# 2026-01-28\n\n- [10:30:15] **User Prompt**: one\n\n## Decision\n\n- two\n", &["one", "two"])]
#[case::mark_before_an_entry("\u{feff}- [10:30:15] **User Prompt**: one\n", &["one"])]
#[case::no_last_line_end("# 2026-01-28\n\n## Decision\n\n- two", &["two"])]
#[case::decomposed("# 2026-01-28\n\n## Decision\n\n- cafe\u{301}\n", &["cafe\u{301}"])]
fn a_log_of_another_system_is_read_and_added_to(#[case] log: &str, #[case] expected: &[&str]) {
    let sandbox = sandbox!();
    let path = sandbox.write(".jikime/memory/2026-01-28.md", log);
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(texts(&sandbox), expected.iter().map(ToString::to_string).collect());
    // New events next to it do no damage.
    let waiting = json!({
        "session": "s", "type": "user_prompt", "at": "2026-01-28T10:40:00+09:00", "content": "three", "redactions": 0,
    });
    sandbox.write(".jikime/memory/spool/1.json", waiting.to_string());
    sandbox.run_cli(["index"]).assert_success();
    let all: BTreeSet<String> = expected.iter().map(ToString::to_string).chain(["three".to_owned()]).collect();
    assert_eq!(texts(&sandbox), all);
    let added = fs::read_to_string(path).unwrap();
    assert!(!log.contains("\r\n") || !added.replace("\r\n", "").contains('\n'), "{added:?}");
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn file_names_match_in_any_unicode_form() {
    let sandbox = sandbox!();
    let composed = "한글 메모.md";
    let decomposed: String = "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}.md".to_owned();
    for name in [composed, &decomposed] {
        sandbox.write(format!(".jikime/memory/{name}"), "# Note\n\nThe walrus guards the vault.\n");
    }
    let mut client = sandbox.serve(Era::Modern);
    let found = client.call("memory_search", json!({ "query": "walrus vault" })).unwrap();
    let hits = found.expect_success()["results"].as_array().unwrap().clone();
    assert!(!hits.is_empty());
    for hit in hits {
        let opened = client.call("memory_get", json!({ "path": hit["path"] })).unwrap();
        assert!(opened.expect_success()["content"].as_str().unwrap().contains("walrus"), "{hit:#}");
    }
}

#[test]
fn day_continues_across_time_zone_and_clock_changes() {
    let mut sandbox = sandbox!();
    // Kiritimati is a day ahead of Niue, so the clock goes back by 25 hours.
    for (n, zone) in ["Pacific/Kiritimati", "Pacific/Niue", "America/Sao_Paulo", "Asia/Kathmandu"].iter().enumerate() {
        sandbox.set_variable("TZ", zone);
        prompt(&sandbox, &format!("prompt {n} in {zone}"));
    }
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(texts(&sandbox).len(), 4);
    let before = sandbox.run_cli(["list", "--json"]).assert_success().json();
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert_eq!(
        sandbox.run_cli(["list", "--json"]).assert_success().json(),
        before,
        "offsets are those of when it was said"
    );
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// Days on which daylight saving removes or repeats the hour after midnight, in logs without offsets.
#[rstest]
#[case::no_midnight("America/Sao_Paulo", "2018-11-04", "00:30:00")]
#[case::two_midnights("America/Sao_Paulo", "2018-02-17", "23:30:00")]
#[case::no_midnight_in_cairo("Africa/Cairo", "2023-04-28", "00:15:00")]
#[case::no_day_at_all("Pacific/Apia", "2011-12-30", "12:00:00")]
fn daylight_saving_keeps_one_memory_per_entry(#[case] zone: &str, #[case] day: &str, #[case] time: &str) {
    let mut sandbox = sandbox!();
    sandbox.set_variable("TZ", zone);
    let log = format!("# {day}\n\n- [{time}] **User Prompt**: said then\n\n## Decision\n\n- decided then\n");
    sandbox.write(format!(".jikime/memory/{day}.md"), log);
    sandbox.run_cli(["index"]).assert_success();
    let before = sandbox.run_cli(["list", "--json"]).assert_success().json();
    assert_eq!(texts(&sandbox).len(), 2);
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert_eq!(sandbox.run_cli(["list", "--json"]).assert_success().json(), before);
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn unfinished_git_merge_loses_nothing() {
    let sandbox = sandbox!();
    let entry = |text: &str, n: u32| format!("- {text} <!-- {{\"id\":\"{n:032x}\",\"type\":\"decision\"}} -->\n");
    let (ours, theirs, both) = (entry("ours says redis", 1), entry("theirs says postgres", 2), entry("both agree", 3));
    let conflict = format!(
        "# Memory\n\n## Decision\n\n{both}<<<<<<< HEAD\n{ours}=======\n{theirs}{}>>>>>>> feature\n",
        entry("ours in other words", 1)
    );
    sandbox.write(".jikime/memory/MEMORY.md", &conflict);
    sandbox.run_cli(["index"]).assert_success();
    let expected = ["both agree", "ours says redis", "theirs says postgres", "ours in other words"];
    assert!(expected.iter().all(|text| texts(&sandbox).contains(*text)), "{:?}", texts(&sandbox));
    sandbox.run_cli(["save", "--long-term", "decision", "saved in the middle of it"]).assert_success();
    let merged = sandbox.read(".jikime/memory/MEMORY.md");
    assert!(conflict.lines().all(|line| merged.contains(line)), "{merged}");
    let resolved: String =
        merged.lines().filter(|line| !line.starts_with(['<', '=', '>'])).map(|line| format!("{line}\n")).collect();
    sandbox.write(".jikime/memory/MEMORY.md", resolved);
    sandbox.run_cli(["index"]).assert_success();
    assert!(expected.iter().chain(&["saved in the middle of it"]).all(|text| texts(&sandbox).contains(*text)));
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

fn git(sandbox: &Sandbox, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(sandbox.project()).env("HOME", sandbox.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]);
    let done = git.args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn running_server_follows_a_checkout_and_back() {
    let sandbox = Sandbox::without_git(binaries!());
    let git = |arguments: &[&str]| git(&sandbox, arguments);
    git(&["init", "-q"]);
    let log = |text: &str| format!("# 2026-01-28\n\n- [10:30:15] **User Prompt**: {text}\n");
    sandbox.write(".jikime/memory/2026-01-28.md", log("the walrus of the main branch"));
    sandbox.write(".jikime/memory/notes/a.md", "# A\n\nThe narwhal lives on the main branch.\n");
    git(&["add", "-f", "-A"]);
    git(&["commit", "-q", "-m", "main"]);
    git(&["checkout", "-q", "-b", "other"]);
    sandbox.write(".jikime/memory/2026-01-28.md", log("the ocelot of the other branch"));
    fs::remove_file(sandbox.store().join("notes/a.md")).unwrap();
    git(&["add", "-f", "-A"]);
    git(&["commit", "-q", "-m", "other"]);
    let mut client = sandbox.serve(Era::Modern);
    for _ in 0..2 {
        git(&["checkout", "-q", "main"]);
        eventually(SEEN, || is_found(&mut client, "walrus") && is_found(&mut client, "narwhal"));
        assert!(!is_found(&mut client, "ocelot"));
        prompt(&sandbox, "said between two checkouts");
        git(&["checkout", "-q", "other"]);
        eventually(SEEN, || is_found(&mut client, "ocelot") && !is_found(&mut client, "walrus"));
        assert!(!is_found(&mut client, "narwhal"));
    }
    client.close();
    sandbox.run_cli(["index"]).assert_success();
    assert!(texts(&sandbox).contains("said between two checkouts"));
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn checkouts_of_a_log_are_followed() {
    let sandbox = Sandbox::without_git(binaries!());
    let git = |arguments: &[&str]| git(&sandbox, arguments);
    let log = ".jikime/memory/2026-01-28.md";
    let day = |said: &str, decided: &str| {
        format!("# 2026-01-28\n\n- [10:30:15] **User Prompt**: {said}\n\n## Decision\n\n- {decided}\n")
    };
    git(&["init", "-q"]);
    sandbox.write(log, day("the walrus of the main branch", "the narwhal was decided"));
    // Git does not keep empty folders.
    sandbox.write(".jikime/memory/2026-01-27.md", "# 2026-01-27\n\n## Decision\n\n- the heron is on every branch\n");
    git(&["add", "-f", "-A"]);
    git(&["commit", "-q", "-m", "main"]);
    git(&["checkout", "-q", "-b", "without"]);
    fs::remove_file(sandbox.project().join(log)).unwrap();
    git(&["add", "-f", "-A"]);
    git(&["commit", "-q", "-m", "without"]);
    git(&["checkout", "-q", "-b", "changed", "main"]);
    sandbox.write(log, day("the ocelot of the changed branch", "the pelican was decided"));
    git(&["add", "-f", "-A"]);
    git(&["commit", "-q", "-m", "changed"]);
    git(&["checkout", "-q", "main"]);

    let mut client = sandbox.serve(Era::Modern);
    let (main, changed) = (["walrus", "narwhal"], ["ocelot", "pelican"]);
    let mut are_found = |words: &[&str], others: &[&str]| {
        eventually(SEEN, || {
            words.iter().all(|word| is_found(&mut client, word))
                && !others.iter().any(|word| is_found(&mut client, word))
        });
        assert!(is_found(&mut client, "heron"));
    };
    are_found(&main, &changed);
    for turn in ["first", "second"] {
        git(&["checkout", "-q", "without"]);
        are_found(&[], &[main, changed].concat());
        prompt(&sandbox, &format!("said without the log for the {turn} time"));
        git(&["checkout", "-q", "changed"]);
        are_found(&changed, &main);
        git(&["checkout", "-q", "without"]);
        are_found(&[], &[main, changed].concat());
        git(&["checkout", "-q", "main"]);
        are_found(&main, &changed);
        git(&["checkout", "-q", "changed"]);
        are_found(&changed, &main);
        git(&["checkout", "-q", "main"]);
        are_found(&main, &changed);
    }
    client.close();
    sandbox.run_cli(["index"]).assert_success();
    let expected = [
        "the walrus of the main branch",
        "the narwhal was decided",
        "the heron is on every branch",
        "said without the log for the first time",
        "said without the log for the second time",
    ];
    assert_eq!(texts(&sandbox), expected.map(String::from).into());
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn copy_of_a_busy_store_is_valid() {
    let (sandbox, copies) = (sandbox!(), (0..4).map(|_| sandbox!()).collect::<Vec<_>>());
    let client = sandbox.serve(Era::Modern);
    thread::scope(|scope| {
        let writer = scope.spawn(|| (0..30).for_each(|n| prompt(&sandbox, &format!("prompt {n}"))));
        for copy in &copies {
            eventually(SEEN, || sandbox.logs().matches("prompt ").count() > 2);
            copy_files(&sandbox.store(), &copy.store());
        }
        writer.join().unwrap();
    });
    client.close();
    for copy in &copies {
        copy.run_cli(["index"]).assert_success();
        let said: BTreeSet<String> =
            copy.logs().lines().filter_map(|line| Some(line.split_once("**User Prompt**: ")?.1.to_owned())).collect();
        assert!(said.len() > 2);
        assert_eq!(texts(copy), said, "what the copied log holds is what is remembered");
        let wrong: Vec<String> = check_at_rest(&copy.store())
            .into_iter()
            .filter(|finding| !finding.contains("memory.db.damaged-"))
            // Copied at the moment when the index was created. SQLite ignores it.
            .filter(|finding| !finding.ends_with("index.db-journal"))
            .collect();
        assert_eq!(wrong, [""; 0]);
        prompt(copy, "said to the copy");
        assert!(texts(copy).contains("said to the copy"));
    }
}

/// Copies file by file while they change, as a person would.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match item.path().is_dir() {
            true => copy_files(&item.path(), &to.join(item.file_name())),
            // A temporary file may be gone.
            false => drop(fs::copy(item.path(), to.join(item.file_name()))),
        }
    }
}

#[test]
fn a_store_that_cannot_be_locked_is_read_and_what_happens_waits() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "the walrus guards the vault"]).assert_success();
    let lock = sandbox.store().join("store.lock");
    fs::remove_file(&lock).unwrap();
    // A folder fails to lock like a file system without locks.
    fs::create_dir(&lock).unwrap();
    prompt(&sandbox, "said meanwhile");
    let found = sandbox.run_cli(["search", "--json", "walrus vault"]).assert_success().json();
    assert_eq!(found["count"], 1, "{found:#}");
    let refused = sandbox.run_cli(["save", "decision", "refused"]);
    assert!(refused.assert_code(1).stderr.contains("store.lock"), "{refused:?}");
    assert_eq!(sandbox.run_cli(["stats", "--json"]).assert_success().json()["queue"], 1);
    fs::remove_dir(&lock).unwrap();
    sandbox.run_cli(["index"]).assert_success();
    assert!(texts(&sandbox).contains("said meanwhile"));
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// Days of the short form. `JIKIME_LONG_TESTS` uses ten thousand, which are 27 years.
fn days() -> i64 {
    if environment::is_long() { 10_000 } else { 1_000 }
}

#[test]
fn unchanged_logs_are_not_read_again() {
    let sandbox = sandbox!();
    let first = chrono::NaiveDate::from_ymd_opt(1998, 1, 1).unwrap();
    for n in 0..days() {
        let day = first + chrono::Days::new(n as u64);
        let log = format!("# {day}\n\n- [10:30:15] **User Prompt**: on {day} the part{n} was made\n");
        sandbox.write(format!(".jikime/memory/{day}.md"), log);
    }
    let before = sandbox.run_cli(["index"]).assert_success().elapsed;
    assert_eq!(texts(&sandbox).len() as i64, days());
    let again = sandbox.run_cli(["index", "--json"]);
    assert_eq!(again.assert_success().json()["files"], 0, "{again:?}, and {before:?} before");
    let found = sandbox.run_cli(["search", "--json", &format!("part{}", days() / 2)]).assert_success().json();
    assert_eq!(found["results"][0]["type"], "user_prompt", "{found:#}");
    prompt(&sandbox, "and one more day");
    assert_eq!(sandbox.run_cli(["index", "--json"]).assert_success().json()["memories"], 1);
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// Megabytes of the short form. `JIKIME_LONG_TESTS` uses fifty.
fn megabytes() -> usize {
    if environment::is_long() { 50 } else { 6 }
}

#[test]
fn a_log_of_many_megabytes_is_read_searched_and_added_to() {
    let sandbox = sandbox!();
    let today = sandbox.run_cli(["save", "learning", "what tells the day"]).assert_success().stdout.clone();
    let name = fs::read_dir(sandbox.store()).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    let name = name.into_iter().find(|name| name.starts_with("20")).unwrap_or(today);
    let entry = |n: usize| {
        format!(
            "- [{:02}:{:02}:{:02}] **Assistant Response**: answer {n} {}\n",
            n / 3_600 % 24,
            n / 60 % 60,
            n % 60,
            "says much and means little, ".repeat(140).trim_end()
        )
    };
    let entries = megabytes() * 250;
    let log: String = (0..entries).map(entry).collect();
    sandbox.write(format!(".jikime/memory/{name}"), format!("# {}\n\n{log}", name.trim_end_matches(".md")));
    sandbox.run_cli(["index"]).assert_success();
    // The entry saved before the log was overwritten is appended again.
    assert_eq!(texts_in_rows(&sandbox.store()).unwrap().len(), entries + 1);
    prompt(&sandbox, "said at the end of a long day");
    let found = sandbox.run_cli(["search", "--json", "said at the end of a long day"]).assert_success().json();
    assert_eq!(found["results"][0]["type"], "user_prompt", "{found:#}");
    let mut client = sandbox.serve(Era::Modern);
    let opened = client.call("memory_get", json!({ "path": name, "from": 1, "lines": 5 })).unwrap();
    assert!(opened.expect_success()["content"].as_str().unwrap().len() < 100_000);
    client.call("memory_load", json!({ "source": "full" })).unwrap().expect_success();
}

/// Runs the programs as an unprivileged user if the tests run as the superuser.
#[cfg(unix)]
#[test]
fn store_recovers_from_read_only_permissions() {
    use std::os::unix::fs::PermissionsExt as _;

    let mut sandbox = sandbox!();
    sandbox.give_to_a_user();
    let mut client = sandbox.serve(Era::Modern);
    let save = |client: &mut McpClient, text: &str| {
        client.call("memory_save", json!({ "type": "decision", "content": text })).unwrap()
    };
    save(&mut client, "the walrus guards the vault").expect_success();
    let store = sandbox.store();
    let set_mode = |mode: u32| {
        for item in fs::read_dir(&store).unwrap().map(Result::unwrap) {
            let mode = if item.path().is_dir() { mode | 0o100 } else { mode };
            fs::set_permissions(item.path(), fs::Permissions::from_mode(mode & 0o700)).unwrap();
        }
        fs::set_permissions(&store, fs::Permissions::from_mode(mode | 0o100)).unwrap();
    };
    set_mode(0o400);
    let refused = save(&mut client, "this is refused");
    assert!(refused.expect_failure().to_lowercase().contains("permission"), "{}", refused.text);
    assert!(is_found(&mut client, "walrus"));
    set_mode(0o600);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o700)).unwrap();
    eventually(SEEN, || !save(&mut client, "and this is kept again").is_error);
    client.close();
    sandbox.run_cli(["index"]).assert_success();
    assert!(
        texts(&sandbox)
            .is_superset(&["the walrus guards the vault", "and this is kept again"].map(String::from).into())
    );
}
