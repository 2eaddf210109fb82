//! Sentences that give something up or change it.

use super::Statement;
use super::choices::{DECIDING_ENDINGS, is_decided};
use super::given_up::{GivenUp, Scope};
use crate::model::word_list::WordList;
use crate::prose::one_off::is_one_off_request;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::terms::{ProseToken, terms_of, tokens};

/// Returns the statements in a prompt or an answer that give something up or change it, even if they are no conclusions: "no, back to
/// TOML".
pub fn reversals(text: &str) -> Vec<Statement> {
    let all = sentences(text);
    let plain = all.iter().enumerate().filter(|(_, sentence)| is_plain(sentence));
    let statement = |(at, sentence): (usize, &&str)| {
        let statement = Statement::of(sentence);
        // "1.75 MB for the slot. 1.5 MB is cancelled": the sentence before names the subject.
        let before = at.checked_sub(1).filter(|_| statement.terms.is_empty() && !statement.given_up.is_empty());
        before.map_or(statement, |before| Statement::of(&[all[before], *sentence].concat()))
    };
    plain.map(statement).filter(|statement| statement.reverses() || statement.changes).collect()
}

/// Words of complaints in lower case, English words and Korean parts of words.
static COMPLAINTS: WordList = WordList::words(
    "breaks broke broken clunky corrupt corrupted corrupts crash crashed crashes crawls expensive fail failed failing fails flagged \
     flaky hangs leaked leaking leaks loses overloaded slow timeouts unmaintained unusable",
);
static KOREAN_COMPLAINTS: WordList = WordList::phrases(
    "깨지|깨져|깨집|느리|느려|느립|죽어|죽었|죽습|죽는|비싸|비쌉|요금|터져|터졌|밀려|밀립|잘라|잘립|잘려|반토막|틀려|틀립|안 울|누락|막혀|막힙|막혔|꼬여|꼬입|멈춰|멈춥|멈춘|유실|날아|크래시|사람이 없|답이 없|한계가|한계다|무리야|무리다|너무 낙관|너무 길|너무 짧|너무 커|너무 크|너무 작|너무 오래|너무 많|너무 적|너무 잦|난리|가혹|답답",
);

/// Returns a statement that gives up the name or the number that a complaint in a prompt begins with, if a later sentence changes to something
/// else: "GoldenGate cuts off large columns. Move to Debezium."
pub fn left_for_another(prompt: &str) -> Option<Statement> {
    const FIRST: usize = 2;
    let all = sentences(prompt);
    let complaints: Vec<bool> = all.iter().map(|sentence| complains(sentence)).collect();
    // Most prompts end here, before they are parsed.
    if !complaints.contains(&true) {
        return None;
    }
    let parsed: Vec<Vec<ProseToken>> = all.iter().map(|sentence| tokens(sentence)).collect();
    let change = |(at, tokens): (usize, &Vec<ProseToken>)| {
        let subject = is_plain(all[at]).then(|| changed_to_another(all[at], tokens)).flatten()?;
        Some((at, subject))
    };
    let (at, subject) = parsed.iter().enumerate().find_map(change)?;
    let kept: Vec<&str> = parsed[at..].iter().flatten().map(|token| token.text.as_str()).collect();
    let mut left = GivenUp { subject, ..GivenUp::nothing(Scope::Chosen) };
    for (tokens, _) in parsed[..at].iter().zip(&complaints).filter(|(_, complains)| **complains) {
        // A capital letter at the beginning of a sentence says nothing. "MMKV로는 답이 없네" names it later, too.
        let is_left = |(at, token): &(usize, &ProseToken)| {
            *at == 0 || token.is_name && (*at < FIRST || matches!(token.particle, "로는" | "으로는"))
        };
        let of_sentence = tokens.iter().filter(|token| token.is_term()).enumerate();
        let names = of_sentence.filter(is_left).map(|(_, token)| &token.text);
        left.names.extend(names.filter(|name| !kept.contains(&name.as_str())).cloned());
        // "512로 자르니까", "고정 5bp는 너무 낙관적이네요"
        let is_subject = |token: &&ProseToken| token.is_means() || matches!(token.particle, "은" | "는");
        let numbers = tokens.iter().take(FIRST).filter(is_subject);
        left.quantities.extend(numbers.filter_map(ProseToken::quantity));
    }
    left.terms.clone_from(&left.names);
    Statement::giving_up(left)
}

fn complains(sentence: &str) -> bool {
    let lower = in_lower_case(sentence);
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.any(|word| COMPLAINTS.contains(word)) || KOREAN_COMPLAINTS.occurs_in(&lower)
}

/// Returns what a sentence changes to something else, or nothing if the sentence before names it: "move the queue to SQS",
/// "조항 단위로 바꿔", "NVENC로 직접 인코딩합시다".
fn changed_to_another(sentence: &str, tokens: &[ProseToken]) -> Option<Vec<String>> {
    static CHANGES: WordList = WordList::words("convert move moving migrate migrating swap switch switching");
    static TO: WordList = WordList::words("onto over to");
    const REACH: usize = 4;
    let english = tokens.iter().enumerate().find_map(|(at, token)| {
        let behind = &tokens[at + 1..];
        let to = behind.iter().take(REACH).position(|next| TO.contains(&next.text))?;
        CHANGES.contains(&token.text).then(|| terms_of(&behind[..to]))
    });
    // "2GB로 올려줘" changes only a number.
    let decides = DECIDING_ENDINGS.ends(sentence.trim().trim_end_matches(['.', '!', '。']));
    let is_target = |(at, token): (usize, &ProseToken)| {
        let is_means = token.is_term() && token.is_means();
        let mut next = tokens[at + 1..].iter().take(REACH - 1);
        is_means && (decides && token.is_name || next.any(|next| is_decided(&next.text)))
    };
    let is_object = |token: &&ProseToken| matches!(token.particle, "을" | "를");
    let korean = || tokens.iter().enumerate().any(is_target).then(|| terms_of(tokens.iter().filter(is_object)));
    english.or_else(korean)
}

/// Whether a sentence is no question, condition or one-off, and does not only order to stop or to remove something.
pub(crate) fn is_plain(sentence: &str) -> bool {
    static UNSURE: WordList = WordList::phrases(
        "if |should we|could we|what about|how about|maybe|perhaps|might|thinking of|would it|할까|될까|면 어때|어떨까|어떻게 생각|\
         싶은데|고민",
    );
    let folded = sentence.trim().to_lowercase();
    let is_order = ["stop", "drop", "remove", "delete"].iter().any(|verb| folded.starts_with(verb));
    !folded.ends_with(['?', '？']) && !is_order && !is_one_off_request(&folded) && !UNSURE.occurs_in(&folded)
}
