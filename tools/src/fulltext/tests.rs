//! The full-text table: what it finds, and that nothing in a query is an operator.

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
    for (row, (title, body)) in (1..).zip(DOCUMENTS) {
        fulltext.insert(row, title, body).unwrap();
    }
    connection
}

fn find(connection: &Connection, query: &str) -> Vec<i64> {
    let mut found = FullText::new(connection).candidates(&Query::parse(query), 10).unwrap();
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
    fulltext.insert(3, "", "token").unwrap();
    assert_eq!(find(&connection, "token"), [3]);
}

#[test]
fn the_number_of_tokens_is_that_of_the_analysis() {
    let tokens = |text| text::analyze(text).len() as u64;
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
