//! Finds times in a text that depend on the day it was written or asked: `yesterday`, `last month`, `지난주`, `vor 3 Tagen`.

use chrono::{Datelike, Days, Months, NaiveDate};
use memchr::memmem;
use schema::model::word_list::WordList;

use crate::text::words;

/// A range of days, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DaySpan {
    pub(super) from: NaiveDate,
    pub(super) to: NaiveDate,
}

impl DaySpan {
    /// Whether it is too long to read all memories of its days.
    pub(super) fn is_long(&self) -> bool {
        (self.to - self.from).num_days() >= 7
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Week,
    Month,
    Year,
}

/// The spans that a text names, as seen from `today`.
pub(super) fn parse_relative(text: &str, today: NaiveDate) -> Vec<DaySpan> {
    let text = text.to_lowercase();
    let mut rest: Vec<u8> = text.clone().into_bytes();
    let mut spans = Vec::new();
    for (phrases, unit, back) in PHRASES {
        for phrase in phrases.split(' ').map(|phrase| phrase.replace('_', " ")) {
            while let Some(at) = find_phrase(&rest, &phrase) {
                // Longer phrases come first, and their text matches once.
                rest[at..at + phrase.len()].fill(b'.');
                spans.extend(span_back(today, unit, back));
            }
        }
    }
    spans.extend(counted_spans(&text, today));
    spans
}

/// The last day before `today` that each weekday in a question names, unless the question is about every such day.
pub(super) fn parse_weekdays(question: &str, today: NaiveDate) -> Vec<DaySpan> {
    let question = question.to_lowercase();
    let words: Vec<&str> = words(&question).collect();
    if words.iter().any(|word| OF_EVERY_DAY.contains(word)) {
        return Vec::new();
    }
    let weekday = |word: &&str| {
        let names = |name: &str| *word == name || name.chars().any(is_unspaced) && word.starts_with(name);
        WEEKDAYS.iter().position(|listed| listed.split(' ').any(names))
    };
    let span = |weekday: usize| {
        let ahead = today.weekday().num_days_from_monday() as usize;
        let back = (ahead + 6 - weekday) % 7 + 1;
        let day = today.checked_sub_days(Days::new(back as u64))?;
        Some(DaySpan { from: day, to: day })
    };
    words.iter().filter_map(weekday).filter_map(span).collect()
}

/// From Monday on.
const WEEKDAYS: [&str; 7] = [
    "monday 월요일 月曜日 星期一 周一 lunes montag lundi понедельник",
    "tuesday 화요일 火曜日 星期二 周二 martes dienstag mardi вторник",
    "wednesday 수요일 水曜日 星期三 周三 miércoles mittwoch mercredi среду",
    "thursday 목요일 木曜日 星期四 周四 jueves donnerstag jeudi четверг",
    "friday 금요일 金曜日 星期五 周五 viernes freitag vendredi пятницу",
    "saturday 토요일 土曜日 星期六 周六 sábado samstag samedi субботу",
    "sunday 일요일 日曜日 星期天 星期日 周日 domingo sonntag dimanche воскресенье",
];

/// Words of questions about what is always so, or will be.
static OF_EVERY_DAY: WordList = WordList::words(
    "do does can may should must will never always every each next 매주 마다 다음 毎週 每周 siempre immer toujours",
);

/// The seasons that a question names, in its year or the last one, on the northern hemisphere.
pub(super) fn parse_seasons(text: &str, today: NaiveDate) -> Vec<DaySpan> {
    let is_year = |word: &&str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let named = text.split(|c: char| !c.is_ascii_digit()).find(is_year).and_then(|year| year.parse().ok());
    let year = named.unwrap_or(today.year());
    let months = words(text).filter_map(|word| season_month(&word.to_lowercase()));
    let span = |month: u32| {
        let first = |year: i32| NaiveDate::from_ymd_opt(year, month, 1);
        let from = first(year).filter(|first| *first <= today).or_else(|| first(year - 1))?;
        Some(DaySpan { from, to: from.checked_add_months(Months::new(3))?.pred_opt()? })
    };
    months.filter_map(span).collect()
}

/// Whether a word names a season, also with a Korean particle.
pub(super) fn is_season(word: &str) -> bool {
    season_month(&word.to_lowercase()).is_some()
}

/// The first month of the season that a word in lower case names.
fn season_month(word: &str) -> Option<u32> {
    let names = |name: &str| word == name || name.chars().any(is_unspaced) && word.strip_prefix(name) == Some("에");
    SEASONS.iter().find(|(words, _)| words.split(' ').any(names)).map(|(_, month)| *month)
}

const SEASONS: [(&str, u32); 4] = [
    ("spring 봄 春 春天 primavera frühling frühjahr printemps весной весна", 3),
    ("summer 여름 夏 夏天 verano sommer été летом лето", 6),
    ("autumn fall 가을 秋 秋天 otoño herbst automne осенью осень", 9),
    ("winter 겨울 冬 冬天 invierno hiver зимой зима", 12),
];

/// Whether a word belongs to a phrase of time.
pub(super) fn is_relative(word: &str) -> bool {
    let word = word.to_lowercase();
    let is_part = |phrase: &str| {
        phrase.split('_').any(|part| part == word || (part.chars().any(is_unspaced) && word.starts_with(part)))
    };
    let mut phrases = PHRASES.iter().flat_map(|(phrases, ..)| phrases.split(' '));
    phrases.any(is_part)
        || parse_unit(&word).is_some()
        || matches!(word.as_str(), "ago" | "전" | "전에" | "назад" | "hace" | "vor")
}

/// The calendar unit that is `back` units before that of `today`.
fn span_back(today: NaiveDate, unit: Unit, back: u32) -> Option<DaySpan> {
    let day = match unit {
        Unit::Day => today.checked_sub_days(Days::new(back.into())),
        Unit::Week => today.checked_sub_days(Days::new(u64::from(back) * 7)),
        Unit::Month => today.checked_sub_months(Months::new(back)),
        Unit::Year => today.checked_sub_months(Months::new(back * 12)),
    }?;
    let (from, next) = match unit {
        Unit::Day => return Some(DaySpan { from: day, to: day }),
        Unit::Week => {
            let monday = day.checked_sub_days(Days::new(day.weekday().num_days_from_monday().into()))?;
            (monday, monday.checked_add_days(Days::new(7))?)
        }
        Unit::Month => {
            let first = day.with_day(1)?;
            (first, first.checked_add_months(Months::new(1))?)
        }
        Unit::Year => {
            let first = NaiveDate::from_ymd_opt(day.year(), 1, 1)?;
            (first, first.checked_add_months(Months::new(12))?)
        }
    };
    Some(DaySpan { from, to: next.pred_opt()? })
}

/// Byte offset of a phrase. Phrases of letters with spaces between words must be whole words.
fn find_phrase(text: &[u8], phrase: &str) -> Option<usize> {
    let is_spaced = phrase.chars().all(|c| !is_unspaced(c));
    let is_letter = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80);
    let mut start = 0;
    while let Some(offset) = memmem::find(&text[start..], phrase.as_bytes()) {
        let at = start + offset;
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        if !is_spaced || !is_letter(before) && !is_letter(text.get(at + phrase.len())) {
            return Some(at);
        }
        start = at + phrase.len();
    }
    None
}

/// Hangul, kana and Han, where particles follow a word without a space.
fn is_unspaced(c: char) -> bool {
    matches!(c as u32, 0x3040..=0x30FF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF)
}

/// Times such as `3 days ago`, `hace dos semanas`, `2週間前`.
fn counted_spans(text: &str, today: NaiveDate) -> Vec<DaySpan> {
    let words: Vec<&str> = words(text).collect();
    let mut spans = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let next = |offset: usize| words.get(at + offset).copied().unwrap_or_default();
        let previous = |offset: usize| at.checked_sub(offset).map_or("", |before| words[before]);
        let is_ago = match next(1) {
            "ago" | "назад" | "전" | "전에" => true,
            _ => matches!(previous(2), "hace" | "vor") || (previous(2) == "a" && previous(3) == "y"),
        };
        let spelled = is_ago.then(|| Some((parse_count(previous(1))?, parse_unit(word)?))).flatten();
        let named = DAYS_BEFORE.iter().find(|(name, _)| name == word && next(1).starts_with('전'));
        let named = named.map(|(_, count)| (*count, Unit::Day));
        if let Some((count, unit)) = named.or(spelled).or_else(|| parse_glued(word, next(1))) {
            spans.extend(span_back(today, unit, count));
        }
    }
    spans
}

/// A number with its unit in one word: `3일` before `전`, `3天前`, `2週間前`.
fn parse_glued(word: &str, next: &str) -> Option<(u32, Unit)> {
    let digits = word.chars().take_while(|c| c.is_numeric() || matches!(c, '一' | '两' | '二' | '三')).count();
    let split = word.char_indices().nth(digits).map_or(word.len(), |(at, _)| at);
    let (number, rest) = word.split_at(split);
    let count = parse_count(number)?;
    let (unit, is_ago) = ["전", "前"]
        .iter()
        .find_map(|ago| rest.find(ago).map(|at| (&rest[..at], true)))
        .unwrap_or((rest, next.starts_with('전') || next.starts_with('前')));
    is_ago.then(|| Some((count, parse_unit(unit)?))).flatten()
}

fn parse_count(word: &str) -> Option<u32> {
    let listed = COUNTS.iter().position(|names| names.split(' ').any(|name| name == word));
    let count = word.parse().ok().or_else(|| u32::try_from(listed? + 1).ok())?;
    (count <= 400).then_some(count)
}

fn parse_unit(word: &str) -> Option<Unit> {
    UNITS.iter().find(|(names, _)| names.split(' ').any(|name| name == word)).map(|(_, unit)| *unit)
}

/// Numbers from one on, in English, Spanish, German, French, Russian and Chinese.
const COUNTS: [&str; 6] = [
    "a an one un una uno ein einem einer eine une один одну 一",
    "two couple dos zwei deux два две 两 二",
    "three tres drei trois три 三",
    "four cuatro vier quatre четыре",
    "five cinco fünf cinq пять",
    "six seis sechs шесть",
];

/// Korean words for numbers of days.
const DAYS_BEFORE: [(&str, u32); 8] =
    [("하루", 1), ("이틀", 2), ("사흘", 3), ("나흘", 4), ("닷새", 5), ("엿새", 6), ("일주일", 7), ("열흘", 10)];

const UNITS: [(&str, Unit); 4] = [
    ("day days día días dia dias tag tage tagen jour jours день дня дней 일 日 天", Unit::Day),
    (
        "week weeks semana semanas woche wochen semaine semaines неделя неделю недели недель 주 주일 週間 周 个星期",
        Unit::Week,
    ),
    ("month months mes meses monat monate monaten mois месяц месяца месяцев 달 개월 か月 ヶ月 ヵ月 个月", Unit::Month),
    ("year years año años jahr jahre jahren an ans année années год года лет 년 年", Unit::Year),
];

/// Phrases, with `_` for a space, their unit, and how many units before today's they are.
const PHRASES: [(&str, Unit, u32); 9] = [
    (
        "day_before_yesterday 그저께 그제 엊그제 一昨日 おととい 前天 anteayer antes_de_ayer vorgestern avant-hier позавчера",
        Unit::Day,
        2,
    ),
    ("yesterday last_night 어제 昨日 昨天 昨晚 ayer anoche gestern hier вчера", Unit::Day, 1),
    ("today this_morning 오늘 今日 今天 今朝 hoy heute aujourd'hui сегодня", Unit::Day, 0),
    (
        "last_week previous_week 지난주 지난_주 저번_주 저번주 先週 上周 上星期 上个星期 semana_pasada letzte_woche letzter_woche vorige_woche semaine_dernière прошлой_неделе прошлую_неделю",
        Unit::Week,
        1,
    ),
    (
        "this_week 이번_주 이번주 今週 这周 本周 这个星期 esta_semana diese_woche dieser_woche cette_semaine этой_неделе эту_неделю",
        Unit::Week,
        0,
    ),
    (
        "last_month previous_month 지난달 지난_달 저번_달 先月 上个月 上月 mes_pasado letzten_monat letzter_monat vorigen_monat mois_dernier прошлом_месяце прошлый_месяц",
        Unit::Month,
        1,
    ),
    (
        "this_month 이번_달 이번달 今月 这个月 本月 este_mes diesen_monat diesem_monat ce_mois этом_месяце",
        Unit::Month,
        0,
    ),
    (
        "last_year 작년 지난해 去年 昨年 año_pasado letztes_jahr letzten_jahr voriges_jahr année_dernière an_dernier прошлом_году",
        Unit::Year,
        1,
    ),
    ("this_year 올해 今年 este_año dieses_jahr diesem_jahr cette_année этом_году", Unit::Year, 0),
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::on("what broke on Thursday", Some("2026-02-26"))]
    #[case::last("indexer last Tuesday", Some("2026-03-03"))]
    #[case::korean("목요일에 indexer", Some("2026-02-26"))]
    #[case::german("was ist am Montag passiert", Some("2026-03-02"))]
    #[case::every("do we deploy on Friday", None)]
    #[case::weekly("매주 금요일 배포", None)]
    fn weekdays_are_the_last_ones(#[case] question: &str, #[case] expected: Option<&str>) {
        let today = NaiveDate::from_ymd_opt(2026, 3, 5).unwrap();
        let found = parse_weekdays(question, today).first().map(|span| span.from.to_string());
        assert_eq!(found.as_deref(), expected);
    }

    #[rstest]
    #[case::yesterday("what did we deploy yesterday?", &[("2026-03-04", "2026-03-04")])]
    #[case::the_day_before("the day before yesterday", &[("2026-03-03", "2026-03-03")])]
    #[case::last_week("what broke last week", &[("2026-02-23", "2026-03-01")])]
    #[case::ago("the outage two weeks ago", &[("2026-02-16", "2026-02-22")])]
    #[case::days_ago("3 days ago", &[("2026-03-02", "2026-03-02")])]
    #[case::korean("지난달에 결정한 것", &[("2026-02-01", "2026-02-28")])]
    #[case::korean_days("3일 전에 뭘 고쳤지", &[("2026-03-02", "2026-03-02")])]
    #[case::korean_day_word("사흘 전에 고친 것", &[("2026-03-02", "2026-03-02")])]
    #[case::japanese("先週の障害", &[("2026-02-23", "2026-03-01")])]
    #[case::japanese_day("一昨日のリリース", &[("2026-03-03", "2026-03-03")])]
    #[case::chinese("3天前的部署", &[("2026-03-02", "2026-03-02")])]
    #[case::spanish("¿qué falló ayer?", &[("2026-03-04", "2026-03-04")])]
    #[case::spanish_days("hace dos días", &[("2026-03-03", "2026-03-03")])]
    #[case::german("vor 3 Tagen", &[("2026-03-02", "2026-03-02")])]
    #[case::french("la semaine dernière", &[("2026-02-23", "2026-03-01")])]
    #[case::french_days("il y a 3 jours", &[("2026-03-02", "2026-03-02")])]
    #[case::russian("что решили вчера", &[("2026-03-04", "2026-03-04")])]
    #[case::a_part_of_a_word("the hierarchy of todays", &[])]
    #[case::no_time("how long do tokens live", &[])]
    fn spans_are_seen_from_today(#[case] text: &str, #[case] expected: &[(&str, &str)]) {
        let today = NaiveDate::from_ymd_opt(2026, 3, 5).unwrap();
        let found: Vec<(String, String)> =
            parse_relative(text, today).into_iter().map(|span| (span.from.to_string(), span.to.to_string())).collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        assert_eq!(found, expected);
    }
}
