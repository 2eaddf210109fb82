//! Parses times of people and models: a date, a time, a month, or an age.

use chrono::{Datelike as _, Days, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};
use schema::model::age::{Age, AgeUnit};
use schema::model::moment::Moment;

const FORMS: &str = "give a date such as 2026-01-28, a month such as 2026-01, a time such as \"2026-01-28 10:30\", \
                     today, yesterday, or an age such as 12h, 7d, 2w, 3mo, 1y";

/// The first moment of a time expression.
pub fn parse_since(text: &str) -> Result<Moment, String> {
    Ok(parse_period(text, &Moment::now())?.0)
}

/// The last moment of a time expression.
pub fn parse_until(text: &str) -> Result<Moment, String> {
    Ok(parse_period(text, &Moment::now())?.1)
}

fn parse_period(text: &str, now: &Moment) -> Result<(Moment, Moment), String> {
    let text = text.trim();
    let at = parse_ago(text, now).or_else(|| Moment::parse_rfc3339(text)).or_else(|| parse_time(text));
    // Databases and people write years with four digits.
    let at = at.filter(|at| (1..=9_999).contains(&at.date().year()));
    let found = at.map(|at| (at, at)).or_else(|| parse_days(text, now));
    found.ok_or_else(|| FORMS.to_owned())
}

fn parse_ago(text: &str, now: &Moment) -> Option<Moment> {
    let Age { count, unit } = Age::parse(text)?;
    let months = |count: u32| {
        let day = now.date().checked_sub_months(Months::new(count)).filter(|day| day.year() >= 1)?;
        Moment::from_local(day, now.time().parse().ok()?, Some(now.offset_seconds()))
    };
    let back = match unit {
        AgeUnit::Hour => TimeDelta::hours(count.into()),
        AgeUnit::Day => TimeDelta::days(count.into()),
        AgeUnit::Week => TimeDelta::weeks(count.into()),
        AgeUnit::Month => return months(count),
        AgeUnit::Year => return months(count.checked_mul(12)?),
    };
    // An out-of-range moment would be clamped.
    now.date().checked_sub_signed(back).filter(|day| day.year() >= 1)?;
    Moment::from_unix(now.unix() - back.num_seconds(), Some(now.offset_seconds()))
}

fn parse_time(text: &str) -> Option<Moment> {
    let forms = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"];
    let at = forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())?;
    Some(Moment::from_local_unknown(at.date(), at.time()))
}

/// A day, or all days of a month or a year.
fn parse_days(text: &str, now: &Moment) -> Option<(Moment, Moment)> {
    let (first, next) = match text.to_lowercase().as_str() {
        "today" => (now.date(), now.date().succ_opt()?),
        "yesterday" => (now.date().pred_opt()?, now.date()),
        text => parse_calendar(text)?,
    };
    let start = Moment::from_local_unknown(first, NaiveTime::MIN);
    let end = Moment::from_local_unknown(next, NaiveTime::MIN);
    Some((start, Moment::from_unix(end.unix() - 1, Some(end.offset_seconds()))?))
}

/// The first day of the range, and the first day after it.
fn parse_calendar(text: &str) -> Option<(NaiveDate, NaiveDate)> {
    let first = |year: &str, month: &str| NaiveDate::from_ymd_opt(year.parse().ok()?, month.parse().ok()?, 1);
    let is_year = |text: &str| text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split('-').collect::<Vec<_>>()[..] {
        [year] if is_year(year) => {
            let first = first(year, "1")?;
            Some((first, first.with_year(first.year() + 1)?))
        }
        [year, month] if is_year(year) && month.len() == 2 => {
            let first = first(year, month)?;
            Some((first, first.checked_add_months(Months::new(1))?))
        }
        _ => {
            let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
            Some((day, day.checked_add_days(Days::new(1))?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Moment {
        Moment::parse_rfc3339("2026-03-31T10:30:15+09:00").unwrap()
    }

    #[test]
    fn age_counts_back_from_now() {
        for (text, expected) in [
            ("12h", "2026-03-30T22:30:15+09:00"),
            ("7d", "2026-03-24T10:30:15+09:00"),
            ("2 w", "2026-03-17T10:30:15+09:00"),
            ("1mo", "2026-02-28T10:30:15+09:00"),
            ("1y", "2025-03-31T10:30:15+09:00"),
            ("2026-01-28T10:30:00Z", "2026-01-28T10:30:00+00:00"),
        ] {
            let (first, last) = parse_period(text, &now()).unwrap();
            assert_eq!((first.rfc3339().as_str(), first), (expected, last), "{text}");
        }
    }

    #[test]
    fn days_months_and_years_cover_their_whole_span() {
        for (text, first, last) in [
            ("2026-01-28", "2026-01-28T00:00:00", "2026-01-28T23:59:59"),
            ("2026-02", "2026-02-01T00:00:00", "2026-02-28T23:59:59"),
            ("2025", "2025-01-01T00:00:00", "2025-12-31T23:59:59"),
            ("yesterday", "2026-03-30T00:00:00", "2026-03-30T23:59:59"),
            ("Today", "2026-03-31T00:00:00", "2026-03-31T23:59:59"),
            ("2026-01-28 10:30", "2026-01-28T10:30:00", "2026-01-28T10:30:00"),
        ] {
            let (from, to) = parse_period(text, &now()).unwrap();
            assert_eq!([from.local_second(), to.local_second()], [first, last], "{text}");
        }
    }

    #[test]
    fn invalid_time_lists_the_accepted_forms() {
        for text in ["", "last week", "7", "7m", "2026-13", "2026-02-30", "99999999999d", "26-1-1x", "99999y"] {
            assert_eq!(parse_period(text, &now()).unwrap_err(), FORMS, "{text}");
        }
    }
}
