//! Invalid input: the corpus, and some seconds of mutated input. `prove --suite fuzz` runs longer.

use harness::proof::RunLength;
use harness::proof::fuzz::{FuzzTarget, run};
use rstest::rstest;

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
    run(target, RunLength::Rounds(inputs), 20_260_128).assert_clean();
}
