//! Programs killed at all named points and at random moments lose no confirmed memory.

use std::time::Duration;

use harness::proof::crash::{CrashScenario, KillPlan, run};
use harness::{Era, McpClient, Sandbox, binaries, built_binaries, run_to_end};
use rstest::rstest;
use schema::files::crash_point::POINTS;
use serde_json::json;

/// Makes rounds reproducible.
const SEED: u64 = 20_260_128;

#[rstest]
#[case::hooks_that_write(CrashScenario::Direct)]
#[case::hooks_that_lay_aside(CrashScenario::Spool)]
#[case::hooks_that_send(CrashScenario::Socket)]
#[case::saves(CrashScenario::Save)]
#[case::indexing(CrashScenario::Index)]
#[case::rebuilding(CrashScenario::Rebuild)]
#[case::forgetting(CrashScenario::Forget)]
#[case::upgrading(CrashScenario::Upgrade)]
#[case::upgrading_from_an_earlier_version(CrashScenario::Earlier)]
#[case::importing(CrashScenario::Import)]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no crash points")]
fn kill_at_a_point_loses_nothing(#[case] work: CrashScenario) {
    let rounds = work.points().len() * 2;
    run(&built_binaries!(), work, KillPlan::AtPoints { rounds }, SEED).assert_clean();
}

#[rstest]
#[case::hooks_that_write(CrashScenario::Direct)]
#[case::hooks_that_lay_aside(CrashScenario::Spool)]
#[case::hooks_that_send(CrashScenario::Socket)]
#[case::saves(CrashScenario::Save)]
#[case::indexing(CrashScenario::Index)]
#[case::rebuilding(CrashScenario::Rebuild)]
#[case::forgetting(CrashScenario::Forget)]
#[case::upgrading(CrashScenario::Upgrade)]
#[case::upgrading_from_an_earlier_version(CrashScenario::Earlier)]
#[case::importing(CrashScenario::Import)]
fn kill_at_a_random_moment_loses_nothing(#[case] work: CrashScenario) {
    let kills = work.points().len();
    run(&binaries!(), work, KillPlan::AtMoments { kills }, SEED).assert_clean();
}

#[test]
fn every_crash_point_is_tested() {
    let elsewhere = ["engine.open", "store.reset"];
    let tried: Vec<&str> = CrashScenario::ALL.iter().flat_map(|work| work.points()).copied().chain(elsewhere).collect();
    for (point, what) in POINTS {
        assert!(tried.contains(point), "no program is killed when {what}");
    }
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no crash points")]
fn failed_open_is_retried_by_the_next_call() {
    let sandbox = Sandbox::new(built_binaries!());
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).assert_success();
    let mut command = sandbox.memory_command();
    command.arg("serve").env("JIKIME_CRASH_AT", "panic=engine.open");
    let mut client = McpClient::start(command, Era::Modern);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).expect("an answer");
    assert_eq!(found.expect_success()["count"], 1);
    let closed = client.close();
    assert!(closed.stderr.contains("cannot open the store"), "{}", closed.stderr);
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build has no crash points")]
fn killed_reset_is_finished_by_the_next_process() {
    let sandbox = Sandbox::new(built_binaries!());
    sandbox.run_cli(["save", "decision", "Webhooks are acknowledged after the commit."]).assert_success();
    sandbox.write(".jikime/memory/memory.db", "no database at all, but long enough for a header".repeat(100));
    let mut command = sandbox.memory_command();
    command.args(["list", "--json"]).env("JIKIME_CRASH_AT", "store.reset");
    let killed = run_to_end(command, "", Duration::from_mins(1));
    assert!(killed.status.code().is_none(), "{killed:?}");
    let listed = sandbox.run_cli(["list", "--json"]).assert_success().json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed:#}");
}
