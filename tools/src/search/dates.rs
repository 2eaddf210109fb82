//! Finds dates in questions and scores how well a passage's day fits.

use chrono::{Datelike, Months, NaiveDate};
use schema::model::word_list::WordList;

use super::relative_dates::{DaySpan, is_relative, is_season, parse_relative, parse_seasons, parse_weekdays};
use super::stop_words::is_stop_word;
use crate::text::fold::fold;

/// Days after an event during which people still talk about it.
const DAYS_AROUND: i64 = 10;

/// A day, month or year in a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryDate {
    year: Option<i32>,
    month: u32,
    day: Option<u32>,
}

/// The times that a question asks about.
#[derive(Debug)]
pub(super) struct AskedTimes {
    today: NaiveDate,
    dates: Vec<QueryDate>,
    spans: Vec<DaySpan>,
}

/// Fit of the day after a span, when people still talk about it.
const DAY_AFTER: f32 = 0.4;

impl AskedTimes {
    /// The dates of a question, and those that it names as seen from `today`.
    pub(super) fn parse(question: &str, today: NaiveDate) -> Self {
        let mut spans = parse_relative(question, today);
        spans.extend(parse_weekdays(question, today));
        // In other questions, Spring may be a library.
        if has_only_times(question) {
            spans.extend(parse_seasons(question, today));
        }
        Self { today, dates: parse_dates(question), spans }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.dates.is_empty() && self.spans.is_empty()
    }

    /// Whether a question that names these times asks for nothing else: "what did we do yesterday?"
    pub(super) fn are_all(&self, question: &str) -> bool {
        !self.is_empty() && has_only_times(question)
    }

    /// The days, months and other times that a question asks for if it asks for nothing else.
    pub(super) fn all_days(&self, question: &str) -> Vec<DaySpan> {
        if !self.are_all(question) {
            return Vec::new();
        }
        let named = self.dates.iter().filter_map(|date| {
            let first = |year| NaiveDate::from_ymd_opt(year, date.month, date.day.unwrap_or(1));
            let mut from = first(date.year.unwrap_or(self.today.year()))?;
            if date.year.is_none() && from > self.today {
                from = first(from.year() - 1)?;
            }
            let end_of_month = from.checked_add_months(Months::new(1))?.pred_opt()?;
            Some(DaySpan { from, to: if date.day.is_some() { from } else { end_of_month } })
        });
        named.chain(self.spans.iter().copied()).collect()
    }

    /// How well a passage of a day fits, from 0 to 1: by its day, or by the times that it names as seen from that day.
    pub(super) fn best_fit(&self, day: NaiveDate, text: &str) -> f32 {
        let named = parse_relative(text, day).into_iter().filter(|span| span.from == span.to).map(|span| span.from);
        let of_day = |day| {
            let spans = self.spans.iter().map(|span| span_fit(span, day));
            spans.fold(best_day_fit(&self.dates, day), f32::max)
        };
        named.map(of_day).fold(of_day(day), f32::max)
    }
}

/// Whether all words of a question belong to times, or ask for what was done then.
fn has_only_times(question: &str) -> bool {
    let is_of_time = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.is_empty()
            || parse_month(&word.to_lowercase()).is_some()
            || word.chars().any(|c| c.is_ascii_digit())
            || is_relative(word)
            || is_season(word)
            || is_stop_word(&fold(word))
            || DEEDS.contains(&fold(word))
    };
    question.split_whitespace().all(is_of_time)
}

/// Verbs that ask for all that was done.
static DEEDS: WordList = WordList::words(
    "
    work worked working decide decided change changed made make happen happened learned fix fixed hicimos paso decidimos
    gemacht passiert fait делали сделали
    했더라 했지 결정한 결정했지 한 일 일이 있었지 했어 뭐했지 바꾼 고친
",
);

fn span_fit(span: &DaySpan, day: NaiveDate) -> f32 {
    match (day - span.to).num_days() {
        1 => DAY_AFTER,
        ..=0 if day >= span.from => 1.0,
        _ => 0.0,
    }
}

pub(super) fn parse_dates(question: &str) -> Vec<QueryDate> {
    let words = date_words(question);
    let mut found: Vec<QueryDate> = question.split_whitespace().flat_map(parse_numbers).collect();
    for (at, word) in words.iter().enumerate() {
        let number =
            |place: Option<usize>| place.and_then(|place| words.get(place)).and_then(|word| parse_ordinal(word));
        if let Some(asked) = parse_iso(word) {
            found.push(asked);
        } else if let Some(month) = parse_month(word) {
            let (before, behind) = (number(at.checked_sub(1)), number(Some(at + 1)));
            let of = number(at.checked_sub(2)).filter(|_| at > 1 && matches!(words[at - 1].as_str(), "of" | "de"));
            let day = before.or(of).or(behind).filter(|day| (1..=31).contains(day));
            let year = [at + 1, at + 2].into_iter().find_map(|place| number(Some(place)).filter(|year| is_year(*year)));
            // `may` and `march` are also verbs.
            let is_verb = matches!(word.as_str(), "may" | "march") && day.is_none() && year.is_none();
            let is_named = at > 0 && matches!(words[at - 1].as_str(), "in" | "of" | "since" | "by" | "during" | "last");
            if !is_verb || is_named {
                found.push(QueryDate { year: year.map(|year| year as i32), month, day });
            }
        } else if let Some(month) = parse_counted(word, "월").filter(|month| (1..=12).contains(month)) {
            let year = at.checked_sub(1).and_then(|before| parse_counted(&words[before], "년"));
            let day = words.get(at + 1).and_then(|next| parse_counted(next, "일"));
            found.push(QueryDate { year: year.map(|year| year as i32), month, day });
        } else {
            found.extend(parse_han(word));
        }
    }
    found
}

/// `12.05.2026`, `2026/05/12`, and `5/12` in both orders.
fn parse_numbers(word: &str) -> Vec<QueryDate> {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let numbers =
        |separator: char| -> Option<Vec<u32>> { word.split(separator).map(|part| part.parse().ok()).collect() };
    let date = |year: Option<u32>, month: u32, day: u32| {
        let is_date = NaiveDate::from_ymd_opt(year.unwrap_or(2000) as i32, month, day).is_some();
        is_date.then_some(QueryDate { year: year.map(|year| year as i32), month, day: Some(day) })
    };
    // Around the clock.
    if word == "24/7" {
        return Vec::new();
    }
    match (numbers('.').as_deref(), numbers('/').as_deref()) {
        (Some(&[day, month, year]), _) if is_year(year) => date(Some(year), month, day).into_iter().collect(),
        (_, Some(&[year, month, day])) if is_year(year) => date(Some(year), month, day).into_iter().collect(),
        (_, Some(&[first, second, year])) if is_year(year) => both_orders(first, second, |m, d| date(Some(year), m, d)),
        (_, Some(&[first, second])) => both_orders(first, second, |month, day| date(None, month, day)),
        _ => Vec::new(),
    }
}

/// Americans write the month first, others the day.
fn both_orders(first: u32, second: u32, date: impl Fn(u32, u32) -> Option<QueryDate>) -> Vec<QueryDate> {
    let other = (first != second).then(|| date(second, first)).flatten();
    date(first, second).into_iter().chain(other).collect()
}

/// `2026年6月3日` or `6月3号`, in a run without spaces.
fn parse_han(word: &str) -> Option<QueryDate> {
    let (before, behind) = word.split_once('月')?;
    let counted = digits_at_end(before).parse().ok().or_else(|| han_month(before));
    let month = counted.filter(|month| (1..=12).contains(month))?;
    let year = before.split_once('年').and_then(|(year, _)| digits_at_end(year).parse().ok());
    let of_month = behind.find(|c: char| !c.is_ascii_digit()).map(|end| behind.split_at(end));
    let day = of_month.filter(|(_, unit)| unit.starts_with(['日', '号'])).and_then(|(day, _)| day.parse().ok());
    Some(QueryDate { year, month, day })
}

/// `五` of `五月`.
fn han_month(before: &str) -> Option<u32> {
    const NUMBERS: [&str; 12] = ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"];
    let number = NUMBERS.iter().rposition(|number| before.ends_with(number))?;
    u32::try_from(number + 1).ok()
}

fn digits_at_end(text: &str) -> &str {
    &text[text.trim_end_matches(|c: char| c.is_ascii_digit()).len()..]
}

/// How well a day fits the dates, from 0 to 1.
pub(super) fn best_day_fit(asked: &[QueryDate], day: NaiveDate) -> f32 {
    asked.iter().map(|asked| asked.day_fit(day)).fold(0.0, f32::max)
}

impl QueryDate {
    fn day_fit(&self, day: NaiveDate) -> f32 {
        let year = self.year.unwrap_or(day.year());
        match self.day {
            Some(of_month) => {
                let Some(asked) = NaiveDate::from_ymd_opt(year, self.month, of_month) else { return 0.0 };
                match (day - asked).num_days() {
                    -1..=1 => 1.0,
                    2..=DAYS_AROUND => 0.5,
                    _ => 0.0,
                }
            }
            None if day.year() == year && day.month() == self.month => 1.0,
            // Events at the end of a month are also reported at the start of the next.
            None => {
                let next = if self.month == 12 { (year + 1, 1) } else { (year, self.month + 1) };
                if (day.year(), day.month()) == next && day.day() <= 7 { 0.4 } else { 0.0 }
            }
        }
    }
}

/// The first full date in a text.
pub(super) fn first_day(text: &str) -> Option<NaiveDate> {
    parse_dates(text).into_iter().find_map(|named| NaiveDate::from_ymd_opt(named.year?, named.month, named.day?))
}

fn date_words(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// `2026-01-28` or `2026-01`.
fn parse_iso(word: &str) -> Option<QueryDate> {
    let mut parts = word.split('-');
    let year: u32 = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let month: u32 = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
    let day = parts.next().and_then(|day| day.parse().ok());
    is_year(year).then_some(QueryDate { year: Some(year as i32), month, day })
}

/// `8`, `8th` or a year.
fn parse_ordinal(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th", "er"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok()
}

/// A number with its unit and an optional particle: `6월`, `6월에`.
fn parse_counted(word: &str, unit: &str) -> Option<u32> {
    let (number, _) = word.split_once(unit)?;
    number.parse().ok()
}

fn is_year(number: u32) -> bool {
    (1900..=2100).contains(&number)
}

fn parse_month(word: &str) -> Option<u32> {
    let english = MONTHS.iter().position(|month| *month == word || (word.len() == 3 && month.starts_with(word)));
    let listed = || OTHER_MONTHS.iter().position(|names| names.split(' ').any(|name| name == word));
    u32::try_from(english.or_else(listed)? + 1).ok()
}

/// Months in Spanish, German, French and Russian.
const OTHER_MONTHS: [&str; 12] = [
    "enero januar janvier январь января январе",
    "febrero februar février февраль февраля феврале",
    "marzo märz mars март марта марте",
    "abril april avril апрель апреля апреле",
    "mayo mai май мая мае",
    "junio juni juin июнь июня июне",
    "julio juli juillet июль июля июле",
    "agosto august août август августа августе",
    "septiembre september septembre сентябрь сентября сентябре",
    "octubre oktober octobre октябрь октября октябре",
    "noviembre november novembre ноябрь ноября ноябре",
    "diciembre dezember décembre декабрь декабря декабре",
];

pub(super) static MONTHS: WordList =
    WordList::words("january february march april may june july august september october november december");

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::day("What was decided on 3 June, 2023?", &[(Some(2023), 6, Some(3))])]
    #[case::american("on June 3rd, 2023", &[(Some(2023), 6, Some(3))])]
    #[case::of("the 3rd of June", &[(None, 6, Some(3))])]
    #[case::month("in August 2023", &[(Some(2023), 8, None)])]
    #[case::bare_month("in May", &[(None, 5, None)])]
    #[case::a_verb("may we march on", &[])]
    #[case::iso("log of 2026-01-28", &[(Some(2026), 1, Some(28))])]
    #[case::korean("2026년 6월 3일에 뭘 결정했지", &[(Some(2026), 6, Some(3))])]
    #[case::korean_month("6월에 배포한 것", &[(None, 6, None)])]
    #[case::spanish("el 3 de junio de 2026", &[(Some(2026), 6, Some(3))])]
    #[case::german("am 3. März", &[(None, 3, Some(3))])]
    #[case::french("le 1er août 2026", &[(Some(2026), 8, Some(1))])]
    #[case::russian("3 июня", &[(None, 6, Some(3))])]
    #[case::japanese("2026年6月3日に何を決めた", &[(Some(2026), 6, Some(3))])]
    #[case::chinese("6月3号的会议", &[(None, 6, Some(3))])]
    #[case::dotted("am 12.05.2026", &[(Some(2026), 5, Some(12))])]
    #[case::year_first("on 2026/05/12", &[(Some(2026), 5, Some(12))])]
    #[case::slashed("indexer 5/12", &[(None, 5, Some(12)), (None, 12, Some(5))])]
    #[case::han_number("五月 indexer", &[(None, 5, None)])]
    #[case::a_version("version 3.12.1 and 24/7", &[])]
    #[case::none("version 3 of the parser", &[])]
    fn questions_name_dates(#[case] question: &str, #[case] expected: &[(Option<i32>, u32, Option<u32>)]) {
        let expected: Vec<QueryDate> =
            expected.iter().map(|(year, month, day)| QueryDate { year: *year, month: *month, day: *day }).collect();
        assert_eq!(parse_dates(question), expected);
    }

    #[rstest]
    #[case::that_day("on 3 June 2023", "2023-06-03", 1.0)]
    #[case::soon_after("on 3 June 2023", "2023-06-10", 0.5)]
    #[case::long_after("on 3 June 2023", "2023-06-20", 0.0)]
    #[case::another_year("on 3 June 2023", "2024-06-03", 0.0)]
    #[case::that_month("in June", "2026-06-20", 1.0)]
    #[case::the_next("in December 2025", "2026-01-03", 0.4)]
    fn days_fit(#[case] question: &str, #[case] day: NaiveDate, #[case] expected: f32) {
        assert_eq!(best_day_fit(&parse_dates(question), day), expected);
    }
}
