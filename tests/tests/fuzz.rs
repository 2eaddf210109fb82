//! Input that nobody would send: every kept one, and some seconds of mangled ones. `prove --suite fuzz` goes on for longer.

use std::time::Duration;

use harness::proof::fuzz::{Target, run};
use rstest::rstest;

/// How long each goes on.
const TIME: Duration = Duration::from_secs(3);

#[rstest]
#[case::hook_json(Target::HookJson)]
#[case::transcripts(Target::Transcript)]
#[case::daily_logs(Target::DailyLog)]
#[case::queue_frames(Target::QueueFrame)]
#[case::tool_arguments(Target::ToolArguments)]
#[case::queries(Target::Query)]
#[case::settings(Target::Settings)]
fn mangled_input_is_read_without_a_panic_a_hang_or_an_untruth(#[case] target: Target) {
    let tally = run(target, TIME, 20_260_128);
    tally.assert_clean();
    assert!(tally.rounds > target.corpus().len(), "{tally:?}");
}
