//! Parses a query: splits it into words and terms, and adds synonyms.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Query, QueryWord};
use crate::fulltext::QueryTerm;
use crate::search::korean_stem;
use crate::search::stop_words::{self, FunctionWords};
use crate::text::compound::{self, PieceRole};
use crate::text::script::CharacterClass;
use crate::text::units::{TextUnit, split_units};
use crate::text::{bigrams, fold, stem};

/// Most bytes of a query.
pub(super) const MAX_BYTES: usize = 8 * 1024;

/// Most distinct terms of a query.
pub(super) const MAX_TERMS: usize = 64;

/// Shares of a word's terms. A pair that crosses into a particle gets less, because an apparent particle may be the end of
/// a noun.
const PAIR: f32 = 1.0;

const CROSSING: f32 = 0.4;

const GROUP: f32 = 2.0;

const PART: f32 = 1.0;

impl Query {
    /// Parses a query. Function words are dropped unless there are no others.
    pub fn parse(text: &str) -> Self {
        Self::parse_with(text, |builder| {
            builder.add_synonyms();
            builder.add_translations();
        })
    }

    /// Parses a query without synonyms.
    pub fn parse_literal(text: &str) -> Self {
        Self::parse_with(text, |_| {})
    }

    fn parse_with(text: &str, add_synonyms: impl Fn(&mut QueryBuilder<'_>)) -> Self {
        let used = truncated_query(text);
        let mut builder = QueryBuilder::read(used, WordSelection::Content);
        add_synonyms(&mut builder);
        let mut query = builder.query;
        if query.words.is_empty() {
            query = QueryBuilder::read(used, WordSelection::Everything).query;
            query.has_only_stop_words = true;
        }
        query.is_truncated |= used.len() < text.len();
        query
    }
}

/// The part of a query that is used, for all legs.
pub(crate) fn truncated_query(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WordSelection {
    Content,
    Everything,
}

pub(super) struct QueryBuilder<'t> {
    pub(super) text: &'t str,
    selection: WordSelection,
    is_shouted: bool,
    function_words: FunctionWords,
    quotes: Vec<Range<usize>>,
    places: HashMap<QueryTerm, usize>,
    /// Words by their terms.
    seen_words: HashMap<Vec<usize>, usize>,
    pub(super) runs: Vec<QueryRun>,
    pub(super) query: Query,
}

pub(super) fn exact_term(text: &str) -> QueryTerm {
    QueryTerm { text: text.to_owned(), prefix: false }
}

/// A run of one character class in a query.
#[derive(Debug, Clone)]
pub(super) struct QueryRun {
    pub(super) class: CharacterClass,
    /// Its key in the glossary.
    pub(super) key: String,
    /// Its word of the query, if any.
    pub(super) word: Option<usize>,
    /// Its bytes in the query.
    pub(super) range: Range<usize>,
}

impl<'t> QueryBuilder<'t> {
    fn read(text: &'t str, selection: WordSelection) -> Self {
        let mut builder = Self {
            text,
            selection,
            is_shouted: !text.chars().any(char::is_lowercase),
            function_words: FunctionWords::of_question(text),
            quotes: quoted_ranges(text),
            places: HashMap::new(),
            seen_words: HashMap::new(),
            runs: Vec::new(),
            query: Query::default(),
        };
        let mut previous: Option<TextUnit> = None;
        for unit in split_units(text) {
            let glued = previous.filter(|before| before.word == unit.word);
            let (key, word) = match unit.class {
                CharacterClass::Letter => builder.add_letters(unit),
                CharacterClass::Hangul => builder.add_hangul(unit, glued),
                CharacterClass::Han | CharacterClass::Unspaced => builder.add_unspaced(unit, glued),
            };
            builder.runs.push(QueryRun { class: unit.class, key, word, range: unit.start..unit.end });
            previous = Some(unit);
        }
        builder.query.literal_term_count = builder.query.terms.len();
        builder
    }

    /// Adds a word and returns its glossary key and its index.
    fn add_letters(&mut self, unit: TextUnit) -> (String, Option<usize>) {
        let source = &self.text[unit.start..unit.end];
        let mut pieces = Vec::new();
        let mut function_word = false;
        let known = self.function_words;
        compound::visit_pieces(source, &mut String::new(), |piece, _, role| {
            // Capitals distinguish `IT` and `US` from pronouns, unless the whole query is in capitals.
            let capitals = !self.is_shouted && source.len() > 1 && source.chars().all(char::is_uppercase);
            function_word |= role == PieceRole::Whole && !capitals && known.contains(piece);
            pieces.push((stem::token(piece).into_owned(), role));
        });
        let whole = pieces.iter().find(|(_, role)| *role == PieceRole::Whole).map(|(token, _)| exact_term(token));
        let key = whole.as_ref().map_or_else(String::new, |term| term.text.clone());
        if function_word && self.selection == WordSelection::Content {
            return (key, None);
        }
        // A single letter of a name, as in `IPv6`, is a word in half of all texts.
        let parts =
            pieces.iter().filter(|(token, role)| *role != PieceRole::Whole && (token.len() > 1 || whole.is_none()));
        // `iPhone` is a name and no phone.
        let parts = parts
            .filter(|_| !is_prefixed_name(source))
            .map(|(token, role)| (exact_term(token), if *role == PieceRole::Group { GROUP } else { PART }))
            .collect();
        (key, self.add_word(unit, whole, parts))
    }

    fn add_hangul(&mut self, unit: TextUnit, glued: Option<TextUnit>) -> (String, Option<usize>) {
        let folded = fold::fold(&self.text[unit.start..unit.end]);
        self.add_counted(unit, glued, &folded);
        let mut stem = folded.as_str();
        if self.selection == WordSelection::Content {
            stem = korean_stem::strip_endings(&folded);
            let is_ending = glued.is_some() && korean_stem::is_ending(&folded);
            if is_ending || stop_words::is_stop_word(&folded) || stop_words::is_stop_word(stem) {
                return (folded, None);
            }
        }
        let certain = bigrams::bigrams(stem).len();
        // A pair that is an ending, such as `기로` in `쓰기로`, is in every other sentence.
        let pairs = bigrams::bigrams(&folded);
        let is_ending =
            |i: usize| i >= certain && i > 0 && pairs.get(i).is_some_and(|pair| korean_stem::is_ending(pair));
        let share = |i: usize| (!is_ending(i)).then_some(if i < certain { PAIR } else { CROSSING });
        let word = self.add_pairs(unit, &folded, share);
        (folded, word)
    }

    fn add_unspaced(&mut self, unit: TextUnit, glued: Option<TextUnit>) -> (String, Option<usize>) {
        let folded = fold::fold(&self.text[unit.start..unit.end]);
        self.add_counted(unit, glued, &folded);
        let function_characters = if self.selection == WordSelection::Content {
            stop_words::function_characters(&folded)
        } else {
            Vec::new()
        };
        let is_function = |at: usize| function_characters.get(at).is_some_and(|is| *is);
        let is_topic = |pair: usize| !is_function(pair) && !is_function(pair + 1);
        let has_topic = (1..function_characters.len()).any(|pair| is_topic(pair - 1));
        // Such pairs stay as parts, because synonyms refer to the parts of a word by their places.
        let share = |pair: usize| Some(if is_topic(pair) || !has_topic { PAIR } else { 0.0 });
        let word = self.add_pairs(unit, &folded, share);
        (folded, word)
    }

    /// A number with its unit, as documents have it.
    fn add_counted(&mut self, unit: TextUnit, glued: Option<TextUnit>, folded: &str) {
        let number = glued.map(|before| &self.text[before.start..before.end]);
        let number = number.filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
        if let Some(counted) = number.and_then(|number| bigrams::counted_token(number, folded)) {
            self.add_word(unit, Some(exact_term(&counted)), Vec::new());
        }
    }

    /// A word of pairs with their shares; `None` leaves a pair out.
    fn add_pairs(&mut self, unit: TextUnit, folded: &str, share: impl Fn(usize) -> Option<f32>) -> Option<usize> {
        let pairs = bigrams::bigrams(folded);
        if let [only] = pairs[..] {
            let prefix = only.chars().nth(1).is_none();
            return self.add_word(unit, Some(QueryTerm { text: only.to_owned(), prefix }), Vec::new());
        }
        let shares = (0..pairs.len()).map(share);
        let parts = pairs.iter().zip(shares).filter_map(|(pair, share)| Some((exact_term(pair), share?))).collect();
        self.add_word(unit, None, parts)
    }

    /// Adds a word once; `None` if it has no terms, or too many.
    fn add_word(&mut self, unit: TextUnit, whole: Option<QueryTerm>, parts: Vec<(QueryTerm, f32)>) -> Option<usize> {
        let fresh: HashSet<&QueryTerm> = whole.iter().chain(parts.iter().map(|(term, _)| term)).collect();
        let fresh = fresh.into_iter().filter(|term| !self.places.contains_key(*term)).count();
        if self.query.terms.len() + fresh > MAX_TERMS {
            self.query.is_truncated = true;
            return None;
        }
        let whole = whole.map(|term| self.place_of_term(term));
        let parts: Vec<(usize, f32)> =
            parts.into_iter().map(|(term, share)| (self.place_of_term(term), share)).collect();
        let key = whole.into_iter().chain(parts.iter().map(|(place, _)| *place)).collect::<Vec<_>>();
        if key.is_empty() {
            return None;
        }
        if let Some(word) = self.seen_words.get(&key) {
            return Some(*word);
        }
        let word = self.query.words.len();
        self.seen_words.insert(key, word);
        let quote = self.quotes.iter().position(|quote| quote.start <= unit.start && unit.end <= quote.end);
        self.query.words.push(QueryWord { whole, parts, position: unit.word, quote, is_idiom: false });
        Some(word)
    }

    pub(super) fn place_of_term(&mut self, term: QueryTerm) -> usize {
        *self.places.entry(term).or_insert_with_key(|term| {
            self.query.terms.push(term.clone());
            self.query.terms.len() - 1
        })
    }
}

/// Whether a name begins with one small letter before a capital, such as `iPhone` or `eBay`, and has no other.
fn is_prefixed_name(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = [letters.next(), letters.next(), letters.next()];
    let is_prefixed =
        matches!(begins, [Some(a), Some(b), Some(c)] if a.is_lowercase() && b.is_uppercase() && c.is_lowercase());
    is_prefixed && letters.all(char::is_lowercase)
}

/// Byte ranges between quotation marks.
fn quoted_ranges(text: &str) -> Vec<Range<usize>> {
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
