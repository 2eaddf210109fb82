//! Function words of English and Korean, folded: they ask or connect and have no topic.

use crate::text::fold::fold;

pub(crate) fn is_stop_word(word: &str) -> bool {
    let table = if word.is_ascii() { ENGLISH } else { KOREAN };
    table.split_whitespace().any(|listed| listed == word)
}

/// Removes function words from a question, unless nothing else is left.
pub(crate) fn strip_stop_words(question: &str) -> String {
    let says = |word: &&str| !is_stop_word(&fold(word.trim_matches(|c: char| !c.is_alphanumeric())));
    let left: Vec<&str> = question.split_whitespace().filter(says).collect();
    if left.is_empty() { question.to_owned() } else { left.join(" ") }
}

const ENGLISH: &str = "
    a about after again all also am an and any anybody anyone anything are arent as at be because been before being
    between both but by can cannot cant could couldnt did didnt do does doesnt doing done dont during each either
    else ever every explain few for from get give got had hadnt happen happened happening
    happens has hasnt have havent having he her here hers
    herself him himself his how i if in into is isnt it its itself just know lets like many me might mine more most
    much must my myself neither no nor not of off on once only or other our ours ourselves out over own please
    remember same shall she should shouldnt so some somebody someone something such tell than that the their theirs
    them themselves then there these they thing things this those through to too under until up us very was wasnt we
    were werent what whatever when where whether which while who whom whose why will with within without wont would
    wouldnt yet you your yours yourself
";

const KOREAN: &str = "
    가장 것 것은 것을 것이 그 그것 그런 그럼 그리고 나 나는 내 내가 누가 누구 누구였나 누구였지 누구의 누구인가
    누구인가요 누구지 는 다시 대한 대해 대해서 돼 됐나 됐나요 됐더라 됐지 되나 되나요 되는 되었나 되었나요 되지 된
    등 때 또 또는 몇 무슨 무엇 무엇에 무엇으로 무엇을 무엇이 무엇이었나 무엇이었지 무엇인가 무엇인가요 무엇인지 뭐
    뭐가 뭐고 뭐길래 뭐니 뭐더라 뭐라고 뭐야 뭐였더라 뭐였어 뭐였지 뭐예요 뭐지 뭔가 뭔가요 뭔지 뭘 뭘로 및 보여줘
    설명해 설명해줘 수 알려 알려주세요 알려줄래 알려줘 어느 어디 어디가 어디로 어디서 어디에 어디에서 어디였지
    어디인가 어디지 어땠지 어떠한 어떤 어떻게 언제 언제부터 언제였지 언제인가 언제지 얼마 얼마나 에 에서 여기 왜
    왜냐하면 우리 우리가 우리는 우리의 위한 위해 은 을 의 이 이것 이런 이야 인가 인가요 있나 있나요 있는 있는지 있니
    있어 있었나 있었나요 있었지 있을까 있지 저 저는 저희 제가 좀 줘 찾아줘 하고 하기로 하나 하나요 하는 하는지 하니
    하려면 하면 하지 한 할 할까 해 해야 해줘 했나 했나요 했는지 했니 했더라 했던 했어 했었지 했지 혹시
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_hold_each_word_once_and_folded() {
        for table in [ENGLISH, KOREAN] {
            let words: Vec<&str> = table.split_whitespace().collect();
            assert!(words.is_sorted_by(|before, after| before < after));
            assert!(words.iter().all(|word| crate::text::fold::fold(word) == **word));
        }
    }

    #[test]
    fn a_question_is_left_with_what_it_is_about() {
        assert_eq!(strip_stop_words("What did we choose for signing users in?"), "choose signing users");
        assert_eq!(strip_stop_words("로그인은 어떻게 하나요"), "로그인은");
        assert_eq!(strip_stop_words("what is it?"), "what is it?");
    }

    #[test]
    fn names_and_nouns_are_not_function_words() {
        for word in ["token", "may", "cache", "토큰", "배포", "값"] {
            assert!(!is_stop_word(word), "{word}");
        }
        for word in ["what", "didnt", "뭐였지", "어떻게"] {
            assert!(is_stop_word(word), "{word}");
        }
    }
}
