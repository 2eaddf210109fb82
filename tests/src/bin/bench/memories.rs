//! Synthetic data: a store with needles, questions with expected hits, and texts to save.

use std::collections::HashMap;
use std::fmt::Write as _;

use harness::Sandbox;
use harness::corpus::SyntheticCorpus;
use harness::proof::texts_in_rows;

use crate::arguments::Outcome;

/// The approximate size of a memory, in bytes.
const BYTES: usize = 285;
/// Memories per day, and per session.
const OF_A_DAY: usize = 1_600;
const OF_A_SESSION: usize = 80;
/// Memories with a unique word.
const NEEDLES: usize = 100;

/// Seeds of memories, questions and saves.
const SEED: u64 = 1;
const ASKED: u64 = 2;
const SAVED: u64 = 3;

/// The approximate sizes of texts to save, in bytes. Most are short; the longest have several lines.
const LENGTHS: [usize; 6] = [60, 120, 285, 285, 600, 1_500];

/// The types to save, alternating between knowledge and events. All versions of the programs know them.
pub(crate) const TYPES: [&str; 11] = [
    "decision",
    "user_prompt",
    "learning",
    "assistant_response",
    "error_fix",
    "tool_usage",
    "preference",
    "error",
    "convention",
    "subagent_result",
    "session_summary",
];

/// Returns texts of similar length, reproducible for each number.
pub(crate) fn sample_memories(count: usize) -> Vec<String> {
    let mut corpus = SyntheticCorpus::new(SEED);
    let every = (count / NEEDLES).max(1);
    (0..count)
        .map(|number| {
            let (mut text, is_korean) = sample_text(&mut corpus, BYTES, " ");
            if number % every == 0 {
                let _ = match is_korean {
                    true => write!(text, " 이 작업의 암호명은 {}를 쓴다.", korean_needle(number)),
                    false => write!(text, " Its code name is {}.", needle(number)),
                };
            }
            text
        })
        .collect()
}

/// Returns sentences in one language with about this many bytes, and whether it is Korean.
fn sample_text(corpus: &mut SyntheticCorpus, bytes: usize, separator: &str) -> (String, bool) {
    let mut text = String::new();
    let mut language = None;
    while text.len() + 40 < bytes {
        let Some(next) = corpus.by_ref().find(|next| language.is_none_or(|is| is == next.is_korean)) else { break };
        language = Some(next.is_korean);
        text.push_str(if text.is_empty() { "" } else { separator });
        text.push_str(&next.text);
    }
    (text, language == Some(true))
}

#[derive(Debug, Clone)]
pub(crate) struct SampleSave {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
}

/// Returns texts of all types, both languages and several lengths. Each begins with a unique word that contains `name`.
pub(crate) fn sample_saves(name: &str, count: usize) -> Vec<SampleSave> {
    let mut corpus = SyntheticCorpus::new(SAVED);
    let save = |number: usize| {
        // Types and lengths have different periods, so that each type gets each length.
        let bytes = LENGTHS[number % LENGTHS.len()];
        let (text, _) = sample_text(&mut corpus, bytes, if bytes > BYTES { "\n" } else { " " });
        SampleSave { kind: TYPES[number % TYPES.len()], text: format!("{name}.{number}: {text}") }
    };
    (0..count).map(save).collect()
}

/// Counts the texts that the store has exactly once in its logs and exactly once in `memory.db`. Conclusions, which repeat a text, do not
/// count.
pub(crate) fn count_saved(sandbox: &Sandbox, saves: &[&SampleSave]) -> Outcome<usize> {
    let mut words: HashMap<&str, usize> = HashMap::new();
    let logs = sandbox.logs();
    for word in logs.lines().filter(|line| !line.contains(r#""auto":true"#)).flat_map(str::split_whitespace) {
        *words.entry(word).or_default() += 1;
    }
    let rows = texts_in_rows(&sandbox.store())?;
    let is_in_logs = |text: &str| text.split_whitespace().next().and_then(|word| words.get(word)) == Some(&1);
    Ok(saves.iter().filter(|save| is_in_logs(&save.text) && rows.get(&save.text) == Some(&1)).count())
}

/// Returns a unique word.
pub(crate) fn needle(number: usize) -> String {
    let syllable = |digit: usize| [b"bdfgklmnprstvz"[digit % 14], b"aeiou"[digit / 14 % 5]];
    let digits = [number % 70, number / 70 % 70, number / 4_900 % 70, number / 343_000 % 70];
    let text: Vec<u8> = digits.into_iter().flat_map(syllable).chain(*b"xq").collect();
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns a unique Korean word that does not exist.
fn korean_needle(number: usize) -> String {
    let syllable = |digit: usize| char::from_u32(0xAC00 + (digit * 131 % 11_172) as u32).unwrap_or('가');
    [number % 89 + 20, number / 89 % 89 + 20, number / 7_921 + 20].into_iter().map(syllable).collect()
}

/// Writes the logs of these memories in the format of hooks.
pub(crate) fn write_logs(sandbox: &Sandbox, memories: &[String]) -> Outcome<()> {
    let first = chrono::NaiveDate::from_ymd_opt(2025, 1, 1).ok_or("a date")?;
    for (day, of_day) in memories.chunks(OF_A_DAY).enumerate() {
        let date = first + chrono::Days::new(day as u64);
        let mut log = format!("# {date}\n\n");
        for (number, text) in of_day.iter().enumerate() {
            if number % OF_A_SESSION == 0 {
                writeln!(log, "<!-- session {day:05}-{number:04} +09:00 -->")?;
            }
            let second = number * 50;
            let kind = if number % 2 == 0 { "User Prompt" } else { "Assistant Response" };
            let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
            writeln!(log, "- [{hour:02}:{minute:02}:{second:02}] **{kind}**: {text}")?;
        }
        sandbox.write(format!(".jikime/memory/{date}.md"), log);
    }
    Ok(())
}

/// A question, and words that one hit must contain.
#[derive(Debug)]
pub(crate) struct BenchQuestion {
    pub(crate) class: &'static str,
    pub(crate) text: String,
    pub(crate) holds: Vec<String>,
}

/// Questions of all classes in turn.
pub(crate) fn sample_questions(memories: &[String], count: usize) -> Vec<BenchQuestion> {
    let mut corpus = SyntheticCorpus::new(ASKED);
    let every = (memories.len() / NEEDLES).max(1);
    let is_korean = |number: &usize| memories[*number].chars().any(|c| matches!(c, '가'..='힣'));
    let (korean, english): (Vec<usize>, Vec<usize>) = (0..memories.len()).partition(is_korean);
    let with_needle = |of: &[usize]| of.iter().copied().filter(|n| n % every == 0).collect::<Vec<_>>();
    let needles = (with_needle(&english), with_needle(&korean));
    let drawn = |of: &[usize], turn: usize| of[turn * 7_919 % of.len()];
    (0..count)
        .map(|turn| match turn % 9 {
            0 => {
                let word = needle(drawn(&needles.0, turn));
                BenchQuestion {
                    class: "an English needle",
                    text: format!("what has the code name {word}?"),
                    holds: vec![word],
                }
            }
            1 => {
                let word = korean_needle(drawn(&needles.1, turn));
                BenchQuestion {
                    class: "a Korean needle",
                    text: format!("암호명이 {word}인 작업은?"),
                    holds: vec![word],
                }
            }
            2 => {
                let word = korean_needle(drawn(&needles.1, turn));
                BenchQuestion { class: "a bare Korean noun", text: word.clone(), holds: vec![word] }
            }
            number @ 3..=6 => {
                let classes = ["one word", "two words", "three words", "four words"];
                let words = english_words(&memories[drawn(&english, turn)], number - 2);
                BenchQuestion { class: classes[number - 3], text: words.join(" "), holds: words }
            }
            7 => {
                let words = korean_words(&memories[drawn(&korean, turn)], 1 + turn / 9 % 2);
                BenchQuestion { class: "one or two Korean words", text: words.join(" "), holds: words }
            }
            _ => BenchQuestion { class: "a question", text: corpus.question(), holds: Vec::new() },
        })
        .collect()
}

fn english_words(text: &str, count: usize) -> Vec<String> {
    let is_word = |word: &&str| word.len() > 4 && word.bytes().all(|b| b.is_ascii_alphabetic());
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ').filter(is_word).map(str::to_lowercase) {
        if words.len() < count && !words.contains(&word) && !matches!(word.as_str(), "because" | "instead" | "which") {
            words.push(word);
        }
    }
    words
}

/// Returns the first two syllables of words. These words are nouns, and a particle may follow the noun.
fn korean_words(text: &str, count: usize) -> Vec<String> {
    let is_noun = |word: &&str| word.chars().count() > 1 && word.chars().all(|c| matches!(c, '가'..='힣'));
    text.split(' ').filter(is_noun).take(count).map(|word| word.chars().take(2).collect()).collect()
}

/// Lines of the logs, to look up the text of a hit.
#[derive(Debug)]
pub(crate) struct LogLines(HashMap<String, Vec<String>>);

impl LogLines {
    pub(crate) fn read(sandbox: &Sandbox) -> Outcome<Self> {
        let mut lines = HashMap::new();
        for item in std::fs::read_dir(sandbox.store())? {
            let item = item?;
            let name = item.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                let text = std::fs::read_to_string(item.path())?;
                lines.insert(format!(".jikime/memory/{name}"), text.lines().map(str::to_owned).collect());
            }
        }
        Ok(Self(lines))
    }

    /// Whether a hit contains all these words. Without words, whether there is a hit.
    pub(crate) fn contain(&self, hits: &[(String, usize)], words: &[String]) -> bool {
        hits.iter().any(|(path, line)| {
            let text = self.0.get(path).and_then(|lines| lines.get(line - 1)).map(|text| text.to_lowercase());
            text.is_some_and(|text| words.iter().all(|word| text.contains(word.as_str())))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn saves_have_every_type_length_and_language() {
        let saves = sample_saves("a", 600);
        let first = |save: &SampleSave| save.text.split(' ').next().unwrap_or_default().to_owned();
        assert_eq!(saves.iter().map(first).collect::<BTreeSet<_>>().len(), 600);
        for kind in TYPES {
            let texts = || saves.iter().filter(|save| save.kind == kind).map(|save| &save.text);
            let korean = texts().filter(|text| text.chars().any(|c| matches!(c, '가'..='힣'))).count();
            assert!((5..30).contains(&korean), "{kind}: {korean} are Korean");
            assert!(texts().any(|text| text.len() < 200) && texts().any(|text| text.len() > 1_300), "{kind}");
            assert!(texts().any(|text| text.contains('\n')), "{kind}");
        }
    }
}
