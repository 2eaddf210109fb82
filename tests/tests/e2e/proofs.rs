//! The short forms of proofs. `prove --suite NAME` runs the long ones.

use harness::binaries;
use harness::proof::editors::{Editor, EventSource};
use harness::proof::fuzz::FuzzTarget;
use harness::proof::{RunLength, concurrency, editors, fuzz, secrets};
use rstest::rstest;

/// Makes rounds reproducible.
const SEED: u64 = 20_260_128;

#[test]
fn concurrent_writers_lose_nothing() {
    concurrency::run(&binaries!(), RunLength::Rounds(3_000), SEED).assert_clean();
}

#[test]
fn index_opens_while_it_is_constantly_replaced() {
    concurrency::run_opening(&binaries!(), RunLength::Rounds(1_200), SEED).assert_clean();
}

#[test]
fn editors_and_git_next_to_hooks_lose_nothing() {
    let tallies = editors::run_all(&binaries!(), "", Editor::rounds_of_a_loop, SEED);
    assert_eq!(tallies.len(), Editor::ALL.len() * EventSource::ALL.len());
    let findings: Vec<&String> = tallies.iter().flat_map(|tally| &tally.findings).collect();
    assert!(findings.is_empty(), "{findings:#?}");
    for tally in tallies {
        assert!(tally.faults > 0, "nothing was sent while it worked: {tally:?}");
    }
}

/// Five of six events are new memories.
#[test]
#[cfg(target_os = "linux")]
fn server_memory_grows_only_with_memories() {
    harness::proof::soak::run(&binaries!(), RunLength::Rounds(3_000), SEED).assert_clean();
}

/// Enough inputs for some seconds in a debug build.
#[rstest]
#[case::hook_json(FuzzTarget::HookJson, 100_000)]
#[case::transcripts(FuzzTarget::Transcript, 3_500)]
#[case::daily_logs(FuzzTarget::DailyLog, 2_200)]
#[case::queue_frames(FuzzTarget::QueueFrame, 380_000)]
#[case::tool_arguments(FuzzTarget::ToolArguments, 68_000)]
#[case::queries(FuzzTarget::Query, 400)]
#[case::settings(FuzzTarget::Settings, 43_000)]
fn mutated_input_is_read_correctly(#[case] target: FuzzTarget, #[case] inputs: usize) {
    fuzz::run(target, RunLength::Rounds(inputs), SEED).assert_clean();
}

/// The unit tests have the tables of secrets.
#[test]
fn secrets_are_redacted_with_few_false_positives() {
    let tally = secrets::run();
    let told = format!("{}\n{}", tally.measured, tally.findings.join("\n"));
    let count = |what: &str| tally.findings.iter().filter(|finding| finding.starts_with(what)).count();
    let (left, changed) = (count("left as it is"), count("no secret in"));
    assert_eq!(tally.findings.len(), left + changed, "something is cleaned again or grows: {told}");
    assert!(tally.rounds > 20_000, "too little was looked at: {told}");
    assert!(left <= 3 && changed <= tally.rounds / 2_000, "{told}");
}
