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
    ("cross", 5, 14),
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
        let is_answered = answer.found.first().is_some_and(|(_, score)| *score >= MIN_SCORE);
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
    assert!(lost <= 12, "{lost}");
}

#[test]
fn questions_find_what_was_said_in_another_language_or_in_other_words() {
    let pairs = Pairs::read(&evaluation::own_sets().join("pairs.json")).unwrap();
    let set = evaluation::pairs(&pairs, &project());
    let pairs = pairs.pairs;
    assert_eq!((pairs.len(), set.groups[0].documents.len()), (20, ENTRIES));
    let store = Filled::new(&set.groups[0], set.shape).unwrap();
    let mut engine = store.engine(&Settings::default()).unwrap();
    let mut near = 0;
    for (pair, question) in pairs.iter().zip(&set.groups[0].questions) {
        let answer = store.ask(&mut engine, &pair.question).unwrap();
        let rank = answer.found.iter().position(|(id, _)| question.relevant.contains(id));
        println!("{:10} {:?} {}", pair.kind, rank.map(|rank| rank + 1), pair.question);
        near += usize::from(rank.is_some_and(|rank| rank < 3));
    }
    // The goal is 15; the static model does not reach it among so many entries about the like. A number that may only go up.
    assert!(near >= 7, "{near} of {}", pairs.len());
}
