//! Programs killed at every point and at random moments lose nothing that somebody was told to be kept.

#![cfg(unix)]

use harness::binaries;
use harness::proof::crash::{Work, has_points, run};
use rstest::rstest;
use schema::crash::POINTS;

/// Rounds are done again with their seed.
const SEED: u64 = 20_260_128;

#[rstest]
#[case::hooks_that_write(Work::Direct)]
#[case::hooks_that_lay_aside(Work::Spool)]
#[case::hooks_that_send(Work::Socket)]
#[case::saves(Work::Save)]
#[case::indexing(Work::Index)]
#[case::rebuilding(Work::Rebuild)]
#[case::forgetting(Work::Forget)]
#[case::upgrading(Work::Upgrade)]
#[case::importing(Work::Import)]
fn what_was_told_to_be_kept_is_there_once_after_a_crash(#[case] work: Work) {
    // Every point once, and a random moment after each.
    let tally = run(&binaries!(), work, work.points().len() * 2, SEED);
    tally.assert_clean();
    assert!(!has_points() || tally.faults >= work.points().len(), "too few were killed: {tally:?}");
}

#[test]
fn every_point_is_come_by_in_some_work_or_in_another_test() {
    let elsewhere = ["engine.open", "store.set-aside"];
    let tried: Vec<&str> = Work::ALL.iter().flat_map(|work| work.points()).copied().chain(elsewhere).collect();
    for (point, what) in POINTS {
        assert!(tried.contains(point), "nobody is killed when {what}");
    }
}
