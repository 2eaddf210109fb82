use std::collections::HashMap;

use proptest::prelude::*;
use rstest::rstest;

use super::placed_sentences::placed_sentences;
use super::tokens::{Sign, Token, Vocabulary, tokens};
use super::*;

fn kinds(text: &str, speaker: Speaker) -> Vec<MemoryType> {
    classify(text, speaker).into_iter().map(|conclusion| conclusion.kind).collect()
}

#[rstest]
#[case::convention("今後、コミットメッセージは日本語で書いて。", &[MemoryType::Convention])]
#[case::decision("メッセージキューは使わないことにした。", &[MemoryType::Decision])]
#[case::steps("残りの作業:\n- 索引を作り直す", &[MemoryType::Task])]
#[case::option("1. Meilisearch: 速くて設定が少ないですが、別のサーバーが必要です", &[])]
#[case::guess("索引が壊れているかもしれません。原因は不明です、どうしますか", &[])]
fn japanese_is_concluded_by_plain_cues_only(#[case] text: &str, #[case] expected: &[MemoryType]) {
    assert_eq!(kinds(text, Speaker::Agent), expected);
}

#[rstest]
#[case::open("Open:\n- write a codemod\n- 3.0 needs a note", 2)]
#[case::next("Done.\n\nNext:\n- write a codemod", 1)]
#[case::korean("다음에 할 것: 느린 e2e 상위 10개 쪼개기(결제 스펙 하나가 4분입니다).", 1)]
#[case::none("Remaining: none. The suite is green.", 0)]
#[case::korean_none("남은 작업: 없습니다.", 0)]
#[case::from_here(
    "Delta snapshots are in.\n\nOpen from here:\n- lag compensation for hits\n- raw inputs in the log",
    2
)]
#[case::after_that("The import runs tonight.\n\nOnce that's done:\n- drop the old table\n- delete the flag", 2)]
#[case::through("The rollout is at 10%. When it’s through: delete the old flag.", 1)]
#[case::counted("할 일이 두 개 남았어요. 부분 취소 화면 만들기, 취소 알림 메일 보내기.", 1)]
#[case::untouched("안 한 것: 운영 DB에는 손대지 않았습니다.", 0)]
#[case::address("Open: http://localhost:3000 in the browser", 0)]
#[case::no_steps("Left:\n- a sidebar\n\nRight:\n- the text", 0)]
fn items_below_the_heading_of_steps_are_tasks(#[case] text: &str, #[case] count: usize) {
    assert_eq!(kinds(text, Speaker::Agent), vec![MemoryType::Task; count]);
}

#[test]
fn first_sentence_with_next_orders_something() {
    assert_eq!(kinds("Next: the exporter still needs a progress bar.", Speaker::Person), []);
    assert_eq!(kinds("Next: the exporter still needs a progress bar.", Speaker::Agent), [MemoryType::Task]);
}

#[test]
fn list_of_steps_repeats_what_is_missing_before_it() {
    let list = "To do:\n1. add the bonus to the average wage\n2. ask the lawyers";
    let missing = "The bonus still has to be added to the average wage.";
    assert_eq!(kinds(missing, Speaker::Agent), [MemoryType::Task]);
    assert_eq!(kinds(&format!("{missing}\n\n{list}"), Speaker::Agent), [MemoryType::Task; 2]);
}

#[rstest]
#[case::question_before("Why so slow? Let's go with Postgres.", &[MemoryType::Decision])]
#[case::question_after("Let's go with Postgres. How long will the migration take?", &[MemoryType::Decision])]
#[case::written_out("Let us switch to SQS.", &[MemoryType::Decision])]
#[case::korean("왜 이렇게 느리지? 그냥 Postgres로 가자.", &[MemoryType::Decision])]
#[case::order_before("Can you check the logs? Always use the staging cluster for that.", &[MemoryType::Convention])]
#[case::question_only("Should we go with Postgres?", &[])]
fn plain_decisions_count_next_to_questions(#[case] prompt: &str, #[case] expected: &[MemoryType]) {
    assert_eq!(kinds(prompt, Speaker::Person), expected);
}

#[test]
fn built_in_weights_are_complete() {
    const FILE: &[u8] = include_bytes!("weights.bin");
    assert!(ClassifierNetwork::parse(FILE).is_some());
    assert!(ClassifierNetwork::parse(&FILE[..FILE.len() - 1]).is_none());
    assert!(FILE.len() <= 400_000, "{} bytes", FILE.len());
}

#[rstest]
#[case::code("```\nWe use tabs.\n```\nDone.", &["Done."])]
#[case::quote_and_table("> Always rebase.\n| a | b |\nFine.", &["Fine."])]
#[case::small_letters("ok so. we drop redis. thanks!", &["ok so.", "we drop redis.", "thanks!"])]
#[case::abbreviation("Use a queue, e.g. NATS. Later.", &["Use a queue, e.g. NATS.", "Later."])]
#[case::inline_code("Call `a.b. c` first. Then go.", &["Call `a.b. c` first.", "Then go."])]
#[case::quoted_sentences("It says \"We moved. We won.\" to me. Good.", &["It says \"We moved. We won.\" to me.", "Good."])]
#[case::items("Left:\n- tests\n- [ ] docs", &["Left:", "tests", "docs"])]
#[case::wrapped(
    "This line is so long that its author had to wrap it somewhere\nand here it ends.",
    &["This line is so long that its author had to wrap it somewhere\nand here it ends."]
)]
#[case::pasted_output("10:02:11 WARN always retry\nERROR: never\nWhy?", &["Why?"])]
#[case::syslog("It failed:\nNov 24 10:02 api: still not drained\nNov 24 10:03 api: must retry\n\nWhy?", &["It failed:", "Why?"])]
#[case::git_log("History:\n4f1c2aa fix the flaky test\n9d01b7e still to do: docs\n\nHm.", &["History:", "Hm."])]
#[case::records("Got this\nat=1 level=warn never retry\nat=2 level=warn fixed", &["Got this"])]
#[case::commit_in_a_sentence("4f1c2aa fixed the flaky test.", &["4f1c2aa fixed the flaky test."])]
#[case::korean("Redis로 갑니다. 문서도 고쳐주세요", &["Redis로 갑니다.", "문서도 고쳐주세요"])]
fn message_is_split_into_its_authors_sentences(#[case] text: &str, #[case] expected: &[&str]) {
    let found: Vec<_> = placed_sentences(text).into_iter().map(|sentence| &text[sentence.range]).collect();
    assert_eq!(found, expected);
}

#[test]
fn list_items_know_the_line_before_the_list() {
    let found = placed_sentences("Done.\n\nStill open:\n- tests\n- docs\n");
    let leads: Vec<_> = found.iter().map(|sentence| sentence.lead).collect();
    assert_eq!(leads, [None, None, Some(1), Some(1)]);
}

struct Words(HashMap<&'static str, u16>);

impl Vocabulary for Words {
    fn piece(&self, text: &str) -> Option<u16> {
        self.0.get(text).copied()
    }
}

#[test]
fn words_become_pieces_and_signs() {
    let words = Words([("dont", 1), ("use", 2), ("redis", 3), ("쓰기", 4), ("로", 5), ("cache", 6), ("d", 7)].into());
    let found =
        tokens(&words, "Don't useRedis `a b`, 쓰기로 42 v1_x \"one two three\"... cached userland", &[Sign::Person]);
    let expected = [
        Token::Sign(Sign::Person),
        Token::Piece(1),
        Token::Piece(2),
        Token::Piece(3),
        Token::Sign(Sign::Code),
        Token::Sign(Sign::Comma),
        Token::Piece(4),
        Token::Piece(5),
        Token::Sign(Sign::Number),
        Token::Sign(Sign::Name),
        Token::Sign(Sign::Quotation),
        Token::Sign(Sign::Dots),
        Token::Piece(6),
        Token::Piece(7),
        Token::Sign(Sign::Unknown),
        Token::Sign(Sign::End),
    ];
    assert_eq!(found, expected);
}

#[rstest]
#[case::fix(
    "Found it. The login loop was caused by a SameSite=Strict cookie; I set it to Lax and it works now.",
    Speaker::Agent,
    MemoryType::ErrorFix
)]
#[case::preference(
    "앞으로 설명은 빼고 코드만 보여주세요. 폰으로 봐서 길면 안 읽어요",
    Speaker::Person,
    MemoryType::Preference
)]
#[case::preference_en("I prefer short answers without lists, please", Speaker::Person, MemoryType::Preference)]
#[case::open_step("Remaining: the export to PDF still has to be written.", Speaker::Agent, MemoryType::Task)]
#[case::convention(
    "We never push to main here, every change goes through a PR",
    Speaker::Person,
    MemoryType::Convention
)]
#[case::decision("카프카 말고 NATS로 가기로 결정했습니다", Speaker::Person, MemoryType::Decision)]
fn plain_conclusion_is_found(#[case] text: &str, #[case] speaker: Speaker, #[case] kind: MemoryType) {
    assert_eq!(kinds(text, speaker), [kind]);
}

#[rstest]
#[case::colon(
    "Uploads work again.\n\nStill to do:\n- error messages with columns\n- dark icons\n- a page about escapes"
)]
#[case::heading("Uploads work.\n\n## Next steps\n\n1. Sign the installer\n2. **Docs**: describe the flag\n3. Ask Jana")]
#[case::korean("업로드가 됩니다.\n\n남은 일:\n- 오류 문구에 열 번호\n- 아이콘 어두운 버전\n- 설명서 보완")]
fn every_item_of_a_list_of_open_steps_is_found(#[case] text: &str) {
    assert_eq!(kinds(text, Speaker::Agent), [MemoryType::Task; 3]);
}

#[rstest]
#[case::question("Should we drop Redis and use Postgres for the sessions?", Speaker::Person)]
#[case::one_off("use tabs just this once, please", Speaker::Person)]
#[case::plan("Let me run the tests first and then look at the log.", Speaker::Agent)]
#[case::quotation("> We decided to use Redis.\n\nwho wrote that?", Speaker::Person)]
#[case::code("```\n# decision: never retry\n```", Speaker::Agent)]
#[case::options("You could use a queue or a cron job. Tell me which you like.", Speaker::Agent)]
#[case::one_off_korean("이번만 탭으로 해주세요", Speaker::Person)]
#[case::done("테스트가 모두 통과했습니다.", Speaker::Agent)]
#[case::done_items("Nothing remains:\n- [x] sign the installer\n- [x] describe the flag", Speaker::Agent)]
#[case::too_short("go RIG-PERM", Speaker::Person)]
#[case::empty("", Speaker::Person)]
fn text_without_conclusion_is_rejected(#[case] text: &str, #[case] speaker: Speaker) {
    assert_eq!(classify(text, speaker), []);
}

#[test]
fn pasted_file_is_ignored() {
    let text = format!("I prefer short answers without lists, please.\n{}", "line of a file\n".repeat(6_000));
    assert_eq!(classify(&text, Speaker::Person), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn conclusions_are_ranges_of_the_message(text in "(we |never |쓰기로 |했다|- |\\[ \\] |`|\"|“|\\PC|\n|[-.?!>#: ]){0,60}") {
        for speaker in [Speaker::Person, Speaker::Agent] {
            for conclusion in classify_with(&NETWORK, &text, speaker, &[0.0; 6]) {
                prop_assert_eq!(&text[conclusion.range.clone()], conclusion.text.as_str());
                prop_assert!((0.0..=1.0).contains(&conclusion.confidence));
            }
        }
    }
}

#[rstest]
#[case::decision("We decided to cache JWT tokens in Redis with a TTL of five minutes", Some(MemoryType::Decision))]
#[case::decision_in_korean("토큰은 Redis에 캐시하기로 결정했다", Some(MemoryType::Decision))]
#[case::change("We switched to pnpm because npm was slow", Some(MemoryType::Decision))]
#[case::learning(
    "It turned out that SQLite ignores the busy handler when it switches to WAL",
    Some(MemoryType::Learning)
)]
#[case::fix("Fixed the double charge by acknowledging the webhook after the commit", Some(MemoryType::ErrorFix))]
#[case::preference("I prefer short answers in Korean", Some(MemoryType::Preference))]
#[case::convention("Always name test files after the module they test", Some(MemoryType::Convention))]
#[case::task("TODO: rename the cron job before the release", Some(MemoryType::Task))]
#[case::nothing("  ", None)]
fn text_without_a_type_gets_the_likeliest(#[case] text: &str, #[case] expected: Option<MemoryType>) {
    assert_eq!(likeliest_kind(text), expected);
}
