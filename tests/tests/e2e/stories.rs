//! Minimum quality of briefs and searches on the project's own stories.

use harness::stories::{own_stories, play, read};

/// In per cent, slightly below the measured value.
const FACTS: usize = 60;
const SEARCHES: usize = 50;

/// Forbidden facts in briefs.
const VIOLATIONS: usize = 12;

/// Characters of a brief.
const LONGEST: usize = 4_000;

#[test]
fn the_next_session_begins_with_what_mattered() {
    let stories = read(&own_stories());
    assert!(stories.len() >= 8);
    let (mut facts, mut searches, mut violations) = ((0, 0), (0, 0), 0);
    for story in &stories {
        let told = play(story, harness::binaries!());
        println!("{}: facts {:?}, searches {:?}", told.id, told.facts, told.searches);
        println!("  missed {:?}\n  violated {:?}\n  not found {:?}", told.missed, told.violations, told.not_found);
        let length = told.brief.chars().count();
        assert!(length <= LONGEST, "{}: {length} characters", told.id);
        facts = (facts.0 + told.facts.0, facts.1 + told.facts.1);
        searches = (searches.0 + told.searches.0, searches.1 + told.searches.1);
        violations += told.violations.len();
    }
    println!("facts {facts:?}, searches {searches:?}, violations {violations}");
    assert!(facts.0 * 100 >= FACTS * facts.1, "facts {facts:?}");
    assert!(searches.0 * 100 >= SEARCHES * searches.1, "searches {searches:?}");
    assert!(violations <= VIOLATIONS, "{violations} violations");
}
