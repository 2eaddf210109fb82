use proptest::prelude::*;
use rstest::rstest;
use schema::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::state_note::MemoryState;
use schema::store::{EntryState, MemoryRow};

use super::*;
use crate::search::answer::lead_of_first;
use crate::search::answers_first::put_answers_first;
use crate::search::candidate::ScoreReasons;
use crate::search::current_state_first;
use crate::search::echo::AskedText;
use crate::text;
use crate::text::token_hashes::StemCache;

fn now() -> Moment {
    Moment::parse_rfc3339("2026-01-28T10:00:00+09:00").unwrap()
}

fn context(now: &Moment) -> RankContext<'_> {
    RankContext {
        now,
        scoring: Scoring::Full(None),
        asks_past: false,
        only_times: None,
        asks_decision: false,
        identifier: None,
        weights: &[],
    }
}

fn memory(kind: MemoryType, session: &str, content: &str, days_ago: i64, relevance: f32) -> Candidate {
    let at = Moment::from_unix(now().unix() - days_ago * 86_400, Some(32_400)).unwrap();
    let memory = Memory {
        id: MemoryId::derive(session, kind, &at, content, 0),
        session_id: session.to_owned(),
        kind,
        content: content.to_owned(),
        at,
        attributes: MemoryAttributes::default(),
    };
    let path = format!("{}.md", at.date());
    let row = MemoryRow {
        seq: 1,
        memory,
        path,
        superseded_by: None,
        access_count: 0,
        entry: EntryState::Found,
        state: MemoryState::default(),
    };
    let mut tokens = Vec::new();
    let mut stems = StemCache::for_thread();
    text::visit(content, |piece| tokens.push(stems.token_hash(piece)));
    Candidate {
        passage: Passage::Memory(Box::new(row)),
        tokens,
        matched: 1,
        relevance,
        reasons: ScoreReasons::default(),
        phrasing: 0,
    }
}

fn superseded(mut candidate: Candidate) -> Candidate {
    if let Passage::Memory(row) = &mut candidate.passage {
        row.superseded_by = MemoryId::parse("newer");
    }
    candidate
}

fn ranked_texts(candidates: Vec<Candidate>) -> Vec<String> {
    rank(candidates, &context(&now()), &|_, _| false)
        .into_iter()
        .map(|ranked| ranked.candidate.passage.text().to_owned())
        .collect()
}

#[test]
fn composed_summary_is_first_without_a_lead() {
    let answer = memory(MemoryType::AssistantResponse, "a", "The importer joins on the tenant", 1, 0.6);
    let written = memory(MemoryType::SessionSummary, "b", "The importer and the exporter were changed", 1, 0.5);
    let mut composed = written.clone();
    if let Passage::Memory(row) = &mut composed.passage {
        row.memory.attributes.auto = true;
    }
    let ranked = |summary: Candidate| rank(vec![answer.clone(), summary], &context(&now()), &|_, _| false);
    let (written, composed) = (ranked(written), ranked(composed));
    let is_summary = |ranked: &[RankedCandidate]| ranked[0].row().unwrap().memory.kind == MemoryType::SessionSummary;
    assert!(!is_summary(&written) && is_summary(&composed));
    assert_eq!(lead_of_first(&composed), 0.0);
    assert!(lead_of_first(&written) > 0.0);
}

/// With a least score of 2.0, nothing is shown.
#[rstest]
#[case::prompt(MemoryType::UserPrompt, "Why does the importer join on the tenant?", 0.3, (1, 2))]
#[case::open_task(MemoryType::Task, "test the importer", 0.3, (1, 1))]
#[case::something_else(MemoryType::Task, "test the importer of a tenant", 0.3, (2, 2))]
#[case::conclusion(MemoryType::Learning, "test the importer", 0.3, (2, 2))]
#[case::nothing_is_shown(MemoryType::UserPrompt, "Why does the importer join on the tenant?", 2.0, (2, 2))]
fn text_that_a_shown_hit_of_its_session_repeats_is_no_hit(
    #[case] kind: MemoryType,
    #[case] repeated: &str,
    #[case] min_score: f64,
    #[case] (below_summary, below_answer): (usize, usize),
) {
    let text = "Why does the importer join on the tenant? Open: test the importer; read the tenant";
    let answer = memory(MemoryType::AssistantResponse, "a", text, 1, 0.9);
    let mut summary = memory(MemoryType::SessionSummary, "a", text, 1, 0.9);
    if let Passage::Memory(row) = &mut summary.passage {
        row.memory.attributes.auto = true;
    }
    let hits_below = |first: Candidate| {
        let question = "importer tenant";
        let repeated = memory(kind, "a", repeated, 1, 0.6);
        let mut ranked = rank(vec![first, repeated], &context(&now()), &|_, _| false);
        put_answers_first(&AskedText::of([question].into_iter()), &mut ranked, question, min_score);
        ranked.len()
    };
    assert_eq!((hits_below(summary), hits_below(answer)), (below_summary, below_answer));
}

#[test]
fn a_statement_that_a_newer_one_changes_stands_behind_it() {
    let ranked = rank(
        vec![
            memory(MemoryType::Decision, "a", "Store the sessions in Redis", 9, 0.9),
            memory(MemoryType::Decision, "b", "Sessions go into Postgres, not Redis", 2, 0.6),
            memory(MemoryType::Decision, "c", "Cache the JWT keys in Redis", 5, 0.5),
        ],
        &context(&now()),
        &|_, _| false,
    );
    let superseded = |ranked: &RankedCandidate| ranked.candidate.passage.superseded_by().is_some();
    let found: Vec<_> = ranked.iter().map(|ranked| (ranked.candidate.passage.text(), superseded(ranked))).collect();
    let expected = [
        ("Sessions go into Postgres, not Redis", false),
        ("Cache the JWT keys in Redis", false),
        ("Store the sessions in Redis", true),
    ];
    assert_eq!(found, expected);
}

#[rstest]
#[case::of_another_session("b", true)]
#[case::of_the_same_conversation("a", false)]
fn a_change_stands_before_what_was_said_earlier_on_the_same_day(#[case] session: &str, #[case] is_first: bool) {
    let older = memory(MemoryType::AssistantResponse, "a", "Uploads of the app are limited to large files", 0, 0.9);
    let text = "The limit of uploads of the app was changed for large files";
    let mut newer = memory(MemoryType::AssistantResponse, session, text, 0, 0.8);
    if let Passage::Memory(row) = &mut newer.passage {
        row.seq = 2;
    }
    assert_eq!(ranked_texts(vec![older, newer])[0] == text, is_first);
}

#[test]
fn a_reversal_stands_before_a_composed_summary() {
    let mut summary = memory(MemoryType::SessionSummary, "a", "Write the config as YAML", 2, 0.7);
    if let Passage::Memory(row) = &mut summary.passage {
        row.memory.attributes.auto = true;
    }
    let reversal = memory(MemoryType::UserPrompt, "c", "no, back to TOML instead of YAML for the config", 1, 0.3);
    assert_eq!(ranked_texts(vec![summary, reversal])[0], "no, back to TOML instead of YAML for the config");
}

#[rstest]
#[case::summary(
    MemoryType::SessionSummary,
    MemoryType::SessionSummary,
    "In Postgres\nChanged: a.rs, store.rs",
    0.5,
    true
)]
#[case::other_file(MemoryType::SessionSummary, MemoryType::SessionSummary, "In Postgres\nChanged: a.rs", 0.5, false)]
#[case::no_file(MemoryType::SessionSummary, MemoryType::SessionSummary, "In Postgres", 0.5, false)]
#[case::weaker(MemoryType::SessionSummary, MemoryType::SessionSummary, "In Postgres\nChanged: store.rs", 0.4, false)]
#[case::prompt(MemoryType::SessionSummary, MemoryType::UserPrompt, "Sessions go to Postgres from now on.", 0.5, true)]
#[case::prompt_after_answer(
    MemoryType::AssistantResponse,
    MemoryType::UserPrompt,
    "Sessions go to Postgres.",
    0.5,
    true
)]
#[case::question(MemoryType::SessionSummary, MemoryType::UserPrompt, "Where are the sessions?", 0.5, false)]
#[case::edit(MemoryType::SessionSummary, MemoryType::ToolUsage, "Files modified: store.rs", 0.5, false)]
#[case::decision(MemoryType::Decision, MemoryType::UserPrompt, "Sessions go to Postgres.", 0.5, false)]
fn newer_summaries_and_prompts_go_before_older_hits(
    #[case] older: MemoryType,
    #[case] newer: MemoryType,
    #[case] text: &str,
    #[case] relevance: f32,
    #[case] is_first: bool,
) {
    let hit = |kind: MemoryType, text: &str, days_ago: i64, score: f32| RankedCandidate {
        candidate: memory(kind, &days_ago.to_string(), text, days_ago, score),
        score,
        lifts: RankLifts::default(),
    };
    let hits = |days_ago: [i64; 2]| {
        vec![
            hit(older, "In Redis\nChanged: store.rs and 3 more", days_ago[0], 1.0),
            hit(newer, text, days_ago[1], relevance),
        ]
    };
    let mut newer_below = hits([5, 1]);
    assert_eq!(current_state_first::reorder(&mut newer_below), is_first);
    assert_eq!((newer_below[0].candidate.passage.text() == text, newer_below[0].score), (is_first, 1.0));
    assert!(!current_state_first::reorder(&mut hits([1, 5])), "it is older");
}

#[test]
fn an_amendment_stands_before_what_it_amends() {
    let ranked = rank(
        vec![
            memory(
                MemoryType::UserPrompt,
                "a",
                "Cap the exponential backoff of the retry policy at 60 seconds",
                9,
                0.5,
            ),
            memory(
                MemoryType::UserPrompt,
                "b",
                "Amendment to the retry policy: backoff now caps at 30 seconds",
                2,
                0.4,
            ),
            memory(MemoryType::UserPrompt, "c", "Amendment to the holiday calendar of the office in Busan", 1, 0.39),
        ],
        &context(&now()),
        &|_, _| false,
    );
    let order: Vec<&str> = ranked.iter().map(|ranked| &ranked.candidate.passage.text()[..20]).collect();
    assert_eq!(order, ["Amendment to the ret", "Cap the exponential ", "Amendment to the hol"]);
    assert!(ranked[0].score >= ranked[1].score, "a threshold would hide the amendment alone");
}

#[test]
fn whole_identifier_stands_before_its_parts() {
    let now = now();
    let candidates = || {
        let parts = memory(MemoryType::Decision, "a", "use logical properties", 1, 0.8);
        vec![parts, memory(MemoryType::ToolUsage, "b", "+ export function toLogicalProperty(name) {", 1, 0.7)]
    };
    let context = RankContext { identifier: Some("toLogicalProperty"), ..context(&now) };
    let first = |context: &RankContext<'_>| {
        let ranked = rank(candidates(), context, &|_, _| false);
        ranked[0].row().unwrap().memory.session_id.clone()
    };
    assert_eq!(first(&context), "b");
    assert_eq!(first(&RankContext { scoring: Scoring::Stated, ..context }), "a", "its scores are stated");
}

#[test]
fn definition_of_an_identifier_stands_before_its_mentions() {
    let now = now();
    let candidates = vec![
        memory(MemoryType::AssistantResponse, "a", "`restoreTree` reads the storage of the session", 1, 0.8),
        memory(MemoryType::ToolUsage, "b", "+ export async function restoreTree() {", 1, 0.7),
        memory(MemoryType::ToolUsage, "c", "+ function restoreTreeOfTabs() {", 1, 0.7),
    ];
    let context = RankContext { identifier: Some("restoreTree"), ..context(&now) };
    let ranked = rank(candidates, &context, &|_, _| false);
    let sessions: Vec<&str> = ranked.iter().map(|ranked| ranked.row().unwrap().memory.session_id.as_str()).collect();
    assert_eq!(sessions, ["b", "a", "c"]);
}

#[test]
fn a_reversal_in_conversation_stands_before_what_it_replaces() {
    let found = ranked_texts(vec![
        memory(MemoryType::UserPrompt, "a", "Write the config as YAML", 2, 0.7),
        memory(MemoryType::AssistantResponse, "b", "The parser of the config is faster now.", 1, 0.5),
        memory(MemoryType::UserPrompt, "c", "no, back to TOML instead of YAML for the config", 1, 0.3),
    ]);
    let expected = ["no, back to TOML instead of YAML for the config", "Write the config as YAML"];
    assert_eq!(found[..2], expected);
    let older = ranked_texts(vec![
        memory(MemoryType::UserPrompt, "a", "Write the config as YAML", 1, 0.7),
        memory(MemoryType::UserPrompt, "c", "no, back to TOML instead of YAML for the config", 2, 0.3),
    ]);
    assert_eq!(older[0], "Write the config as YAML");
}

#[test]
fn a_newer_text_about_something_else_stays_behind() {
    let found = ranked_texts(vec![
        memory(MemoryType::UserPrompt, "a", "Cap the exponential backoff of the retry policy at 60 seconds", 9, 0.5),
        memory(MemoryType::UserPrompt, "b", "The holiday calendar was updated recently", 2, 0.45),
    ]);
    assert!(found[0].starts_with("Cap"), "{found:?}");
}

#[test]
fn curated_and_newer_win_at_equal_relevance() {
    let ranked = ranked_texts(vec![
        memory(MemoryType::UserPrompt, "a", "asked long ago", 300, 0.6),
        memory(MemoryType::UserPrompt, "b", "asked today", 0, 0.6),
        memory(MemoryType::Decision, "c", "decided once", 300, 0.6),
    ]);
    assert_eq!(ranked, ["decided once", "asked today", "asked long ago"]);
}

#[test]
fn preferences_are_mild_next_to_relevance() {
    let ranked = ranked_texts(vec![
        memory(MemoryType::Decision, "a", "a decision about something near", 0, 0.6),
        memory(MemoryType::ToolUsage, "b", "the very words", 900, 0.8),
    ]);
    assert_eq!(ranked[0], "the very words");
}

#[test]
fn superseded_memory_ranks_last() {
    let ranked = ranked_texts(vec![
        superseded(memory(MemoryType::Decision, "a", "use redis", 0, 0.9)),
        memory(MemoryType::UserPrompt, "b", "something else", 500, 0.36),
    ]);
    assert_eq!(ranked, ["something else", "use redis"]);
}

#[test]
fn best_of_duplicate_passages_is_kept() {
    let ranked = ranked_texts(vec![
        memory(MemoryType::UserPrompt, "a", "please cache the tokens in redis for five minutes", 0, 0.7),
        memory(MemoryType::Decision, "b", "Please cache the tokens in Redis, for five minutes!", 0, 0.7),
        memory(MemoryType::Decision, "c", "cache the sessions in memory", 0, 0.5),
    ]);
    assert_eq!(ranked, ["Please cache the tokens in Redis, for five minutes!", "cache the sessions in memory"]);
}

const KEPT: &str = "The nightly export job of the billing service writes its CSV files into the bucket billing-exports in \
                    region eu-west-1 and keeps them for 30 days before the lifecycle rule removes them from storage";

#[rstest]
#[case::number("30 days", "90 days")]
#[case::name("billing-exports", "ledger-exports")]
#[case::negation("and keeps", "and never keeps")]
fn newer_version_precedes_the_older_one(#[case] from: &str, #[case] to: &str) {
    let newer = KEPT.replace(from, to);
    for (kind, days) in [(MemoryType::Decision, 0), (MemoryType::AssistantResponse, 9)] {
        let older = memory(kind, "a", KEPT, 60, 0.7);
        let ranked = ranked_texts(vec![older, memory(kind, "b", &newer, days, 0.69)]);
        assert_eq!(ranked, [&newer, KEPT]);
    }
}

#[test]
fn newest_of_true_duplicates_is_kept() {
    let of_day = |session: &str, days| memory(MemoryType::Learning, session, KEPT, days, 0.7);
    let ranked = rank(vec![of_day("a", 60), of_day("b", 2), of_day("c", 9)], &context(&now()), &|_, _| false);
    let kept: Vec<_> = ranked.iter().filter_map(|ranked| Some(ranked.row()?.memory.session_id.as_str())).collect();
    assert_eq!(kept, ["b"]);
}

#[test]
fn conclusion_replaces_the_event_it_comes_from() {
    let prompt = memory(MemoryType::UserPrompt, "a", KEPT, 3, 0.7);
    let conclusion = KEPT.replace("nightly ", "");
    let mut decision = memory(MemoryType::Decision, "a", &conclusion, 3, 0.6);
    if let Passage::Memory(row) = &mut decision.passage {
        row.memory.attributes.source = MemoryId::parse(prompt.passage.id());
    }
    assert_eq!(ranked_texts(vec![prompt, decision]), [conclusion]);
}

#[test]
fn one_session_does_not_crowd_out_the_others() {
    let of_one = |n: u8| memory(MemoryType::UserPrompt, "loud", &format!("topic{n} of many"), 0, 0.9);
    let mut candidates: Vec<Candidate> = (0..8).map(of_one).collect();
    candidates.push(memory(MemoryType::UserPrompt, "quiet", "another voice", 0, 0.5));
    let ranked = ranked_texts(candidates);
    assert_eq!(ranked[PER_ORIGIN], "another voice");
    assert_eq!(ranked.len(), 9, "nothing is lost");
}

proptest! {
    #[test]
    fn no_preference_ever_lowers_a_score(kind in 0usize..11, days in 0i64..4_000, relevance in 0.01f32..1.0) {
        for ranked in rank(vec![memory(MemoryType::ALL[kind], "s", "one thing", days, relevance)], &context(&now()), &|_, _| false) {
            prop_assert!(ranked.score >= ranked.candidate.relevance);
        }
    }
}
