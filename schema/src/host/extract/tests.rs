use std::path::PathBuf;

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::host::transcript::{ReadFrom, utterances};
use MemoryType::{Decision, ErrorFix, Learning};

mod decisions;
mod fixes;
mod learnings;
mod second;
mod third;

fn extract(said: impl IntoIterator<Item = Utterance>) -> Vec<Conclusion> {
    super::extract(said, &Sanitizer::default())
}

fn at() -> Moment {
    Moment::parse_rfc3339("2026-01-28T10:30:15+09:00").unwrap()
}

fn answer(text: &str) -> Utterance {
    Utterance::Answer { text: text.to_owned(), at: at() }
}

fn conclusions_in(text: &str) -> Vec<(MemoryType, String)> {
    extract([answer(text)]).into_iter().map(|found| (found.kind, found.content)).collect()
}

/// Asserts that every line is found once, with this type.
#[track_caller]
fn assert_found(kind: MemoryType, lines: &[&str]) {
    let missed: Vec<_> =
        lines.iter().filter(|line| !matches!(&conclusions_in(line)[..], [(k, _)] if *k == kind)).collect();
    assert!(missed.is_empty(), "{} of {} are missed: {missed:#?}", missed.len(), lines.len());
}

#[track_caller]
fn assert_nothing_found(lines: &[&str]) {
    let taken: Vec<_> = lines.iter().filter(|line| !conclusions_in(line).is_empty()).collect();
    assert!(taken.is_empty(), "{} of {} are taken: {taken:#?}", taken.len(), lines.len());
}

#[test]
fn explicit_sentences_are_found() {
    let cases = [
        (Decision, "We decided to keep the queue on a Unix socket."),
        (Decision, "Decision: use Postgres for the ledger."),
        (Decision, "**Decision:** cache tokens in Redis for five minutes."),
        (Decision, "- Decision: one writer thread, bounded channel."),
        (Decision, "Final decision: ship without the feature flag."),
        (Decision, "Let's go with SQLite instead of Postgres because it needs no server."),
        (Decision, "OK, let's go with the streaming parser."),
        (Decision, "After benchmarking both, we decided to keep serde_json."),
        (Decision, "We've decided not to support Windows 7."),
        (Decision, "We agreed to freeze the wire format before the release."),
        (Decision, "We settled on tabs of four columns everywhere."),
        (Decision, "I decided to use a B-tree here so that ranges stay cheap."),
        (Decision, "The team agreed on semantic versioning for the API."),
        (Decision, "It was decided that logs are kept for thirty days."),
        (Decision, "We decided against a message broker."),
        (Decision, "We opted for exponential backoff, capped at 30 seconds."),
        (Decision, "We chose axum over actix for its tower middleware."),
        (Decision, "We went with blue-green deployments for the API."),
        (Decision, "결정: JWT 토큰은 Redis에 5분 동안 캐시한다."),
        (Decision, "- 결정 사항: 로그는 30일만 보관한다."),
        (Decision, "세션 저장소로 Redis를 쓰기로 했다."),
        (Decision, "인덱스는 별도 파일로 두기로 결정했습니다."),
        (Decision, "배포는 매주 화요일에 하기로 합의했다."),
        (Decision, "재시도는 하지 않기로 했습니다."),
        (Decision, "기본 포맷을 JSON으로 확정했다."),
        (Decision, "MySQL 대신 Postgres로 가자."),
        (Decision, "타임아웃은 5초로 두기로 했고 재시도는 세 번으로 제한한다."),
        (Learning, "TIL: git worktrees share the same object store."),
        (Learning, "Lesson learned: never run migrations inside the request."),
        (Learning, "We learned that FTS5 drops the tokenizer on VACUUM."),
        (Learning, "Learned that the linter ignores generated files."),
        (Learning, "Turns out the API returns 200 even for failures."),
        (Learning, "It turns out that WAL mode ignores the busy handler."),
        (Learning, "Note for next time: regenerate the schema before testing."),
        (Learning, "I found out that the CI image has no python."),
        (Learning, "The key takeaway is that retries need jitter."),
        (Learning, "알게 된 점: WAL 전환은 busy handler를 무시한다."),
        (Learning, "교훈: 마이그레이션은 요청 안에서 실행하지 않는다."),
        (Learning, "마지막 연결이 체크포인트를 한다는 것을 알게 되었다."),
        (Learning, "알고 보니 API가 실패해도 200을 돌려준다."),
        (Learning, "락 파일은 NFS에서 믿을 수 없다는 것을 배웠습니다."),
        (ErrorFix, "The root cause was a stale lock file, fixed by removing it at start."),
        (ErrorFix, "The crash was caused by a null session and was fixed by checking it first."),
        (ErrorFix, "Fixed the flaky test by seeding the clock."),
        (ErrorFix, "I fixed the deadlock by taking the locks in one order."),
        (ErrorFix, "The timeout was fixed by raising the pool size to ten."),
        (ErrorFix, "The root cause was an off-by-one in the cursor. The fix was to compare with <=."),
        (ErrorFix, "The issue was the missing index. I fixed it in migration 12."),
        (ErrorFix, "Root cause: the cache key ignored the locale. Fix: add the locale to the key."),
        (ErrorFix, "원인은 만료된 인증서였고 갱신해서 해결했다."),
        (ErrorFix, "원인은 캐시 키에 로케일이 빠진 것이었고 키에 추가하여 해결했습니다."),
        (ErrorFix, "타임아웃을 30초로 늘려서 연결 오류를 해결했습니다."),
        (ErrorFix, "원인: 락 파일이 남아 있었다. 해결: 시작할 때 지운다."),
        (ErrorFix, "메모리 누수는 리스너를 해제하여 고쳤다."),
    ];
    let missed: Vec<_> =
        cases.iter().filter(|(kind, text)| !matches!(&conclusions_in(text)[..], [(k, _)] if k == kind)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(cases.len() >= 40);
}

#[test]
fn similar_sentences_are_rejected() {
    let cases = [
        "Should we decide to use Redis for the sessions?",
        "Have we decided to drop the old endpoint?",
        "If we decided to use Redis, the sessions would survive.",
        "We have not decided to drop the old endpoint.",
        "We haven't decided on a database yet, sorry.",
        "I will decide on the database tomorrow morning.",
        "We could have agreed to something else entirely.",
        "> We decided to keep the queue on a socket.",
        "```\nDecision: use Postgres for the ledger.\n```",
        "```text\nwe decided to use it everywhere\nno closing fence",
        "~~~\nRoot cause: x was nil. Fix: check it first.\n~~~",
        "# Decision: use Postgres for the ledger",
        "| Decision: use Postgres | yes, for the ledger |",
        "- [ ] Decision: use Postgres for the ledger",
        "Decision: pending until the benchmark is done",
        "Decision: TBD, waiting for the review",
        "Decision: <what was decided and why it was>",
        "Decision: [fill in what was decided]",
        "Decision:",
        "We decided to:",
        "Let's go with option 2 for this one.",
        "Let's go with that, looks good to me.",
        "We decided to do it.",
        "I decided to check the logs before anything else.",
        "We decided to look at the failing test first.",
        "Write a note that we decided to use Redis.",
        "Please record that we decided to use Redis.",
        "Explain why we decided to use Redis for sessions.",
        "When we decided to use Redis, everything broke.",
        "She said \"we decided to use Redis for sessions\".",
        "\"We decided to use Redis for sessions.\"",
        "The string `we decided to use Redis` is in the file.",
        "The feature that we decided to remove is still there.",
        "Maybe we settled on tabs, I do not remember.",
        "Let me know once we decided to merge the branch.",
        "The user decided to close the window and left.",
        "The compiler decides on the layout of the struct.",
        "We agreed to disagree on the naming.",
        "Everything turns out fine in the end, I hope.",
        "Turns out fine, the tests are green again.",
        "Let's see how it turns out after the deploy.",
        "I want to learn that new framework this week.",
        "Machine learning: a field of computer science.",
        "See what we learned that day in the notes.",
        "If it turns out that the disk is full, stop.",
        "The root cause is unknown at this point in time.",
        "The root cause was a stale lock file.",
        "The root cause might be a stale lock file, fixed by removing it.",
        "The problem was probably the cache; I fixed the key.",
        "It can be fixed by removing the lock file.",
        "This should be fixed by updating the package.",
        "The bug will be fixed by the next release.",
        "What was the root cause and how was it fixed?",
        "Please find the root cause and fix it by Friday.",
        "The crash is not fixed by restarting the server.",
        "Fixed width fonts are used by the terminal.",
        "Fixed the typo in the readme.",
        "Fix the login page and add a test for it.",
        "I will write a file.",
        "All done: the notes are written and remembered.",
        "RIG-PROMPT-1 please write notes about the decision",
        "The decision tree has four levels and nine leaves.",
        "Redis를 쓰기로 할까요? 의견을 주세요.",
        "Redis를 쓰기로 결정했나요?",
        "만약 Redis를 쓰기로 했다면 어떻게 되었을지 궁금하다.",
        "아직 Redis를 쓰기로 결정하지 않았다.",
        "데이터베이스는 아직 결정하지 못했습니다.",
        "내일 회의에서 데이터베이스를 결정하겠습니다.",
        "Redis를 쓰기로 했다고 기록해 주세요.",
        "결정: 미정이며 벤치마크 이후에 다시 논의한다.",
        "결정: 추후 논의하기로 하고 지금은 넘어간다.",
        "무엇으로 결정할지 논의가 더 필요합니다.",
        "\"Redis를 쓰기로 했다.\"",
        "> 세션 저장소로 Redis를 쓰기로 했다.",
        "```\n결정: 세션 저장소는 Redis로 한다.\n```",
        "원인은 아직 모르며 내일 다시 확인한다.",
        "원인은 아마 캐시였고 비워서 해결한 것 같다.",
        "원인을 찾아서 해결해 주세요.",
        "이 문제를 해결하려면 캐시를 비워야 합니다.",
        "로그를 확인해서 오류를 해결하겠습니다.",
        "내일 여섯 시로 가자.",
        "이 기능을 배우고 싶은데 어디서 시작할까요?",
        "왜 그렇게 되는지 알게 되면 알려 주세요.",
        "The problem was solved by hand last week.",
        "The issue was fixed in the latest release. I fixed the changelog too.",
        "그래서 이 오류를 바로 수정했습니다.",
        "서버에서 난 오류를 성공적으로 해결했습니다.",
        "파일을 수정했습니다. 테스트도 통과합니다.",
        "테스트를 추가하고 문서를 고쳤습니다.",
    ];
    let wrong: Vec<_> =
        cases.iter().map(|text| (text, conclusions_in(text))).filter(|(_, found)| !found.is_empty()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(cases.len() >= 60);
}

#[rstest]
#[case(
    "Noted. We decided to use Redis. Because Postgres was too slow. Next I run the tests.",
    "We decided to use Redis. Because Postgres was too slow."
)]
#[case(
    "- Decision: one file per day\n- Reason: merges stay small\n- Next: tests",
    "Decision: one file per day Reason: merges stay small"
)]
#[case("1. We decided to keep\n   the log in Markdown.\n2. Tests follow.", "We decided to keep the log in Markdown.")]
#[case(
    "Redis를 쓰기로 했다. 왜냐하면 세션이 살아남기 때문이다. 다음은 테스트다.",
    "Redis를 쓰기로 했다. 왜냐하면 세션이 살아남기 때문이다."
)]
#[case("- Root cause: stale lock\n- Fix: remove it at start", "Root cause: stale lock Fix: remove it at start")]
fn conclusion_includes_its_reason_or_fix(#[case] text: &str, #[case] expected: &str) {
    let contents: Vec<_> = conclusions_in(text).into_iter().map(|(_, content)| content).collect();
    assert_eq!(contents, [expected]);
}

#[test]
fn same_words_are_found_once_and_the_last_ones_stay() {
    let one = "We decided to use Redis for sessions.";
    let same = extract([answer(one), answer(&format!("- **{}**", one.to_uppercase())), answer(one)]);
    assert_eq!(same, [Conclusion { kind: Decision, content: one.into(), at: at() }]);
    let many: Vec<_> = (0..30).map(|n| answer(&format!("Decision: component {n} gets its own file."))).collect();
    let kept = extract(many);
    assert_eq!(kept.len(), MAX_CONCLUSIONS);
    assert_eq!(kept[0].content, "Decision: component 10 gets its own file.");
}

#[test]
fn summaries_and_pasted_files_are_skipped() {
    let text = "We decided to use Redis for sessions.";
    let pasted = format!("{}\n{text}", "line of a log\n".repeat(6_000));
    assert_eq!(extract([Utterance::Summary { text: text.into(), at: at() }, answer(&pasted)]), []);
    assert_eq!(extract([Utterance::Prompt { text: text.into(), at: at() }]).len(), 1);
}

#[test]
fn recorded_sessions_without_conclusions_give_none() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts");
    let mut heard = 0;
    for name in [
        "after-clear",
        "api-error",
        "compaction-auto",
        "compaction-manual",
        "permission-refused",
        "resumed",
        "subagent",
        "tools",
        "2.1.20/compaction-manual",
        "2.1.20/tools",
    ] {
        let path = folder.join(format!("{name}.jsonl"));
        for since in [ReadFrom::Start, ReadFrom::LastCompaction] {
            heard += utterances(&path, since).unwrap().count();
            assert_eq!(extract(utterances(&path, since).unwrap()), [], "{name}");
        }
    }
    assert!(heard > 30, "only {heard} prompts and answers were read");
}

proptest! {
    #[test]
    fn any_text_is_accepted(text in "(decided to|we |원인은 |해결했다|기로 했다|: |fixed |by |\\PC|\n|[-.?!\"`> ]){0,60}") {
        for (_, content) in conclusions_in(&text) {
            prop_assert!(is_acceptable(&content) && !content.contains('\n'));
        }
    }
}

#[test]
fn private_parts_are_not_found_in_any_sentence() {
    let text =
        "We decided to use Redis for the cache <private>for now. We decided to sell the company in May.</private>";
    let found = extract([answer(text)]);
    assert_eq!(
        found.iter().map(|found| found.content.as_str()).collect::<Vec<_>>(),
        ["We decided to use Redis for the cache"]
    );
}
