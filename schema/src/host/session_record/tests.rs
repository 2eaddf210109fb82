use rstest::rstest;

use crate::files::database::LockTimeout;
use crate::host::transcript::TurnTexts;
use crate::intake::capture::capture;
use crate::intake::prepare::Draft;
use crate::model::memory::MemoryAttributes;
use crate::privacy::sanitizer::Sanitizer;
use crate::store::Store;

use super::*;

fn store(memories: &[(MemoryType, &str)]) -> (tempfile::TempDir, Store) {
    let project = tempfile::tempdir().unwrap();
    let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
    for (n, (kind, content)) in memories.iter().enumerate() {
        let draft =
            Draft::new("s", *kind, *content, Moment::from_unix(1_769_563_815 + n as i64, Some(32_400)).unwrap());
        capture(&mut store, draft, &Sanitizer::default()).unwrap();
    }
    (project, store)
}

fn record(memories: &[(MemoryType, &str)]) -> SessionRecord {
    let (_project, store) = store(memories);
    SessionRecord::compose(store.rows(), "s").unwrap().unwrap()
}

const SESSION: [(MemoryType, &str); 9] = [
    (MemoryType::UserPrompt, "hi"),
    (MemoryType::AssistantResponse, "Hello! What shall we do?"),
    (MemoryType::UserPrompt, "The importer drops rows with an empty tenant. Why?"),
    (MemoryType::Error, "Bash failed: pytest tests/test_importer.py\n1 failed"),
    (
        MemoryType::ToolUsage,
        "Files modified: app/importer.py\nCommands: pytest tests/test_importer.py; git commit -am importer",
    ),
    (
        MemoryType::AssistantResponse,
        "Done. The importer joined on `tenant_id`, so rows without a tenant were lost; it is a left join now.",
    ),
    (MemoryType::Task, "Backfill the importer's lost rows of May"),
    (MemoryType::UserPrompt, "thanks, that's all"),
    (MemoryType::AssistantResponse, "You're welcome!"),
];

#[test]
fn record_summarises_a_session() {
    let text = record(&SESSION).summary().unwrap();
    insta::assert_snapshot!(text, @r"
    The importer drops rows with an empty tenant. Why?
    Outcome: The importer joined on `tenant_id`, so rows without a tenant were lost; it is a left join now.
    Open: Backfill the importer's lost rows of May
    Changed: app/importer.py
    Ran: pytest tests/test_importer.py; git commit -am importer
    Failed: Bash failed: pytest tests/test_importer.py 1 failed (open)
    About: importer, tenant, row
    ");
}

#[test]
fn agreement_that_changes_files_is_a_turn() {
    let said = [
        (MemoryType::UserPrompt, "How do we keep the importer from dropping rows?"),
        (MemoryType::AssistantResponse, "A left join on `tenant_id` keeps the rows. Shall I change the importer?"),
        (MemoryType::UserPrompt, "yes, do it"),
        (MemoryType::ToolUsage, "Files modified: app/importer.py"),
        (MemoryType::AssistantResponse, "The importer uses a left join now, and keeps rows without a tenant."),
        (MemoryType::UserPrompt, "What do other databases do with such rows in general?"),
        (
            MemoryType::AssistantResponse,
            "Most databases treat them the same way, and some of them warn about the join.",
        ),
    ];
    let record = record(&said);
    let turns: Vec<_> = record.turns.iter().map(|turn| (turn.asked.as_str(), turn.has_changes)).collect();
    assert_eq!(turns, [(said[0].1, false), ("yes, do it", true), (said[5].1, false)]);
    let summary = record.summary().unwrap();
    assert!(summary.contains("\nOutcome: The importer uses a left join now"), "{summary}");
    assert!(summary.contains("\nAnswered: A left join on `tenant_id` keeps the rows."), "{summary}");
}

#[test]
fn last_text_of_a_turn_without_an_end_is_no_outcome() {
    let asked = "Add a tree to find similar photos.";
    let mut memories = SESSION.to_vec();
    memories.extend([(MemoryType::UserPrompt, asked), (MemoryType::ToolUsage, "Files modified: src/tree.rs")]);
    let (_project, mut store) = store(&memories);
    let at = Moment::from_unix(1_769_564_800, Some(32_400)).unwrap();
    let said = TurnTexts { texts: vec!["The range of child edges is too small.".to_owned()], ..TurnTexts::default() };
    capture(&mut store, said.unfinished("s", at).unwrap(), &Sanitizer::default()).unwrap();
    let record = SessionRecord::compose(store.rows(), "s").unwrap().unwrap();
    let summary = record.summary().unwrap();
    assert!(summary.contains("\nUnfinished: The range of child edges is too small.\n"), "{summary}");
    let before = self::record(&SESSION);
    assert_eq!(record.outcome.map(|(text, _)| text), before.outcome.map(|(text, _)| text));
}

#[rstest]
#[case::report(MemoryType::AssistantResponse, "The range of child edges begins at the distance now.", None)]
#[case::edit(MemoryType::ToolUsage, "Files modified: src/tree.rs", None)]
#[case::edit_before(
    MemoryType::ToolUsage,
    "Files modified: src/tree.rs",
    Some("The range of child edges is too small.")
)]
fn turn_that_goes_on_is_not_unfinished(
    #[case] kind: MemoryType,
    #[case] content: &str,
    #[case] expected: Option<&str>,
) {
    let (_project, mut store) = store(&[(MemoryType::UserPrompt, "Add a tree to find similar photos.")]);
    let at = |second: i64| Moment::from_unix(1_769_563_820 + second, Some(32_400)).unwrap();
    let said = TurnTexts { texts: vec!["The range of child edges is too small.".to_owned()], ..TurnTexts::default() };
    let mut drafts = [said.unfinished("s", at(0)).unwrap(), Draft::new("s", kind, content, at(1))];
    if expected.is_some() {
        drafts.reverse();
    }
    for draft in drafts {
        capture(&mut store, draft, &Sanitizer::default()).unwrap();
    }
    let record = SessionRecord::compose(store.rows(), "s").unwrap().unwrap();
    assert_eq!(record.unfinished().map(|(text, _)| text), expected);
}

#[test]
fn small_talk_alone_is_not_a_real_session() {
    assert!(!record(&SESSION[..2]).is_real());
    assert_eq!(record(&SESSION[..2]).summary(), None);
    assert!(record(&SESSION[..4]).is_real());
    let passing =
        [(MemoryType::UserPrompt, "thanks, deploy went fine"), (MemoryType::AssistantResponse, "Glad to hear!")];
    assert!(!record(&passing).is_real());
    let (_project, store) = store(&SESSION);
    assert_eq!(SessionRecord::compose(store.rows(), "other").unwrap(), None);
}

#[test]
fn long_session_keeps_its_first_title() {
    let prompts: Vec<String> = (0..2 * READ_MEMORIES).map(|n| format!("Fix the parser of format {n}")).collect();
    let memories: Vec<_> = prompts.iter().map(|text| (MemoryType::UserPrompt, text.as_str())).collect();
    let record = record(&memories);
    assert_eq!(record.title.as_deref(), Some("Fix the parser of format 0"));
    assert_eq!(record.turns.len(), READ_MEMORIES);
}

#[test]
fn second_session_end_replaces_the_summary() {
    let (_project, mut store) = store(&SESSION);
    let at = |second: i64| Moment::from_unix(1_769_563_900 + second, Some(32_400)).unwrap();
    let ended = SessionMetadata {
        acknowledgements: 2,
        end_reason: Some("clear".to_owned()),
        branch: Some("main".to_owned()),
        ..SessionMetadata::default()
    };
    let close = |store: &Store, second| closing_summary(store.rows(), "s", &ended, at(second)).unwrap();
    let first = close(&store, 0).unwrap();
    assert_eq!(first.attributes.metadata["branch"], "main");
    capture(&mut store, first.clone(), &Sanitizer::default()).unwrap();
    let session = store.rows().session("s").unwrap().unwrap();
    assert_eq!((session.summary, session.ended, session.prompts), (Some(first.content.clone()), at(0), 3 + 2));
    assert_eq!(close(&store, 5), None, "nothing happened since");
    let moved = SessionMetadata { branch: Some("feature".to_owned()), ..ended.clone() };
    let elsewhere = closing_summary(store.rows(), "s", &moved, at(5)).unwrap().unwrap();
    assert_eq!(elsewhere.content, first.content);
    capture(&mut store, elsewhere, &Sanitizer::default()).unwrap();
    let session = store.rows().session("s").unwrap().unwrap();
    assert_eq!(session.details["branch"], "feature", "the same text may end elsewhere");
    let said = |kind, content: &str, second| {
        let attributes = MemoryAttributes::default();
        Draft { kind, content: content.to_owned(), at: at(second), attributes, ..first.clone() }
    };
    let asked = said(MemoryType::UserPrompt, "And the exporter?", 8);
    let answered = said(MemoryType::AssistantResponse, "The exporter joins the same way, and lost no rows so far.", 9);
    for draft in [asked, answered] {
        capture(&mut store, draft, &Sanitizer::default()).unwrap();
    }
    let second = close(&store, 10).unwrap();
    let known = store
        .rows()
        .list(&MemoryFilter { kind: Some(MemoryType::SessionSummary), ..MemoryFilter::default() }, 9)
        .unwrap();
    assert_eq!(second.attributes.supersedes.as_ref(), Some(&known[0].memory.id));
    assert_eq!(SessionRecord::compose(store.rows(), "s").unwrap().unwrap().metadata, moved);
}

#[test]
fn unfinished_session_gets_its_summary_later() {
    let (_project, mut store) = store(&SESSION);
    let at = |second: i64| Moment::from_unix(1_769_563_815 + second, Some(32_400)).unwrap();
    let missing = |store: &Store, other: &str, second| missing_summaries(store.rows(), other, at(second)).unwrap();
    assert_eq!(missing(&store, "new", 3), [], "it may still go on");
    assert_eq!(missing(&store, "s", 3_600), [], "it is this one");
    let found = missing(&store, "new", 3_600);
    assert_eq!(found.iter().map(|draft| draft.at).collect::<Vec<_>>(), [at(8)]);
    capture(&mut store, found.into_iter().next().unwrap(), &Sanitizer::default()).unwrap();
    assert_eq!(missing(&store, "new", 3_600), []);
}

#[rstest]
#[case::state("The exporter now writes CSV.", true)]
#[case::past("Fixed the bug in the parser.", true)]
#[case::nothing("Nothing is running now.", false)]
#[case::done("Done.", false)]
#[case::question("Is the parser fixed now?", false)]
fn short_answer_with_a_result_is_the_outcome(#[case] answer: &str, #[case] is_outcome: bool) {
    let (_project, store) =
        store(&[(MemoryType::UserPrompt, "Change the f file, please."), (MemoryType::AssistantResponse, answer)]);
    let record = SessionRecord::compose(store.rows(), "s").unwrap().unwrap();
    assert_eq!(record.outcome.map(|(text, _)| text).as_deref(), Some(answer).filter(|_| is_outcome));
}
