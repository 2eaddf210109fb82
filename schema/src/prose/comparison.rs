//! Compares two statements of the same type: do they say the same, or the same with another value? Rules for English and Korean text.
//! docs/dev/review.md has the figures.
//!
//! Both texts must be about the same thing, so that only a reason at the end of one of them may differ besides the value.

use crate::model::word_list::WordList;
use crate::prose::sentences::sentences;
use crate::prose::supersession::{Statement, Strictness};
use crate::prose::terms::{ProseToken, TokenKind, have_same_stem, is_hangul, tokens};

/// How two statements are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRelation {
    SaidTwice,
    ChangedValue(ValueKind),
}

/// The difference between two statements about the same thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    Number,
    Quotation,
    Negation,
    /// The newer statement says what it gives up, or chooses something else.
    Choice,
}

/// The fewest shared terms: of texts that say the same; and of others, unless they share a name.
const LEAST_SAME: usize = 3;
const LEAST_CHANGED: usize = 2;

/// The least share of the longer text's terms that texts with the same meaning share.
const SAME_SHARE: f32 = 0.8;

/// The longest quoted value, in bytes.
const LONGEST_QUOTATION: usize = 48;

/// Returns the relation of two texts, the older one first, or `None` if they are about different things. `may_replace` also
/// applies the rules by which a newer statement replaces an older one.
pub fn relation(older: &str, newer: &str, may_replace: bool) -> Option<TextRelation> {
    let (old_quoted, new_quoted) = differing_quotations(older, newer);
    let (old, new) = (Wording::of(older, &old_quoted), Wording::of(newer, &new_quoted));
    if old.is_korean != new.is_korean || old.is_example != new.is_example {
        return None;
    }
    let overlap = Overlap::of(&old, &new);
    let number = old.number_change(&new);
    let quotation = match (old_quoted.as_slice(), new_quoted.as_slice()) {
        ([], []) => Difference::Same,
        ([_], [_]) => Difference::Other,
        _ => Difference::Many,
    };
    let negation = if old.negations % 2 == new.negations % 2 { Difference::Same } else { Difference::Other };
    let changed = [(number, ValueKind::Number), (quotation, ValueKind::Quotation), (negation, ValueKind::Negation)];
    let mut others = changed.into_iter().filter(|(difference, _)| *difference != Difference::Same);
    let found = match (others.next(), others.next()) {
        _ if old.contrasts != new.contrasts => None,
        (None, _) if overlap.says_the_same(&old, &new) => Some(TextRelation::SaidTwice),
        (Some((Difference::Other, kind)), None) if overlap.is_same_subject(&old) => {
            Some(TextRelation::ChangedValue(kind))
        }
        _ => None,
    };
    let has_same_numbers = number == Difference::Same && old.numbered().eq(new.numbered());
    let replaces =
        || may_replace && has_same_numbers && Statement::of(newer).replaces(&Statement::of(older), Strictness::Strict);
    found.or_else(|| replaces().then_some(TextRelation::ChangedValue(ValueKind::Choice)))
}

/// Returns the terms of a text without its values, which texts about the same thing share.
pub fn subject_terms(text: &str) -> Vec<String> {
    Wording::of(text, &[]).terms.into_iter().map(|term| term.text).collect()
}

/// Whether a report is about another thing than a task: the nearest sentence is in another language, or has another word in the place of
/// one of the task's.
pub fn is_about_another(report: &str, task: &str) -> bool {
    let task = Wording::of(task, &[]);
    let overlap = |sentence: &str| {
        let sentence = Wording::of(sentence, &[]);
        (Overlap::of(&task, &sentence), sentence.is_korean)
    };
    let overlaps = sentences(report).into_iter().map(overlap);
    let nearest = overlaps.max_by_key(|(overlap, _)| (overlap.shared, std::cmp::Reverse(overlap.new.count)));
    nearest.is_some_and(|(Overlap { old, new, .. }, is_korean)| {
        is_korean != task.is_korean || old.count > 0 && new.count > 0 && !(old.is_at_end && new.is_at_end)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Difference {
    Same,
    /// One value differs.
    Other,
    /// So much differs that the texts are about different things.
    Many,
}

/// The compared parts of a text.
struct Wording {
    /// In order, without values and words of change.
    terms: Vec<WordingTerm>,
    values: Vec<(String, String)>,
    negations: usize,
    is_example: bool,
    is_korean: bool,
    /// Words of contrasts such as "before" and "after", which are no terms.
    contrasts: Vec<String>,
}

struct WordingTerm {
    text: String,
    is_name: bool,
}

impl Wording {
    fn of(text: &str, without: &[&str]) -> Self {
        let is_korean = text.contains(is_hangul);
        let lower = without.iter().fold(text.to_owned(), |text, quoted| text.replacen(quoted, " ", 1));
        let lower = lower.replace(['\'', '’'], "");
        let found = tokens(&joined_dates(&lower));
        let lower = lower.to_lowercase();
        let words = || lower.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        let mut wording = Self {
            terms: Vec::new(),
            values: Vec::new(),
            negations: words().filter(|word| NEGATIONS.contains(word)).count()
                + KOREAN_NEGATIONS.iter().map(|negation| lower.matches(negation).count()).sum::<usize>(),
            is_example: EXAMPLES.occurs_in(&lower),
            is_korean,
            contrasts: words().filter(|word| CONTRASTS.contains(word)).map(str::to_owned).collect(),
        };
        wording.contrasts.sort_unstable();
        for (at, token) in found.iter().enumerate() {
            let before = at.checked_sub(1).map(|before| &found[before]).filter(|_| !token.begins_clause);
            wording.add(token, before, found.get(at + 1));
        }
        wording
    }

    fn add(&mut self, token: &ProseToken, before: Option<&ProseToken>, next: Option<&ProseToken>) {
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains('_');
        let value = match token.kind {
            TokenKind::Quantity(number) => Some((number.to_string(), token.text.clone())),
            _ => is_number(&token.text).then(|| (token.text.clone(), String::new())),
        };
        if let Some(value) = value {
            let is_named = before.is_some_and(|before| before.particle.is_empty() && NUMBERED.contains(&before.text))
                || next.is_some_and(|next| !next.begins_clause && ORDINALS.contains(&next.text));
            match is_named {
                true => self.terms.push(WordingTerm { text: format!("#{}", value.0), is_name: true }),
                false => self.values.push(value),
            }
        } else if token.is_term() && !CHANGES.contains(&token.text) && !KOREAN_CHANGES.begins(&token.text) {
            let text = noun(&token.text).to_owned();
            if !self.terms.iter().any(|term| term.text == text) {
                self.terms.push(WordingTerm { text, is_name: token.is_name });
            }
        }
    }

    /// The numbers that are names.
    fn numbered(&self) -> impl Iterator<Item = &str> {
        self.terms.iter().map(|term| term.text.as_str()).filter(|term| term.starts_with('#'))
    }

    fn number_change(&self, newer: &Self) -> Difference {
        let only_in = |of: &Self, other: &Self| -> Vec<(String, String)> {
            of.values.iter().filter(|value| !other.values.contains(value)).cloned().collect()
        };
        let (old, new) = (only_in(self, newer), only_in(newer, self));
        let share_unit = |old: &[(String, String)], new: &[(String, String)]| {
            new.iter().any(|(_, unit)| old.iter().any(|(_, other)| other == unit))
        };
        match (old.as_slice(), new.as_slice()) {
            ([], []) => Difference::Same,
            ([_], [_]) if share_unit(&old, &new) => Difference::Other,
            // "raised from 30 to 60"
            ([], [_]) if share_unit(&self.values, &new) => Difference::Other,
            _ => Difference::Many,
        }
    }
}

/// The terms that two texts share.
struct Overlap {
    shared: usize,
    has_shared_name: bool,
    old: Remainder,
    new: Remainder,
}

/// The terms that only one text has.
struct Remainder {
    count: usize,
    /// Whether they follow all shared terms, as a reason does.
    is_at_end: bool,
}

impl Overlap {
    fn of(old: &Wording, new: &Wording) -> Self {
        let is_in = |term: &WordingTerm, other: &Wording| other.terms.iter().any(|other| is_same_term(term, other));
        let remainder = |of: &Wording, other: &Wording| {
            let shared: Vec<bool> = of.terms.iter().map(|term| is_in(term, other)).collect();
            let last = shared.iter().rposition(|is_shared| *is_shared).map_or(0, |last| last + 1);
            let count = shared.iter().filter(|is_shared| !**is_shared).count();
            Remainder { count, is_at_end: count == shared.len() - last }
        };
        Self {
            shared: old.terms.iter().filter(|term| is_in(term, new)).count(),
            has_shared_name: old.terms.iter().any(|term| term.is_name && is_in(term, new)),
            old: remainder(old, new),
            new: remainder(new, old),
        }
    }

    fn is_same_subject(&self, old: &Wording) -> bool {
        let is_one_sided = self.old.count == 0 || self.new.count == 0;
        let is_enough = self.shared >= LEAST_CHANGED || self.has_shared_name && self.shared == old.terms.len();
        is_one_sided && self.old.is_at_end && self.new.is_at_end && is_enough
    }

    fn says_the_same(&self, old: &Wording, new: &Wording) -> bool {
        let longer = old.terms.len().max(new.terms.len());
        let is_one_sided = self.old.count == 0 || self.new.count == 0;
        let is_enough =
            self.shared >= LEAST_SAME.min(longer.max(2)) && self.shared as f32 >= SAME_SHARE * longer as f32;
        is_one_sided && is_enough
    }
}

fn is_same_term(a: &WordingTerm, b: &WordingTerm) -> bool {
    a.text == b.text || !a.is_name && !b.is_name && have_same_stem(&a.text, &b.text)
}

/// Returns the noun of a Korean verb that is derived from one: "시작" of "시작한다".
fn noun(word: &str) -> &str {
    let ends = |(at, c): &(usize, char)| *at >= 2 * '한'.len_utf8() && "하한했할함해되된됐됨".contains(*c);
    word.char_indices().find(ends).map_or(word, |(at, _)| &word[..at])
}

/// Joins the parts of a date, so that it is one value: `2026-01-28`.
fn joined_dates(text: &str) -> String {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let joins = |at: usize, c: char| c == '-' && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    text.char_indices().map(|(at, c)| if joins(at, c) { ':' } else { c }).collect()
}

/// Returns the quoted values that only one of two texts has, if both have as many and none of them begins a sentence, as a subject does.
fn differing_quotations<'t>(older: &'t str, newer: &'t str) -> (Vec<&'t str>, Vec<&'t str>) {
    let (old, new) = (quotations(older), quotations(newer));
    let only = |of: &[(&'t str, bool)], other: &[(&'t str, bool)]| -> Vec<(&'t str, bool)> {
        of.iter().filter(|(text, _)| !other.iter().any(|(known, _)| known == text)).copied().collect()
    };
    let (old, new) = (only(&old, &new), only(&new, &old));
    if old.len() != new.len() || old.iter().chain(&new).any(|(_, begins)| *begins) {
        return (Vec::new(), Vec::new());
    }
    let texts = |list: Vec<(&'t str, bool)>| list.into_iter().map(|(text, _)| text).collect();
    (texts(old), texts(new))
}

/// Returns the short quoted values of a text, and whether each begins a sentence.
fn quotations(text: &str) -> Vec<(&str, bool)> {
    let marks: Vec<(usize, &str)> = text.match_indices(['`', '"', '“', '”']).collect();
    let mut found = Vec::new();
    for [(open, mark), (close, _)] in marks.as_chunks().0 {
        let (before, part) = text[..*close].split_at(open + mark.len());
        if !part.trim().is_empty() && part.len() <= LONGEST_QUOTATION {
            let before = before.trim_end_matches(['`', '"', '“', ' ']);
            found.push((part, before.is_empty() || before.ends_with(['.', '!', '?', '\n'])));
        }
    }
    found
}

static NEGATIONS: WordList = WordList::words(
    "not no never dont doesnt didnt cannot cant isnt arent wasnt shouldnt mustnt wont neednt nothing without",
);

static KOREAN_NEGATIONS: WordList = WordList::phrases("지 않| 안 |지 마|지 말|금지|없");

static EXAMPLES: WordList = WordList::phrases("for example|e.g.|for instance|example:|예를 들|예: |예시");

/// Words before a number that is a name, as in "PR 412".
static NUMBERED: WordList = WordList::words(
    "bug case chapter http issue migration milestone part phase pr pull release request rfc section sprint status step \
     story ticket version 단계 릴리스 마이그레이션 이슈",
);

/// Korean words after such a number.
static ORDINALS: WordList = WordList::words("차 번째 호 단계");

static CONTRASTS: WordList = WordList::words(
    "after before early end first last late left long lower max min new off old right short start upper",
);

/// Terms that announce a change or say since when it holds.
static CHANGES: WordList = WordList::words(
    "bump bumped decrease decreased increase increased lowered need now raised reduced reverted updated",
);

static KOREAN_CHANGES: WordList = WordList::words(
    "이제 앞으로 바꾸 바꿔 바꿨 변경 올리 올려 올림 내리 내려 늘리 늘려 늘렸 줄이 줄여 줄였 높였 낮췄 올렸 내렸",
);

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NUMBER: Option<TextRelation> = Some(TextRelation::ChangedValue(ValueKind::Number));
    const QUOTATION: Option<TextRelation> = Some(TextRelation::ChangedValue(ValueKind::Quotation));
    const NEGATION: Option<TextRelation> = Some(TextRelation::ChangedValue(ValueKind::Negation));
    const CHOICE: Option<TextRelation> = Some(TextRelation::ChangedValue(ValueKind::Choice));
    const SAME: Option<TextRelation> = Some(TextRelation::SaidTwice);

    #[rstest]
    #[case::number(
        "The page cache lives for 10 minutes",
        "The page cache lives for 20 minutes, as users asked",
        NUMBER
    )]
    #[case::raised("The body limit is 8 MB", "The body limit was raised from 8 MB to 16 MB", NUMBER)]
    #[case::same_amount("The body limit is 1 hour per user", "The body limit is 60 minutes per user", SAME)]
    #[case::qualified("The cache lives for 10 minutes", "The build cache lives for 20 minutes", None)]
    #[case::two_values("Importing 10 files takes 4 seconds", "Importing 90 files takes 33 seconds", None)]
    #[case::numbered("Migration 12 drops the old table", "Migration 13 drops the old table", None)]
    #[case::date("The code freeze begins on 2026-03-02", "The code freeze begins on 2026-04-01", NUMBER)]
    #[case::quoted(
        "Branches of the mobile team begin with `app/`",
        "Branches of the mobile team begin with `ios/`",
        QUOTATION
    )]
    #[case::quoted_subject("`users` has a soft delete", "`orders` has a soft delete", None)]
    #[case::negated("Retry requests of the importer", "Do not retry requests of the importer", NEGATION)]
    #[case::example("For example, the cache lives 10 minutes", "The cache lives 20 minutes", None)]
    #[case::given_up("Sessions are stored in Redis", "Sessions move from Redis to Postgres", CHOICE)]
    #[case::contrast("Old sessions stay in the cache table", "New sessions stay in the cache table", None)]
    #[case::korean("로그 보관 기간은 90일이다", "로그 보관 기간은 30일로 줄였다", NUMBER)]
    #[case::korean_other("개발 서버 포트는 3000번이다", "운영 서버 포트는 8080번이다", None)]
    fn texts_are_compared(#[case] older: &str, #[case] newer: &str, #[case] expected: Option<TextRelation>) {
        assert_eq!(relation(older, newer, true), expected);
    }

    #[rstest]
    #[case::same("Sorting of the invoice table is done.", false)]
    #[case::other_object("Added sorting to the customer table.", true)]
    #[case::other_language("송장 invoice table 정렬을 추가했습니다.", true)]
    #[case::more_at_the_end("All green. Added sorting to the invoice table, with tests.", false)]
    fn report_about_another_thing_is_recognised(#[case] report: &str, #[case] expected: bool) {
        assert_eq!(is_about_another(report, "Add sorting to the invoice table (Kim)"), expected);
    }
}
