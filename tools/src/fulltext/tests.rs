//! The full-text table: what it finds, and that nothing in a query is an operator.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const DOCUMENTS: [(&str, &str); 5] = [
    ("", "로그인 인증을 JWT에서 세션 쿠키 방식으로 변경했다. 토큰 만료 버그 때문."),
    ("Cache", "Invalidation is handled by Redis pub/sub."),
    ("", "Rate limiting uses a token bucket in middleware/rate_limit.rs and getUserName."),
    ("", "検索のトークンを保存する"),
    ("", "그 설정 값을 읽는다"),
];

fn filled() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    let mut writer = fulltext.writer();
    for (row, (title, body)) in (1..).zip(DOCUMENTS) {
        writer.insert(row, title, body).unwrap();
    }
    writer.finish().unwrap();
    connection
}

fn find(connection: &Connection, query: &str) -> Vec<i64> {
    let (fulltext, query) = (FullText::new(connection), Query::parse(query));
    let mut found = fulltext.candidates(&query, &fulltext.corpus(&query).unwrap(), 10).unwrap();
    found.sort_unstable();
    found
}

#[rstest]
#[case::two_syllables("토큰", &[1])]
#[case::within_a_word("그인", &[1])]
#[case::particle("쿠키를", &[1])]
#[case::one_syllable("값", &[5])]
#[case::glued("JWT는", &[1])]
#[case::japanese("検索", &[4])]
#[case::stem("caches", &[2])]
#[case::identifier("get_user_name", &[3])]
#[case::file("rate_limit.rs", &[3])]
#[case::any_word("token redis", &[2, 3])]
#[case::operators("redis\" OR * NOT AND (NEAR title: ^ - + bucket", &[2, 3])]
#[case::only_function_words("what is in it", &[2, 3])]
#[case::nothing("", &[])]
#[case::only_punctuation("\"*\" ()", &[])]
fn queries_find_documents(#[case] query: &str, #[case] expected: &[i64]) {
    assert_eq!(find(&filled(), query), expected);
}

#[test]
fn a_removed_document_is_neither_found_nor_counted() {
    let connection = filled();
    let fulltext = FullText::new(&connection);
    let query = Query::literal("token 값");
    let before = fulltext.corpus(&query).unwrap();
    assert_eq!((before.documents, before.frequencies), (5, vec![1, 1]));
    for row in [3, 5, 99] {
        fulltext.remove(row).unwrap();
    }
    assert_eq!(find(&connection, "token 값"), [0i64; 0]);
    let after = fulltext.corpus(&query).unwrap();
    assert_eq!((after.documents, after.frequencies), (3, vec![0, 0]));
    let mut writer = fulltext.writer();
    writer.insert(3, "", "token").unwrap();
    writer.finish().unwrap();
    assert_eq!(find(&connection, "token"), [3]);
}

#[test]
fn other_ways_to_say_a_part_of_the_query_are_found_when_all_their_words_are_there() {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    let texts = ["sign of the times", "users sign in here", "로그인 화면", "로그와 그인", "the logarithm", "login"];
    for (row, text) in (1..).zip(texts) {
        // A segment each, so that what holds a term in one is not taken for a document that does.
        let mut writer = fulltext.writer();
        writer.insert(row, "", text).unwrap();
        writer.finish().unwrap();
    }
    let otherwise = |text: &str, limit| {
        let query = Query::parse(text);
        fulltext.alternatives(&query, &fulltext.corpus(&query).unwrap(), limit).unwrap()
    };
    let mut found = otherwise("login", 10);
    found.sort_unstable();
    // `로그와 그인` holds the pairs that are looked for; whether it says it, is not told here.
    assert_eq!(found, [2, 3, 4]);
    assert_eq!(otherwise("login", 1).len(), 1);
    assert_eq!(otherwise("물고기", 10), [0i64; 0]);
}

#[test]
fn the_number_of_tokens_is_that_of_the_analysis() {
    let tokens = |text| crate::text::analyze(text).len() as u64;
    let expected: u64 = DOCUMENTS.iter().map(|(title, body)| tokens(title) + tokens(body)).sum();
    let connection = filled();
    assert_eq!(FullText::new(&connection).tokens().unwrap(), expected);
    let empty = Connection::open_in_memory().unwrap();
    FullText::new(&empty).create().unwrap();
    assert_eq!(FullText::new(&empty).tokens().unwrap(), 0);
    assert_eq!(FullText::new(&empty).corpus(&Query::parse("token")).unwrap().average_length, 0.0);
}

#[test]
fn creating_twice_keeps_what_is_there() {
    let connection = filled();
    FullText::new(&connection).create().unwrap();
    assert_eq!(FullText::new(&connection).documents().unwrap(), 5);
}

/// Texts of words of which some are everywhere and some are rare.
fn text(number: i64) -> String {
    let mut state = (number as u32 + 1).wrapping_mul(0x9E37_79B9);
    let mut draw = |below: u32| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    let length = 3 + draw(40);
    let words = (0..length).map(|_| match draw(10) {
        0..5 => format!("common{}", draw(4)),
        5..9 => format!("usual{}", draw(60)),
        _ => format!("rare{}", draw(3000)),
    });
    words.collect::<Vec<_>>().join(" ")
}

const QUERIES: [&str; 5] =
    ["common1", "common0 common2 usual7", "usual3 rare11 rare12", "rare1 rare2 rare3 common3", "usual9"];

fn answers(connection: &Connection, limit: usize) -> Vec<Vec<i64>> {
    answers_of(FullText::new(connection), limit)
}

fn answers_of(fulltext: FullText<'_>, limit: usize) -> Vec<Vec<i64>> {
    let answer = |text: &&str| {
        let query = Query::parse(text);
        fulltext.candidates(&query, &fulltext.corpus(&query).unwrap(), limit).unwrap()
    };
    QUERIES.iter().map(answer).collect()
}

fn written(batches: &[std::ops::Range<i64>]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    for batch in batches {
        let mut writer = fulltext.writer();
        batch.clone().for_each(|row| writer.insert(row, "", &text(row)).unwrap());
        writer.finish().unwrap();
    }
    connection
}

fn count(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn documents_one_by_one_are_found_like_those_written_at_once() {
    let at_once = written(std::slice::from_ref(&(0..3000)));
    let mut batches: Vec<_> = (0..1000).map(|row| row..row + 1).collect();
    batches.extend([1000..1500, 1500..2990]);
    batches.extend((2990..3000).map(|row| row..row + 1));
    let one_by_one = written(&batches);
    assert_eq!(answers(&one_by_one, 20), answers(&at_once, 20));
    assert!(count(&one_by_one, "fulltext_segments") < 30);
}

#[test]
fn every_step_of_a_merge_leaves_what_is_found_as_it_was() {
    let connection = written(&(0..9).map(|i| i * 600..(i + 1) * 600).collect::<Vec<_>>());
    let fulltext = FullText::new(&connection);
    (0..5400).step_by(4).for_each(|row| fulltext.remove(row).unwrap());
    let expected = answers(&connection, 30);
    assert!(expected.iter().flatten().all(|row| row % 4 != 0));
    let frequencies = |connection| {
        let of_query = |text: &&str| FullText::new(connection).corpus(&Query::parse(text)).unwrap();
        QUERIES.iter().map(of_query).collect::<Vec<_>>()
    };
    let corpora = frequencies(&connection);
    let mut steps = 0;
    let met = RefCell::default();
    while fulltext.tend().unwrap() {
        steps += 1;
        assert_eq!(answers_of(FullText::met(&connection, &met), 30), expected, "what was met is still so, {steps}");
        // What goes while a merge is under way is gone too, and counted once.
        assert_eq!(
            (answers(&connection, 30), frequencies(&connection)),
            (expected.clone(), corpora.clone()),
            "{steps}"
        );
    }
    assert!(steps > 3, "{steps}");
    assert_eq!((count(&connection, "fulltext_segments"), count(&connection, "fulltext_removed")), (1, 0));
}

#[test]
fn what_is_removed_while_segments_are_merged_stays_removed() {
    let connection = written(&(0..8).map(|i| i * 600..(i + 1) * 600).collect::<Vec<_>>());
    let fulltext = FullText::new(&connection);
    assert!(fulltext.tend().unwrap() && fulltext.tend().unwrap());
    (0..4800).step_by(2).for_each(|row| fulltext.remove(row).unwrap());
    let expected = answers(&connection, 50);
    while fulltext.tend().unwrap() {}
    assert_eq!(answers(&connection, 50), expected);
    assert!(expected.iter().flatten().all(|row| row % 2 == 1));
}

#[test]
fn what_is_joined_while_others_are_merged_is_found_once() {
    let mut batches: Vec<_> = (0..4).map(|i| i * 500..(i + 1) * 500).collect();
    batches.extend((0..4).map(|i| 2000 + i * 60..2060 + i * 60));
    let connection = written(&batches);
    let fulltext = FullText::new(&connection);
    assert!(fulltext.tend().unwrap() && fulltext.tend().unwrap());
    for row in 2240..2400 {
        let mut writer = fulltext.writer();
        writer.insert(row, "", &text(row)).unwrap();
        writer.finish().unwrap();
        if row % 40 == 0 {
            fulltext.tend().unwrap();
        }
    }
    let at_once = written(std::slice::from_ref(&(0..2400)));
    let of_query = |text: &&str| {
        let query = Query::parse(text);
        (fulltext.corpus(&query).unwrap(), FullText::new(&at_once).corpus(&query).unwrap())
    };
    assert_eq!(answers(&connection, 50), answers(&at_once, 50));
    QUERIES.iter().map(of_query).for_each(|(found, expected)| assert_eq!(found, expected));
    while fulltext.tend().unwrap() {}
    assert_eq!(answers(&connection, 50), answers(&at_once, 50));
    QUERIES.iter().map(of_query).for_each(|(found, expected)| assert_eq!(found, expected));
}

/// What happens to a full text.
#[derive(Debug, Clone)]
enum Event {
    Insert(i64),
    Remove(usize),
    Tend(usize),
    Purge,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_in_whatever_order_every_document_is_found_once(
        events in proptest::collection::vec(
            prop_oneof![
                8 => (1..4i64).prop_map(Event::Insert),
                3 => prop_oneof![Just(60i64), Just(300), Just(700)].prop_map(Event::Insert),
                4 => (0..10_000usize).prop_map(Event::Remove),
                4 => (1..4usize).prop_map(Event::Tend),
                1 => Just(Event::Purge),
            ],
            1..90,
        ),
    ) {
        let connection = written(&[]);
        let fulltext = FullText::new(&connection);
        let (mut next, mut there) = (0, Vec::new());
        for event in events {
            match event {
                Event::Insert(count) => {
                    let mut writer = fulltext.writer();
                    for row in next..next + count {
                        writer.insert(row, "", &text(row)).unwrap();
                        there.push(row);
                    }
                    writer.finish().unwrap();
                    next += count;
                }
                Event::Remove(place) if !there.is_empty() => {
                    fulltext.remove(there.swap_remove(place % there.len())).unwrap();
                }
                Event::Tend(steps) => {
                    for _ in 0..steps {
                        fulltext.tend().unwrap();
                    }
                }
                Event::Purge => fulltext.purge().unwrap(),
                Event::Remove(_) => {}
            }
        }
        there.sort_unstable();
        let fresh = written(&[]);
        let mut writer = FullText::new(&fresh).writer();
        there.iter().for_each(|row| writer.insert(*row, "", &text(*row)).unwrap());
        writer.finish().unwrap();
        for text in QUERIES {
            let query = Query::parse(text);
            prop_assert_eq!(fulltext.corpus(&query).unwrap(), FullText::new(&fresh).corpus(&query).unwrap());
        }
        prop_assert_eq!(answers(&connection, 40), answers(&fresh, 40));
        while fulltext.tend().unwrap() {}
        prop_assert_eq!(answers(&connection, 40), answers(&fresh, 40));
    }
}

#[test]
fn the_candidates_are_those_of_scoring_every_document() {
    let connection = written(&[0..2000, 2000..4000]);
    let all = answers(&connection, usize::MAX);
    for (few, all) in answers(&connection, 25).iter().zip(&all) {
        assert_eq!(few, &all[..25]);
    }
}

#[test]
fn of_a_reading_that_a_fault_ended_the_fault_is_told() {
    let connection = Connection::open_in_memory().unwrap();
    // As SQLite does by itself when a disk fails.
    let ended = FullText::new(&connection).at_one_time(|| -> Result<()> {
        connection.execute_batch("ROLLBACK")?;
        Err(rusqlite::Error::InvalidQuery)
    });
    assert_eq!(ended, Err(rusqlite::Error::InvalidQuery));
}
