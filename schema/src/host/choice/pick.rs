//! Parses a clause that names options by label or place: "2", "Option D", "the second one", "A and C", "둘 다", "2번이랑 3번".

use crate::model::word_list::WordList;
use crate::prose::sentences::in_lower_case;

/// The options that a clause names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// All of them: two for "both", any number for "all".
    All(Option<usize>),
    Places(Vec<OptionPlace>),
}

/// One option in a list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OptionPlace {
    /// A label, such as `2` or `b`.
    Label(char),
    /// A position, from 1.
    Nth(usize),
    Last,
}

/// Returns the options that a clause names, or `None` if it says anything else.
pub(super) fn pick(clause: &str) -> Option<Pick> {
    let words = words(clause);
    let said: Vec<&str> = words.iter().map(String::as_str).filter(|word| !FILLERS.contains(word)).collect();
    match said.join(" ").trim_end_matches('요') {
        "both" | "둘 다" | "둘다" => return Some(Pick::All(Some(2))),
        "all three" | "셋 다" | "셋다" => return Some(Pick::All(Some(3))),
        "all four" | "넷 다" | "넷다" => return Some(Pick::All(Some(4))),
        "all" | "전부" | "전부 다" | "모두" | "모두 다" | "다" => return Some(Pick::All(None)),
        _ => {}
    }
    let (mut places, mut is_expected) = (Vec::new(), true);
    for word in said.iter().filter(|word| !QUANTIFIERS.contains(word)) {
        if *word == AND {
            is_expected = true;
            continue;
        }
        // Two options need a comma or "and" between them, so "a second" is not option A and the second one.
        let (bare, has_and) = without_and(word);
        let place = place(bare).filter(|_| is_expected)?;
        places.push(place);
        is_expected = has_and;
    }
    (!places.is_empty() && !is_expected).then_some(Pick::Places(places))
}

/// Whether a text says nothing besides words such as "please".
pub(super) fn is_filler(text: &str) -> bool {
    words(text).iter().all(|word| FILLERS.contains(word))
}

/// A comma, `&` and `+` between two options are read as this word.
const AND: &str = "and";

/// Words that may stand next to labels and repeat how many there are.
const QUANTIFIERS: [&str; 6] = ["both", "둘", "다", "둘다", "모두", "전부"];

/// Words next to a label that say nothing else.
static FILLERS: WordList = WordList::words(
    "option options number numbers go with let lets us take i id we say think prefer want do the one ones of them \
     these those above please pick choose use yes ok okay then 옵션 옵션으로 방안 방안으로 로 으로 걸로 것으로 거로 그럼 그냥 하자 가자 해줘 해주세요 갑시다 \
     합시다 하죠 가죠 할게 할게요 하겠습니다 진행해줘 진행해주세요 좋아 네 같이 고고 ㄱ ㄱㄱ 해주십시오",
);

/// Returns the words of a clause in lower case, without the ends of contractions, so that "I'd" does not name option D.
fn words(clause: &str) -> Vec<String> {
    let folded = in_lower_case(clause).replace([',', '&', '+'], " and ").replace(" 번", "번");
    let words = folded.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '%'));
    let mut found: Vec<String> = Vec::new();
    for word in words.map(|word| word.trim_matches('\'')).filter(|word| !word.is_empty()) {
        let word =
            ["'d", "'s", "'ll", "'m", "'re", "'ve"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
        let is_numbered = found.last().is_some_and(|last| last == "option" || last == "number");
        let digit = ["one", "two", "three", "four"].iter().position(|number| is_numbered && *number == word);
        found.push(digit.map_or_else(|| word.to_owned(), |at| (at + 1).to_string()));
    }
    found
}

/// Removes a particle that means "and" from the end of a word.
fn without_and(word: &str) -> (&str, bool) {
    let bare = ["이랑", "랑", "하고", "과", "와"].iter().find_map(|particle| word.strip_suffix(particle));
    (bare.unwrap_or(word), bare.is_some())
}

/// Returns the option that a word names: `2`, `b`, `2번으로`, `second`.
fn place(word: &str) -> Option<OptionPlace> {
    const PLACES: [&[&str]; 4] = [
        &["first", "1st", "former", "첫번째", "첫째", "전자"],
        &["second", "2nd", "두번째", "둘째"],
        &["third", "3rd", "세번째", "셋째"],
        &["fourth", "4th", "네번째", "넷째"],
    ];
    let bare = word.trim_end_matches('요');
    let bare = ["걸로", "으로", "로", "을", "를", "이"]
        .iter()
        .find_map(|particle| bare.strip_suffix(particle))
        .unwrap_or(bare);
    if let Some(at) = PLACES.iter().position(|words| words.contains(&bare)) {
        return Some(OptionPlace::Nth(at + 1));
    }
    if matches!(bare, "last" | "latter" | "마지막" | "후자") {
        return Some(OptionPlace::Last);
    }
    let bare = ["번째", "번", "안"].iter().find_map(|unit| bare.strip_suffix(unit)).unwrap_or(bare);
    let mut letters = bare.chars();
    let label = letters.next().filter(|c| matches!(c, '1'..='9' | 'a'..='e' | '가' | '나'))?;
    letters.next().is_none().then_some(OptionPlace::Label(label))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn labels(labels: &str) -> Option<Pick> {
        Some(Pick::Places(labels.chars().map(OptionPlace::Label).collect()))
    }

    #[rstest]
    #[case::letter("D", "d")]
    #[case::small_letter("d", "d")]
    #[case::option("Option D", "d")]
    #[case::option_in_korean("옵션 D", "d")]
    #[case::korean_particle("D로 할게요", "d")]
    #[case::korean_plan("b안으로 가죠", "b")]
    #[case::contraction("I'd go with B", "b")]
    #[case::typographic_contraction("Let’s take c please", "c")]
    #[case::number_word("option two", "2")]
    #[case::two("A and C", "ac")]
    #[case::signs("1, 2 & 4", "124")]
    #[case::two_in_korean("2번이랑 3번", "23")]
    #[case::two_with_all("2번과 3번 둘 다 하자", "23")]
    #[case::polite("2번이요", "2")]
    fn clause_names_labels(#[case] clause: &str, #[case] expected: &str) {
        assert_eq!(pick(clause), labels(expected));
    }

    #[rstest]
    #[case::second("the second one", Some(Pick::Places(vec![OptionPlace::Nth(2)])))]
    #[case::second_in_korean("두 번째 걸로", Some(Pick::Places(vec![OptionPlace::Nth(2)])))]
    #[case::last("the latter", Some(Pick::Places(vec![OptionPlace::Last])))]
    #[case::both("both of them please", Some(Pick::All(Some(2))))]
    #[case::both_in_korean("둘 다요", Some(Pick::All(Some(2))))]
    #[case::all("all of the above", Some(Pick::All(None)))]
    #[case::all_in_korean("전부 다 해줘", Some(Pick::All(None)))]
    #[case::contraction_alone("I'd go", None)]
    #[case::other_words("I'd go with the cheap one", None)]
    #[case::french("d'accord", None)]
    #[case::article("take a second", None)]
    #[case::alternatives("2 or 3", None)]
    #[case::percentage("B and 2 %", None)]
    #[case::open_end("1 and", None)]
    #[case::fillers("yes please", None)]
    fn clause_names_places_or_nothing(#[case] clause: &str, #[case] expected: Option<Pick>) {
        assert_eq!(pick(clause), expected);
    }
}
