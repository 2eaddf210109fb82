//! File systems that lack locks or shared memory, and disks that are full from one moment to the next: it is noticed, it is told, what is
//! remembered is read, and what happens meanwhile waits. And clocks that go back, by which nothing is lost.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDateTime;
use harness::proof::{at_rest, texts_in_rows};
use harness::{Era, Lack, Sandbox, eventually, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

/// How long programs may take to come to a place.
const COMING: Duration = Duration::from_secs(60);

const KEPT: &str = "the walrus guards the vault";

fn prompt(sandbox: &Sandbox, text: &str) {
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = text.into();
    sandbox.run_hook("memory-prompt-save", &event.to_string()).success().printed_nothing().complained_of_nothing();
}

/// A store with one memory, whose file system lacks something from now on.
fn lacking(lack: Lack) -> Option<Sandbox> {
    let mut sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).success();
    sandbox.lack(lack).then_some(sandbox)
}

/// What tells why a store is only read.
const REASONS: [&str; 4] =
    ["cannot be locked", "memory that programs can share", "disk I/O error", "unable to open database file"];

fn is_told(text: &str) -> bool {
    text.contains("read-only") && REASONS.iter().any(|reason| text.contains(reason))
}

#[rstest]
#[case::no_locks(Lack::Locks)]
#[case::no_shared_memory(Lack::SharedMemory)]
fn a_store_on_a_file_system_that_cannot_carry_it_is_read_and_what_happens_waits(#[case] lack: Lack) {
    let Some(mut sandbox) = lacking(lack) else { return };
    prompt(&sandbox, "said meanwhile");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.success().stdout.contains(KEPT), "{found:?}");
    assert!(is_told(&found.stderr), "{found:?}");
    let refused = sandbox.run_cli(["save", "decision", "refused"]);
    assert!(is_told(&refused.code(1).stderr), "{refused:?}");
    let examined = sandbox.run_cli(["doctor"]);
    assert!(is_told(&examined.stdout), "{examined:?}");

    let mut client = sandbox.serve(Era::Modern);
    let found = client.call("memory_search", json!({ "query": "walrus vault" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "refused" })).unwrap();
    assert!(is_told(refused.expect_failure()), "{}", refused.text);
    let stats = client.call("memory_stats", json!({})).unwrap().expect_success().clone();
    assert!(is_told(&stats["problems"].to_string()), "{stats:#}");
    assert_eq!(stats["queue"], 1, "{stats:#}");
    prompt(&sandbox, "said beside a server");
    client.close();

    sandbox.lack_nothing();
    sandbox.run_cli(["index"]).success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    let expected = [KEPT, "said meanwhile", "said beside a server"].map(|text| (text.to_owned(), 1));
    assert_eq!(there, expected.into());
    assert_eq!(at_rest(&sandbox.store()), [""; 0]);
}

#[rstest]
#[case::no_locks(Lack::Locks)]
#[case::no_shared_memory(Lack::SharedMemory)]
fn what_happens_first_on_such_a_file_system_is_not_lost(#[case] lack: Lack) {
    let mut sandbox = sandbox!();
    if !sandbox.lack(lack) {
        return;
    }
    prompt(&sandbox, "the first of all");
    prompt(&sandbox, "the second");
    let examined = sandbox.run_cli(["doctor"]);
    assert!(is_told(&examined.stdout), "{examined:?}");
    sandbox.lack_nothing();
    sandbox.run_cli(["index"]).success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    assert_eq!(there, ["the first of all", "the second"].map(|text| (text.to_owned(), 1)).into());
    assert_eq!(at_rest(&sandbox.store()), [""; 0]);
}

#[test]
fn a_disk_that_is_full_all_of_a_sudden_loses_nothing_that_was_told_to_be_kept() {
    let Some(mut sandbox) = lacking(Lack::Space) else { return };
    // Not even the spool can be written: nobody is told that it was kept, and nobody is disturbed.
    prompt(&sandbox, "there was no room for this");
    let refused = sandbox.run_cli(["save", "decision", "nor for this"]);
    assert!(!refused.status.success(), "{refused:?}");
    let found = sandbox.run_cli(["search", "walrus vault"]);
    assert!(found.success().stdout.contains(KEPT), "{found:?}");
    sandbox.lack_nothing();
    prompt(&sandbox, "and now there is");
    sandbox.run_cli(["index"]).success();
    let there = texts_in_rows(&sandbox.store()).unwrap();
    assert_eq!(there, [KEPT, "and now there is"].map(|text| (text.to_owned(), 1)).into());
    assert_eq!(at_rest(&sandbox.store()), [""; 0]);
}

/// In seconds.
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// More seconds than may pass between the prompts of a test.
const PASSED: i64 = 600;

/// Said at several times that are hours apart, so that it is as many memories.
const AGAIN: &str = "said again";

/// The clock goes back by an hour, then by a day, and is right again; at each time something is said and kept. Every text is there as
/// often as is told.
fn say_while_the_clock_goes_back(sandbox: &mut Sandbox) -> BTreeMap<String, usize> {
    sandbox.set_clock_back(0);
    prompt(sandbox, "said at first");
    sandbox.set_clock_back(HOUR);
    prompt(sandbox, "said an hour before");
    sandbox.run_cli(["save", "decision", "kept an hour before"]).success();
    prompt(sandbox, AGAIN);
    sandbox.set_clock_back(DAY);
    prompt(sandbox, "said a day before");
    sandbox.run_cli(["index"]).success();
    prompt(sandbox, AGAIN);
    sandbox.set_clock_back(0);
    prompt(sandbox, "said at last");
    sandbox.run_cli(["save", "decision", "kept at last"]).success();
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

/// Memories that are there as often as expected, at the times at which they were said, and as the same ones when the logs are read anew.
fn are_kept(sandbox: &Sandbox, expected: &BTreeMap<String, usize>) {
    sandbox.run_cli(["index"]).success();
    assert_eq!(&texts_in_rows(&sandbox.store()).expect("rows that can be read"), expected);
    let before = sandbox.run_cli(["list", "--json"]).success().json();
    for (text, back) in [("said an hour before", HOUR), ("said a day before", DAY)] {
        let seconds = (said_at(&before, "said at first") - said_at(&before, text)).num_seconds();
        assert!((back - PASSED..=back).contains(&seconds), "{seconds} seconds: {before:#}");
    }
    sandbox.run_cli(["index", "--full"]).success();
    assert_eq!(sandbox.run_cli(["list", "--json"]).success().json(), before);
    assert_eq!(at_rest(&sandbox.store()), [""; 0]);
}

fn said_at(listed: &Value, text: &str) -> NaiveDateTime {
    let memory = listed.as_array().expect("a list").iter().find(|memory| memory["content"] == text);
    let date = memory.and_then(|memory| memory["date"].as_str()).expect("a memory with a date");
    NaiveDateTime::parse_from_str(date, "%Y-%m-%d %H:%M:%S").expect("a date and a time")
}

#[test]
fn a_clock_that_goes_back_by_an_hour_and_by_a_day_loses_nothing() {
    let mut sandbox = sandbox!();
    if !sandbox.set_clock_back(0) {
        return;
    }
    let expected = say_while_the_clock_goes_back(&mut sandbox);
    are_kept(&sandbox, &expected);
}

#[rstest]
#[case::by_an_hour(HOUR)]
#[case::by_a_day(DAY)]
fn a_server_whose_clock_is_behind_keeps_what_is_said_before_and_after_its_time(#[case] behind: i64) {
    let mut sandbox = sandbox!();
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
    let found = server.call("memory_search", json!({ "query": "said a day before" })).unwrap();
    assert!(found.text.contains("said a day before"), "{}", found.text);
    server.close();
    expected.extend(["kept by the server", "kept by the server at last"].map(|text| (text.to_owned(), 1)));
    are_kept(&sandbox, &expected);
}

#[test]
fn an_answer_that_is_given_again_after_the_clock_went_back_is_another_one() {
    let mut sandbox = sandbox!();
    if !sandbox.set_clock_back(0) {
        return;
    }
    for (text, back) in [("said at first", 0), ("said an hour before", HOUR)] {
        sandbox.set_clock_back(back);
        prompt(&sandbox, text);
        let mut stop = sandbox.event("Stop");
        stop["session_id"] = sandbox.event("UserPromptSubmit")["session_id"].clone();
        stop["last_assistant_message"] = "it is done".into();
        sandbox.run_hook("memory-complete", &stop.to_string()).success();
    }
    assert_eq!(texts_in_rows(&sandbox.store()).unwrap().get("it is done"), Some(&2));
}
