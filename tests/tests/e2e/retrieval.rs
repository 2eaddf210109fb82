//! Quality of full-text search on evaluation sets next to the repository, which are not shipped. Without them these tests
//! are skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use harness::environment;
use harness::report_skip;
use rusqlite::Connection;
use serde_json::Value;
use tools::fulltext::FullText;
use tools::search::query::Query;
use tools::search::relevance::RelevanceScorer;

/// Fewer in debug builds, where scoring is slow; the results of these sets are equal.
const CANDIDATES: usize = if cfg!(debug_assertions) { 60 } else { 300 };
const MIN_SCORE: f32 = 0.35;

struct TextSet {
    stores: Vec<TextStore>,
}

struct TextStore {
    connection: Connection,
    ids: Vec<String>,
    texts: Vec<String>,
    questions: Vec<LabelledQuestion>,
}

struct LabelledQuestion {
    text: String,
    relevant: BTreeSet<String>,
    category: String,
}

/// Results of a set in per cent.
#[derive(Debug, Default)]
struct RetrievalFigures {
    questions: usize,
    at5: f64,
    at10: f64,
    hit5: f64,
    /// Relevant documents in the top five, and how many of them the default threshold loses.
    good: usize,
    lost: usize,
    /// Other documents in the top five, and how many of them are below the threshold.
    other: usize,
    other_under: usize,
}

impl RetrievalFigures {
    fn lost_share(&self) -> f64 {
        self.lost as f64 / self.good.max(1) as f64
    }
}

fn set(name: &str) -> Option<TextSet> {
    let beside: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "shared", "eval"].iter().collect();
    let path = environment::variable("JIKIME_EVALUATION_SETS").map_or(beside, PathBuf::from).join(name);
    let Ok(text) = std::fs::read_to_string(&path) else {
        report_skip(format_args!("no evaluation set at {}", path.display()));
        return None;
    };
    let json: Value = serde_json::from_str(&text).unwrap();
    Some(TextSet { stores: json["groups"].as_array().unwrap().iter().map(store).collect() })
}

fn store(group: &Value) -> TextStore {
    let documents = group["docs"].as_array().unwrap();
    let ids: Vec<String> = documents.iter().map(|document| string(&document["id"])).collect();
    let texts: Vec<String> = documents.iter().map(|document| string(&document["text"])).collect();
    let questions = group["queries"].as_array().unwrap().iter().map(|question| LabelledQuestion {
        text: string(&question["text"]),
        relevant: question["rel"].as_array().unwrap().iter().map(string).collect(),
        category: string(&question["cat"]),
    });
    TextStore { connection: index(&texts), ids, texts, questions: questions.collect() }
}

fn string(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn index(texts: &[String]) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    let fulltext = FullText::new(&connection);
    connection.execute_batch("BEGIN").unwrap();
    fulltext.create().unwrap();
    let mut writer = fulltext.writer();
    for (i, text) in texts.iter().enumerate() {
        writer.insert(i as i64, "", text).unwrap();
    }
    writer.finish().unwrap();
    connection.execute_batch("COMMIT").unwrap();
    connection
}

impl TextStore {
    /// Documents with their relevance, best first.
    fn search(&self, text: &str) -> Vec<(usize, f32)> {
        let query = Query::parse(text);
        let fulltext = FullText::new(&self.connection);
        let corpus = fulltext.corpus(query.all_terms()).unwrap();
        let relevance = RelevanceScorer::new(&query, &corpus);
        let candidates = fulltext.candidates(query.terms(), &corpus, CANDIDATES).unwrap();
        let score = |text: &str| relevance.score_of(&relevance.collect_evidence("", text, ""));
        let mut found: Vec<(usize, f32)> =
            candidates.into_iter().map(|row| (row as usize, score(&self.texts[row as usize]))).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1));
        found
    }
}

fn measure(set: &TextSet, wanted: impl Fn(&LabelledQuestion) -> bool) -> RetrievalFigures {
    let mut figures = RetrievalFigures::default();
    for store in &set.stores {
        for question in store.questions.iter().filter(|question| wanted(question)) {
            let found = store.search(&question.text);
            let relevant = |row: usize| question.relevant.contains(&store.ids[row]);
            let recall = |k: usize| {
                found.iter().take(k).filter(|(row, _)| relevant(*row)).count() as f64 / question.relevant.len() as f64
            };
            figures.questions += 1;
            figures.at5 += recall(5);
            figures.at10 += recall(10);
            figures.hit5 += f64::from(recall(5) > 0.0);
            for (row, score) in found.iter().take(5) {
                let under = usize::from(*score < MIN_SCORE);
                if relevant(*row) {
                    figures.good += 1;
                    figures.lost += under;
                } else {
                    figures.other += 1;
                    figures.other_under += under;
                }
            }
        }
    }
    let per_cent = 100.0 / figures.questions as f64;
    figures.at5 *= per_cent;
    figures.at10 *= per_cent;
    figures.hit5 *= per_cent;
    figures
}

fn print(name: &str, figures: &RetrievalFigures) {
    println!(
        "{name:24} {:5} questions  R@5 {:5.1}  R@10 {:5.1}  H@5 {:5.1}  relevant in top 5 lost at {MIN_SCORE}: {}/{} ({:.1} %)  others cut: {}/{}",
        figures.questions,
        figures.at5,
        figures.at10,
        figures.hit5,
        figures.lost,
        figures.good,
        100.0 * figures.lost_share(),
        figures.other_under,
        figures.other,
    );
}

#[test]
fn turns_of_conversations_are_found() {
    let Some(set) = set("locomo_turn_dev.json") else { return };
    let figures = measure(&set, |_| true);
    print("LoCoMo turns", &figures);
    assert!(figures.at5 >= 55.5 && figures.lost_share() < 0.03);
}

#[test]
fn sessions_of_conversations_are_found() {
    let Some(set) = set("locomo_session_dev.json") else { return };
    let figures = measure(&set, |_| true);
    print("LoCoMo sessions", &figures);
    assert!(figures.at5 >= 84.5 && figures.lost_share() < 0.01);
}

#[test]
fn korean_paragraphs_are_found() {
    let Some(set) = set("korquad_dev.json") else { return };
    let figures = measure(&set, |_| true);
    print("KorQuAD", &figures);
    assert!(figures.at5 >= 98.5 && figures.lost_share() < 0.01);
}

#[test]
fn notes_of_developers_are_found() {
    let Some(set) = set("devmem_ko_en.json") else { return };
    let categories: BTreeSet<&str> =
        set.stores.iter().flat_map(|s| &s.questions).map(|q| q.category.as_str()).collect();
    let figures: BTreeMap<&str, RetrievalFigures> =
        categories.into_iter().map(|category| (category, measure(&set, |q| q.category == category))).collect();
    figures.iter().for_each(|(category, figures)| print(&format!("notes {category}"), figures));
    assert!(figures["ko->ko"].at5 >= 99.9);
}

#[test]
fn korean_nouns_of_two_syllables_are_found_wherever_they_occur() {
    let Some(set) = set("korquad_dev.json") else { return };
    let store = &set.stores[0];
    let nouns: BTreeSet<String> = store.texts.iter().flat_map(|text| nouns(text)).collect();
    let (mut found, mut all, mut returned) = (0, 0, 0);
    let nouns: Vec<&String> = nouns.iter().step_by(nouns.len() / 300).collect();
    for noun in &nouns {
        let (fulltext, query) = (FullText::new(&store.connection), Query::parse(noun));
        let rows =
            fulltext.candidates(query.terms(), &fulltext.corpus(query.all_terms()).unwrap(), usize::MAX).unwrap();
        let holding = |row: &usize| store.texts[*row].contains(noun.as_str());
        all += (0..store.texts.len()).filter(holding).count();
        found += rows.iter().filter(|row| holding(&(**row as usize))).count();
        returned += rows.len();
    }
    println!(
        "two-syllable nouns         {:5} queries  recall {found}/{all}  precision {found}/{returned}",
        nouns.len()
    );
    assert!(found * 1000 >= all * 999);
}

/// The first two syllables of three-syllable words whose last syllable is a particle.
fn nouns(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().filter_map(|word| {
        let noun = word.strip_suffix(['은', '는', '을', '를', '의', '에'])?;
        let hangul = noun.chars().count() == 2 && noun.chars().all(|c| ('가'..='힣').contains(&c));
        hangul.then(|| noun.to_owned())
    })
}

const OFF_TOPIC: &[&str] = &[
    "how long should I boil spaghetti",
    "best recipe for chocolate cake",
    "who won the football world cup",
    "which striker scored the most goals this season",
    "cheap flights to Lisbon in spring",
    "symptoms of a vitamin deficiency",
    "how do I train for a marathon",
    "what is the capital of Mongolia",
    "guitar chords for beginners",
    "when do tomatoes need water",
    "history of the Roman empire",
    "movies with a happy ending",
    "how to fold a paper crane",
    "my dog keeps barking at night",
    "the price of gold per ounce",
    "learning to swim as an adult",
    "what time does the museum open",
    "red wine with fish",
    "김치찌개 끓이는 방법",
    "축구 월드컵 우승 팀은 어디인가요",
    "서울 날씨 알려줘",
    "제주도 여행 숙소 추천",
    "강아지가 밤에 짖어요",
    "다이어트에 좋은 음식이 뭐야",
    "피아노 배우기 좋은 나이",
    "주말에 볼만한 영화",
    "아이폰 가격이 얼마야",
    "조선 시대 왕의 이름",
    "감기에 좋은 차",
    "손흥민이 몇 골 넣었지",
];

#[test]
fn unrelated_queries_find_little() {
    let Some(set) = set("devmem_ko_en.json") else { return };
    let mut answered = Vec::new();
    for question in OFF_TOPIC {
        let best = set.stores[0].search(question).first().copied();
        answered.extend(best.filter(|(_, score)| *score >= MIN_SCORE).map(|(row, score)| (question, row, score)));
    }
    println!("off-topic questions        {}/{} answered: {answered:?}", answered.len(), OFF_TOPIC.len());
    assert!(answered.len() <= 3);
}
