//! Features of questions and passages: whether they ask for a cause, a decision, a time or the past, or name a time, an identifier or
//! a speaker.

use std::collections::HashSet;

use schema::model::word_list::WordList;

use super::dates::MONTHS;
use crate::text::fold::fold;
use crate::text::words;

/// Most tokens of an utterance. In longer passages these features say nothing, and words occur by chance.
pub(super) const MAX_UTTERANCE_TOKENS: u32 = 80;

/// Whether a prompt asks for a cause, as in "find the leak" and "느린 이유부터 찾아주세요".
pub(super) fn asks_for_cause(prompt: &str) -> bool {
    let text = prompt.to_lowercase();
    ["why ", "find out", "find the", "figure out", "look into", "investigate", "원인", "이유", "왜 "]
        .iter()
        .any(|cue| text.contains(cue))
}

/// Whether a prompt wants something found or proposed, as in "compare A with B" and "저장 방식부터 제안해줘".
pub(super) fn is_request(prompt: &str) -> bool {
    let text = prompt.to_lowercase();
    ["?", "？", "compare", "suggest", "propose", "find ", "비교해", "제안해", "찾아", "봐주", "봐줘", "알려"]
        .iter()
        .any(|cue| text.contains(cue))
}

/// Whether a question asks what was decided, as in "which database do we use" and "뭘로 정했지".
pub(super) fn asks_for_decision(question: &str) -> bool {
    let text = question.to_lowercase();
    let words: Vec<&str> = words(&text).collect();
    let is_choice =
        words.windows(2).any(|pair| matches!(pair, ["we", "use" | "using" | "do"] | ["should" | "may", "we" | "i"]));
    is_choice || words.iter().any(|word| DECISION_WORDS.contains(word)) || DECISION_PARTS.occurs_in(&text)
}

static DECISION_WORDS: WordList = WordList::words(
    "decide decided decision choose chose chosen pick picked agree agreed settle settled elegimos decidimos usamos \
     entschieden verwenden benutzen choisi décidé utilisons используем",
);

/// Parts of such words in scripts without spaces, or with many endings.
static DECISION_PARTS: WordList = WordList::phrases(
    "기로 했|기로 한|기로 결정|정했|정한|결정|골랐|고른|선택|쓰나|쓰지|써야|決め|使い|決定|决定|选择|решил",
);

/// Returns the identifier that a question consists of: `toLogicalProperty`, `ledger_entries`, `order-lag-scaler`, but not
/// "end-to-end"; or the path of a file in it: "where did lib/flags.ex go".
pub(super) fn identifier(question: &str) -> Option<&str> {
    let mut words = question.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    let is_path = |word: &&str| word.rsplit_once('/').is_some_and(|(_, file)| file.contains('.'));
    whole_identifier(question).or_else(|| words.rfind(is_path))
}

fn whole_identifier(question: &str) -> Option<&str> {
    static FUNCTION_WORDS: WordList = WordList::words("a and by in of on or the to");
    let name = question.trim().trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
    let has_hump = name.chars().zip(name.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_kebab = name.matches('-').count() > 1 && !name.split('-').any(|part| FUNCTION_WORDS.contains(part));
    (is_name && (has_hump || is_kebab || name.contains(['_', '.']) || name.contains("::"))).then_some(name)
}

/// Whether a question asks for a time.
pub(super) fn asks_for_time(question: &str) -> bool {
    let words: Vec<String> = question.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let is_asked = |pair: &[String]| {
        let of_time = matches!(pair[1].as_str(), "date" | "day" | "year" | "month" | "time" | "week");
        of_time && matches!(pair[0].as_str(), "what" | "which")
    };
    words.iter().any(|word| word == "when" || word.starts_with("언제") || word.starts_with("며칠"))
        || words.windows(2).any(is_asked)
        || question.contains("몇 월")
        || question.contains("몇 년")
        || question.contains("몇 시")
}

/// Whether a question asks how something was before.
pub(super) fn asks_for_past(question: &str) -> bool {
    let text = question.to_lowercase();
    let words: Vec<&str> = words(&text).collect();
    words.iter().any(|word| PAST_WORDS.contains(word))
        || words.windows(2).any(|pair| pair == ["used", "to"] || pair == ["before", "that"])
        || (words.contains(&"did") && (words.contains(&"before") || words.windows(2).any(|pair| pair == ["use", "to"])))
        || (words.contains(&"what") && words.contains(&"was") && words.contains(&"before"))
        || PAST_PARTS.occurs_in(&text)
}

static PAST_WORDS: WordList = WordList::words(
    "previously formerly originally previous former earlier antes anteriormente anterior früher vorher zuvor \
     ursprünglich auparavant avant anciennement раньше прежде ранее initially old superseded",
);

/// Parts of such words in scripts without spaces.
static PAST_PARTS: WordList =
    WordList::phrases("예전|이전에|원래|기존|전에는|바꾸기 전|以前|かつて|元々|もともと|之前|原来|从前|以往");

/// Whether a text names a time: a day, a month, a year, or a word such as `yesterday`.
pub(super) fn mentions_time(text: &str) -> bool {
    words(text).any(|word| {
        let is_year = word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
        is_year || (word.is_ascii() && is_english_time(&word.to_ascii_lowercase())) || is_korean_time(word)
    })
}

/// `May` is more often a verb.
fn is_english_time(word: &str) -> bool {
    ENGLISH_TIME_WORDS.contains(word) || (word != "may" && MONTHS.contains(word))
}

fn is_korean_time(word: &str) -> bool {
    let counts = |unit: &str| {
        word.split_once(unit).is_some_and(|(number, _)| {
            !number.is_empty() && number.len() <= 4 && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    KOREAN_TIME_BEGINNINGS.begins(word) || ["월", "일", "년", "시"].iter().any(|unit| counts(unit))
}

/// English words for times besides the names of months.
static ENGLISH_TIME_WORDS: WordList = WordList::words(
    "yesterday today tonight tomorrow last next ago week weekend weeks month months year years days monday tuesday \
     wednesday thursday friday saturday sunday summer winter spring fall autumn morning afternoon evening night noon \
     midnight since recently quarter sprint deadline",
);

/// Beginnings of Korean words for times.
static KOREAN_TIME_BEGINNINGS: WordList =
    WordList::words("어제 오늘 내일 모레 지난 다음 작년 내년 올해 아침 저녁 오전");

/// All words of a question, folded. The name of a speaker is compared with them.
pub(super) fn folded_words(question: &str) -> HashSet<String> {
    question.split(|c: char| !c.is_alphanumeric() && c != '_').map(fold).filter(|name| !name.is_empty()).collect()
}

/// Whether the passage's speaker is named in the question: it begins with the name and a colon.
pub(super) fn is_spoken_by(text: &str, names: &HashSet<String>) -> bool {
    text.split_once(':').is_some_and(|(name, said)| {
        let name = name.trim();
        !name.is_empty()
            && name.chars().count() <= 24
            && said.starts_with(char::is_whitespace)
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && names.contains(&fold(name))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ingestd is killed every nine hours. find the leak", true)]
    #[case("배치가 느려졌어요. 느린 이유부터 찾아주세요", true)]
    #[case("rename the package everywhere", false)]
    fn prompts_ask_for_a_cause(#[case] prompt: &str, #[case] expected: bool) {
        assert_eq!(asks_for_cause(prompt), expected);
    }

    #[rstest]
    #[case("which database do we use for links", true)]
    #[case("저장소는 무엇으로 정했나", true)]
    #[case("인그레스 대안으로 뭘 골랐지?", true)]
    #[case("why did the site go down", false)]
    fn questions_ask_for_a_decision(#[case] question: &str, #[case] expected: bool) {
        assert_eq!(asks_for_decision(question), expected);
    }

    #[rstest]
    #[case("toLogicalProperty", true)]
    #[case("`ledger_entries`", true)]
    #[case("order-lag-scaler", true)]
    #[case("std::sync::Mutex", true)]
    #[case("read-only", false)]
    #[case("end-to-end", false)]
    #[case("CI/CD", false)]
    #[case("Redis.", false)]
    #[case("배포.", false)]
    #[case("redis", false)]
    #[case("2026-01-28", false)]
    #[case("who calls ledger_entries", false)]
    #[case("where did `lib/shop/flags.ex` go?", true)]
    fn question_may_be_an_identifier(#[case] question: &str, #[case] expected: bool) {
        assert_eq!(identifier(question).is_some(), expected);
    }

    #[rstest]
    #[case("When did we deploy?", true)]
    #[case("what day was the release", true)]
    #[case("언제 배포했지", true)]
    #[case("what is the day job", false)]
    fn questions_ask_when(#[case] question: &str, #[case] expected: bool) {
        assert_eq!(asks_for_time(question), expected);
    }

    #[rstest]
    #[case("We deployed last Tuesday.", true)]
    #[case("지난주에 배포했다", true)]
    #[case("6월 3일 배포", true)]
    #[case("Released in 2025.", true)]
    #[case("We deployed with Actions.", false)]
    fn times_in_texts_are_recognised(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(mentions_time(text), expected);
    }

    #[test]
    fn speaker_name_precedes_the_passage() {
        let names = folded_words("What did Caroline's sister paint?");
        assert!(is_spoken_by("Caroline: I painted a lake.", &names));
        assert!(!is_spoken_by("Melanie: Caroline painted a lake.", &names));
        assert!(!is_spoken_by("caroline::paint is a function", &names));
    }
}
