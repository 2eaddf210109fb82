//! Programs killed at every point and at random moments lose nothing that somebody was told to be kept.

#![cfg(unix)]

use std::time::Duration;

use harness::proof::crash::{Work, has_points, run};
use harness::{Binaries, Era, McpClient, binaries, run_to_end, sandbox, skipped};
use rstest::rstest;
use schema::crash::POINTS;
use serde_json::json;

/// Rounds are done again with their seed.
const SEED: u64 = 20_260_128;

/// Whether the programs have points. Those of a debug build must, and others say that the test skips something.
fn can_be_killed_at_points() -> bool {
    let has_points = has_points(&binaries!());
    assert!(has_points || Binaries::named().is_some() || cfg!(not(debug_assertions)), "a debug build has points");
    if !has_points {
        skipped("points, because these programs have none");
    }
    has_points
}

#[rstest]
#[case::hooks_that_write(Work::Direct)]
#[case::hooks_that_lay_aside(Work::Spool)]
#[case::hooks_that_send(Work::Socket)]
#[case::saves(Work::Save)]
#[case::indexing(Work::Index)]
#[case::rebuilding(Work::Rebuild)]
#[case::forgetting(Work::Forget)]
#[case::upgrading(Work::Upgrade)]
#[case::upgrading_from_an_earlier_version(Work::Earlier)]
#[case::importing(Work::Import)]
fn what_was_told_to_be_kept_is_there_once_after_a_crash(#[case] work: Work) {
    // Every point once, and a random moment after each.
    let has_points = can_be_killed_at_points();
    let tally = run(&binaries!(), work, work.points().len() * 2, SEED);
    tally.assert_clean();
    assert!(!has_points || tally.faults >= work.points().len(), "too few were killed: {tally:?}");
}

#[test]
fn every_point_is_come_by_in_some_work_or_in_another_test() {
    let elsewhere = ["engine.open", "store.reset"];
    let tried: Vec<&str> = Work::ALL.iter().flat_map(|work| work.points()).copied().chain(elsewhere).collect();
    for (point, what) in POINTS {
        assert!(tried.contains(point), "nobody is killed when {what}");
    }
}

#[test]
fn a_fault_while_the_store_is_opened_is_met_again_by_the_next_call_and_not_for_ever() {
    if !can_be_killed_at_points() {
        return;
    }
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).success();
    let mut command = sandbox.memory_command();
    command.arg("serve").env("JIKIME_CRASH_AT", "panic=engine.open");
    let mut client = McpClient::start(command, Era::Modern);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).expect("an answer");
    assert_eq!(found.expect_success()["count"], 1);
    let closed = client.close();
    assert!(closed.stderr.contains("cannot open the store"), "{}", closed.stderr);
}

#[test]
fn a_reset_that_was_killed_is_finished_by_the_next() {
    if !can_be_killed_at_points() {
        return;
    }
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).success();
    sandbox.write(".jikime/memory/memory.db", "no database at all, but long enough for a header".repeat(100));
    let mut command = sandbox.memory_command();
    command.args(["list", "--json"]).env("JIKIME_CRASH_AT", "store.reset");
    let killed = run_to_end(command, "", Duration::from_secs(60));
    assert!(killed.status.code().is_none(), "{killed:?}");
    let listed = sandbox.run_cli(["list", "--json"]).success().json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed:#}");
}
