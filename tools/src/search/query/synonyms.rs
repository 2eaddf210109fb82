//! Other ways to say what a query says, from the glossary: in other words and in other languages.

use std::collections::HashMap;
use std::ops::Range;

use super::{Builder, Term, Word, exact};
use crate::glossary::{self, LONGEST, glossary, key};
use crate::search::{function_words, korean};
use crate::text::fold::fold;
use crate::text::grams;
use crate::text::script::{Class, Script};
use crate::text::units::units;

/// What a word from the glossary is worth of the word that was asked for: in the script of the query, and in another one, where
/// the word that was asked for cannot stand.
const OWN_SCRIPT: f32 = 0.6;
const OTHER_SCRIPT: f32 = 0.9;
/// What a word of a phrase that is listed itself is worth, of what it is worth alone: a `request` is only a part of a `pull request`.
const OF_PHRASE: f32 = 0.7;

/// Written words of the longest phrase that is looked for.
const MOST_WORDS: usize = 4;
/// Synonyms and terms of theirs that are looked for.
const MOST_SYNONYMS: usize = 200;
const MOST_TERMS: usize = 256;

/// Words that may stand apart from the verb that they belong to: `sign users in`.
const SEPARABLE: [&str; 9] = ["in", "up", "out", "off", "down", "back", "on", "over", "away"];
/// How far apart.
const APART: u32 = 3;

/// Another way to say some of a query's words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Synonym {
    /// What has to occur, one behind the other.
    pub(crate) steps: Vec<Step>,
    /// Terms of which each is in every document that holds it.
    pub(crate) terms: Vec<usize>,
    /// The words that it says.
    pub(crate) covers: Vec<Cover>,
    pub(crate) script: Script,
}

/// A term of a synonym.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) term: usize,
    /// What has to stand there where words are not told apart by spaces; the term is its beginning.
    pub(crate) run: Option<String>,
    /// How many written words behind the step before it may be.
    pub(crate) reach: u32,
}

/// A word of the query that a synonym says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cover {
    pub(crate) word: usize,
    /// Which of its parts, if not all of it.
    pub(crate) parts: Option<Range<usize>>,
    /// What the synonym is worth of it.
    pub(crate) weight: f32,
}

/// A run of a query of one class, as it was read.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) class: Class,
    /// By what the glossary lists it.
    pub(super) key: String,
    /// The word of the query that it became, if any.
    pub(super) word: Option<usize>,
}

/// A listed word or phrase in a query.
#[derive(Debug)]
struct Span {
    key: String,
    covers: Vec<Cover>,
    /// Whether its words mean something else by themselves.
    is_idiom: bool,
}

/// The listed words and phrases: phrases first, and what they are made of for less.
fn spans(heard: &[Heard], words: &[Word]) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut weights = vec![1.0f32; heard.len()];
    for (first, last) in (2..=MOST_WORDS).rev().flat_map(|n| (0..heard.len()).map(move |i| (i, i + n - 1))) {
        let Some(phrase) = heard.get(first..=last) else { continue };
        let whole = [&phrase[..1], &phrase[phrase.len() - 1..]].concat();
        for parts in [phrase, &whole[..]].into_iter().take(if is_separable(phrase) { 2 } else { 1 }) {
            let covers: Vec<Cover> = parts.iter().filter_map(|heard| all_of(heard, 1.0)).collect();
            let Some(key) = listed(parts).filter(|_| !covers.is_empty()) else { continue };
            // The words of an idiom mean something else.
            let is_idiom = parts.iter().any(|heard| heard.word.is_none());
            let of_part = if is_idiom { 0.0 } else { OF_PHRASE };
            weights[first] = weights[first].min(of_part);
            weights[last] = weights[last].min(of_part);
            spans.push(Span { key, covers, is_idiom });
        }
    }
    for (heard, weight) in heard.iter().zip(weights).filter(|(_, weight)| *weight > 0.0) {
        match heard.class {
            Class::Letter if glossary().holds(&heard.key) => {
                spans.extend(all_of(heard, weight).map(|cover| Span {
                    key: heard.key.clone(),
                    covers: vec![cover],
                    is_idiom: false,
                }));
            }
            Class::Letter => {}
            _ => within(heard, words, weight, &mut spans),
        }
    }
    spans
}

fn all_of(heard: &Heard, weight: f32) -> Option<Cover> {
    heard.word.map(|word| Cover { word, parts: None, weight })
}

fn is_separable(phrase: &[Heard]) -> bool {
    let is_verb = phrase.first().is_some_and(|first| first.class == Class::Letter && first.word.is_some());
    is_verb && phrase.len() > 2 && phrase.last().is_some_and(|last| SEPARABLE.contains(&last.key.as_str()))
}

/// The key of a phrase when it is listed, with the particles of its last word or without.
fn listed(phrase: &[Heard]) -> Option<String> {
    let mut key = String::new();
    let mut is_after_letters = false;
    for (i, heard) in phrase.iter().enumerate() {
        let is_letters = heard.class == Class::Letter;
        if is_after_letters && is_letters {
            key.push(' ');
        }
        key.push_str(if is_letters || i + 1 == phrase.len() { &heard.key } else { korean::stem(&heard.key) });
        is_after_letters = is_letters;
    }
    let stem = key.strip_suffix(phrase.last()?.key.as_str()).map(|before| {
        let last = phrase
            .last()
            .map_or("", |last| if last.class == Class::Hangul { korean::stem(&last.key) } else { &last.key });
        format!("{before}{last}")
    });
    [Some(key), stem].into_iter().flatten().find(|key| glossary().holds(key))
}

/// The listed words within a run that is not divided by spaces, the longest at each place.
fn within(heard: &Heard, words: &[Word], weight: f32, spans: &mut Vec<Span>) {
    let bounds: Vec<usize> = heard.key.char_indices().map(|(i, _)| i).chain([heard.key.len()]).collect();
    let count = bounds.len() - 1;
    let mut at = 0;
    while at < count {
        let found = (at + 1..=count.min(at + LONGEST)).rev().find(|end| {
            let word = &heard.key[bounds[at]..bounds[*end]];
            let is_word = *end > at + 1 || (at == 0 && stands_alone(&heard.key[bounds[*end]..]));
            is_word && is_bounded(&heard.key, bounds[at]..bounds[*end]) && glossary().holds(word)
        });
        if let Some(end) = found {
            let stem = if heard.class == Class::Hangul { korean::stem(&heard.key).chars().count() } else { count };
            let cover = heard.word.map(|word| {
                let parts = words[word].parts.len();
                let last = if end >= stem { parts } else { (end - 1).min(parts) };
                let is_all = words[word].whole.is_some() || (at == 0 && last == parts);
                Cover { word, parts: (!is_all).then_some(at.min(last)..last), weight }
            });
            let key = heard.key[bounds[at]..bounds[end]].to_owned();
            spans.extend(cover.map(|cover| Span { key, covers: vec![cover], is_idiom: false }));
        }
        at = found.unwrap_or(at + 1);
    }
}

/// Whether what follows a word of one syllable leaves it a word.
fn stands_alone(rest: &str) -> bool {
    rest.is_empty() || korean::is_ending(rest)
}

/// Whether a word in Katakana is all of what is written in Katakana there: `ログ` is no part of `ログイン`.
fn is_bounded(text: &str, range: Range<usize>) -> bool {
    let is_katakana = |c: char| matches!(c, 'ァ'..='ヺ' | 'ー');
    !text[range.clone()].chars().all(is_katakana)
        || !(text[range.end..].starts_with(is_katakana) || text[..range.start].ends_with(is_katakana))
}

impl Builder<'_> {
    /// Adds what the glossary knows for what was heard.
    pub(super) fn add_synonyms(&mut self) {
        let own = Script::of(self.text);
        let mut known: HashMap<String, usize> = HashMap::new();
        for Span { key: said, covers, is_idiom } in spans(&self.heard, &self.query.words) {
            for cover in covers.iter().filter(|_| is_idiom) {
                self.query.words[cover.word].of_idiom = true;
            }
            for member in glossary().concepts(&said).flatten() {
                let of_member = key(member);
                let is_itself = of_member == said;
                if is_itself && !is_idiom {
                    continue;
                }
                let weight = match Script::of(member) == own {
                    _ if is_itself => 1.0,
                    true => OWN_SCRIPT,
                    false => OTHER_SCRIPT,
                };
                let covers = covers.iter().map(|cover| Cover { weight: cover.weight * weight, ..cover.clone() });
                let place = known.get(&of_member).copied().or_else(|| self.synonym(member));
                if let Some(place) = place {
                    self.query.synonyms[place].covers.extend(covers);
                    known.insert(of_member, place);
                }
            }
        }
    }

    /// Adds a synonym without saying of what; `None` when it says nothing or there are too many.
    fn synonym(&mut self, member: &str) -> Option<usize> {
        let mut steps: Vec<(Term, Option<String>, u32)> = Vec::new();
        let mut required: Vec<Term> = Vec::new();
        let mut end = 0;
        let mut says = false;
        for unit in units(member) {
            let source = &member[unit.start..unit.end];
            if unit.class == Class::Letter {
                let token = glossary::token(source);
                says |= !function_words::contains(&fold(source));
                let reach = if SEPARABLE.contains(&token.as_str()) { APART } else { 1 };
                required.push(exact(&token));
                steps.push((exact(&token), None, reach));
            } else {
                let folded = fold(source);
                let folded = if unit.end == member.len() { glossary::unchanging(&folded).to_owned() } else { folded };
                says = true;
                let pairs = grams::pairs(&folded);
                let term = |pair: &str| Term { text: pair.to_owned(), prefix: pair.chars().nth(1).is_none() };
                required.extend([pairs.first(), pairs.last()].into_iter().flatten().map(|pair| term(pair)));
                match steps.last_mut() {
                    // Spaces within such words do not matter.
                    Some((_, Some(run), _)) => {
                        run.push_str(if unit.start > end { " " } else { "" });
                        run.push_str(&folded);
                    }
                    _ => steps.extend(pairs.first().map(|pair| (term(pair), Some(folded.clone()), 1))),
                }
            }
            end = unit.end;
        }
        let synonyms = self.query.synonyms.len();
        if !says
            || synonyms == MOST_SYNONYMS
            || self.query.terms.len() + required.len() > self.query.literals + MOST_TERMS
        {
            return None;
        }
        let mut terms: Vec<usize> = required.into_iter().map(|term| self.place(term)).collect();
        terms.sort_unstable();
        terms.dedup();
        let steps = steps.into_iter().map(|(term, run, reach)| Step { term: self.place(term), run, reach });
        let steps = steps.collect();
        self.query.synonyms.push(Synonym { steps, terms, covers: Vec::new(), script: Script::of(member) });
        Some(synonyms)
    }
}

impl Step {
    /// Where the step ends that begins at a place of a text, if it stands there as a word of its own.
    pub(crate) fn end(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        let Some(run) = &self.run else { return Some(end) };
        let end = end_of(run, text, start)?;
        let is_one = run.chars().nth(1).is_none();
        let is_word = if is_one {
            let is_begun = text[..start].ends_with(is_unspaced);
            let rest = text[end..].split(|c| !is_unspaced(c)).next().unwrap_or_default();
            !is_begun && stands_alone(rest)
        } else {
            is_bounded(text, start..end) && !is_within_longer(text, start, end)
        };
        is_word.then_some(end)
    }
}

/// Where a run ends that begins at a place of a text, with spaces, and particles before them, where either has them.
fn end_of(run: &str, text: &str, start: usize) -> Option<usize> {
    let mut rest = &text[start..];
    for c in run.chars() {
        if c == ' ' {
            let particle = rest.find(char::is_whitespace).filter(|at| *at == 0 || korean::is_ending(&rest[..*at]));
            rest = particle.map_or(rest, |at| rest[at..].trim_start());
        } else {
            rest = rest.strip_prefix(c).or_else(|| rest.strip_prefix(' ')?.strip_prefix(c))?;
        }
    }
    Some(text.len() - rest.len())
}

/// Whether a listed word that is longer stands around a place: `로그` is none in `로그인`.
fn is_within_longer(text: &str, start: usize, end: usize) -> bool {
    const AROUND: usize = 3;
    let before = text[..start].char_indices().rev().take(AROUND).take_while(|(_, c)| is_unspaced(*c));
    let starts: Vec<usize> = [start].into_iter().chain(before.map(|(i, _)| i)).collect();
    let behind = text[end..].char_indices().take(AROUND).take_while(|(_, c)| is_unspaced(*c));
    let ends: Vec<usize> = [end].into_iter().chain(behind.map(|(i, c)| end + i + c.len_utf8())).collect();
    let longer = starts.iter().flat_map(|from| ends.iter().map(move |to| (*from, *to))).skip(1);
    longer.into_iter().any(|(from, to)| glossary().holds(&text[from..to]))
}

/// Whether a character is of a script in which words may be glued together.
fn is_unspaced(c: char) -> bool {
    matches!(crate::text::script::class(c), Some(Class::Hangul | Class::Han))
}
