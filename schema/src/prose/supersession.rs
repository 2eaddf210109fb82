//! Decides whether a newer statement plainly replaces an older one, with rules for English and Korean text. Accesses no store.
//!
//! A replaced statement must not be shown as valid, and a valid one must not be hidden. So each rule needs shared terms and a sign of
//! change.
//!
//! | rule | sign of change | also required |
//! | --- | --- | --- |
//! | gives up | "no longer X", "X, not Y", "instead of X", "prefer Y over X", "from X to Y", "drop X", "throw X out", "take S out of X", "X 대신", "X 말고", "X 는 취소", "X はやめて" | the older text contains all of X and shares another term, or chooses X and the newer text is about nothing else; if people give it up, or if a name or several words are gone completely, no other term |
//! | another quantity | another number with the same unit | the terms of one are among those of the other, with two in common or a word of change; a date that is put off, or changed, for nothing else |
//! | another number of a topic | "the topic 은/는 number" in one clause of each, with the same unit | |
//! | leaves a number | "A 는 …, B 로", "A is too …. B" in a prompt | the older text has that number and shares a term, or the prompt replies to it |
//! | goes back | chooses something that the older text gave up, or returns to something ("rollback after all", "역시 서버로") | a word of change |
//! | leaves | complains about a name or a number, and then changes to something else | the older text chooses that name or has that number |
//! | another choice | both choose a name for the same terms | "the S is X", "X as the S", "S 는 X", or a word of change |

use std::borrow::Cow;

use self::choices::{TopicNumber, choices, defines, is_change, is_used_as, puts_off, returns_to, topic_numbers};
pub use self::corrected::{corrected, done_once};
pub use self::edits::{changes_of_edits, names_of_removed_files};
use self::given_up::{GivenUp, PARTS, PAST, Scope, given_up, japanese_given_up};
pub use self::numbers::{number_left, number_left_for};
pub use self::overwritten::TurnEdits;
pub use self::passages::{StatementIndex, TurnStatement, without_replaced};
pub(crate) use self::reversals::is_plain;
pub use self::reversals::{left_for_another, reversals};
use crate::prose::sentences::sentences;
use crate::prose::terms::{DATE, ProseToken, quantities, tokens};

mod choices;
mod corrected;
mod edits;
mod given_up;
mod numbers;
mod overwritten;
mod passages;
mod reversals;

/// The parts of a statement that are compared.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statement {
    /// Sorted and without duplicates, for binary search.
    terms: Vec<String>,
    quantities: Vec<(f64, String)>,
    topic_numbers: Vec<TopicNumber>,
    /// The things that it gives up.
    given_up: Vec<GivenUp>,
    /// The names that it chooses.
    choices: Vec<String>,
    /// Whether it defines something, as in "the package manager is pnpm".
    defines: bool,
    /// Whether it contains a word of change.
    changes: bool,
    /// Whether it mentions an earlier state.
    mentions_past: bool,
    /// Its choices that go back on an earlier decision: "rollback after all".
    returns_to: Vec<String>,
}

/// The evidence that is needed to treat a text as replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// For conclusions. A valid statement must not be hidden.
    Strict,
    /// For conversation. Hiding a valid statement is better than showing an invalid one, so a name or a quantity that was given up is
    /// enough.
    Loose,
}

/// Returns one statement for each sentence of a text.
pub fn statements(text: &str) -> Vec<Statement> {
    sentences(text).into_iter().map(Statement::of).collect()
}

impl Statement {
    /// Returns a statement that only gives something up.
    fn giving_up(given_up: GivenUp) -> Option<Self> {
        (!given_up.is_nothing()).then(|| Self { given_up: vec![given_up], ..Self::default() })
    }

    /// Parses a text.
    pub fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut statement = Self {
            quantities: quantities(&tokens),
            topic_numbers: topic_numbers(&tokens),
            given_up: given_up(&tokens).into_iter().chain(japanese_given_up(text)).collect(),
            choices: choices(&tokens),
            defines: defines(&tokens) || is_used_as(&tokens),
            changes: tokens.iter().enumerate().any(|(at, token)| is_change(&tokens, at, token)),
            mentions_past: tokens.iter().any(|token| PAST.contains(&token.text)),
            returns_to: returns_to(&tokens),
            terms: tokens.into_iter().filter(ProseToken::is_term).map(|token| token.text).collect(),
        };
        for list in [&mut statement.terms, &mut statement.choices] {
            list.sort_unstable();
            list.dedup();
        }
        statement.given_up.retain(|given_up| !given_up.is_nothing());
        statement
    }

    /// Whether it gives up, sets or chooses something. Every rule needs one of these.
    fn can_replace(&self) -> bool {
        self.reverses() || !self.quantities.is_empty() || !self.choices.is_empty()
    }

    /// Whether it gives something up, or returns to something.
    fn reverses(&self) -> bool {
        !self.given_up.is_empty() || !self.returns_to.is_empty()
    }

    /// Whether it has a word of change.
    pub(crate) fn changes(&self) -> bool {
        self.changes
    }

    fn has_term(&self, term: &String) -> bool {
        self.terms.binary_search(term).is_ok()
    }

    fn has_terms(&self, terms: &[String]) -> bool {
        terms.iter().all(|term| self.has_term(term))
    }

    /// Whether it gives up something with this term.
    pub(crate) fn gives_up_term(&self, term: &String) -> bool {
        self.given_up.iter().any(|given_up| given_up.terms.contains(term))
    }

    /// Whether it goes back to this term.
    pub(crate) fn returns_to_term(&self, term: &String) -> bool {
        self.returns_to.contains(term)
    }

    /// Returns its terms and numbers, also of what it gives up. It shares one with each statement that it replaces.
    fn keys(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let given_up = || self.given_up.iter();
        let quantities = self.quantities.iter().chain(given_up().flat_map(|given_up| &given_up.quantities));
        let terms = self.terms.iter().chain(given_up().flat_map(|given_up| &given_up.terms));
        terms.map(Cow::from).chain(quantities.map(|(number, _)| number.to_string().into()))
    }

    /// Whether this newer statement plainly replaces an older one.
    pub fn replaces(&self, older: &Self, strictness: Strictness) -> bool {
        self.gives_up(older)
            || self.sets_another_quantity(older)
            || self.sets_topic(older)
            || self.chooses_another(older)
            || self.chooses_given_up(older)
            || self.leaves_choice(older)
            || self.returns_to_mentioned(older, strictness)
            || strictness == Strictness::Loose && self.gives_up_a_name(older)
    }

    /// Whether it gives up a name or a quantity of the older statement.
    fn gives_up_a_name(&self, older: &Self) -> bool {
        self.given_up.iter().filter(|given_up| matches!(given_up.scope, Scope::All | Scope::Removed)).any(|given_up| {
            let has_name = given_up.names.iter().any(|name| older.has_term(name));
            let is_all_of_it = given_up.scope == Scope::All
                || given_up.terms.iter().all(|term| given_up.names.contains(term) || PARTS.contains(term));
            let has_quantity = given_up
                .quantities
                .iter()
                .any(|quantity| !quantity.1.is_empty() && older.quantities.contains(quantity));
            given_up.subject.is_empty() && (has_name && is_all_of_it || has_quantity)
        })
    }

    fn gives_up(&self, older: &Self) -> bool {
        const RESTATED: usize = 2;
        let is_compared = |given_up: &&GivenUp| {
            matches!(given_up.scope, Scope::All | Scope::Sentence | Scope::Subject | Scope::Restated)
        };
        self.given_up.iter().filter(is_compared).any(|given_up| {
            let is_restated = given_up.scope == Scope::Restated;
            let has = |(number, unit): &(f64, String)| {
                let is_unit = |other: &String| other == unit || is_restated && (unit.is_empty() || other.is_empty());
                older.quantities.iter().any(|(other, of)| other == number && is_unit(of))
            };
            let is_mentioned = older.has_terms(&given_up.terms)
                && given_up.quantities.iter().all(has)
                && older.has_terms(&given_up.subject);
            // Most pairs end here.
            if !is_mentioned || given_up.scope == Scope::Sentence {
                return is_mentioned;
            }
            let gives_it_up_as_well = older.given_up.iter().any(|other| {
                other.terms.iter().any(|term| given_up.terms.contains(term))
                    || other.quantities.iter().any(|quantity| given_up.quantities.contains(quantity))
            });
            let others = self.terms.iter().filter(|term| !given_up.terms.contains(term) && older.has_term(term));
            let has_name = || is_restated && given_up.names.iter().any(|name| older.has_term(name));
            let shares_another = others.count() >= if is_restated { RESTATED } else { 1 } || has_name();
            let is_enough = shares_another
                || given_up.scope == Scope::All && !given_up.terms.is_empty()
                || self.is_only_choice() && older.choices.iter().any(|name| given_up.terms.contains(name));
            !gives_it_up_as_well && is_enough
        })
    }

    /// Whether it says nothing but what is chosen and what is given up for it: "use Paddle instead of Stripe".
    fn is_only_choice(&self) -> bool {
        self.terms.iter().all(|term| self.choices.contains(term) || self.gives_up_term(term))
    }

    fn sets_another_quantity(&self, older: &Self) -> bool {
        let [old] = older.quantities.as_slice() else { return false };
        let numbers_of_unit: Vec<f64> = self.quantities.iter().filter(|new| new.1 == old.1).map(|new| new.0).collect();
        let is_old = |number: &f64| (number - old.0).abs() <= f64::EPSILON * old.0.abs();
        let is_other = match numbers_of_unit.as_slice() {
            [new] => self.quantities.len() == 1 && !is_old(new),
            // "8 s, 4 s was too short"
            [new, before] => !is_old(new) && is_old(before) && self.mentions_past,
            _ => false,
        };
        if !is_other {
            return false;
        }
        let common = count_shared(&self.terms, &older.terms);
        let shorter = self.terms.len().min(older.terms.len());
        let is_same_subject = common == shorter;
        // Numbers without a unit are versions, ports and counts, so they need more terms in common.
        let least = if old.1.is_empty() || !self.changes && numbers_of_unit.len() == 1 { 2 } else { 1 };
        // "The Android freeze slipped to 10 March" moves no other freeze.
        let is_own = |term: &&String| !older.has_term(term) && !puts_off(term);
        let is_moved = self.changes && old.1 == DATE && !self.terms.iter().any(|term| is_own(&term));
        common >= least && (is_same_subject || is_moved || numbers_of_unit.len() == 2)
    }

    /// Whether it sets another number for a topic of the older statement. Without a word of change, one word is in too many topics.
    fn sets_topic(&self, older: &Self) -> bool {
        let is_named = |new: &&TopicNumber| self.changes || new.topic.len() > 1;
        let mut named = self.topic_numbers.iter().filter(is_named);
        !self.mentions_past && named.any(|new| older.topic_numbers.iter().any(|old| new.changes(old)))
    }

    /// Whether it drops a chosen name or a number of the older statement.
    fn leaves_choice(&self, older: &Self) -> bool {
        self.given_up.iter().filter(|given_up| given_up.scope == Scope::Chosen).any(|given_up| {
            let has_number = |(number, unit): &(f64, String)| {
                older.quantities.iter().any(|(old, old_unit)| {
                    number == old && (unit == old_unit || unit.is_empty() || old_unit.is_empty())
                })
            };
            // The reason may be about another use of the same thing.
            let mentions_subject =
                given_up.subject.is_empty() || given_up.subject.iter().any(|term| older.has_term(term));
            let is_chosen = !older.choices.is_empty() && older.choices.iter().all(|name| given_up.names.contains(name));
            // "5bp" is a number with an unknown unit.
            let is_number = |name: &&String| name.starts_with(|c: char| c.is_ascii_digit());
            let has_name = given_up.names.iter().filter(is_number).any(|name| older.has_term(name));
            mentions_subject && (is_chosen || has_name || given_up.quantities.iter().any(has_number))
        })
    }

    /// Whether it returns to something that the older statement mentions. A conclusion must also choose something.
    fn returns_to_mentioned(&self, older: &Self, strictness: Strictness) -> bool {
        let is_decided = strictness == Strictness::Loose || older.can_replace();
        let is_left = |term: &String| older.has_term(term) && !older.choices.contains(term);
        is_decided && older.returns_to.is_empty() && self.returns_to.iter().any(is_left)
    }

    /// Whether it returns to something that the older statement gave up for the same subject.
    fn chooses_given_up(&self, older: &Self) -> bool {
        let mut given_up = older.given_up.iter().flat_map(|given_up| &given_up.terms);
        let is_same_subject = || {
            let (new, old) = (self.unchosen_terms(older), older.unchosen_terms(self));
            new.is_empty() || old.is_empty() || count_shared(&new, &old) > 0
        };
        self.changes && given_up.any(|term| self.choices.contains(term)) && is_same_subject()
    }

    fn chooses_another(&self, older: &Self) -> bool {
        let may_change = self.changes || self.defines && older.defines;
        let both_choose = !self.choices.is_empty() && !older.choices.is_empty();
        if !may_change || !both_choose || count_shared(&self.choices, &older.choices) > 0 {
            return false;
        }
        let (new, old) = (self.unchosen_terms(older), older.unchosen_terms(self));
        let common = count_shared(&new, &old);
        common > 0 && common == new.len().min(old.len()) && common * 2 >= new.len().max(old.len())
    }

    /// Returns the terms that neither statement chooses and that this one does not give up.
    fn unchosen_terms(&self, other: &Self) -> Vec<&String> {
        let is_chosen = |term: &String| self.choices.contains(term) || other.choices.contains(term);
        self.terms.iter().filter(|term| !is_chosen(term) && !self.gives_up_term(term)).collect()
    }
}

/// Counts the items that two sorted lists share.
fn count_shared<T: Ord>(a: &[T], b: &[T]) -> usize {
    let mut others = b.iter().peekable();
    a.iter()
        .filter(|item| {
            while others.next_if(|other| other < item).is_some() {}
            others.peek() == Some(item)
        })
        .count()
}

#[cfg(test)]
mod tests;
