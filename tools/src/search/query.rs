//! A query: what a person or a model asked, as words to look for.
//!
//! The terms are those of the documents, so the full-text index, the relevance and the snippet agree on what a match is.

mod synonyms;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{function_words, korean};
use crate::text::compound::{self, Role};
use crate::text::script::Class;
use crate::text::units::{Unit, units};
use crate::text::{fold, grams, stem};
use synonyms::Heard;
pub(crate) use synonyms::{Step, Synonym};

/// Bytes of the query's text that are used.
const MOST_BYTES: usize = 8 * 1024;
/// Distinct terms that are looked for.
const MOST_TERMS: usize = 64;

/// What is looked for: words, each made of terms of the full-text index, and other ways to say them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// Those of the words, and behind them those of synonyms alone.
    terms: Vec<Term>,
    literals: usize,
    words: Vec<Word>,
    synonyms: Vec<Synonym>,
    cut: bool,
    /// Whether there are no others than words that only ask or connect.
    is_hollow: bool,
}

/// A token of the full-text index, or the beginning of one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Term {
    pub text: String,
    /// Whether any token that begins with the text is meant.
    pub prefix: bool,
}

/// One unit of coverage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    /// The term that stands for all of the word, by its place in the query's terms.
    pub(crate) whole: Option<usize>,
    /// Terms that stand for parts of it, with the share each has.
    pub(crate) parts: Vec<(usize, f32)>,
    /// Ordinal of the written word in the query.
    pub(crate) position: u32,
    /// Which quoted part of the query it belongs to.
    pub(crate) quote: Option<usize>,
    /// Whether it belongs to an idiom such as `sign in`, and by itself means something else.
    pub(crate) of_idiom: bool,
}

impl Query {
    /// Reads a query. Words that only ask or connect are left out, unless there are no others.
    pub fn parse(text: &str) -> Self {
        Self::read(text, Synonyms::Listed)
    }

    /// The same, without other ways to say it.
    pub fn literal(text: &str) -> Self {
        Self::read(text, Synonyms::None)
    }

    fn read(text: &str, synonyms: Synonyms) -> Self {
        let used = beginning(text);
        let mut query = Builder::read(used, Wanted::Content, synonyms);
        if query.words.is_empty() {
            query = Builder::read(used, Wanted::Everything, Synonyms::None);
            query.is_hollow = true;
        }
        query.cut |= used.len() < text.len();
        query
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many different words say what is looked for.
    pub fn content_words(&self) -> usize {
        let places: HashSet<u32> = self.words.iter().map(|word| word.position).collect();
        if self.is_hollow { 0 } else { places.len() }
    }

    /// The distinct terms of the words, at most 64.
    pub fn terms(&self) -> &[Term] {
        &self.terms[..self.literals]
    }

    /// The same, and behind them those that only synonyms have.
    pub fn all_terms(&self) -> &[Term] {
        &self.terms
    }

    /// The terms of each other way to say a part of the query, by their places in all terms: a document that says it has all of them.
    pub fn alternatives(&self) -> impl Iterator<Item = &[usize]> {
        self.synonyms.iter().map(|synonym| &synonym.terms[..])
    }

    /// Whether a part of the text was left out because it was too long.
    pub fn was_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn words(&self) -> &[Word] {
        &self.words
    }

    pub(crate) fn synonyms(&self) -> &[Synonym] {
        &self.synonyms
    }
}

/// Whether a query knows other ways to say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Synonyms {
    Listed,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Content,
    Everything,
}

/// Shares of the terms of a word. A pair that crosses into a particle is kept with less weight, because what looks like a
/// particle may be the end of a noun.
const PAIR: f32 = 1.0;
const CROSSING: f32 = 0.4;
const GROUP: f32 = 2.0;
const PART: f32 = 1.0;

struct Builder<'t> {
    text: &'t str,
    wanted: Wanted,
    shouted: bool,
    quotes: Vec<Range<usize>>,
    places: HashMap<Term, usize>,
    /// The words by their terms.
    seen: HashMap<Vec<usize>, usize>,
    heard: Vec<Heard>,
    query: Query,
}

impl<'t> Builder<'t> {
    fn read(text: &'t str, wanted: Wanted, synonyms: Synonyms) -> Query {
        let mut builder = Self {
            text,
            wanted,
            shouted: !text.chars().any(char::is_lowercase),
            quotes: quotes(text),
            places: HashMap::new(),
            seen: HashMap::new(),
            heard: Vec::new(),
            query: Query::default(),
        };
        let mut previous: Option<Unit> = None;
        for unit in units(text) {
            let glued = previous.filter(|before| before.word == unit.word);
            let (key, word) = match unit.class {
                Class::Letter => builder.letters(unit),
                Class::Hangul => builder.hangul(unit, glued),
                Class::Han | Class::Unspaced => builder.unspaced(unit, glued),
            };
            builder.heard.push(Heard { class: unit.class, key, word });
            previous = Some(unit);
        }
        builder.query.literals = builder.query.terms.len();
        if synonyms == Synonyms::Listed {
            builder.add_synonyms();
        }
        builder.query
    }

    /// Adds a word, and answers how it is listed, and which word it is, if it is one.
    fn letters(&mut self, unit: Unit) -> (String, Option<usize>) {
        let source = &self.text[unit.start..unit.end];
        let mut pieces = Vec::new();
        let mut function_word = false;
        compound::visit(source, &mut String::new(), |piece, _, role| {
            // Capitals tell `IT` and `US` from the pronouns, where not everything is in capitals.
            let capitals = !self.shouted && source.len() > 1 && source.chars().all(char::is_uppercase);
            function_word |= role == Role::Whole && !capitals && function_words::contains(piece);
            let token = if stem::applies(piece) { stem::english(piece).into_owned() } else { piece.to_owned() };
            pieces.push((token, role));
        });
        let whole = pieces.iter().find(|(_, role)| *role == Role::Whole).map(|(token, _)| exact(token));
        let key = whole.as_ref().map_or_else(String::new, |term| term.text.clone());
        if function_word && self.wanted == Wanted::Content {
            return (key, None);
        }
        let parts = pieces.iter().filter(|(_, role)| *role != Role::Whole);
        let parts =
            parts.map(|(token, role)| (exact(token), if *role == Role::Group { GROUP } else { PART })).collect();
        (key, self.add(unit, whole, parts))
    }

    fn hangul(&mut self, unit: Unit, glued: Option<Unit>) -> (String, Option<usize>) {
        let folded = fold::fold(&self.text[unit.start..unit.end]);
        self.counted(unit, glued, &folded);
        if self.wanted == Wanted::Content
            && (function_words::contains(&folded) || (glued.is_some() && korean::is_ending(&folded)))
        {
            return (folded, None);
        }
        let stem = if self.wanted == Wanted::Content { korean::stem(&folded) } else { &folded };
        if self.wanted == Wanted::Content && function_words::contains(stem) {
            return (folded, None);
        }
        let certain = grams::pairs(stem).len();
        let word = self.pairs(unit, &folded, certain);
        (folded, word)
    }

    fn unspaced(&mut self, unit: Unit, glued: Option<Unit>) -> (String, Option<usize>) {
        let folded = fold::fold(&self.text[unit.start..unit.end]);
        self.counted(unit, glued, &folded);
        let word = self.pairs(unit, &folded, usize::MAX);
        (folded, word)
    }

    /// A number and what it counts, as the documents have it.
    fn counted(&mut self, unit: Unit, glued: Option<Unit>, folded: &str) {
        let number = glued.map(|before| &self.text[before.start..before.end]);
        let number = number.filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if let Some(counted) = number.and_then(|number| grams::counted(number, folded)) {
            self.add(unit, Some(exact(&counted)), Vec::new());
        }
    }

    /// A word of pairs, the first `certain` of which belong to its stem.
    fn pairs(&mut self, unit: Unit, folded: &str, certain: usize) -> Option<usize> {
        let pairs = grams::pairs(folded);
        if let [only] = pairs[..] {
            let prefix = only.chars().nth(1).is_none();
            return self.add(unit, Some(Term { text: only.to_owned(), prefix }), Vec::new());
        }
        let share = |i: usize| if i < certain { PAIR } else { CROSSING };
        let parts = pairs.iter().enumerate();
        // What is an ending by itself, such as `기로` in `쓰기로`, is in every other sentence.
        let parts = parts.filter(|(i, pair)| *i < certain || *i == 0 || !korean::is_ending(pair));
        let parts = parts.map(|(i, pair)| (exact(pair), share(i))).collect();
        self.add(unit, None, parts)
    }

    /// Adds a word unless it is there already; `None` when it has no terms, or too many.
    fn add(&mut self, unit: Unit, whole: Option<Term>, parts: Vec<(Term, f32)>) -> Option<usize> {
        let fresh: HashSet<&Term> = whole.iter().chain(parts.iter().map(|(term, _)| term)).collect();
        let fresh = fresh.into_iter().filter(|term| !self.places.contains_key(*term)).count();
        if self.query.terms.len() + fresh > MOST_TERMS {
            self.query.cut = true;
            return None;
        }
        let whole = whole.map(|term| self.place(term));
        let parts: Vec<(usize, f32)> = parts.into_iter().map(|(term, share)| (self.place(term), share)).collect();
        let key = whole.into_iter().chain(parts.iter().map(|(place, _)| *place)).collect::<Vec<_>>();
        if key.is_empty() {
            return None;
        }
        if let Some(word) = self.seen.get(&key) {
            return Some(*word);
        }
        let word = self.query.words.len();
        self.seen.insert(key, word);
        let quote = self.quotes.iter().position(|quote| quote.start <= unit.start && unit.end <= quote.end);
        self.query.words.push(Word { whole, parts, position: unit.word, quote, of_idiom: false });
        Some(word)
    }

    fn place(&mut self, term: Term) -> usize {
        *self.places.entry(term).or_insert_with_key(|term| {
            self.query.terms.push(term.clone());
            self.query.terms.len() - 1
        })
    }
}

/// As much of a query's text as is looked at, by whatever leg.
pub(crate) fn beginning(text: &str) -> &str {
    let end = (0..=MOST_BYTES.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    &text[..end]
}

fn exact(text: &str) -> Term {
    Term { text: text.to_owned(), prefix: false }
}

/// The bytes between pairs of quotation marks.
fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut quotes = Vec::new();
    let mut open = None;
    for (i, c) in text.char_indices().filter(|(_, c)| matches!(c, '"' | '“' | '”' | '「' | '」')) {
        match open.take() {
            Some(start) => quotes.push(start..i),
            None => open = Some(i + c.len_utf8()),
        }
    }
    quotes
}

#[cfg(test)]
mod tests;
