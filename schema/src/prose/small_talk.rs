//! Distinguishes small talk from work: prompts that only agree, greet or say goodbye, and answers without content.

use crate::model::word_list::WordList;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::terms::terms;

/// The maximum length of a prompt that can be small talk, in characters.
const LONGEST_SMALL_TALK: usize = 60;

/// The minimum number of distinctive terms, or of characters, in an answer with content.
const LEAST_TERMS: usize = 3;
const LEAST_CHARACTERS: usize = 60;

/// The minimum number of distinctive terms in an informative sentence.
const LEAST_SENTENCE_TERMS: usize = 2;

/// The longest heading, and the longest sentence about what the model is doing, in words.
const LONGEST_HEADING: usize = 6;

/// Whether a prompt asks for nothing new: it agrees, thanks, greets, ends the day, or is a command of the host.
pub(crate) fn is_small_talk(prompt: &str) -> bool {
    let prompt = prompt.trim();
    if prompt.starts_with('/') && !prompt.contains(char::is_whitespace) {
        return true;
    }
    if prompt.chars().count() > LONGEST_SMALL_TALK {
        return false;
    }
    let folded = prompt.to_lowercase();
    let folded = PHRASES.iter().fold(folded, |text, phrase| text.replace(phrase, " "));
    words(&folded).all(says_nothing)
}

pub(super) fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether a word carries no information. Repeated letters are ignored: `okkkk` is `ok`.
fn says_nothing(word: &str) -> bool {
    let drawn_out = || {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        WORDS.contains(&letters.into_iter().collect::<String>())
    };
    WORDS.contains(word) || is_interjection(word) || drawn_out()
}

/// Whether a prompt is a bare acknowledgement that nobody would search for: small talk that asks and names nothing.
pub fn is_acknowledgement(prompt: &str) -> bool {
    let prompt = prompt.trim();
    let names_something = |c: char| matches!(c, '?' | '？' | '`' | '/' | '\\' | '_' | '=' | '@' | '#');
    HOST_COMMANDS.contains(prompt) || !prompt.is_empty() && !prompt.contains(names_something) && is_small_talk(prompt)
}

/// Whether an answer only reports completion, such as "Done.".
pub fn is_empty_answer(answer: &str) -> bool {
    let answer = answer.trim();
    if answer.is_empty() || answer.chars().count() > LONGEST_SMALL_TALK {
        return false;
    }
    let folded = answer.to_lowercase();
    words(&folded).all(|word| says_nothing(word) || CLOSING.contains(word))
}

/// Whether an answer has content.
pub(crate) fn is_substantial(answer: &str) -> bool {
    let answer = answer.trim();
    answer.chars().count() >= LEAST_CHARACTERS || terms(answer).len() >= LEAST_TERMS
}

/// Whether a text between tool calls says more than what the model does next: "Let me look at the parser."
pub(crate) fn is_informative(text: &str) -> bool {
    sentences(text)
        .into_iter()
        .any(|sentence| terms(sentence).len() >= LEAST_SENTENCE_TERMS && !is_announcement(sentence))
}

/// Whether a sentence only says what the model does next.
fn is_announcement(sentence: &str) -> bool {
    let folded = in_lower_case(sentence.trim());
    let is_lead = folded.ends_with([':', '：']);
    let mut said = folded.trim_end_matches(['.', '!', '…', ':', '：']);
    while let Some(rest) = ANNOUNCING_LEADS.iter().find_map(|lead| said.strip_prefix(*lead)) {
        said = rest.trim_start_matches([',', '.', '!', ' ']);
    }
    let is_short = said.split_whitespace().count() <= LONGEST_HEADING;
    is_short && (is_lead || ONGOING.begins(said))
        || ANNOUNCEMENTS.begins(said) && !EXPLANATIONS.occurs_in(said)
        || KOREAN_ANNOUNCEMENTS.ends(said) && !OPINIONS.ends(said)
}

/// Whether a word consists of single Hangul letters, such as `ㅇㅇ`, `ㅋㅋㅋ` and `ㅇㅋ`.
fn is_interjection(word: &str) -> bool {
    word.chars().all(|c| matches!(c, '\u{3131}'..='\u{318E}'))
}

/// Phrases that are removed before the words are checked.
static PHRASES: WordList = WordList::phrases(
    "that went smoothly|went smoothly|that worked|looks good|that helped|calling it a day|call it a day|that's all|thats all|that's it|see you|good night|have a nice|for today|for now|\
     오늘은 여기까지|여기까지|수고하세요",
);

static WORDS: WordList = WordList::words(
    "a again agreed ahead all alright and any appreciate awesome bye continue cool correct day do done enough \
     everything exactly excellent fine go goodbye good great hello hey hi i is it just keep k later lgtm lovely \
     morning much my nice night nope no now ok okay on one perfect please proceed resume right see so sounds stop \
     super sure test testing thank thanks that the then there this thx today tomorrow ty very wait we weekend well \
     works works wow y yay yeah yep yes you 가자 가죠 갑시다 그러죠 그럽시다 내일봐요 하시죠 하자 하죠 할게요 합시다 감사 감사합니다 감사해요 계속 계속해 계속해서 계속해줘 \
     계속해주세요 고마워 고마워요 고맙습니다 굿 그래 그래요 그렇게 그럼 그만 끝 내일 네 넵 넹 다음 또 또요 맞아 맞아요 부탁해 부탁해요 부탁합니다 봐요 봐 수고 수고하셨습니다 수고하셨어요 아니 아니요 \
     안녕 안녕하세요 알겠어 알겠습니다 알았어 예 오늘 오늘은 오케이 완벽해 응 이어서 이제 계속하자 계속하세요 그러자 그대로 넴 됐다 됐어 땡큐 맞습니다 부탁드립니다 수고했어 수고했어요 아주 안녕히 알겠어요 \
     엉 옙 오케 오키 완벽 완벽합니다 완벽해요 웅 일단 좋다 좀 진행시켜 진행하자 최고 하자 해주세요 はい うん 了解 了解です ありがとう ありがとうございます 続けて 続けてください お願いします 好 好的 是 \
     是的 对 谢谢 继续 可以 行 嗯 ahora bien bitte bueno claro continua continuez da danke dank genau gracias gut ja jo merci muy \
     nein non oui perfekt si sí sim top vale viel vielen weiter да ок продолжай спасибо хорошо 잘 잘했어 잘자 정말 좋네 좋네요 좋습니다 \
     좋아 좋아요 진행 진행해 진행해줘 진행해주세요 퇴근 해 해줘 확인 확인했어 확인했습니다 훌륭해",
);

/// Words in answers without content, in addition to `WORDS`.
static CLOSING: WordList = WordList::words(
    "anytime certainly complete completed fait fertig fixed finished erledigt got hecho listo noted problem ready set \
     updated understood welcome готово 다 됐습니다 모두 완료 완료됐습니다 완료되었습니다 완료했습니다 적용했습니다 반영했습니다 수정했습니다 처리했습니다 천만에요 했습니다 끝났습니다 \
     完了 完了しました 完成 完成了 re",
);

/// Words before an announcement.
static ANNOUNCING_LEADS: WordList = WordList::phrases(
    "now |now,|next,|first,|first |ok,|okay,|good|great|alright|perfect|got it|then |so |and |actually,|hmm,|wait,|\
         before that,|to verify,|to be sure,",
);

/// Beginnings and Korean endings of sentences that say what the model does next.
static ANNOUNCEMENTS: WordList = WordList::phrases(
    "let me |let's |i'll |i will |i'm going to |i am going to |i'm now |i want to |i need to |time to |next step",
);
static KOREAN_ANNOUNCEMENTS: WordList =
    WordList::phrases("겠습니다|게요|볼게|할게|봅니다|보죠|려고 합니다|확인합니다|실행합니다");

/// Beginnings of short sentences about what the model does.
static ONGOING: WordList =
    WordList::phrases("adding |checking |fixing |looking |reading |running |searching |updating |verifying |writing ");

/// Words with which an announcement also explains something, and Korean endings of opinions.
static EXPLANATIONS: WordList = WordList::phrases(" because |explain |note that |mention ");
static OPINIONS: WordList = WordList::phrases("좋겠습니다|낫겠습니다|되겠습니다|로 봅니다");

/// Commands of the host that start no turn, or that say nothing without arguments.
static HOST_COMMANDS: WordList = WordList::words(
    "/agents /bug /clear /compact /config /context /cost /doctor /exit /export /fast /help /hooks /ide /init /login \
     /logout /mcp /memory /model /permissions /plugin /quit /resume /rewind /status /statusline /tasks /todos /usage \
     /vim",
);

/// Whether a prompt in lower case only speaks about later, or about what was or could be: "maybe later we could …", "나중에 …".
pub(crate) fn is_idle(folded: &str) -> bool {
    static LATER: WordList =
        WordList::phrases("later we |maybe later|some day|someday|some other |one day |나중에|언젠가|いつか");
    static RECALLS: WordList = WordList::phrases(
        "what did we |what was decided|remind me|what do you think|do you remember|뭐로 하기로 했|뭘로 하기로 했|하기로 했지|어떻게 생각",
    );
    // "나중에도 안 할 거야" decides.
    LATER.occurs_in(&folded.replace("나중에도", "")) || RECALLS.occurs_in(folded)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("maybe later we could render in a worker", true)]
    #[case("what did we decide about cancellations?", true)]
    #[case("프록시를 쓰는 건 어떻게 생각해?", true)]
    #[case("나중에 음성 메시지도 넣으면 좋겠다", true)]
    #[case("why is the export slow?", false)]
    #[case("hdr 출력은 나중에도 안 할 거야", false)]
    #[case("send it again five minutes later", false)]
    fn plan_for_later_and_recall_are_idle(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(is_idle(prompt), expected);
    }

    #[rstest]
    #[case("ok", true)]
    #[case("ok good, calling it a day", true)]
    #[case("Thanks, that's all for today!", true)]
    #[case("ㅇㅇ", true)]
    #[case("네 감사합니다 :)", true)]
    #[case("/clear", true)]
    #[case("오늘은 여기까지, 수고하셨습니다", true)]
    #[case("Thank you, that went smoothly.", true)]
    #[case("thanks, now add the tests", false)]
    #[case("감사합니다. 로그인도 고쳐주세요", false)]
    #[case("/review the parser", false)]
    #[case("yes, but use arq", false)]
    #[case("로그인 고쳐줘", false)]
    #[case("why?", false)]
    fn small_talk_differs_from_work(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(is_small_talk(prompt), expected);
    }

    #[rstest]
    #[case("Good night! Nothing is running.", false)]
    #[case("천만에요!", false)]
    #[case("Done.", false)]
    #[case("The retry queue is drained by `drain_dead_letters` now.", true)]
    #[case("37 orders are affected. The script lists them and refunds the second charge.", true)]
    #[case("재고를 바로 복원하도록 CancelListener 를 고쳤습니다.", true)]
    fn answer_needs_content_to_be_substantial(#[case] answer: &str, #[case] expected: bool) {
        assert_eq!(is_substantial(answer), expected);
    }

    #[test]
    fn agreement_alone_is_an_acknowledgement() {
        let agreeing = [
            "ok",
            "OK!",
            "y",
            "네",
            "ㅇㅇ",
            "ㅋㅋㅋㅋㅋ",
            "continue",
            "thanks!",
            "thank you so much",
            "yes, go ahead please",
            "👍",
            "네 감사합니다",
            "계속 진행해줘",
            "좋아요 그대로 진행해주세요",
            "/clear",
            "lgtm",
            "Sounds good, thanks",
            "okkkkk",
            "go on",
            "好的，谢谢",
            "응 그래",
        ];
        for prompt in agreeing {
            assert!(is_acknowledgement(prompt), "{prompt}");
        }
    }

    #[test]
    fn question_or_decision_is_not_an_acknowledgement() {
        let others = [
            "ok, use arq",
            "yes, drop the table",
            "no, keep redis",
            "1",
            "2번으로 해줘",
            "fix it",
            "ok?",
            "go back",
            "continue with the parser",
            "/review the parser",
            "네 배포해줘",
            "merge",
            "",
            "rust",
            "계속 실패해",
            "좋아 커밋해",
        ];
        for prompt in others {
            assert!(!is_acknowledgement(prompt), "{prompt}");
        }
    }

    #[rstest]
    #[case::cause("The range of child edges is wrong: it must be saturating.", true)]
    #[case::cause_and_next("The lock is held too long. Let me look at who takes it.", true)]
    #[case::korean_cause("만료 시각을 비교하지 않고 있습니다.", true)]
    #[case::korean_recommendation("설정 파일을 나누는 게 좋겠습니다.", true)]
    #[case::next("Now let me update the tests of the parser.", false)]
    #[case::next_after_praise("Good. I'll run the whole suite again.", false)]
    #[case::heading("Now the integration tests of the parser:", false)]
    #[case::korean_next("이제 파서의 테스트를 고치겠습니다.", false)]
    #[case::korean_lead("이제 파서 테스트를 고치고 전체 테스트를 다시 실행하겠습니다:", false)]
    #[case::korean_opinion("캐시 키에 테넌트가 빠진 것으로 봅니다.", true)]
    #[case::report_of_a_run("Running the migration twice deletes the audit rows.", true)]
    #[case::explanation("Let me explain why it deadlocks: flush() takes both locks.", true)]
    #[case::finding("I found the issue, the cache ignores the clock skew of the server:", true)]
    #[case::ongoing("Adding a regression test for it.", false)]
    #[case::doubt("Actually, let me check the parser again.", false)]
    #[case::short("Reading.", false)]
    fn announcement_is_not_informative(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_informative(text), expected);
    }

    #[rstest]
    #[case::done("Done.", true)]
    #[case::korean("모두 완료했습니다.", true)]
    #[case::welcome("You're welcome!", true)]
    #[case::with_a_reason("Done: the cache is in Redis.", false)]
    #[case::what_was_done("Fixed the parser.", false)]
    #[case::a_count("37 orders are affected.", false)]
    fn answer_that_only_reports_completion_is_empty(#[case] answer: &str, #[case] expected: bool) {
        assert_eq!(is_empty_answer(answer), expected);
    }
}
