//! Decides whether a newer statement plainly replaces an older one, with rules for English and Korean text. Accesses no store.
//!
//! A replaced statement must not be shown as valid, and a valid one must not be hidden. So each rule needs shared terms and a sign of
//! change.
//!
//! | rule | sign of change | also required |
//! | --- | --- | --- |
//! | gives up | "no longer X", "X, not Y", "instead of X", "from X to Y", "drop X", "X 대신", "X 말고", "X 는 취소" | the older text contains all of X and shares another term; if X is gone completely, no other term |
//! | another quantity | another number with the same unit | the terms of one are among those of the other, with two in common or a word of change |
//! | goes back | chooses something that the older text gave up | a word of change |
//! | another choice | both choose a name for the same terms | "the S is X", "S 는 X", or a word of change |

use std::collections::HashMap;

use crate::model::memory::MemoryType;
use crate::prose::small_talk::is_one_off;
use crate::prose::terms::{Token, TokenKind, tokens};
use crate::prose::word_set::WordSet;

/// Whether memories of a type state facts, so that a newer one may replace an older one.
pub fn is_statement(kind: MemoryType) -> bool {
    matches!(
        kind,
        MemoryType::Decision
            | MemoryType::Convention
            | MemoryType::Architecture
            | MemoryType::Pattern
            | MemoryType::Preference
    )
}

/// The parts of a statement that are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    terms: Vec<String>,
    quantities: Vec<(f64, String)>,
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

/// Something that a statement gives up.
#[derive(Debug, Clone, PartialEq)]
struct GivenUp {
    terms: Vec<String>,
    names: Vec<String>,
    quantities: Vec<(f64, String)>,
    scope: Scope,
    /// The subject that loses it: "the mobile app" in "the mobile app no longer caches images".
    subject: Vec<String>,
}

/// The extent to which something is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Only for the subject of the statement.
    Subject,
    /// Completely.
    All,
    /// It was removed, which often means only a file or a part of something that stays.
    Removed,
}

impl GivenUp {
    fn is_nothing(&self) -> bool {
        self.terms.is_empty() && self.quantities.is_empty()
    }
}

impl Statement {
    /// Parses a text.
    pub fn of(text: &str) -> Self {
        let tokens = tokens(text);
        let mut statement = Self {
            terms: tokens.iter().filter(|token| token.is_term()).map(|token| token.text.clone()).collect(),
            quantities: quantities(&tokens),
            given_up: given_up(&tokens),
            choices: choices(&tokens),
            defines: defines(&tokens),
            changes: tokens.iter().enumerate().any(|(at, token)| is_change(&tokens, at, token)),
            mentions_past: tokens.iter().any(|token| PAST.contains(&token.text)),
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
        !self.given_up.is_empty() || !self.quantities.is_empty() || !self.choices.is_empty()
    }

    /// Returns what it shares with any statement that it replaces.
    fn keys(&self) -> impl Iterator<Item = String> {
        let quantities = self.quantities.iter().map(|(number, unit)| format!("{number} {unit}"));
        self.terms.iter().cloned().chain(quantities)
    }

    /// Whether this newer statement plainly replaces an older one.
    pub fn replaces(&self, older: &Self, strictness: Strictness) -> bool {
        self.gives_up(older)
            || self.sets_another_quantity(older)
            || self.chooses_another(older)
            || self.goes_back(older)
            || strictness == Strictness::Loose && self.gives_up_a_name(older)
    }

    /// Whether it gives up a name or a quantity of the older statement.
    fn gives_up_a_name(&self, older: &Self) -> bool {
        self.given_up.iter().filter(|given_up| given_up.scope != Scope::Subject).any(|given_up| {
            let has_name = given_up.names.iter().any(|name| older.terms.contains(name));
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
        self.given_up.iter().filter(|given_up| given_up.scope != Scope::Removed).any(|given_up| {
            let has_all = given_up.terms.iter().all(|term| older.terms.contains(term))
                && given_up.quantities.iter().all(|quantity| older.quantities.contains(quantity));
            let gives_it_up_as_well = older.given_up.iter().any(|other| {
                other.terms.iter().any(|term| given_up.terms.contains(term))
                    || other.quantities.iter().any(|quantity| given_up.quantities.contains(quantity))
            });
            let is_of_subject = given_up.subject.iter().all(|term| older.terms.contains(term));
            let shares_another =
                self.terms.iter().any(|term| !given_up.terms.contains(term) && older.terms.contains(term));
            let is_enough = shares_another || given_up.scope == Scope::All && !given_up.terms.is_empty();
            has_all && !gives_it_up_as_well && is_of_subject && is_enough
        })
    }

    fn sets_another_quantity(&self, older: &Self) -> bool {
        let Some(old) = only(&older.quantities) else { return false };
        let of_unit: Vec<f64> = self.quantities.iter().filter(|new| new.1 == old.1).map(|new| new.0).collect();
        let is_old = |number: &f64| (number - old.0).abs() <= f64::EPSILON * old.0.abs();
        let is_other = match of_unit.as_slice() {
            [new] => self.quantities.len() == 1 && !is_old(new),
            // "8 s, 4 s was too short"
            [new, before] => !is_old(new) && is_old(before) && self.mentions_past,
            _ => false,
        };
        let common = shared(&self.terms, &older.terms);
        let is_same_subject = common == self.terms.len().min(older.terms.len());
        // Numbers without a unit are versions, ports and counts, so they need more terms in common.
        let least = if old.1.is_empty() || !self.changes && of_unit.len() == 1 { 2 } else { 1 };
        is_other && common >= least && (is_same_subject || of_unit.len() == 2)
    }

    /// Whether it returns to something that the older statement gave up.
    fn goes_back(&self, older: &Self) -> bool {
        let mut given_up = older.given_up.iter().flat_map(|given_up| &given_up.terms);
        self.changes && given_up.any(|term| self.choices.contains(term))
    }

    fn chooses_another(&self, older: &Self) -> bool {
        if self.choices.is_empty() || older.choices.is_empty() || shared(&self.choices, &older.choices) > 0 {
            return false;
        }
        let subject = |statement: &Self| -> Vec<String> {
            let given_up = |term: &&String| !statement.given_up.iter().any(|other| other.terms.contains(term));
            let of_subject = |term: &&String| !self.choices.contains(term) && !older.choices.contains(term);
            statement.terms.iter().filter(of_subject).filter(given_up).cloned().collect()
        };
        let (new, old) = (subject(self), subject(older));
        let common = shared(&new, &old);
        let is_same_subject =
            common > 0 && common == new.len().min(old.len()) && common * 2 >= new.len().max(old.len());
        is_same_subject && (self.changes || self.defines && older.defines)
    }
}

/// Dated statements that may replace older ones, by the terms and quantities that they share with them.
#[derive(Debug, Default)]
pub struct StatementIndex {
    /// Oldest first.
    statements: Vec<((i64, i64), Statement)>,
    by_key: HashMap<String, Vec<usize>>,
}

/// How many statements are compared with a sentence: those that share its rarest terms.
const COMPARED: usize = 64;

impl StatementIndex {
    /// Indexes statements by their [`MemoryRow::order`](crate::store::MemoryRow::order).
    pub fn new(statements: impl IntoIterator<Item = ((i64, i64), Statement)>) -> Self {
        let mut statements: Vec<_> = statements.into_iter().filter(|(_, statement)| statement.can_replace()).collect();
        statements.sort_by_key(|(order, _)| *order);
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (_, statement)) in statements.iter().enumerate() {
            for key in statement.keys() {
                by_key.entry(key).or_default().push(at);
            }
        }
        Self { statements, by_key }
    }

    /// Returns statements since a point in time that share a term or a quantity with an older one.
    fn related(&self, older: &Statement, since: (i64, i64)) -> Vec<&Statement> {
        let mut shared: Vec<&Vec<usize>> = older.keys().filter_map(|key| self.by_key.get(&key)).collect();
        shared.sort_by_key(|at| at.len());
        let first = self.statements.partition_point(|(order, _)| *order <= since);
        let mut found: Vec<usize> = Vec::new();
        for at in shared.into_iter().flat_map(|at| at.iter().rev().take_while(|at| **at >= first)) {
            if found.len() == COMPARED {
                break;
            }
            if !found.contains(at) {
                found.push(*at);
            }
        }
        found.into_iter().map(|at| &self.statements[at].1).collect()
    }
}

/// Returns a text without what statements since a point in time replace, or `None` if nothing remains.
///
/// Of conversation, one passage is kept, because what follows a replaced sentence may refer to it. In a conclusion, only the replaced
/// sentences or items are removed. `…` marks what is missing.
pub fn without_replaced(
    text: &str,
    said: &[&StatementIndex],
    since: (i64, i64),
    strictness: Strictness,
) -> Option<String> {
    let replacing = |part: &str| -> Vec<&Statement> {
        let older = Statement::of(part);
        let related = said.iter().flat_map(|said| said.related(&older, since));
        related.filter(|newer| newer.replaces(&older, strictness)).collect()
    };
    let kept = match strictness {
        Strictness::Loose => valid_passage(text, replacing),
        Strictness::Strict => valid_parts(text, replacing),
    };
    kept.chars().any(char::is_alphanumeric).then_some(kept)
}

/// Returns the sentences from the first valid one to the next replaced one.
fn valid_passage<'s>(text: &str, replacing: impl Fn(&str) -> Vec<&'s Statement>) -> String {
    let (mut start, mut end) = (0, 0);
    let (mut is_skipping, mut is_cut) = (false, false);
    for part in sentences(text) {
        let is_replaced = !replacing(part).is_empty();
        is_cut = is_replaced && start < end;
        if is_cut {
            break;
        }
        end += part.len();
        if is_replaced || is_skipping {
            start = end;
            // A clause after a semicolon belongs to the clause before it.
            is_skipping = part.trim_end().ends_with(';');
        }
    }
    let passage = text[start..end].trim().trim_end_matches(';');
    match (start > 0, is_cut) {
        (false, false) => text.to_owned(),
        (false, true) => format!("{passage} …"),
        (true, false) => format!("… {passage}"),
        (true, true) => format!("… {passage} …"),
    }
}

fn valid_parts<'s>(text: &str, replacing: impl Fn(&str) -> Vec<&'s Statement>) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut is_changed = false;
    for part in sentences(text) {
        let newer = replacing(part);
        if newer.is_empty() {
            kept.push_str(part);
            continue;
        }
        is_changed = true;
        let clauses: Vec<&str> = part.split_inclusive([',', ';']).collect();
        let valid = |clause: &&str| !is_replaced_within(clause, &newer);
        // A sentence of two clauses is removed as a whole, because neither makes sense without the other.
        let are_items = clauses.len() >= 3 && !clauses.iter().all(valid);
        push_missing(&mut kept);
        for clause in clauses.iter().filter(|_| are_items) {
            if valid(clause) { kept.push_str(clause) } else { push_missing(&mut kept) }
        }
    }
    if is_changed { kept.trim().to_owned() } else { kept }
}

fn push_missing(text: &mut String) {
    if !text.ends_with('…') {
        text.push_str(if text.is_empty() { "…" } else { " …" });
    }
}

/// Whether the replaced part of a sentence is in this clause.
fn is_replaced_within(clause: &str, newer: &[&Statement]) -> bool {
    let clause = Statement::of(clause);
    newer.iter().any(|newer| {
        let has_given_up = newer.given_up.iter().any(|given_up| {
            given_up.terms.iter().all(|term| clause.terms.contains(term))
                && given_up.quantities.iter().all(|quantity| clause.quantities.contains(quantity))
        });
        has_given_up || newer.sets_another_quantity(&clause) || newer.chooses_another(&clause)
    })
}

/// Returns the statements in a prompt that give something up or change it, even if the prompt is no conclusion: "no, back to TOML".
pub fn reversals(prompt: &str) -> Vec<Statement> {
    let plain = sentences(prompt).into_iter().filter(|sentence| is_plain(sentence));
    plain.map(Statement::of).filter(|statement| !statement.given_up.is_empty() || statement.changes).collect()
}

/// Whether a sentence of a prompt is no question, condition or one-off, and does not only order to stop or to remove something.
fn is_plain(sentence: &str) -> bool {
    const UNSURE: [&str; 17] = [
        "if ",
        "should we",
        "could we",
        "what about",
        "how about",
        "maybe",
        "perhaps",
        "might",
        "thinking of",
        "would it",
        "할까",
        "될까",
        "면 어때",
        "어떨까",
        "어떻게 생각",
        "싶은데",
        "고민",
    ];
    let folded = sentence.trim().to_lowercase();
    let is_order = ["stop", "drop", "remove", "delete"].iter().any(|verb| folded.starts_with(verb));
    !folded.ends_with(['?', '？'])
        && !is_order
        && !is_one_off(&folded)
        && !UNSURE.iter().any(|word| folded.contains(word))
}

/// Splits a text into sentences. Each includes the space before it.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let bytes = text.as_bytes();
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '\n' | '。' | '！' | '？' => true,
            ';' => bytes.get(end).is_some_and(u8::is_ascii_whitespace),
            '.' | '!' | '?' => bytes.get(end).is_none_or(u8::is_ascii_whitespace) && !is_abbreviation(&text[..at]),
            _ => false,
        };
        if is_end {
            parts.push(&text[start..end]);
            start = end;
        }
    }
    parts.push(&text[start..]);
    let mut joined: Vec<&str> = Vec::with_capacity(parts.len());
    for part in parts {
        if !part.is_empty() {
            joined.push(part);
        }
    }
    joined
}

/// Whether the period after this text belongs to an abbreviation or to the number of a list item.
fn is_abbreviation(before: &str) -> bool {
    let word = before.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_number = !word.is_empty() && word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let starts_line = before.len() == word.len() || before[..before.len() - word.len()].ends_with('\n');
    matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf" | "approx" | "No" | "Dr" | "Mr" | "Ms")
        || is_number && starts_line
}

fn quantities(tokens: &[Token]) -> Vec<(f64, String)> {
    let of = |token: &Token| match token.kind {
        TokenKind::Quantity(number) => Some((number, token.text.clone())),
        TokenKind::Term | TokenKind::Other => None,
    };
    tokens.iter().filter_map(of).collect()
}

fn only<T>(items: &[T]) -> Option<&T> {
    if let [only] = items { Some(only) } else { None }
}

/// Counts the items that two sorted lists share.
fn shared(a: &[String], b: &[String]) -> usize {
    a.iter().filter(|item| b.binary_search(item).is_ok()).count()
}

/// Words that precede something that is given up.
const GIVES_UP_NEXT: [(&[&str], Scope); 29] = [
    (&["instead", "of"], Scope::Subject),
    (&["rather", "than"], Scope::Subject),
    (&["in", "place", "of"], Scope::Subject),
    (&["not"], Scope::Subject),
    (&["dont", "use"], Scope::Subject),
    (&["never", "use"], Scope::Subject),
    (&["no", "longer"], Scope::All),
    (&["stop"], Scope::All),
    (&["stopped"], Scope::All),
    (&["drop"], Scope::All),
    (&["dropping"], Scope::All),
    (&["dropped"], Scope::All),
    (&["get", "rid", "of"], Scope::All),
    (&["getting", "rid", "of"], Scope::All),
    (&["got", "rid", "of"], Scope::All),
    (&["abandon"], Scope::All),
    (&["ditch"], Scope::All),
    (&["retire"], Scope::All),
    (&["retiring"], Scope::All),
    (&["deprecate"], Scope::All),
    (&["replace"], Scope::All),
    (&["replacing"], Scope::All),
    (&["replaced"], Scope::All),
    (&["away", "from"], Scope::All),
    (&["remove"], Scope::Removed),
    (&["removed"], Scope::Removed),
    (&["delete"], Scope::Removed),
    (&["deleted"], Scope::Removed),
    (&["uninstalled"], Scope::Removed),
];

/// Nouns for parts whose removal removes the whole thing.
static PARTS: WordSet =
    WordSet::new("client code config dependency driver integration library module package service setup store support");

/// Words after "is" or "are" that mark the subject as given up.
static GONE: WordSet =
    WordSet::new("cancelled canceled deprecated dropped gone history obsolete out removed replaced retired");

/// Words that mark an earlier state.
static PAST: WordSet = WordSet::new("before earlier formerly from previously was were 기존 이전 원래 너무");

/// Verbs of change before "from A to B".
static CHANGES_FROM: WordSet = WordSet::new("
    away bump bumped change changed changing cut go going lower lowered migrate migrated migrating move moved moving raise raised switch
    switched switching went
");

/// Words that end the phrase that is given up.
static ENDS: WordSet = WordSet::new("
    after and anymore any as at because before but by for from if in into next on since so than that then to until we when
    where which while with
");

/// Words that end the phrase after "for".
static REASONS: WordSet = WordSet::new("and as because but since so when while");

/// Verbs after "no longer" and "stop", which are not part of what is given up.
static VERBS_BEHIND: WordSet =
    WordSet::new("build call depend deploy keep need put rely run send ship simulate store support use want write");

/// Korean words that follow something that is given up.
const GIVES_UP_BEFORE: [(&str, Scope); 20] = [
    ("대신", Scope::Subject),
    ("없이", Scope::Subject),
    ("말고", Scope::Subject),
    ("아니라", Scope::Subject),
    ("아니고", Scope::Subject),
    ("취소", Scope::All),
    ("폐기", Scope::All),
    ("버리", Scope::All),
    ("그만", Scope::All),
    ("없애", Scope::All),
    ("쓰지", Scope::All),
    ("중단", Scope::All),
    ("철회", Scope::All),
    ("포기", Scope::All),
    ("접고", Scope::All),
    ("접자", Scope::All),
    ("접는", Scope::All),
    ("접기로", Scope::All),
    ("제거", Scope::Removed),
    ("지우", Scope::Removed),
];

/// Korean verbs of change after "A에서 B로".
const CHANGES_TO: [&str; 31] = [
    "바꾸",
    "바꿔",
    "바꿨",
    "변경",
    "전환",
    "옮기",
    "옮겨",
    "교체",
    "이전",
    "넘어가",
    "바꿈",
    "늘리",
    "늘린",
    "늘려",
    "늘림",
    "올리",
    "올린",
    "올려",
    "올림",
    "내리",
    "내린",
    "내려",
    "줄이",
    "줄인",
    "줄여",
    "낮추",
    "낮춘",
    "낮춰",
    "높이",
    "높인",
    "높여",
];

fn given_up(tokens: &[Token]) -> Vec<GivenUp> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        found.extend(english_given_up(tokens, at));
        found.extend(korean_given_up(tokens, at));
    }
    found
}

fn english_given_up(tokens: &[Token], at: usize) -> Option<GivenUp> {
    let word = |offset: usize| tokens.get(at + offset).map(|token| token.text.as_str());
    // "from 60 Hz to 50 Hz", after a verb of change.
    if word(0) == Some("from") && at > 0 {
        let is_change = tokens[..at].iter().rev().take(4).any(|token| CHANGES_FROM.contains(&token.text));
        let end = tokens[at + 1..].iter().take(5).position(|token| token.text == "to" || token.text == "onto");
        return end.filter(|_| is_change).map(|end| collect(&tokens[at + 1..at + 1 + end], Scope::All));
    }
    // "the version header is dropped"
    if matches!(word(0), Some("is" | "are")) && word(1).is_some_and(|next| GONE.contains(next)) {
        let start = tokens[..at].iter().rposition(|token| token.begins_clause).unwrap_or(0);
        return Some(collect(&tokens[start..at], Scope::All));
    }
    let (words, scope) = GIVES_UP_NEXT
        .iter()
        .find(|(words, _)| words.iter().enumerate().all(|(n, expected)| word(n) == Some(expected)))?;
    let mut next = at + words.len();
    if *scope == Scope::All && tokens.get(next).is_some_and(|token| VERBS_BEHIND.contains(stem_of_verb(&token.text))) {
        next += 1;
    }
    // "arq, not Celery" gives up Celery. "does not support Celery" gives up nothing.
    if words == &["not"] {
        let first = tokens.get(next)?;
        let is_contrast = tokens[at].begins_clause || at > 0 && matches!(tokens[at - 1].text.as_str(), "and" | "but");
        let is_item = first.is_name || matches!(first.kind, TokenKind::Quantity(_)) || is_contrast && first.is_term();
        if !is_item || !is_contrast && !first.is_name {
            return None;
        }
    }
    let replaces = words[0].starts_with("replac");
    let rest = &tokens[next..];
    let end = rest.iter().enumerate().take(5).position(|(n, token)| {
        n > 0 && token.begins_clause
            || ENDS.contains(&token.text) && !(n == 0 && matches!(token.text.as_str(), "at" | "in" | "on" | "with"))
    });
    let end = end.unwrap_or(rest.len().min(5));
    // "replaced the parser" without "by" or "with" may be just a repair.
    if replaces && !rest.get(end).is_some_and(|token| matches!(token.text.as_str(), "by" | "with")) {
        return None;
    }
    let mut given_up = collect(&rest[..end], *scope);
    // "for the database" names the subject.
    if let Some(qualifier) = rest.get(end).filter(|token| token.text == "for").map(|_| &rest[end + 1..]) {
        let until = qualifier.iter().position(|token| token.begins_clause || REASONS.contains(&token.text));
        given_up.subject = collect(&qualifier[..until.unwrap_or(qualifier.len())], Scope::Subject).terms;
    }
    if words == &["no", "longer"] {
        let start = tokens[..=at].iter().rposition(|token| token.begins_clause).unwrap_or(0);
        given_up.subject = collect(&tokens[start..at], Scope::Subject).terms;
    }
    Some(given_up)
}

fn korean_given_up(tokens: &[Token], at: usize) -> Option<GivenUp> {
    let token = &tokens[at];
    if token.particle == "에서" {
        // "Redis에서 Postgres로 바꾼다"
        let to = tokens[at + 1..].iter().take(3).position(|next| matches!(next.particle, "로" | "으로"))?;
        let is_change =
            tokens[at + 1 + to..].iter().take(3).any(|next| CHANGES_TO.iter().any(|verb| next.text.starts_with(verb)));
        return is_change.then(|| collect(&tokens[at..=at], Scope::All));
    }
    // "마이그레이션은 안 하기로"
    let is_left = token.text == "안" && tokens.get(at + 1).is_some_and(|next| next.text.starts_with("하기로"));
    let scope = match GIVES_UP_BEFORE.iter().find(|(word, _)| token.text.starts_with(word)) {
        Some((_, scope)) => scope,
        None if is_left => &Scope::All,
        None => return None,
    };
    if at == 0 {
        return None;
    }
    // "배치 말고": the words before it in its clause, up to a particle of another part of the sentence.
    let mut start = at;
    while start > 0 && at - start < 3 && !(start < at && tokens[start].begins_clause) {
        let before = &tokens[start - 1];
        let is_end = start < at && !matches!(before.particle, "" | "의") || before.kind == TokenKind::Other;
        if is_end {
            break;
        }
        start -= 1;
    }
    Some(collect(&tokens[start..at], *scope))
}

fn collect(tokens: &[Token], scope: Scope) -> GivenUp {
    GivenUp {
        names: tokens.iter().filter(|token| token.is_term() && token.is_name).map(|token| token.text.clone()).collect(),
        terms: tokens.iter().filter(|token| token.is_term()).map(|token| token.text.clone()).collect(),
        quantities: quantities(tokens),
        scope,
        subject: Vec::new(),
    }
}

/// Returns the names that a text chooses: after "use", "with", "to" and similar words, or before a Korean particle of means.
fn choices(tokens: &[Token]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.is_term()) {
        let before = at.checked_sub(1).map(|before| tokens[before].text.as_str());
        // "The package manager is pnpm."
        let is_all_it_is =
            tokens.get(at + 1).is_none_or(|next| next.begins_clause) && matches!(before, Some("is" | "are"));
        // "로그 포맷은 텍스트로 한다."
        let is_made = matches!(token.particle, "로" | "으로")
            && tokens
                .get(at + 1)
                .is_some_and(|verb| !verb.is_term() && tokens.get(at + 2).is_none_or(|next| next.begins_clause));
        if !token.is_name && !is_all_it_is && !is_made {
            continue;
        }
        let is_behind = matches!(
            before,
            Some(
                "use"
                    | "using"
                    | "uses"
                    | "with"
                    | "via"
                    | "to"
                    | "is"
                    | "are"
                    | "choose"
                    | "chose"
                    | "pick"
                    | "picked"
                    | "adopt"
                    | "on"
            )
        );
        let by_particle = matches!(token.particle, "로" | "으로");
        let by_verb = matches!(token.particle, "을" | "를")
            && tokens.get(at + 1).is_some_and(|next| {
                ["쓰", "쓴", "써", "사용", "채택", "선택"].iter().any(|verb| next.text.starts_with(verb))
            });
        let clause = tokens[..=at].iter().rposition(|token| token.begins_clause).unwrap_or(0);
        let is_defined = defines(&tokens[clause..at]);
        if is_behind || by_particle || by_verb || is_defined {
            found.push(token.text.clone());
        }
    }
    found
}

/// Whether a text defines something: "the S is", "S는".
fn defines(tokens: &[Token]) -> bool {
    let subject = tokens.iter().take(4).position(Token::is_term);
    subject.is_some_and(|subject| {
        tokens[subject..].iter().take(4).any(|token| matches!(token.text.as_str(), "is" | "are"))
            || tokens[subject..].iter().take(2).any(|token| matches!(token.particle, "은" | "는"))
    })
}

/// Whether a word announces a change.
fn is_change(tokens: &[Token], at: usize, token: &Token) -> bool {
    static ENGLISH: WordSet = WordSet::new("
        back bump bumped change changed changing correction decrease decreased from increase increased instead lower lowered
        migrate migrated move moved moving now raise raised reduce reduced revert reverted switch switched switching update updated
    ");
    const KOREAN: [&str; 19] = [
        "이제",
        "앞으로",
        "바꾸",
        "바꿔",
        "바꿨",
        "변경",
        "전환",
        "교체",
        "올리",
        "올려",
        "내리",
        "내려",
        "늘리",
        "늘려",
        "줄이",
        "줄여",
        "되돌리",
        "정정",
        "대신",
    ];
    if token.text.is_ascii() {
        let after_all = token.text == "after" && tokens.get(at + 1).is_some_and(|next| next.text == "all");
        return after_all || ENGLISH.contains(&token.text);
    }
    KOREAN.iter().any(|word| token.text.starts_with(word))
}

fn stem_of_verb(word: &str) -> &str {
    word.strip_suffix("ing").unwrap_or(word)
}

#[cfg(test)]
mod tests;
