//! Finds decisions, learnings and fixes of errors by rules.
//!
//! Prefers precision to recall: a sentence counts only if it *says* that something was decided, learned or fixed.
//!
//! | kind | English | Korean |
//! | --- | --- | --- |
//! | decision | `Decision: …`, "we decided to / agreed on / settled on / adopted / opted for …", "let's go with …", "our convention is that …", "from now on, all …" | `결정: …`, "…기로 했다 / 결정했다 / 합의했다", "…를 채택했다", "…로 정했다", "앞으로 …한다" |
//! | decision, when weighed | "we chose / picked / will use / are dropping …", anything of "I", "X was chosen …", with "over", "instead of", "rather than", "because", "since", "so that", "in favor of"; "we chose … for the …" | "…를 선택했다 / 택했다", "…로 가자 / 쓰자", with "대신", "때문에", "니까", "므로", "보다", "위해", "아니라" |
//! | learning | `TIL`, `Lesson learned: …`, "learned / discovered / realized / found out that …", "turns out …" | `알게 된 점: …`, `교훈: …`, "…을 알게 되었다 / 것을 배웠다 / 깨달았다 / 발견했다", "알고 보니 …" |
//! | error fix | a cause ("the root cause was …", "was due to …", "failed because …") with its fix, "fixed the … by …ing", "adding … fixed the … error" | "원인은 …" with "…로 해결했다 / 고쳤다 / 수정했다", or "… 오류를 …해서 해결했다" |
//!
//! | left out | because |
//! | --- | --- |
//! | fenced code, comments, block quotes, tables, headings, unticked boxes, quoted words | somebody else's words, output or plans |
//! | questions; "if", "whether", "should" before the words of the rule; "만약", "할지" | not yet so |
//! | "not", "never" before the words of the rule; "아직", "결정하지 않" | not so |
//! | "write", "record", "please" before the words of the rule; "주세요" | an instruction |
//! | "probably", "might" with a cause; "아마", "것 같" | a guess |
//! | "in the old …", "previously", "according to", "예전", "전 직장", "따르면" | of another project, or told by others |
//! | "that", "option 2", "the last", "the plan", "approve …", "그렇게", "두 번째", "이 방법" as what was decided | says nothing by itself |
//! | "to check", "to run", "a quick grep", "today", "확인하기로", "나중에 …기로", "앞으로 …해야 한다" unless for all | the next step |
//! | "is empty", "passes", "the function is …", "비어", "통과" as what was learned or rules for all days, unless "when", "even", "…면" | a passing state |
//! | "was …", "forgot", "…했다는 것", and what begins with "I", "you", "there", "제가" as what was learned | happened once, or is about those who speak |
//! | "the issue was closed"; fixes of wording, snapshots and slips ("a missing comma", "실수"), and of what is not named | administration, or no error to meet again |
//! | under 20 columns (Hangul and Han take two) or over 600 characters | too little or too much to stand alone |
//!
//! A following reason ("Because …", "왜냐하면 …", an item `Reason: …`) and the fix that follows a cause belong to the conclusion.

mod english;
mod korean;
mod passages;
mod phrases;

use std::collections::{HashSet, VecDeque};

use crate::host::transcript::Utterance;
use crate::model::memory::MemoryType;
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;
use passages::{Sentence, split_sentences};
use phrases::SentenceMeaning;

/// The most conclusions of one run. Of more, the last ones are kept.
pub const MAX_CONCLUSIONS: usize = 20;

/// The shortest conclusion in columns, and the longest in characters.
const MIN_COLUMNS: usize = 20;
const MAX_CHARACTERS: usize = 600;

/// The longest text that is read, in bytes. Longer ones are pasted files and logs.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// A decision, a learning or a fix in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// `Decision`, `Learning` or `ErrorFix`.
    pub kind: MemoryType,
    /// The sentence that states it, with its reason or fix.
    pub content: String,
    /// When it was said.
    pub at: Moment,
}

/// Returns the conclusions in prompts and answers, each once, in order.
///
/// Skips summaries, which a machine wrote about earlier texts.
pub fn extract(said: impl IntoIterator<Item = Utterance>, screen: &Sanitizer) -> Vec<Conclusion> {
    let mut findings = ConclusionFinder::default();
    for said in said {
        if let Utterance::Prompt { text, at } | Utterance::Answer { text, at } = said {
            findings.add_text(&text, at, screen);
        }
    }
    findings.take_conclusions()
}

/// Collects conclusions from texts that come one by one.
#[derive(Debug, Default)]
pub struct ConclusionFinder {
    conclusions: VecDeque<Conclusion>,
    seen: HashSet<(MemoryType, String)>,
}

impl ConclusionFinder {
    /// Reads a prompt or an answer.
    pub fn add_text(&mut self, text: &str, at: Moment, screen: &Sanitizer) {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        // Clean the text before splitting it: the second sentence of a private part has no tag of its own.
        let text = screen.clean(text).text;
        for (kind, content) in find_conclusions(&split_sentences(&text)) {
            if self.seen.insert((kind, fingerprint(&content))) {
                self.conclusions.push_back(Conclusion { kind, content, at });
            }
            if self.conclusions.len() > MAX_CONCLUSIONS {
                self.conclusions.pop_front();
            }
        }
    }

    /// Returns the conclusions so far, and starts over.
    pub fn take_conclusions(&mut self) -> Vec<Conclusion> {
        std::mem::take(self).conclusions.into()
    }
}

fn find_conclusions(sentences: &[Sentence]) -> Vec<(MemoryType, String)> {
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(sentence) = sentences.get(next) {
        let (kind, taken) = match classify_sentence(&sentence.text) {
            Some(SentenceMeaning::Decision) => {
                (MemoryType::Decision, 1 + count_reason_sentences(sentence, sentences.get(next + 1)))
            }
            Some(SentenceMeaning::Learning) => {
                (MemoryType::Learning, 1 + count_reason_sentences(sentence, sentences.get(next + 1)))
            }
            Some(SentenceMeaning::Fixed) => (MemoryType::ErrorFix, 1),
            Some(SentenceMeaning::Cause) => match count_fix_sentences(sentence, &sentences[next + 1..]) {
                Some(following) => (MemoryType::ErrorFix, 1 + following),
                None => {
                    next += 1;
                    continue;
                }
            },
            None => {
                next += 1;
                continue;
            }
        };
        let parts: Vec<_> = sentences[next..next + taken].iter().map(|sentence| sentence.text.as_str()).collect();
        let (whole, alone) = (parts.join(" "), parts[0]);
        // Drop a reason that makes the conclusion too long. A fix must stay: without it there is no conclusion.
        let content = if is_acceptable(&whole) || kind == MemoryType::ErrorFix { whole.as_str() } else { alone };
        if is_acceptable(content) {
            found.push((kind, content.to_owned()));
        }
        next += taken;
    }
    found
}

fn classify_sentence(sentence: &str) -> Option<SentenceMeaning> {
    if sentence.starts_with("//") || sentence.starts_with("/*") {
        return None;
    }
    if sentence.chars().count() > MAX_CHARACTERS || sentence.contains(['?', '？']) || sentence.ends_with([':', '：'])
    {
        return None;
    }
    // Most sentences are ASCII and cannot be Korean.
    english::classify_sentence(sentence)
        .or_else(|| if sentence.is_ascii() { None } else { korean::classify_sentence(sentence) })
}

/// Returns how many of the following sentences give the reason: one or none.
fn count_reason_sentences(sentence: &Sentence, next: Option<&Sentence>) -> usize {
    let Some(next) = next.filter(|next| !next.text.contains(['?', '？'])) else { return 0 };
    let labelled = english::is_reason_label(&next.text) || korean::is_reason_label(&next.text);
    let same = sentence.passage == next.passage && (english::is_reason(&next.text) || korean::is_reason(&next.text));
    usize::from(labelled || same)
}

/// Returns how many of the following sentences it takes to the fix of a cause: at most two, or one with a label.
fn count_fix_sentences(sentence: &Sentence, following: &[Sentence]) -> Option<usize> {
    let first = following.first()?;
    if english::is_fix_label(&first.text) || korean::is_fix_label(&first.text) {
        return Some(1);
    }
    let near = following.iter().take(2).take_while(|next| next.passage == sentence.passage);
    let near = near.take_while(|next| !next.text.contains(['?', '？']));
    near.enumerate().find_map(|(n, next)| (english::is_fix(&next.text) || korean::is_fix(&next.text)).then_some(n + 1))
}

fn is_acceptable(content: &str) -> bool {
    let columns: usize = content.chars().map(|c| if c >= '\u{1100}' { 2 } else { 1 }).sum();
    columns >= MIN_COLUMNS && content.chars().count() <= MAX_CHARACTERS
}

/// Returns letters and digits only, so that the same words with other punctuation or case count once.
fn fingerprint(content: &str) -> String {
    content.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests;
