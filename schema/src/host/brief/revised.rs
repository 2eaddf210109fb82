//! Choices that a later prompt revises: it takes a name that the offer had and the choice left, and does not name the chosen one, unless it
//! says that something changes.
//!
//! "SQLite needs no server, Postgres scales. – SQLite then. – … – Let's build the reports on Postgres."

use std::cell::LazyCell;
use std::collections::HashSet;

use super::offers::kept_sentences;
use super::recent_events::{RecentEvents, is_earlier_in_session};
use crate::model::word_list::WordList;
use crate::prose::sentences::{in_lower_case, sentences};
use crate::prose::supersession::{Statement, is_plain};
use crate::prose::terms::{ProseToken, terms, tokens};
use crate::store::MemoryRow;

/// The longest prompt that chooses from an offer, in characters.
const LONGEST_CHOICE: usize = 160;

/// Words of rules, which hold whatever is chosen.
static RULE_WORDS: WordList =
    WordList::phrases(" always | never |from now on|앞으로|항상|반드시|무조건|절대로|는 절대 |은 절대 |도 절대 ");

/// The fewest terms of a sentence that is about something else than the choice.
const LEAST_BESIDES: usize = 3;

/// A prompt that chooses from the answer before it.
pub(super) struct OfferedChoice<'r> {
    /// A question with its offer, if the prompt before the offer asked something, then the choice and its answer.
    pub(super) turns: Vec<&'r MemoryRow>,
    order: (i64, i64),
    /// The sentences of the prompt about something else.
    pub(super) besides: Option<String>,
    chosen: HashSet<String>,
    left: HashSet<String>,
    /// The names among them, which a prompt may write with small letters.
    left_names: HashSet<String>,
    /// The terms of all these turns.
    subject: HashSet<String>,
}

/// Returns the choices that were revised.
pub(super) fn revised_choices(events: &RecentEvents) -> Vec<OfferedChoice<'_>> {
    let mut choices: Vec<OfferedChoice<'_>> =
        events.prompts.iter().filter_map(|prompt| OfferedChoice::of(prompt, events)).collect();
    let mut revised = Vec::new();
    for prompt in &events.prompts {
        let asked = all_terms(&prompt.memory.content);
        let may_revise = |choice: &OfferedChoice<'_>| choice.order < prompt.order() && choice.names_rejected(&asked);
        if !choices.iter().any(may_revise) {
            continue;
        }
        let answered = events.answer_to(prompt).map(|answer| all_terms(&answer.memory.content));
        let answered = answered.unwrap_or_default();
        let plain = sentences(&prompt.memory.content).into_iter().filter(|sentence| is_plain(sentence));
        let is_offered_name = |text: &String| choices.iter().any(|choice| choice.left_names.contains(text));
        let names = |sentence: &str| -> Vec<(bool, String)> {
            let changes = Statement::of(sentence).changes();
            let taken = taken_names(sentence, &answered, is_offered_name);
            taken.into_iter().map(|name| (changes, name)).collect()
        };
        let taken: Vec<(bool, String)> = plain.flat_map(names).collect();
        // A prompt with a word of change may name what it replaces, and so may every answer.
        let takes_rejected = |choice: &OfferedChoice<'_>| {
            let is_rejected = |(changes, name): &(bool, String)| {
                choice.left.contains(name) && (*changes || asked.is_disjoint(&choice.chosen))
            };
            taken.iter().any(is_rejected)
        };
        let said: HashSet<&String> = asked.iter().chain(&answered).collect();
        let is_revised = |choice: &mut OfferedChoice<'_>| {
            choice.order < prompt.order() && takes_rejected(choice) && choice.is_about_same(&said)
        };
        revised.extend(choices.extract_if(.., is_revised));
    }
    revised
}

impl<'r> OfferedChoice<'r> {
    fn of(prompt: &'r MemoryRow, events: &'r RecentEvents) -> Option<Self> {
        let text = &prompt.memory.content;
        if text.chars().count() > LONGEST_CHOICE {
            return None;
        }
        let is_before = |row: &&MemoryRow| is_earlier_in_session(row, prompt);
        let offer = events.answers.iter().find(is_before)?;
        let question = events.prompts.iter().find(is_before).filter(|question| question.order() < offer.order())?;
        let offered = all_terms(&offer.memory.content);
        let said = all_terms(text);
        let chosen: HashSet<String> = said.intersection(&offered).cloned().collect();
        if chosen.is_empty() || !is_plain(text) {
            return None;
        }
        let asked = all_terms(&question.memory.content);
        let left: HashSet<String> =
            offered.iter().filter(|term| !said.contains(*term) && !asked.contains(*term)).cloned().collect();
        let names = tokens(&offer.memory.content).into_iter().filter(|token| token.is_name).map(|token| token.text);
        let left_names = names.filter(|name| offered.contains(name) && !said.contains(name)).collect();
        let answer = events.answer_to(prompt);
        let asks = question.memory.content.contains(['?', '？']);
        let turns = [question, offer].into_iter().filter(|_| asks).chain([prompt]).chain(answer).collect();
        let done = answer.map(|answer| all_terms(&answer.memory.content)).unwrap_or_default();
        let is_besides = |sentence: &str| {
            let terms = all_terms(sentence);
            let is_rule = RULE_WORDS.occurs_in(&format!(" {} ", in_lower_case(sentence)));
            is_rule || terms.len() >= LEAST_BESIDES && terms.is_disjoint(&offered) && terms.is_disjoint(&asked)
        };
        let besides = kept_sentences(text, is_besides);
        let subject = [asked, offered, said, done].into_iter().flatten().collect();
        Some(Self { turns, order: prompt.order(), besides, chosen, left, left_names, subject })
    }

    /// Whether one of these terms, or the ending of a file name among them, is of an option that was not chosen.
    fn names_rejected(&self, asked: &HashSet<String>) -> bool {
        asked
            .iter()
            .any(|term| self.left.contains(term) || format_of(term).is_some_and(|name| self.left.contains(name)))
    }

    /// Whether a later turn with these terms is about the same subject.
    fn is_about_same(&self, said: &HashSet<&String>) -> bool {
        said.iter().any(|term| self.subject.contains(*term) && !self.left.contains(*term))
    }
}

/// Returns the names that a sentence takes: the answer has them, too, or they follow a word of choice. Names that it gives up, refuses or adds
/// to others are left out. A file name also stands for its format: "config.toml".
fn taken_names(sentence: &str, answered: &HashSet<String>, is_offered_name: impl Fn(&String) -> bool) -> Vec<String> {
    static BEFORE: WordList = WordList::words("on to with by use using via in make it write");
    static REFUSES: WordList = WordList::phrases("we won't |i won't |we wouldn't |i wouldn't ");
    let folded = in_lower_case(sentence);
    let said = folded.trim().trim_end_matches(['.', '!', ' ']);
    if said.ends_with(" too") || format!(" {said} ").contains(" also ") || REFUSES.begins(said) {
        return Vec::new();
    }
    let statement = LazyCell::new(|| Statement::of(sentence));
    let tokens = tokens(sentence);
    let is_taken = |(at, token): (usize, &ProseToken)| {
        let mut before = tokens[at.saturating_sub(2)..at].iter();
        let is_chosen = token.is_means()
            || before.any(|word| BEFORE.contains(&word.text))
            || statement.returns_to_term(&token.text);
        let is_name =
            token.is_term() && (token.is_name || is_chosen && statement.changes() && is_offered_name(&token.text));
        let is_taken = is_name && (is_chosen || answered.contains(&token.text));
        (is_taken && !statement.gives_up_term(&token.text)).then(|| token.text.clone())
    };
    let formats = |name: String| {
        let format = format_of(&name).map(str::to_owned);
        std::iter::once(name).chain(format)
    };
    tokens.iter().enumerate().filter_map(is_taken).flat_map(formats).collect()
}

/// Returns the ending of a name of a file.
fn format_of(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, ending)| ending)
}

fn all_terms(text: &str) -> HashSet<String> {
    terms(text).into_iter().collect()
}
