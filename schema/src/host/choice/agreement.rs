//! Finds the recommendation that a prompt agrees to: "convinced" after "I'd keep linear scan".

use crate::model::word_list::WordList;
use crate::prose::sentences::{in_lower_case, sentences};

/// Words of agreement, and words that may stand next to them.
static AGREES: WordList = WordList::words(
    "agree agreed approved convinced deal fine go good great ok okay perfect sold sounds sure yeah yep yes \
     가자 가죠 갑시다 그래 그래요 그러죠 그렇게 그럽시다 네 넵 동의 동의합니다 동의해요 말씀대로 오케이 제안대로 좋네요 좋다 좋습니다 좋아 좋아요 추천대로 ㅇㅋ ㅇㅇ ㄱㄱ 콜",
);
static BESIDES: WordList = WordList::words(
    "ahead all alright as by do for i idea it let lets like m makes me plan please recommended right s sense so suggested \
     that the then this to way with works you your 걸로 그걸로 그대로 그럼 진행해주세요 진행해줘 하자 하죠 합시다 해 해주세요 해줘",
);

/// How a recommendation begins, and how one ends in Korean.
static BEGINS: WordList =
    WordList::phrases("i'd |i would |i recommend |i suggest |my recommendation|my suggestion|recommendation: |my vote");
static ENDS: WordList =
    WordList::phrases("추천합니다|추천해요|권합니다|권해요|게 좋겠습니다|게 좋습니다|게 낫습니다|게 나아요");

/// "I'd" with one of these recommends nothing.
static NO_ADVICE: WordList = WordList::phrases(
    "like |love |need |want |have |rather |be |been |already |expect |expected |guess |say |said |assume |hope |only ",
);

/// Words that emphasise a choice, or only join it.
static EMPHASIS: WordList = WordList::words(
    "absolutely anyway certainly clearly definitely haha just lol now obviously of course please then ㅋㅋ ㅋㅋㅋ ㅎㅎ",
);

/// Returns a clause without words of agreement and emphasis: "rollback" of "yeah rollback obviously".
pub(super) fn without_agreement(clause: &str) -> String {
    let says_nothing = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        AGREES.contains(&word) || EMPHASIS.contains(&word)
    };
    clause.split_whitespace().filter(|word| !says_nothing(word)).collect::<Vec<_>>().join(" ")
}

/// Whether a prompt only agrees.
pub fn agrees(prompt: &str) -> bool {
    let folded = in_lower_case(prompt);
    let words = || folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    !folded.contains('?')
        && words().any(|word| AGREES.contains(word))
        && words().all(|word| AGREES.contains(word) || BESIDES.contains(word))
}

/// Returns the sentences of an answer that recommend something.
pub(super) fn recommendation(answer: &str) -> Option<String> {
    let recommended: Vec<&str> = sentences(answer).into_iter().map(str::trim).filter(|text| recommends(text)).collect();
    (!recommended.is_empty()).then(|| recommended.join(" "))
}

fn recommends(sentence: &str) -> bool {
    let folded = in_lower_case(sentence);
    let said = BEGINS.iter().find_map(|begin| folded.strip_prefix(begin));
    let is_advice = said.is_some_and(|said| !NO_ADVICE.begins(said));
    !folded.ends_with(['?', '？', ':']) && (is_advice || ENDS.ends(folded.trim_end_matches('.')))
}
