//! Adds synonyms from the glossary, in the same and in other languages.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::builder::{QueryBuilder, QueryRun, exact_term};
use super::{CoveredWord, QueryWord, Synonym, SynonymStep};
use crate::fulltext::QueryTerm;
use crate::glossary::{self, ConceptWord, MAX_LENGTH, glossary, lookup_key};
use crate::search::{korean_stem, stop_words};
use crate::text::bigrams;
use crate::text::fold::fold;
use crate::text::script::CharacterClass;
use crate::text::units::split_units;

/// Weight of a synonym relative to the word: in its language, and in another one, where the word itself cannot occur.
const SAME_LANGUAGE_WEIGHT: f32 = 0.6;
const OTHER_LANGUAGE_WEIGHT: f32 = 0.9;
/// The weight of the name of an instance, such as Postgres for `database`.
const KIND_WEIGHT: f32 = 0.5;
/// Factor for a word of a listed phrase: a `request` is only a part of a `pull request`.
const PHRASE_PART_WEIGHT: f32 = 0.7;

/// Words of the longest phrase.
pub(super) const MAX_WORDS: usize = 4;
/// Limits for synonyms and their terms.
const MAX_SYNONYMS: usize = 200;
const MAX_TERMS: usize = 256;

/// Particles that may be separated from their verb: `sign users in`.
const SEPARABLE: [&str; 9] = ["in", "up", "out", "off", "down", "back", "on", "over", "away"];
/// Greatest distance in words.
const MAX_GAP: u32 = 3;

/// A listed word or phrase in a query.
#[derive(Debug)]
struct ListedSpan {
    key: String,
    covers: Vec<CoveredWord>,
    /// Whether its words alone mean something else.
    is_idiom: bool,
}

/// Listed words and phrases: phrases first, then their words with less weight.
fn listed_spans(runs: &[QueryRun], words: &[QueryWord]) -> Vec<ListedSpan> {
    let mut spans = Vec::new();
    let mut weights = vec![1.0f32; runs.len()];
    for (first, last) in (2..=MAX_WORDS).rev().flat_map(|n| (0..runs.len()).map(move |i| (i, i + n - 1))) {
        let Some(phrase) = runs.get(first..=last) else { continue };
        let whole = [&phrase[..1], &phrase[phrase.len() - 1..]].concat();
        for parts in [phrase, &whole[..]].into_iter().take(if is_separable(phrase) { 2 } else { 1 }) {
            let covers: Vec<CoveredWord> = parts.iter().filter_map(|run| cover_run(run, 1.0)).collect();
            let Some(key) = listed_key(parts).filter(|_| !covers.is_empty()) else { continue };
            // The words of an idiom mean something else.
            let is_idiom = parts.iter().any(|run| run.word.is_none());
            let of_part = if is_idiom { 0.0 } else { PHRASE_PART_WEIGHT };
            weights[first] = weights[first].min(of_part);
            weights[last] = weights[last].min(of_part);
            spans.push(ListedSpan { key, covers, is_idiom });
        }
    }
    for (run, weight) in runs.iter().zip(weights).filter(|(_, weight)| *weight > 0.0) {
        if run.class != CharacterClass::Letter {
            listed_within(run, words, weight, &mut spans);
        } else if let Some(cover) = cover_run(run, weight).filter(|_| glossary().contains(&run.key)) {
            spans.push(ListedSpan { key: run.key.clone(), covers: vec![cover], is_idiom: false });
        }
    }
    spans
}

fn cover_run(run: &QueryRun, weight: f32) -> Option<CoveredWord> {
    run.word.map(|word| CoveredWord { word, parts: None, weight })
}

fn is_separable(phrase: &[QueryRun]) -> bool {
    let [verb, _, .., particle] = phrase else { return false };
    verb.class == CharacterClass::Letter && verb.word.is_some() && SEPARABLE.contains(&particle.key.as_str())
}

/// The key of a listed phrase, with or without the particles of its last word.
pub(super) fn listed_key(phrase: &[QueryRun]) -> Option<String> {
    let last = phrase.last()?;
    let mut before = String::new();
    for pair in phrase.windows(2) {
        before.push_str(korean_stem::strip_endings(&pair[0].key));
        if pair.iter().all(|run| run.class == CharacterClass::Letter) {
            before.push(' ');
        }
    }
    let ends = [last.key.as_str(), korean_stem::strip_endings(&last.key)];
    ends.into_iter().map(|end| format!("{before}{end}")).find(|key| glossary().contains(key))
}

/// Listed words in a run without spaces, the longest at each position.
fn listed_within(run: &QueryRun, words: &[QueryWord], weight: f32, spans: &mut Vec<ListedSpan>) {
    let stem = korean_stem::strip_endings(&run.key).chars().count();
    for Range { start: at, end } in listed_ranges(&run.key) {
        let cover = run.word.map(|word| {
            let parts = words[word].parts.len();
            let last = if end >= stem { parts } else { (end - 1).min(parts) };
            let is_all = words[word].whole.is_some() || (at == 0 && last == parts);
            CoveredWord { word, parts: (!is_all).then_some(at.min(last)..last), weight }
        });
        let key = run.key.chars().skip(at).take(end - at).collect();
        spans.extend(cover.map(|cover| ListedSpan { key, covers: vec![cover], is_idiom: false }));
    }
}

/// The listed words in a run without spaces as ranges of characters, the longest at each position.
pub(super) fn listed_ranges(key: &str) -> Vec<Range<usize>> {
    let bounds: Vec<usize> = key.char_indices().map(|(i, _)| i).chain([key.len()]).collect();
    let count = bounds.len() - 1;
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < count {
        let found = (at + 1..=count.min(at + MAX_LENGTH)).rev().find(|end| {
            let word = &key[bounds[at]..bounds[*end]];
            let is_word = *end > at + 1 || (at == 0 && is_separate_word(&key[bounds[*end]..]));
            is_word && is_bounded(key, bounds[at]..bounds[*end]) && glossary().contains(word)
        });
        ranges.extend(found.map(|end| at..end));
        at = found.unwrap_or(at + 1);
    }
    ranges
}

/// Whether a word of one syllable is still a word before this text.
fn is_separate_word(rest: &str) -> bool {
    rest.is_empty() || korean_stem::is_ending(rest)
}

/// Whether a Katakana word is the whole Katakana run: `ログ` does not match in `ログイン`.
fn is_bounded(text: &str, range: Range<usize>) -> bool {
    let is_katakana = |c: char| matches!(c, 'ァ'..='ヺ' | 'ー');
    !text[range.clone()].chars().all(is_katakana)
        || !(text[range.end..].starts_with(is_katakana) || text[..range.start].ends_with(is_katakana))
}

/// The words of a concept with their keys, and their weights relative to the word that was said.
fn weighted_words<'t>(
    concept: impl Iterator<Item = ConceptWord<'t>>,
    said: &str,
) -> impl Iterator<Item = (String, &'t str, f32)> {
    let words: Vec<(String, ConceptWord<'t>)> = concept.map(|word| (lookup_key(word.text), word)).collect();
    let own = words.iter().filter(|(key, word)| !word.is_kind() && glossary::is_found_by(key, said));
    let own: Vec<usize> = own.map(|(_, word)| word.language).collect();
    // `rapide` has the key of `rapid`.
    let of_own = words.iter().filter(|(_, word)| own.contains(&word.language));
    let of_own: HashSet<String> = of_own.map(|(key, _)| key.clone()).collect();
    let said = said.to_owned();
    words.into_iter().map(move |(key, word)| {
        let weight = match of_own.contains(&key) {
            _ if key == said => 1.0,
            _ if word.is_kind() => KIND_WEIGHT,
            true => SAME_LANGUAGE_WEIGHT,
            false => OTHER_LANGUAGE_WEIGHT,
        };
        (key, word.text, weight)
    })
}

impl QueryBuilder<'_> {
    /// Adds the synonyms of all runs.
    pub(super) fn add_synonyms(&mut self) {
        let mut known: HashMap<String, usize> = HashMap::new();
        for ListedSpan { key: said, covers, is_idiom } in listed_spans(&self.runs, &self.query.words) {
            for cover in covers.iter().filter(|_| is_idiom) {
                self.query.words[cover.word].is_idiom = true;
            }
            for (key, member, weight) in glossary().concepts(&said).flat_map(|concept| weighted_words(concept, &said)) {
                if key == said && !is_idiom {
                    continue;
                }
                let covers = covers.iter().map(|cover| CoveredWord { weight: cover.weight * weight, ..cover.clone() });
                let place = known.get(&key).copied().or_else(|| self.add_synonym(member));
                if let Some(place) = place {
                    self.query.synonyms[place].covers.extend(covers);
                    known.insert(key, place);
                }
            }
        }
    }

    /// Adds a synonym without its covers; `None` if it has no terms or there are too many.
    fn add_synonym(&mut self, member: &str) -> Option<usize> {
        let mut steps: Vec<(QueryTerm, Option<String>, u32)> = Vec::new();
        let mut required: Vec<QueryTerm> = Vec::new();
        let mut end = 0;
        let mut says = false;
        for unit in split_units(member) {
            let source = &member[unit.start..unit.end];
            if unit.class == CharacterClass::Letter {
                let token = glossary::run_token(source);
                says |= !stop_words::is_stop_word(&fold(source));
                let reach = if SEPARABLE.contains(&token.as_str()) { MAX_GAP } else { 1 };
                required.push(exact_term(&token));
                steps.push((exact_term(&token), None, reach));
            } else {
                let folded = fold(source);
                let folded =
                    if unit.end == member.len() { glossary::invariant_part(&folded).to_owned() } else { folded };
                says = true;
                let pairs = bigrams::bigrams(&folded);
                let term = |pair: &str| QueryTerm { text: pair.to_owned(), prefix: pair.chars().nth(1).is_none() };
                required.extend([pairs.first(), pairs.last()].into_iter().flatten().map(|pair| term(pair)));
                match steps.last_mut() {
                    // Spaces in such words do not matter.
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
            || synonyms == MAX_SYNONYMS
            || self.query.terms.len() + required.len() > self.query.literal_term_count + MAX_TERMS
        {
            return None;
        }
        let mut terms: Vec<usize> = required.into_iter().map(|term| self.place_of_term(term)).collect();
        terms.sort_unstable();
        terms.dedup();
        let steps =
            steps.into_iter().map(|(term, run, reach)| SynonymStep { term: self.place_of_term(term), run, reach });
        let steps = steps.collect();
        self.query.synonyms.push(Synonym { steps, terms, covers: Vec::new() });
        Some(synonyms)
    }
}

impl SynonymStep {
    /// End of the step that starts at a position, if it is a separate word there.
    pub(crate) fn match_end(&self, text: &str, start: usize, end: usize) -> Option<usize> {
        let Some(run) = &self.run else { return Some(end) };
        let end = run_end(run, text, start)?;
        let is_one = run.chars().nth(1).is_none();
        let is_word = if is_one {
            let is_begun = text[..start].ends_with(is_unspaced);
            let rest = text[end..].split(|c| !is_unspaced(c)).next().unwrap_or_default();
            !is_begun && is_separate_word(rest)
        } else {
            is_bounded(text, start..end) && !is_inside_longer_word(text, start, end)
        };
        is_word.then_some(end)
    }
}

/// End of a run that starts at a position. Spaces, and particles before them, are optional.
fn run_end(run: &str, text: &str, start: usize) -> Option<usize> {
    let mut rest = &text[start..];
    for c in run.chars() {
        if c == ' ' {
            let particle = rest.find(char::is_whitespace).filter(|at| *at == 0 || korean_stem::is_ending(&rest[..*at]));
            rest = particle.map_or(rest, |at| rest[at..].trim_start());
        } else {
            rest = rest.strip_prefix(c).or_else(|| rest.strip_prefix(' ')?.strip_prefix(c))?;
        }
    }
    Some(text.len() - rest.len())
}

/// Whether a longer listed word surrounds the position: `로그` does not match in `로그인`.
fn is_inside_longer_word(text: &str, start: usize, end: usize) -> bool {
    const AROUND: usize = 3;
    let before = text[..start].char_indices().rev().take(AROUND).take_while(|(_, c)| is_unspaced(*c));
    let starts: Vec<usize> = [start].into_iter().chain(before.map(|(i, _)| i)).collect();
    let behind = text[end..].char_indices().take(AROUND).take_while(|(_, c)| is_unspaced(*c));
    let ends: Vec<usize> = [end].into_iter().chain(behind.map(|(i, c)| end + i + c.len_utf8())).collect();
    let longer = starts.iter().flat_map(|from| ends.iter().map(move |to| (*from, *to))).skip(1);
    longer.into_iter().any(|(from, to)| glossary().contains(&text[from..to]))
}

/// Whether a script writes words without spaces.
fn is_unspaced(c: char) -> bool {
    matches!(crate::text::script::character_class(c), Some(CharacterClass::Hangul | CharacterClass::Han))
}
