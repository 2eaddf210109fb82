//! Whether the text of an answer contains what a question asks for. The measure is the same for all servers, because most return only text.

use std::collections::HashSet;

use harness::peer::plain_text;

use crate::memories::BenchQuestion;

/// Shorter sentences say too little to identify a memory, in characters.
const SENTENCE: usize = 15;

/// The memories, to recognise them in answers.
#[derive(Debug)]
pub(super) struct AnswerKey(Vec<(String, Vec<String>)>);

impl AnswerKey {
    pub(super) fn new(memories: &[String]) -> Self {
        let entry = |text: &String| {
            let text = plain_text(text);
            let sentences = text.split_inclusive(['.', '?']).map(|sentence| sentence.trim().to_owned());
            let sentences = sentences.filter(|sentence| sentence.chars().count() >= SENTENCE).collect();
            (text, sentences)
        };
        Self(memories.iter().map(entry).collect())
    }

    /// Judges an answer of a server that has the first memories. Returns `None` if none of them is an answer.
    ///
    /// An answer is right if it contains all words that were asked for, and a sentence of a memory that has all of them. A server that
    /// only repeats the question is wrong.
    pub(super) fn judge(&self, question: &BenchQuestion, saved: usize, answer: &str) -> Option<bool> {
        let has_words = |text: &str| question.holds.iter().all(|word| text.contains(word.as_str()));
        let mut wanted = self.0.iter().take(saved).filter(|(text, _)| has_words(text)).peekable();
        wanted.peek()?;
        let answer = plain_text(answer);
        let mut seen = HashSet::new();
        let mut sentences = wanted.flat_map(|(_, sentences)| sentences).filter(|sentence| seen.insert(*sentence));
        Some(has_words(&answer) && sentences.any(|sentence| answer.contains(sentence.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_with_the_memory_are_right() {
        let memories = [
            "The cache keeps \"old\" keys for an hour. Its code name is bidaxq.",
            "캐시는 키를 한 시간 동안 보관하기로 했다.",
        ];
        let key = AnswerKey::new(&memories.map(str::to_owned));
        let asked = |holds: &[&str]| BenchQuestion {
            class: "one word",
            text: holds.join(" "),
            holds: holds.iter().map(|&word| word.to_owned()).collect(),
        };
        let cases = [
            (vec!["bidaxq"], 2, "1. Its code\nname is bidaxq.", Some(true)),
            (vec!["bidaxq"], 2, "No results for 'bidaxq'", Some(false)),
            (vec!["bidaxq"], 2, "The cache keeps \"old\" keys for an hour.", Some(false)),
            (vec!["cache", "keys"], 2, r#"{"text":"The cache keeps \"old\" keys\nfor an hour."}"#, Some(true)),
            (vec!["캐시"], 2, r"\uce90\uc2dc\ub294 키를 한 시간 동안 보관하기로 했다.", Some(true)),
            (vec!["캐시"], 1, "캐시는 키를 한 시간 동안 보관하기로 했다.", None),
            (vec![], 2, "The cache keeps \"old\" keys for an hour.", Some(true)),
            (vec![], 2, "Nothing found", Some(false)),
        ];
        for (holds, saved, answer, expected) in cases {
            assert_eq!(key.judge(&asked(&holds), saved, answer), expected, "{holds:?} in {answer:?}");
        }
    }
}
