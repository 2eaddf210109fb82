//! The full-text tables: which documents a query finds, and that no query has operators.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::search::query::Query;

const DOCUMENTS: [(&str, &str); 5] = [
    ("", "로그인 인증을 JWT에서 세션 쿠키 방식으로 변경했다. 토큰 만료 버그 때문."),
    ("Cache", "Invalidation is handled by Redis pub/sub."),
    ("", "Rate limiting uses a token bucket in middleware/rate_limit.rs and getUserName."),
    ("", "検索のトークンを保存する"),
    ("", "그 설정 값을 읽는다"),
];

fn small_index() -> Connection {
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
    let mut found = fulltext.candidates(query.terms(), &fulltext.corpus(query.all_terms()).unwrap(), 10).unwrap();
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
    assert_eq!(find(&small_index(), query), expected);
}

#[test]
fn a_removed_document_is_neither_found_nor_counted() {
    let connection = small_index();
    let fulltext = FullText::new(&connection);
    let query = Query::parse_literal("token 값");
    let before = fulltext.corpus(query.all_terms()).unwrap();
    assert_eq!((before.documents, before.frequencies), (5, vec![1, 1]));
    for row in [3, 5, 99] {
        fulltext.remove(row).unwrap();
    }
    assert_eq!(find(&connection, "token 값"), [0i64; 0]);
    let after = fulltext.corpus(query.all_terms()).unwrap();
    assert_eq!((after.documents, after.frequencies), (3, vec![0, 0]));
    let mut writer = fulltext.writer();
    writer.insert(3, "", "token").unwrap();
    writer.finish().unwrap();
    assert_eq!(find(&connection, "token"), [3]);
}

#[test]
fn synonym_phrase_needs_all_its_words() {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    let texts = ["sign of the times", "users sign in here", "로그인 화면", "로그와 그인", "the logarithm", "login"];
    for (row, text) in (1..).zip(texts) {
        // One segment each, to catch terms matched across segments.
        let mut writer = fulltext.writer();
        writer.insert(row, "", text).unwrap();
        writer.finish().unwrap();
    }
    let otherwise = |text: &str, limit| {
        let query = Query::parse(text);
        fulltext
            .alternatives(query.all_terms(), query.alternatives(), &fulltext.corpus(query.all_terms()).unwrap(), limit)
            .unwrap()
    };
    let mut found = otherwise("login", 10);
    found.sort_unstable();
    // `로그와 그인` has the same pairs. The full-text index cannot distinguish it.
    assert_eq!(found, [2, 3, 4]);
    assert_eq!(otherwise("login", 1).len(), 1);
    assert_eq!(otherwise("물고기", 10), [0i64; 0]);
}

#[test]
fn the_number_of_tokens_is_that_of_the_analysis() {
    let mut expected = 0;
    for text in DOCUMENTS.iter().flat_map(|(title, body)| [title, body]) {
        crate::text::visit(text, |_| expected += 1);
    }
    let connection = small_index();
    assert_eq!(FullText::new(&connection).totals().unwrap().1, expected);
    let empty = Connection::open_in_memory().unwrap();
    FullText::new(&empty).create().unwrap();
    assert_eq!(FullText::new(&empty).totals().unwrap(), (0, 0));
    assert_eq!(FullText::new(&empty).corpus(Query::parse("token").all_terms()).unwrap().average_length, 0.0);
}

#[test]
fn creating_twice_keeps_what_is_there() {
    let connection = small_index();
    FullText::new(&connection).create().unwrap();
    assert_eq!(FullText::new(&connection).totals().unwrap().0, 5);
}

#[rstest]
#[case::equal("catch", &["catch"])]
#[case::swapped("elasticsaerch", &["elasticsearch"])]
#[case::missing("keyclak", &["keycloak"])]
#[case::replaced("terrafurm", &["terraform"])]
#[case::two("plawyrigth", &["playwright"])]
#[case::two_of_a_short_word("cache", &[])]
#[case::far("session", &[])]
fn similar_terms_have_few_edits(#[case] term: &str, #[case] expected: &[&str]) {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    let mut writer = fulltext.writer();
    writer.insert(1, "", "catch elasticsearch keycloak terraform playwright cookies").unwrap();
    writer.finish().unwrap();
    assert_eq!(fulltext.similar_terms(term).unwrap(), expected);
}

/// Texts of common and rare words.
fn generated_text(number: i64) -> String {
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

fn candidates(connection: &Connection, limit: usize) -> Vec<Vec<i64>> {
    candidates_of(FullText::new(connection), limit)
}

fn candidates_of(fulltext: FullText<'_>, limit: usize) -> Vec<Vec<i64>> {
    let answer = |text: &&str| {
        let query = Query::parse(text);
        fulltext.candidates(query.terms(), &fulltext.corpus(query.all_terms()).unwrap(), limit).unwrap()
    };
    QUERIES.iter().map(answer).collect()
}

fn index_batches(batches: &[std::ops::Range<i64>]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    fulltext.create().unwrap();
    for batch in batches {
        let mut writer = fulltext.writer();
        batch.clone().for_each(|row| writer.insert(row, "", &generated_text(row)).unwrap());
        writer.finish().unwrap();
    }
    connection
}

fn count_rows(connection: &Connection, table: &str) -> i64 {
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn documents_one_by_one_are_found_like_those_written_at_once() {
    let at_once = index_batches(std::slice::from_ref(&(0..3000)));
    let mut batches: Vec<_> = (0..1000).map(|row| row..row + 1).collect();
    batches.extend([1000..1500, 1500..2990]);
    batches.extend((2990..3000).map(|row| row..row + 1));
    let one_by_one = index_batches(&batches);
    assert_eq!(candidates(&one_by_one, 20), candidates(&at_once, 20));
    assert!(count_rows(&one_by_one, "fulltext_segments") < 30);
}

#[test]
fn every_step_of_a_merge_leaves_what_is_found_as_it_was() {
    let connection = index_batches(&(0..9).map(|i| i * 600..(i + 1) * 600).collect::<Vec<_>>());
    let fulltext = FullText::new(&connection);
    (0..5400).step_by(4).for_each(|row| fulltext.remove(row).unwrap());
    let expected = candidates(&connection, 30);
    assert!(expected.iter().flatten().all(|row| row % 4 != 0));
    let frequencies = |connection| {
        let of_query = |text: &&str| FullText::new(connection).corpus(Query::parse(text).all_terms()).unwrap();
        QUERIES.iter().map(of_query).collect::<Vec<_>>()
    };
    let corpora = frequencies(&connection);
    let mut steps = 0;
    let cache = RefCell::default();
    while fulltext.merge_step().unwrap() {
        steps += 1;
        assert_eq!(
            candidates_of(FullText::with_cache(&connection, &cache), 30),
            expected,
            "what was met is still so, {steps}"
        );
        // A document removed during a merge is gone too, and counted once.
        assert_eq!(
            (candidates(&connection, 30), frequencies(&connection)),
            (expected.clone(), corpora.clone()),
            "{steps}"
        );
    }
    assert!(steps > 3, "{steps}");
    assert_eq!((count_rows(&connection, "fulltext_segments"), count_rows(&connection, "fulltext_removed")), (1, 0));
}

#[test]
fn removal_during_merge_is_permanent() {
    let connection = index_batches(&(0..8).map(|i| i * 600..(i + 1) * 600).collect::<Vec<_>>());
    let fulltext = FullText::new(&connection);
    assert!(fulltext.merge_step().unwrap() && fulltext.merge_step().unwrap());
    (0..4800).step_by(2).for_each(|row| fulltext.remove(row).unwrap());
    let expected = candidates(&connection, 50);
    while fulltext.merge_step().unwrap() {}
    assert_eq!(candidates(&connection, 50), expected);
    assert!(expected.iter().flatten().all(|row| row % 2 == 1));
}

#[test]
fn join_during_merge_creates_no_duplicates() {
    let mut batches: Vec<_> = (0..4).map(|i| i * 500..(i + 1) * 500).collect();
    batches.extend((0..4).map(|i| 2000 + i * 60..2060 + i * 60));
    let connection = index_batches(&batches);
    let fulltext = FullText::new(&connection);
    assert!(fulltext.merge_step().unwrap() && fulltext.merge_step().unwrap());
    for row in 2240..2400 {
        let mut writer = fulltext.writer();
        writer.insert(row, "", &generated_text(row)).unwrap();
        writer.finish().unwrap();
        if row % 40 == 0 {
            fulltext.merge_step().unwrap();
        }
    }
    let at_once = index_batches(std::slice::from_ref(&(0..2400)));
    let of_query = |text: &&str| {
        let query = Query::parse(text);
        (fulltext.corpus(query.all_terms()).unwrap(), FullText::new(&at_once).corpus(query.all_terms()).unwrap())
    };
    assert_eq!(candidates(&connection, 50), candidates(&at_once, 50));
    QUERIES.iter().map(of_query).for_each(|(found, expected)| assert_eq!(found, expected));
    while fulltext.merge_step().unwrap() {}
    assert_eq!(candidates(&connection, 50), candidates(&at_once, 50));
    QUERIES.iter().map(of_query).for_each(|(found, expected)| assert_eq!(found, expected));
}

#[derive(Debug, Clone)]
enum IndexOperation {
    Insert(i64),
    Remove(usize),
    Merge(usize),
    Purge,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_changes_finds_each_document_once(
        events in proptest::collection::vec(
            prop_oneof![
                8 => (1..4i64).prop_map(IndexOperation::Insert),
                3 => prop_oneof![Just(60i64), Just(300), Just(700)].prop_map(IndexOperation::Insert),
                4 => (0..10_000usize).prop_map(IndexOperation::Remove),
                4 => (1..4usize).prop_map(IndexOperation::Merge),
                1 => Just(IndexOperation::Purge),
            ],
            1..90,
        ),
    ) {
        let connection = index_batches(&[]);
        let fulltext = FullText::new(&connection);
        let (mut next, mut there) = (0, Vec::new());
        for event in events {
            match event {
                IndexOperation::Insert(count) => {
                    let mut writer = fulltext.writer();
                    for row in next..next + count {
                        writer.insert(row, "", &generated_text(row)).unwrap();
                        there.push(row);
                    }
                    writer.finish().unwrap();
                    next += count;
                }
                IndexOperation::Remove(place) if !there.is_empty() => {
                    fulltext.remove(there.swap_remove(place % there.len())).unwrap();
                }
                IndexOperation::Merge(steps) => {
                    for _ in 0..steps {
                        fulltext.merge_step().unwrap();
                    }
                }
                IndexOperation::Purge => fulltext.purge().unwrap(),
                IndexOperation::Remove(_) => {}
            }
        }
        there.sort_unstable();
        let fresh = index_batches(&[]);
        let mut writer = FullText::new(&fresh).writer();
        there.iter().for_each(|row| writer.insert(*row, "", &generated_text(*row)).unwrap());
        writer.finish().unwrap();
        for text in QUERIES {
            let query = Query::parse(text);
            prop_assert_eq!(fulltext.corpus(query.all_terms()).unwrap(), FullText::new(&fresh).corpus(query.all_terms()).unwrap());
        }
        prop_assert_eq!(candidates(&connection, 40), candidates(&fresh, 40));
        while fulltext.merge_step().unwrap() {}
        prop_assert_eq!(candidates(&connection, 40), candidates(&fresh, 40));
    }
}

#[test]
fn the_candidates_are_those_of_scoring_every_document() {
    let connection = index_batches(&[0..2000, 2000..4000]);
    let all = candidates(&connection, usize::MAX);
    for (few, all) in candidates(&connection, 25).iter().zip(&all) {
        assert_eq!(few, &all[..25]);
    }
}

#[test]
fn error_that_ends_a_snapshot_is_returned() {
    let connection = Connection::open_in_memory().unwrap();
    // SQLite does this itself if a disk fails.
    let ended = FullText::new(&connection).in_snapshot(|| -> Result<()> {
        connection.execute_batch("ROLLBACK")?;
        Err(rusqlite::Error::InvalidQuery)
    });
    assert_eq!(ended, Err(rusqlite::Error::InvalidQuery));
}
