//! Memories that are replaced, repeated, done or shown elsewhere.

use super::*;

#[test]
fn superseded_memory_is_not_shown() {
    let mut fixture = BriefFixture::new(&HISTORY);
    let old = fixture.capture("a", MemoryType::Decision, "Logs are kept a year", MemoryAttributes::default());
    let attributes = MemoryAttributes { supersedes: Some(old), ..MemoryAttributes::default() };
    fixture.capture("b", MemoryType::Decision, "Nobody keeps a log longer than the law says", attributes);
    let text = fixture.startup_brief();
    assert!(text.contains("longer than the law") && !text.contains("a year"), "{text}");
}

#[test]
fn replaced_decision_is_not_shown() {
    let mut fixture = BriefFixture::new(&[
        ("a", MemoryType::UserPrompt, "Where do the sessions go?"),
        (
            "a",
            MemoryType::AssistantResponse,
            "Sessions are stored in Redis. The keys have the prefix `sess`, and expire after a day.",
        ),
        ("a", MemoryType::Decision, "Store the sessions in Redis"),
        ("a", MemoryType::Decision, "Sign cookies with Ed25519"),
    ]);
    fixture.capture("b", MemoryType::Decision, "Sessions go into Postgres, not Redis", MemoryAttributes::default());
    let text = fixture.startup_brief();
    assert!(!text.contains("Store the sessions") && !text.contains("stored in Redis"), "{text}");
    assert!(text.contains("Ed25519") && text.contains("prefix `sess`"), "what still holds stays: {text}");
}

#[test]
fn explicit_and_pinned_decisions_come_before_extracted_ones() {
    let mut fixture = BriefFixture::new(&[]);
    let auto = MemoryAttributes { auto: true, ..MemoryAttributes::default() };
    let pinned = MemoryAttributes { pinned: true, ..MemoryAttributes::default() };
    fixture.capture("a", MemoryType::Decision, "Alpha is pinned", pinned);
    fixture.capture("a", MemoryType::Decision, "Beta is saved", MemoryAttributes::default());
    fixture.capture("a", MemoryType::Decision, "Gamma is extracted", auto);
    let text = fixture.startup_brief();
    let at = |word: &str| text.find(word).unwrap();
    assert!(at("Alpha") < at("Beta") && at("Beta") < at("Gamma"), "{text}");
}

#[test]
fn repeated_failure_is_shown_once_with_its_count() {
    let failure = ("old", MemoryType::Error, "Bash failed: cargo deny check\nlicence of foo");
    let text =
        BriefFixture::new(&[failure, ("new", failure.1, failure.2), ("other", failure.1, failure.2)]).startup_brief();
    assert_eq!(text.matches("cargo deny").count(), 1, "{text}");
    assert!(text.contains("- cargo deny check: licence of foo (2026-01-28, ") && text.contains(", 3 times)"), "{text}");
}

#[test]
fn resolved_and_closed_memories_are_not_shown() {
    let mut fixture = BriefFixture::new(&HISTORY);
    let task = fixture.capture("old", MemoryType::Task, "Translate the messages", MemoryAttributes::default());
    let failure = ("Bash failed: make docs\nno rule", MemoryType::Error);
    let failure = fixture.capture("old", failure.1, failure.0, MemoryAttributes::default());
    for (about, change) in
        [(task, StateChange::Closed(Settlement::Done)), (failure, StateChange::Resolved(Settlement::Done))]
    {
        fixture.second += 1;
        let at = Moment::from_unix(fixture.second, Some(32_400)).unwrap();
        append_notes(&mut fixture.store, &[StateNote { about, at, change }]).unwrap();
    }
    let text = fixture.startup_brief();
    assert!(!text.contains("Translate") && !text.contains("make docs") && text.contains("cargo deny"), "{text}");
}

#[test]
fn task_shows_what_it_waits_for_until_done() {
    let mut fixture = BriefFixture::new(&[]);
    let first = fixture.capture("a", MemoryType::Task, "Renew the wildcard certificate", MemoryAttributes::default());
    let waiting = |by: &str| MemoryAttributes {
        metadata: json!({"blocked_by": by}).as_object().unwrap().clone(),
        ..MemoryAttributes::default()
    };
    fixture.capture("a", MemoryType::Task, "Cut over the DNS", waiting(first.as_str()));
    fixture.capture("a", MemoryType::Task, "Send the invoice", waiting("Dana's list"));
    let short = first.as_str()[..8].to_uppercase();
    let mail = format!("Mail the users (blocked by: {short})");
    fixture.capture("a", MemoryType::Task, &mail, MemoryAttributes::default());
    let text = fixture.startup_brief();
    assert!(text.contains("Cut over the DNS [waits for: Renew the wildcard certificate] ("), "{text}");
    assert!(text.contains("Send the invoice [waits for: Dana's list] ("), "{text}");
    assert!(text.contains(&format!("{mail} [waits for: Renew the wildcard certificate] (")), "{text}");
    fixture.capture(
        "b",
        MemoryType::AssistantResponse,
        "Renewed the wildcard certificate; it is installed.",
        MemoryAttributes::default(),
    );
    let text = fixture.startup_brief();
    assert!(text.contains("- [ ] Cut over the DNS (") && !text.contains("Renew the wildcard certificate ("), "{text}");
    assert!(text.contains("- [ ] Mail the users (") && !text.contains(&short), "{text}");
}

#[test]
fn pinned_memory_is_shown_at_any_age() {
    let mut fixture = BriefFixture::new(&[]);
    let pinned = MemoryAttributes { pinned: true, ..MemoryAttributes::default() };
    fixture.capture("a", MemoryType::Decision, "The oldest one is pinned", pinned);
    for number in 0..80 {
        fixture.capture("a", MemoryType::Decision, &format!("Decision of number{number}"), MemoryAttributes::default());
    }
    assert!(fixture.startup_brief().contains("The oldest one is pinned"));
}

#[test]
fn listed_tasks_are_not_repeated_in_an_outcome() {
    let mut fixture = BriefFixture::new(&[
        ("a", MemoryType::UserPrompt, "Write the parser of the feed"),
        ("a", MemoryType::AssistantResponse, "The parser is written. Still open: translate the docs; tag the release."),
    ]);
    let done = MemoryAttributes { done: true, ..MemoryAttributes::default() };
    fixture.capture("a", MemoryType::Task, "translate the docs", done);
    fixture.capture("a", MemoryType::Task, "tag the release", MemoryAttributes::default());
    let text = fixture.startup_brief();
    assert!(text.contains("- [ ] tag the release"), "{text}");
    assert!(!text.contains("Still open") && !text.contains("translate the docs"), "{text}");
}

#[test]
fn open_task_is_not_repeated_in_an_outcome() {
    let mut fixture = BriefFixture::new(&[
        ("a", MemoryType::UserPrompt, "Write the parser of the feed"),
        ("a", MemoryType::AssistantResponse, "The parser is written. Next: tag the release. It takes a minute."),
    ]);
    fixture.capture("a", MemoryType::Task, "Next: tag the release.", MemoryAttributes::default());
    let text = fixture.startup_brief();
    assert!(text.contains("Outcome: The parser is written. It takes a minute.\n"), "{text}");
    assert!(text.contains("- [ ] Next: tag the release."), "{text}");
}

#[test]
fn short_order_without_its_answer_is_not_shown() {
    let mut fixture = BriefFixture::new(&HISTORY);
    fixture.capture("old", MemoryType::UserPrompt, "push it now", MemoryAttributes::default());
    fixture.capture(
        "old",
        MemoryType::UserPrompt,
        "Rename the mask to filter in the public interface",
        MemoryAttributes::default(),
    );
    let text = fixture.startup_brief();
    assert!(!text.contains("push it") && text.contains("Rename the mask to filter"), "{text}");
}

#[test]
fn session_of_a_replaced_request_is_not_shown() {
    let fixture = BriefFixture::new(&[
        ("a", MemoryType::UserPrompt, "Store the results in S3 as parquet, because finance asks for it"),
        ("b", MemoryType::UserPrompt, "Drop S3 and parquet, store the results in Oracle instead"),
        ("b", MemoryType::AssistantResponse, "The results are stored in Oracle now, in the table SETTLE_DAILY."),
    ]);
    let text = fixture.startup_brief();
    assert!(!text.contains("\"…"), "{text}");
}

#[test]
fn turns_are_shown_after_what_was_decided() {
    let mut fixture = BriefFixture::new(&HISTORY);
    fixture.capture("old", MemoryType::UserPrompt, "Which mask does it use?", MemoryAttributes::default());
    let answer = "It uses IN_MOVED_TO as well, because a rename arrives as two events of the directory.";
    fixture.capture("old", MemoryType::AssistantResponse, answer, MemoryAttributes::default());
    let text = fixture.startup_brief();
    let place = |heading: &str| text.find(heading).unwrap_or_else(|| panic!("{heading}: {text}"));
    assert!(place("Decided and agreed:") < place("Asked and answered in these sessions:"), "{text}");
}

#[test]
fn done_task_is_not_shown() {
    let mut fixture = BriefFixture::new(&[]);
    fixture.capture("a", MemoryType::Task, "Open it", MemoryAttributes::default());
    fixture.capture("a", MemoryType::Task, "Close it", MemoryAttributes { done: true, ..MemoryAttributes::default() });
    let text = fixture.startup_brief();
    assert!(text.contains("- [ ] Open it (") && !text.contains("Close it"), "{text}");
}

const ABANDONED: [(&str, MemoryType, &str); 3] = [
    ("earlier", MemoryType::UserPrompt, "Labels get their text over BLE, because all have a phone"),
    ("earlier", MemoryType::ToolUsage, "Files modified: src/radio_link.rs, tests/link.rs"),
    ("earlier", MemoryType::AssistantResponse, "A GATT service takes name and box of each horse."),
];

#[rstest]
#[case::removed("Files modified: src/lora.rs\nCommands: git rm src/radio_link.rs", false)]
#[case::with_its_directory("Files modified: src/lora.rs\nCommands: git rm -r src", true)]
#[case::moved("Files modified: radio/radio_link.rs\nCommands: git rm src/radio_link.rs", true)]
#[case::written_again("Files modified: src/radio_link.rs\nCommands: git rm src/radio_link.rs", true)]
#[case::dry_run("Files modified: src/lora.rs\nCommands: git rm -n src/radio_link.rs", true)]
#[case::only_untracked("Files modified: src/lora.rs\nCommands: git rm --cached src/radio_link.rs", true)]
#[case::edited_for_more("Files modified: src/radio_link.rs", true)]
fn turn_whose_files_were_removed_is_not_shown(#[case] later: &str, #[case] is_shown: bool) {
    let later = [
        ("later", MemoryType::UserPrompt, "Show the feed plan of each horse, too"),
        ("later", MemoryType::ToolUsage, later),
        ("later", MemoryType::AssistantResponse, "The office sends the cards, and nobody has to touch a label."),
    ];
    let text = BriefFixture::new(&[ABANDONED.as_slice(), &later].concat()).startup_brief();
    assert_eq!((text.contains("GATT service"), text.contains("over BLE")), (is_shown, is_shown), "{text}");
}
