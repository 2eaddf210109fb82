//! Extracts distinctive terms and quantities from English and Korean text, without access to a store.
//!
//! The terms are used to compare statements and to count the topics of a session. A search has its own tokens.

mod korean;
mod words;

/// The maximum length of a text that is read, in bytes. The topic of a statement is at its beginning.
const READ_BYTES: usize = 4 * 1024;

/// The shortest part of an identifier, in bytes.
const SHORTEST_PART: usize = 3;

/// The unit of a day in a year, which is the number of the month times 100, and that of the day.
pub(crate) const DATE: &str = "date";

/// The unit of a time of day, in minutes since midnight. Whether it is before noon is not read.
pub(crate) const CLOCK: &str = "clock";

/// The word after the number of a month.
const MONTH: &str = "월";

/// A piece of a text: a term, a quantity, or another word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProseToken {
    pub(crate) kind: TokenKind,
    /// The normalized word: in lower case, without plural, particle or ending.
    pub(crate) text: String,
    /// The Korean particle after the word.
    pub(crate) particle: &'static str,
    /// Whether the word is a name: capitalised within a sentence, an identifier, or ASCII in a Korean sentence.
    pub(crate) is_name: bool,
    /// Whether a comma, semicolon, colon, dash, bracket or sentence end precedes it.
    pub(crate) begins_clause: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TokenKind {
    /// A word that is distinctive for the text.
    Term,
    /// A number. The text of the token is its unit, such as `second` for all durations.
    Quantity(f64),
    /// A function word, a question word, or a word that occurs in any text.
    Other,
}

/// Returns the numbers in tokens, each with its unit.
pub(crate) fn quantities(tokens: &[ProseToken]) -> Vec<(f64, String)> {
    tokens.iter().filter_map(ProseToken::quantity).collect()
}

impl ProseToken {
    /// Returns its number with the unit.
    pub(crate) fn quantity(&self) -> Option<(f64, String)> {
        match self.kind {
            TokenKind::Quantity(number) => Some((number, self.text.clone())),
            TokenKind::Term | TokenKind::Other => None,
        }
    }

    pub(crate) fn is_term(&self) -> bool {
        self.kind == TokenKind::Term
    }

    /// Whether a Korean particle marks it as the means or the aim: "Redis로".
    pub(crate) fn is_means(&self) -> bool {
        matches!(self.particle, "로" | "으로")
    }
}

/// Returns the tokens of a text, in order.
pub(crate) fn tokens(text: &str) -> Vec<ProseToken> {
    let text = &text[..text.floor_char_boundary(READ_BYTES)];
    let has_korean = text.contains(is_hangul);
    let mut found: Vec<ProseToken> = Vec::new();
    let (mut begins_clause, mut begins_sentence) = (true, true);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !is_word(c) {
            let ends_sentence = matches!(c, '.' | '!' | '?' | '\n');
            begins_sentence |= ends_sentence;
            begins_clause |=
                ends_sentence || matches!(c, ',' | ';' | ':' | '(' | ')' | '—' | '–' | '"' | '“' | '”' | '→');
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let word;
        (word, rest) = rest.split_at(word_length(rest));
        if is_hangul(c)
            && let Some(particle) = korean::particle(word)
            && let Some(last) = found.last_mut()
            && last.particle.is_empty()
            && !begins_clause
        {
            // "Redis로" and "Redis 로": the particle belongs to the name before it.
            last.particle = particle;
            continue;
        }
        found.push(match is_hangul(c) {
            true => korean_token(word, begins_clause),
            false => ascii_token(word, begins_clause, begins_sentence, has_korean),
        });
        (begins_clause, begins_sentence) = (false, false);
    }
    with_quantities(with_dates(found))
}

/// Returns the last clause of some tokens.
pub(crate) fn last_clause(tokens: &[ProseToken]) -> &[ProseToken] {
    &tokens[tokens.iter().rposition(|token| token.begins_clause).unwrap_or(0)..]
}

/// Returns the tokens before one in its clause.
pub(crate) fn clause_before(tokens: &[ProseToken], at: usize) -> &[ProseToken] {
    if tokens[at].begins_clause { &[] } else { last_clause(&tokens[..at]) }
}

/// Whether a clause ends before an index.
pub(crate) fn ends_clause(tokens: &[ProseToken], at: usize) -> bool {
    tokens.get(at).is_none_or(|token| token.begins_clause)
}

/// Returns the terms among tokens, in order.
pub(crate) fn terms_of<'t>(tokens: impl IntoIterator<Item = &'t ProseToken>) -> Vec<String> {
    tokens.into_iter().filter(|token| token.is_term()).map(|token| token.text.clone()).collect()
}

/// Returns the distinctive terms of a text, sorted and without duplicates.
pub(crate) fn terms(text: &str) -> Vec<String> {
    let mut terms: Vec<String> = tokens(text).into_iter().filter(ProseToken::is_term).map(|token| token.text).collect();
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns the terms of a text, and the parts of its identifiers: `chrome.alarms`, "chrome" and "alarm".
pub(crate) fn terms_and_parts(text: &str) -> Vec<String> {
    let whole = terms(text);
    let parts = |term: &String| -> Vec<String> {
        let parts = term.split(['_', '.', '/']).filter(|part| part.len() >= SHORTEST_PART && *part != term);
        parts.map(words::fold).collect()
    };
    let parts: Vec<String> = whole.iter().flat_map(parts).collect();
    whole.into_iter().chain(parts).collect()
}

/// Counts the terms of a text that are also in `others`, whatever their endings, or are one of the two nouns of a Korean compound there:
/// "결제" and "결제취소".
pub(crate) fn count_shared_terms(of: &[String], others: &[String]) -> usize {
    const NOUN: usize = 2 * '가'.len_utf8();
    let is_in_compound = |noun: &str, compound: &str| {
        noun.len() == NOUN
            && compound.len() == 2 * NOUN
            && noun.chars().chain(compound.chars()).all(is_hangul)
            && (compound.starts_with(noun) || compound.ends_with(noun))
    };
    let is_same = |term: &str, other: &str| {
        have_same_stem(other, term) || is_in_compound(term, other) || is_in_compound(other, term)
    };
    of.iter().filter(|term| others.iter().any(|other| is_same(term, other))).count()
}

/// Whether two terms differ only in their endings: "corrections" and "correcting", "행도" and "행에서".
pub(crate) fn have_same_stem(a: &str, b: &str) -> bool {
    const ENDINGS: [&str; 9] = ["ation", "ings", "ing", "ions", "ion", "ment", "ed", "er", "e"];
    const SHORTEST: usize = 4;
    // Most pairs are decided here.
    if a.as_bytes().first() != b.as_bytes().first() {
        return false;
    }
    let stem = |word: &str| -> usize {
        let ending = ENDINGS.iter().find(|ending| word.is_ascii() && word.ends_with(**ending));
        let length = ending.map_or(word.len(), |ending| word.len() - ending.len());
        // "swapped" doubles the last letter of "swap".
        let is_doubled =
            length < word.len() && length > 2 && word.as_bytes()[length - 1] == word.as_bytes()[length - 2];
        length - usize::from(is_doubled)
    };
    // [`terms`] leaves particles at nouns of one syllable.
    let syllable =
        |word: &str| word.chars().next().filter(|c| is_hangul(*c) && korean::particle(&word[c.len_utf8()..]).is_some());
    // "인쇄용" is for "인쇄", and "되돌리기" is the noun of "되돌리다".
    let is_derived =
        |long: &str, short: &str| long.strip_suffix(['용', '기']) == Some(short) && short.chars().count() > 1;
    a == b
        || is_derived(a, b)
        || is_derived(b, a)
        || syllable(a).is_some() && syllable(a) == syllable(b)
        || stem(a) >= SHORTEST && a.is_ascii() && a[..stem(a)] == b[..stem(b)]
}

fn korean_token(word: &str, begins_clause: bool) -> ProseToken {
    let (stem, particle) = korean::stem(word);
    let is_term = !stem.is_empty() && !korean::COMMON.contains(stem) && !korean::COMMON.contains(word);
    let kind = if is_term { TokenKind::Term } else { TokenKind::Other };
    let text = if stem.is_empty() { word } else { stem };
    ProseToken { kind, text: text.to_owned(), particle, is_name: false, begins_clause }
}

fn ascii_token(word: &str, begins_clause: bool, begins_sentence: bool, has_korean: bool) -> ProseToken {
    let folded = words::fold(word);
    if let Some((number, unit)) = number(word).or_else(|| Some((words::number(&folded)?, ""))) {
        let kind = TokenKind::Quantity(number);
        return ProseToken { kind, text: words::fold(unit), particle: "", is_name: false, begins_clause };
    }
    let is_identifier = word.chars().any(|c| !c.is_ascii_lowercase() && c != '-')
        && !(begins_sentence && word.chars().skip(1).all(char::is_lowercase));
    // A word such as `latest` is a name in Korean text.
    let is_common = folded.chars().count() < 2 || words::COMMON.contains(&folded) && !(has_korean && folded.len() > 3);
    let kind = if is_common { TokenKind::Other } else { TokenKind::Term };
    ProseToken { kind, text: folded, particle: "", is_name: !is_common && (is_identifier || has_korean), begins_clause }
}

/// Joins the month and the day of a date into one quantity: `3 March`, `March 3rd`, `the 17th of March`, `3월 17일`. "May" is also a verb, so a
/// month only counts next to a day.
fn with_dates(found: Vec<ProseToken>) -> Vec<ProseToken> {
    let month = |token: &ProseToken| words::month(&token.text);
    if !found.iter().any(|token| token.text == MONTH || month(token).is_some()) {
        return found;
    }
    let mut joined: Vec<ProseToken> = Vec::with_capacity(found.len());
    let mut rest = found.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        let of = usize::from(behind.first().is_some_and(|word| word.text == "of"));
        let english = match (month(first), day(first)) {
            (Some(month), _) => behind.first().and_then(day).map(|day| (month, day, 1)),
            (None, Some(day)) => behind.get(of).and_then(month).map(|month| (month, day, of + 1)),
            (None, None) => None,
        };
        // "3월" is a number and a word.
        let korean = || {
            let [word, day, ..] = behind else { return None };
            let (TokenKind::Quantity(month), TokenKind::Quantity(number)) = (first.kind, day.kind) else { return None };
            (first.text.is_empty() && word.text == MONTH && day.text == "일").then_some((month, number, 2))
        };
        let Some((month, day, length)) = english.or_else(korean) else {
            joined.push(first.clone());
            rest = behind;
            continue;
        };
        let kind = TokenKind::Quantity(month * 100.0 + day);
        joined.push(ProseToken { kind, text: DATE.to_owned(), particle: behind[length - 1].particle, ..first.clone() });
        rest = &behind[length..];
    }
    joined
}

/// Returns the day of a month that a token may be: `3`, `17th`.
fn day(token: &ProseToken) -> Option<f64> {
    let number = match token.kind {
        TokenKind::Quantity(number) if token.text.is_empty() => number,
        TokenKind::Quantity(_) => return None,
        TokenKind::Term | TokenKind::Other => {
            ["st", "nd", "rd", "th"].iter().find_map(|ending| token.text.strip_suffix(ending))?.parse().ok()?
        }
    };
    ((1.0..=31.0).contains(&number) && number.fract() == 0.0).then_some(number)
}

/// Joins a number with its unit in the next word, as in `50 Hz` and `5 분`, and converts it to the base unit.
fn with_quantities(found: Vec<ProseToken>) -> Vec<ProseToken> {
    let mut joined: Vec<ProseToken> = Vec::with_capacity(found.len());
    for token in found {
        if let Some(last) = joined.last_mut()
            && matches!(last.kind, TokenKind::Quantity(_))
            && last.text.is_empty()
            && last.particle.is_empty()
            && !token.begins_clause
            && !matches!(token.kind, TokenKind::Quantity(_))
            && words::is_unit(&token.text)
        {
            last.text = token.text;
            last.particle = token.particle;
            continue;
        }
        joined.push(token);
    }
    for token in &mut joined {
        if let TokenKind::Quantity(number) = &mut token.kind {
            let (unit, factor) = words::unit(&token.text);
            *number *= factor;
            token.text = unit.to_owned();
        }
    }
    joined
}

/// Parses a number at the start of a word and the unit attached to it: `1.5MB`, `50`, `15분`, `06:30`.
fn number(word: &str) -> Option<(f64, &str)> {
    if let Some((hours, minutes)) = word.split_once(':')
        && hours.len() <= 2
        && minutes.len() == 2
        && let (Ok(hours @ 0..24), Ok(minutes @ 0..60)) = (hours.parse::<u8>(), minutes.parse::<u8>())
    {
        return Some((f64::from(hours) * 60.0 + f64::from(minutes), CLOCK));
    }
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(word.len());
    let digits = word[..end].trim_end_matches(['.', ',']);
    let unit = &word[digits.len()..];
    if digits.is_empty() || !unit.is_empty() && !words::is_unit(&words::fold(unit)) {
        return None;
    }
    Some((digits.replace(',', "").parse().ok()?, unit))
}

/// Returns the length in bytes of the first word, which consists of characters of one script.
fn word_length(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let mut hangul = None;
    let mut previous = ' ';
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, c)| *c);
        // "10%는": the particle follows.
        if c == '%' && previous.is_ascii_digit() {
            return at + 1;
        }
        let joins = matches!(c, '.' | '/' | ':' | '@' | '+' | '#' | '\'' | ',')
            && hangul == Some(false)
            && next.is_some_and(|next| is_word(next) && !is_hangul(next))
            && (c != ',' || previous.is_ascii_digit() && next.is_some_and(|next| next.is_ascii_digit()));
        if !joins && (!is_word(c) || *hangul.get_or_insert(is_hangul(c)) != is_hangul(c)) {
            // A Hangul unit directly follows its number: `15분`.
            let is_unit = previous.is_ascii_digit() && is_hangul(c) && text[..at].bytes().all(|b| b.is_ascii_digit());
            return if is_unit { at + unit_length(&text[at..]) } else { at };
        }
        previous = c;
    }
    text.len()
}

/// Returns the length in bytes of a Korean unit at the start of a text, or 0 without a unit.
fn unit_length(text: &str) -> usize {
    let end = text.find(|c: char| !is_hangul(c)).unwrap_or(text.len());
    (1..=2)
        .rev()
        .filter_map(|count| text.char_indices().nth(count).map(|(at, _)| at).or(Some(text.len())))
        .find(|at| *at <= end && words::is_unit(&text[..*at]))
        .unwrap_or(0)
}

fn is_word(c: char) -> bool {
    is_hangul(c) || c.is_alphanumeric() || c == '_'
}

pub(crate) fn is_hangul(c: char) -> bool {
    matches!(c, '\u{AC00}'..='\u{D7A3}' | '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}')
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::english("We store the sessions in Redis, not in Postgres.", "postgre redis session")]
    #[case::identifiers("call `on_invoice_paid` of services/api/tasks.py", "on_invoice_paid services/api/tasks.py")]
    #[case::korean("세션은 Redis에 저장하고 토큰은 15분 뒤에 만료된다", "redis 만료 세션 저장 토큰")]
    #[case::hyphens("per-field vector clocks", "clock field vector")]
    #[case::only_common("ok, let's do it then", "")]
    fn distinctive_terms_are_extracted(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(terms(text).join(" "), expected);
    }

    #[rstest]
    #[case::attached("limit 2Ki", 2048.0, "byte")]
    #[case::apart("go down to 50 Hz", 50.0, "hz")]
    #[case::words("after five minutes", 300.0, "second")]
    #[case::short("after 15 min", 900.0, "second")]
    #[case::korean("15분 뒤", 900.0, "second")]
    #[case::korean_apart("슬롯당 1.5 MB 로", 1_500_000.0, "byte")]
    #[case::thousands("at most 4,000 characters", 4000.0, "character")]
    #[case::ten_thousands("호출은 하루 30만 건까지", 300_000.0, "")]
    #[case::day_and_month("the beta is on 3 March", 303.0, "date")]
    #[case::ordinal("it's the 17th of March now", 317.0, "date")]
    #[case::month_and_day("Feb 9 at the latest", 209.0, "date")]
    #[case::korean_date("프리즈는 12월 5일이에요", 1205.0, "date")]
    #[case::range("0.5에서 35Hz로", 0.5, "")]
    fn quantities_are_converted_to_base_units(#[case] text: &str, #[case] number: f64, #[case] unit: &str) {
        let found = tokens(text).into_iter().find(|token| matches!(token.kind, TokenKind::Quantity(_))).unwrap();
        assert_eq!((found.kind, found.text.as_str()), (TokenKind::Quantity(number), unit));
    }

    #[test]
    fn name_keeps_its_particle() {
        let found = tokens("저장소는 Postgres로 옮긴다");
        let name = found.iter().find(|token| token.is_name).unwrap();
        assert_eq!((name.text.as_str(), name.particle), ("postgre", "로"));
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_read() {
        let long = format!("beginning {}ending", "filler ".repeat(2_000));
        let found = terms(&long);
        assert!(found.contains(&"beginning".to_owned()) && !found.contains(&"ending".to_owned()));
    }
}
