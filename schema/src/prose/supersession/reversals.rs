//! Sentences that give something up or change it.

use super::Statement;
use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::small_talk::is_one_off;

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
    plain.map(statement).filter(|statement| !statement.given_up.is_empty() || statement.changes).collect()
}

/// Whether a sentence is no question, condition or one-off, and does not only order to stop or to remove something.
fn is_plain(sentence: &str) -> bool {
    static UNSURE: WordList = WordList::phrases(
        "if |should we|could we|what about|how about|maybe|perhaps|might|thinking of|would it|할까|될까|면 어때|어떨까|어떻게 생각|\
         싶은데|고민",
    );
    let folded = sentence.trim().to_lowercase();
    let is_order = ["stop", "drop", "remove", "delete"].iter().any(|verb| folded.starts_with(verb));
    !folded.ends_with(['?', '？']) && !is_order && !is_one_off(&folded) && !UNSURE.occurs_in(&folded)
}
