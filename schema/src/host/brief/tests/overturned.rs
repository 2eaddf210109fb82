//! Decisions and values that a later turn revised, reverted or overwrote. The brief leaves them out.

use rstest::rstest;

use super::*;

#[rstest]
#[case::taken("The history needs a filter by month before the upload. Let's build it on Drift.", true)]
#[case::taken_by_means("upload 전에 필터가 필요하니 Drift로 다시 만들자", true)]
#[case::in_small_letters("the upload is too slow. rip it out, back to plain sqlite via drift", true)]
#[case::asked("Would the upload be faster with Drift?", false)]
#[case::both("Compare Hive with Drift for the upload in the docs", false)]
#[case::another_subject("Paint the login button with Drift blue", false)]
#[case::given_up("The upload stays as it is, never use Drift for that", false)]
#[case::changed_because_of_speed("Hive is too slow for the upload, switch to Drift", true)]
#[case::changed_with_a_reason("Hive loses runs before the upload when the app is killed, so switch to Drift", true)]
#[case::also("Put the settings of the upload into Drift, too", false)]
#[case::refused("We won't move the upload to Drift, whatever Ben says", false)]
#[case::beside_it("Keep Hive for the settings of the upload. The uploaded runs go to Drift.", false)]
fn revised_choice_is_not_shown(#[case] later: &str, #[case] is_revised: bool) {
    let mut fixture = BriefFixture::new(&[]);
    let offer = "A run is one blob, so Hive is enough: no schema. With Drift we would have more than we need.";
    fixture.capture(
        "first",
        MemoryType::UserPrompt,
        "Where do finished runs live until the upload?",
        MemoryAttributes::default(),
    );
    fixture.capture("first", MemoryType::AssistantResponse, offer, MemoryAttributes::default());
    let besides = "And the log file must hide raw coordinates";
    let chosen = format!("fine, Hive it is. {besides}");
    let source = fixture.capture("first", MemoryType::UserPrompt, &chosen, MemoryAttributes::default());
    let concluded = MemoryAttributes { auto: true, source: Some(source), ..MemoryAttributes::default() };
    fixture.capture("first", MemoryType::Decision, besides, concluded);
    for (session, kind, text) in [
        ("first", MemoryType::AssistantResponse, "Finished runs wait in a Hive box."),
        ("second", MemoryType::UserPrompt, later),
        ("second", MemoryType::AssistantResponse, "Done, with two tests."),
    ] {
        fixture.capture(session, kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert_eq!(!shown.contains("Hive it is") && !shown.contains("Hive box"), is_revised, "{shown}");
    assert!(shown.contains("hide raw coordinates"), "{shown}");
}

#[rstest]
#[case::by_hash("git revert --no-edit 4be19c2", true)]
#[case::last("git revert HEAD", true)]
#[case::another("git revert 90d1c7e", false)]
#[case::only_named("git show 4be19c2", false)]
fn reverted_commit_abandons_its_turn(#[case] command: &str, #[case] is_abandoned: bool) {
    let mut fixture = BriefFixture::new(&[]);
    let commit = "Files modified: combat/damage.gd\nCommands: git commit -qam 'combat: hurt each other' # 4be19c2f";
    for (session, kind, text) in [
        ("first", MemoryType::UserPrompt, "and turn friendly fire on, that is way funnier"),
        ("first", MemoryType::ToolUsage, commit),
        ("first", MemoryType::AssistantResponse, "Players can hurt each other now, tests pass."),
        ("second", MemoryType::UserPrompt, "the griefing has to end, take that commit back"),
        ("second", MemoryType::ToolUsage, &format!("Commands: {command}")),
        ("second", MemoryType::AssistantResponse, "Teammates take no damage."),
    ] {
        fixture.capture(session, kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert_eq!(!shown.contains("friendly fire") && !shown.contains("can hurt each"), is_abandoned, "{shown}");
    assert!(shown.contains("griefing"), "{shown}");
}

#[test]
fn overwritten_value_is_not_shown() {
    let mut fixture = BriefFixture::new(&[]);
    for (session, kind, text) in [
        ("first", MemoryType::UserPrompt, "cut the lectures into segments of 4 seconds"),
        ("first", MemoryType::ToolUsage, "Files modified: ladder.py\n+ SEGMENT = 4"),
        ("first", MemoryType::AssistantResponse, "Lectures are cut into 4-second segments. 12 tests pass."),
        ("first", MemoryType::UserPrompt, "uploads that fail are tried again 4 times"),
        ("first", MemoryType::AssistantResponse, "The client tries four times now."),
        ("second", MemoryType::UserPrompt, "old screens pause with short ones, 6 please"),
        ("second", MemoryType::ToolUsage, "Files modified: ladder.py\n- SEGMENT = 4\n+ SEGMENT = 6"),
        ("second", MemoryType::AssistantResponse, "Changed for new uploads."),
    ] {
        fixture.capture(session, kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert!(!shown.contains("segments of 4") && !shown.contains("4-second"), "{shown}");
    // The outcome goes with its short order, also what else it says.
    assert!(!shown.contains("12 tests pass") && shown.contains("6 please"), "{shown}");
    assert!(shown.contains("again 4 times"), "{shown}");
}

/// The later turn may only have repaired it. A failure divides the tool use of a turn.
#[rstest]
#[case::whole_turn(None, true)]
#[case::part_of_a_turn(Some("Files modified: auth.py\n+ raise Locked(user)"), false)]
fn report_of_a_turn_that_was_rewritten_is_not_shown(#[case] more: Option<&str>, #[case] is_hidden: bool) {
    let mut fixture = BriefFixture::new(&[]);
    let more = more.map(|text| ("first", MemoryType::ToolUsage, text));
    let mut said = vec![
        ("first", MemoryType::UserPrompt, "compare the tokens in constant time, security wants it"),
        ("first", MemoryType::ToolUsage, "Files modified: auth.py\n+ return hmac.compare_digest(a, b)"),
    ];
    said.extend(more);
    said.extend([
        ("first", MemoryType::AssistantResponse, "The login uses compare_digest. Still open: rotate the old tokens."),
        ("second", MemoryType::UserPrompt, "a token can be None, that raises a TypeError"),
        (
            "second",
            MemoryType::ToolUsage,
            "Files modified: auth.py\n- return hmac.compare_digest(a, b)\n+ return verify(token)",
        ),
        ("second", MemoryType::AssistantResponse, "Empty tokens are refused, with a test."),
    ]);
    for (session, kind, text) in said {
        fixture.capture(session, kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert_eq!(!shown.contains("uses compare_digest"), is_hidden, "{shown}");
    assert!(shown.contains("in constant time"), "{shown}");
}

#[test]
fn order_that_the_next_prompt_takes_back_is_not_shown() {
    let mut fixture = BriefFixture::new(&[]);
    for (kind, text) in [
        (MemoryType::UserPrompt, "benchmarks?"),
        (MemoryType::AssistantResponse, "matmul is 6.8 % slower, everything else is noise."),
        (MemoryType::UserPrompt, "try moving it behind the bounds checks, please"),
        (MemoryType::AssistantResponse, "matmul recovers, but spectral loses 9 %."),
        (MemoryType::UserPrompt, "revert that, mark the restrict loads instead"),
        (MemoryType::AssistantResponse, "Reverted and solved with a mark on restrict loads."),
    ] {
        fixture.capture("first", kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert!(!shown.contains("behind the bounds checks"), "{shown}");
    assert!(shown.contains("restrict loads"), "{shown}");
}

#[test]
fn failures_of_earlier_sessions_are_not_shown() {
    let mut fixture = BriefFixture::new(&[]);
    for (session, kind, text) in [
        ("first", MemoryType::UserPrompt, "upgrade to Rails 7 and check that it starts"),
        ("first", MemoryType::Error, "Bash failed: bin/rails runner\nundefined method autoloader="),
        ("first", MemoryType::AssistantResponse, "It starts now."),
        ("second", MemoryType::UserPrompt, "why are all users logged out since then?"),
        ("second", MemoryType::Error, "Bash failed: bin/rails test\nexpected 200, got 302"),
        ("second", MemoryType::AssistantResponse, "The default digest of cookies has changed."),
    ] {
        fixture.capture(session, kind, text, MemoryAttributes::default());
    }
    let shown = fixture.startup_brief();
    assert!(shown.contains("expected 200") && !shown.contains("autoloader"), "{shown}");
    let resumed = fixture.brief_for("first", SessionSource::Resume, 4_000).unwrap().text;
    assert!(!resumed.contains("expected 200") && resumed.contains("autoloader"), "{resumed}");
}

#[test]
fn interrupted_prompt_of_a_resumed_session_is_shown() {
    let mut fixture = BriefFixture::new(&[]);
    for (kind, text) in [
        (MemoryType::UserPrompt, "the recordings are too large, 6 GB each"),
        (
            MemoryType::AssistantResponse,
            "They have 60 frames a second and 12 Mbit/s. For slides, 10 frames and 1.2 Mbit/s are enough, which makes 600 MB.",
        ),
        (MemoryType::UserPrompt, "15 frames, writing looks choppy at 10"),
    ] {
        fixture.capture("first", kind, text, MemoryAttributes::default());
    }
    let shown = fixture.brief_for("first", SessionSource::Resume, 4_000).unwrap().text;
    assert!(shown.contains("Asked last: \"15 frames"), "{shown}");
}
