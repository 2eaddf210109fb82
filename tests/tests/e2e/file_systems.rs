//! File systems without locks or shared memory, and disks that suddenly fill up: the programs report it, read what is
//! there, and queue events. Clocks that go back lose nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDateTime;
use harness::proof::{check_at_rest, texts_in_rows};
use harness::{Era, MissingFeature, Sandbox, built_binaries, eventually};
use rstest::rstest;
use serde_json::{Value, json};

const COMING: Duration = Duration::from_mins(1);

const KEPT: &str = "the walrus guards the vault";

fn prompt(sandbox: &Sandbox, text: &str) {
    sandbox
        .run_hook("memory-prompt-save", &sandbox.prompt_event(text).to_string())
        .assert_success()
        .assert_no_stdout()
        .assert_no_stderr();
}

/// A store with one memory on a file system with this limitation.
fn sandbox_missing(lack: MissingFeature) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new(built_binaries!());
    sandbox.run_cli(["save", "decision", KEPT]).assert_success();
    sandbox.remove_feature(lack).then_some(sandbox)
}

/// Messages that explain why a store is read-only.
const REASONS: [&str; 4] =
    ["cannot be locked", "memory that programs can share", "disk I/O error", "unable to open database file"];

fn is_reported(text: &str) -> bool {
    text.contains("read-only") && REASONS.iter().any(|reason| text.contains(reason))
}

#[rstest]
#[case::no_locks(MissingFeature::Locks)]
#[case::no_shared_memory(MissingFeature::SharedMemory)]
fn unsupported_file_system_is_read_only_and_queues(#[case] lack: MissingFeature) {
    let Some(mut sandbox) = sandbox_missing(lack) else { return };
    prompt(&sandbox, "said meanwhile");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.assert_success().stdout.contains(KEPT), "{found:?}");
    assert!(is_reported(&found.stderr), "{found:?}");
    let refused = sandbox.run_cli(["save", "decision", "refused"]);
    assert!(is_reported(&refused.assert_code(1).stderr), "{refused:?}");
    let examined = sandbox.run_cli(["doctor"]);
    assert!(is_reported(&examined.stdout), "{examined:?}");

    let mut client = sandbox.serve(Era::Modern);
    let found = client.call("memory_search", json!({ "query": "walrus vault" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "refused" })).unwrap();
    assert!(is_reported(refused.expect_failure()), "{}", refused.text);
    let stats = client.call("memory_stats", json!({})).unwrap().expect_success().clone();
    assert!(is_reported(&stats["problems"].to_string()), "{stats:#}");
    assert_eq!(stats["queue"], 1, "{stats:#}");
    prompt(&sandbox, "said beside a server");
    client.close();

    sandbox.restore_features();
    sandbox.run_cli(["index"]).assert_success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    let expected = [KEPT, "said meanwhile", "said beside a server"].map(|text| (text.to_owned(), 1));
    assert_eq!(there, expected.into());
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[rstest]
#[case::no_locks(MissingFeature::Locks)]
#[case::no_shared_memory(MissingFeature::SharedMemory)]
fn first_event_on_unsupported_file_system_is_kept(#[case] lack: MissingFeature) {
    let mut sandbox = Sandbox::new(built_binaries!());
    if !sandbox.remove_feature(lack) {
        return;
    }
    prompt(&sandbox, "the first of all");
    prompt(&sandbox, "the second");
    let examined = sandbox.run_cli(["doctor"]);
    assert!(is_reported(&examined.stdout), "{examined:?}");
    sandbox.restore_features();
    sandbox.run_cli(["index"]).assert_success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    assert_eq!(there, ["the first of all", "the second"].map(|text| (text.to_owned(), 1)).into());
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn suddenly_full_disk_loses_no_confirmed_memory() {
    let Some(mut sandbox) = sandbox_missing(MissingFeature::Space) else { return };
    // Not even the spool is writable: nothing is confirmed, and the user is not disturbed.
    prompt(&sandbox, "there was no room for this");
    let refused = sandbox.run_cli(["save", "decision", "nor for this"]);
    assert!(!refused.status.success(), "{refused:?}");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.assert_success().stdout.contains(KEPT), "{found:?}");
    sandbox.restore_features();
    prompt(&sandbox, "and now there is room");
    sandbox.run_cli(["index"]).assert_success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    assert_eq!(there, [KEPT, "and now there is room"].map(|text| (text.to_owned(), 1)).into());
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

/// In seconds.
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// More seconds than the prompts of a test take.
const PASSED: i64 = 600;

/// A text said at several times hours apart, so it is several memories.
const AGAIN: &str = "said again";

/// Sets the clock back by an hour, then by a day, and right again, and saves memories at each time. Returns the expected
/// number of each text.
fn say_while_the_clock_goes_back(sandbox: &mut Sandbox) -> BTreeMap<String, usize> {
    sandbox.set_clock_back(0);
    prompt(sandbox, "said at first");
    sandbox.set_clock_back(HOUR);
    prompt(sandbox, "said an hour before");
    sandbox.run_cli(["save", "decision", "kept an hour before"]).assert_success();
    prompt(sandbox, AGAIN);
    sandbox.set_clock_back(DAY);
    prompt(sandbox, "said a day before");
    sandbox.run_cli(["index"]).assert_success();
    prompt(sandbox, AGAIN);
    sandbox.set_clock_back(0);
    prompt(sandbox, "said at last");
    sandbox.run_cli(["save", "decision", "kept at last"]).assert_success();
    prompt(sandbox, AGAIN);
    let once = [
        "said at first",
        "said an hour before",
        "kept an hour before",
        "said a day before",
        "said at last",
        "kept at last",
    ];
    once.map(|text| (text.to_owned(), 1)).into_iter().chain([(AGAIN.to_owned(), 3)]).collect()
}

/// Each text exists as often as expected with its time, and a rebuild from the logs gives the same memories.
fn are_kept(sandbox: &Sandbox, expected: &BTreeMap<String, usize>) {
    sandbox.run_cli(["index"]).assert_success();
    assert_eq!(&texts_in_rows(&sandbox.store()).expect("rows that can be read"), expected);
    let before = sandbox.run_cli(["list", "--json"]).assert_success().json();
    for (text, back) in [("said an hour before", HOUR), ("said a day before", DAY)] {
        let seconds = (said_at(&before, "said at first") - said_at(&before, text)).num_seconds();
        assert!((back - PASSED..=back).contains(&seconds), "{seconds} seconds: {before:#}");
    }
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert_eq!(sandbox.run_cli(["list", "--json"]).assert_success().json(), before);
    assert_eq!(check_at_rest(&sandbox.store()), [""; 0]);
}

fn said_at(listed: &Value, text: &str) -> NaiveDateTime {
    let memory = listed.as_array().expect("a list").iter().find(|memory| memory["content"] == text);
    let date = memory.and_then(|memory| memory["date"].as_str()).expect("a memory with a date");
    NaiveDateTime::parse_from_str(date, "%Y-%m-%d %H:%M:%S").expect("a date and a time")
}

#[test]
fn a_clock_that_goes_back_by_an_hour_and_by_a_day_loses_nothing() {
    let mut sandbox = Sandbox::new(built_binaries!());
    if !sandbox.set_clock_back(0) {
        return;
    }
    let expected = say_while_the_clock_goes_back(&mut sandbox);
    are_kept(&sandbox, &expected);
}

#[rstest]
#[case::by_an_hour(HOUR)]
#[case::by_a_day(DAY)]
fn server_with_slow_clock_keeps_all_events(#[case] behind: i64) {
    let mut sandbox = Sandbox::new(built_binaries!());
    if !sandbox.set_clock_back(behind) {
        return;
    }
    let mut server = sandbox.serve(Era::Modern);
    eventually(COMING, || server.queue_answered_by() == "this_server");
    let mut save = |text: &str| {
        let saved = server.call("memory_save", json!({ "type": "decision", "content": text })).unwrap();
        saved.expect_success();
    };
    save("kept by the server");
    let mut expected = say_while_the_clock_goes_back(&mut sandbox);
    save("kept by the server at last");
    let found = server.call("memory_search", json!({ "query": "what happened a day before the last hour" })).unwrap();
    assert!(found.text.contains("said a day before"), "{}", found.text);
    server.close();
    expected.extend(["kept by the server", "kept by the server at last"].map(|text| (text.to_owned(), 1)));
    are_kept(&sandbox, &expected);
}

#[test]
fn repeated_answer_after_clock_change_is_new() {
    let mut sandbox = Sandbox::new(built_binaries!());
    if !sandbox.set_clock_back(0) {
        return;
    }
    for (text, back) in [("said at first", 0), ("said an hour before", HOUR)] {
        sandbox.set_clock_back(back);
        prompt(&sandbox, text);
        let mut stop = sandbox.event("Stop");
        stop["session_id"] = sandbox.event("UserPromptSubmit")["session_id"].clone();
        stop["last_assistant_message"] = "The parser reads both forms.".into();
        sandbox.run_hook("memory-complete", &stop.to_string()).assert_success();
    }
    assert_eq!(texts_in_rows(&sandbox.store()).unwrap().get("The parser reads both forms."), Some(&2));
}
