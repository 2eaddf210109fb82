use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[test]
fn moment_shows_local_time_and_stores_utc() {
    let at = Moment::parse_rfc3339("2026-01-28T00:30:15.987+09:00").unwrap();
    assert_eq!(at.date().to_string(), "2026-01-28");
    assert_eq!((at.time(), at.local_second()), ("00:30:15".to_owned(), "2026-01-28T00:30:15".to_owned()));
    assert_eq!(at.utc(), "2026-01-27T15:30:15Z");
    assert_eq!(at.rfc3339(), "2026-01-28T00:30:15+09:00");
    assert_eq!(Moment::from_unix(at.unix(), Some(at.offset_seconds())), Some(at));
}

#[test]
fn offsets_parse_in_every_form_of_a_log() {
    for (text, seconds) in [("+09:00", 32_400), ("-0330", -12_600), ("Z", 0)] {
        assert_eq!(parse_offset(text), Some(seconds));
    }
    for bad in ["", "9", "+9", "+25:00", "09:00", "+0a:00", "+é00"] {
        assert_eq!(parse_offset(bad), None, "{bad:?}");
    }
}

#[rstest]
#[case::before_the_first_year("0000-01-01T00:00:00+14:00", "0001-01-02T14:00:00+14:00")]
#[case::after_the_last_year("9999-12-31T23:59:59-12:00", "9999-12-30T11:59:59-12:00")]
#[case::leap_second("2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59+00:00")]
#[case::odd_offset("2026-01-28T10:30:15-23:59", "2026-01-28T10:30:15-23:59")]
fn out_of_range_times_are_clamped(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(Moment::parse_rfc3339(text).unwrap().rfc3339(), expected);
}

/// Asserts that a moment survives a round trip through Markdown and the database. Both need years of four digits.
fn assert_round_trip(at: Moment) -> Result<(), TestCaseError> {
    for text in [at.rfc3339(), at.utc(), at.local_second()] {
        prop_assert!(text.as_bytes()[..5].iter().all(|byte| byte.is_ascii_digit() || *byte == b'-'), "{}", text);
        prop_assert_eq!(&text[4..5], "-");
    }
    let same = |other: Moment| (other, other.offset()) == (at, at.offset());
    prop_assert!(Moment::parse_rfc3339(&at.rfc3339()).is_some_and(same), "{}", at.rfc3339());
    let stored = Moment::parse_rfc3339(&at.utc()).unwrap();
    prop_assert!(Moment::from_unix(stored.unix(), Some(at.offset_seconds())).is_some_and(same));
    let (day, time) = (at.date(), at.time().parse().unwrap());
    prop_assert!(Moment::from_local(day, time, Some(parse_offset(&at.offset()).unwrap())).is_some_and(same));
    Ok(())
}

proptest! {
    #[test]
    fn instants_round_trip_at_any_offset(seconds: i64, early in -70_000_000_000_i64..300_000_000_000, offset in -86_399..86_400) {
        for seconds in [seconds, early] {
            assert_round_trip(Moment::from_unix(seconds, Some(offset)).unwrap())?;
            assert_round_trip(Moment::from_unix(seconds, None).unwrap())?;
        }
        prop_assert_eq!(Moment::from_unix(seconds, Some(offset.signum() * 86_400)).is_none(), offset != 0);
    }

    #[test]
    fn local_times_round_trip(days: i32, early in 0..4_000_000, second in 0_u32..86_400, offset in -86_399..86_400) {
        let time = NaiveTime::from_num_seconds_from_midnight_opt(second, 0).unwrap();
        let days = [days, early].into_iter().filter_map(NaiveDate::from_num_days_from_ce_opt);
        for day in days.chain([NaiveDate::MIN, NaiveDate::MAX]) {
            assert_round_trip(Moment::from_local(day, time, Some(offset)).unwrap())?;
            assert_round_trip(Moment::from_local_unknown(day, time))?;
        }
    }
}
