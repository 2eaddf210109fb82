//! Floors of retrieval on the project's own evaluation sets, through the real capture and search as installed without any setting.
#![cfg(test)]

use std::collections::BTreeMap;

use harness::evaluation::{self, ENTRIES, Filled, Pairs, Set};
use schema::settings::{Provider, Settings};

/// The score under which nothing is answered when nothing is said.
const MIN_SCORE: f64 = 0.35;

/// Per class, how many of its questions must have something that answers them among the first five. A little under what was
/// measured, because a class is small and one question is not the end of the world.
const FLOORS: [(&str, usize, usize); 14] = [
    ("chinese", 7, 8),
    ("cross", 9, 14),
    ("cyrillic", 3, 4),
    ("decision", 17, 19),
    ("error", 16, 17),
    ("identifier", 14, 15),
    ("japanese", 7, 8),
    ("korean", 14, 15),
    ("paraphrase", 4, 9),
    ("rename", 5, 6),
    ("superseded", 3, 4),
    ("when", 5, 7),
    ("where", 9, 10),
    ("who", 6, 7),
];

fn installed() -> Settings {
    Settings { embedding_provider: Provider::Local, ..Settings::default() }
}

fn project() -> Set {
    Set::read(&evaluation::own_sets().join("project.json")).unwrap()
}

#[test]
fn what_a_project_remembers_in_a_month_is_found_in_every_class_of_questions() {
    let set = project();
    let (documents, questions) = (&set.groups[0].documents, &set.groups[0].questions);
    assert!(documents.len() >= 150 && questions.len() >= 120);
    let store = Filled::new(&set.groups[0], set.shape).unwrap();
    let mut engine = store.engine(&installed()).unwrap();
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut strange, mut abstained, mut lost) = (0, 0, 0);
    for question in questions {
        let answer = store.ask(&mut engine, &question.text).unwrap();
        let is_answered = answer.first >= MIN_SCORE;
        if question.relevant.is_empty() {
            strange += 1;
            abstained += usize::from(!is_answered);
        } else {
            let of_class = found.entry(&question.class).or_default();
            of_class.0 += usize::from(answer.found.iter().take(5).any(|(id, _)| question.relevant.contains(id)));
            of_class.1 += 1;
            lost += usize::from(!is_answered);
        }
    }
    println!("{found:?}; of {strange} that nothing answers {abstained} got nothing; {lost} others got nothing");
    for (class, floor, all) in FLOORS {
        let (hits, asked) = found[class];
        assert!(asked == all && hits >= floor, "{class}: {hits} of {asked}, the floor is {floor} of {all}");
    }
    assert_eq!(found.len(), FLOORS.len());
    assert!(strange >= 25 && abstained * 100 >= strange * 60, "{abstained} of {strange}");
    assert!(lost <= 8, "{lost}");
}

/// How many pairs of a file have their entry among the first three, by these settings.
fn near(name: &str, settings: &Settings) -> (usize, usize) {
    let pairs = Pairs::read(&evaluation::own_sets().join(name)).unwrap();
    let set = evaluation::pairs(&pairs, &project());
    assert_eq!(set.groups[0].documents.len(), ENTRIES);
    let store = Filled::new(&set.groups[0], set.shape).unwrap();
    let mut engine = store.engine(settings).unwrap();
    let mut near = 0;
    for (pair, question) in pairs.pairs.iter().zip(&set.groups[0].questions) {
        let answer = store.ask(&mut engine, &pair.question).unwrap();
        let rank = answer.found.iter().position(|(id, _)| question.relevant.contains(id));
        println!("{:10} {:?} {}", pair.kind, rank.map(|rank| rank + 1), pair.question);
        near += usize::from(rank.is_some_and(|rank| rank < 3));
    }
    (near, pairs.pairs.len())
}

#[test]
fn questions_find_what_was_said_in_another_language_or_in_other_words() {
    let (near, all) = near("pairs.json", &Settings::default());
    assert!(near >= 15 && all == 20, "{near} of {all}");
}

#[test]
fn questions_find_what_was_said_in_another_language_without_embeddings() {
    let text = Settings { embedding_provider: Provider::None, ..Settings::default() };
    let (near, all) = near("pairs.json", &text);
    assert!(near >= 13, "{near} of {all}");
}

/// A number that may only go up: nothing was chosen by a look at these.
#[test]
fn pairs_by_somebody_else_are_found_as_before() {
    let (near, all) = near("pairs-held-out.json", &Settings::default());
    assert!(near >= 11 && all == 60, "{near} of {all}");
}
