//! Minimum quality of briefs and searches on the project's own stories.

use harness::environment;
use harness::stories::{own_stories, play_all, read};
use rstest::rstest;

/// Characters of a brief.
const LONGEST: usize = 4_000;

/// How many stories are played at once. Each waits most of the time, because a session begins in its own second.
const AT_ONCE: usize = 6;

/// A file with more stories is played whole only in the long form of the tests. The short form plays its first ones, which may be worse than
/// the file by so many per cent, and by so many violations.
const WHOLE_FILE: usize = 14;
const SAMPLE: usize = 6;
const ALLOWANCE: usize = 5;
const ALLOWED_VIOLATIONS: usize = 4;

/// The minimum for the stories of a file, slightly below the measured values.
struct Floor {
    stories: usize,
    /// In per cent.
    facts: usize,
    searches: usize,
    /// Forbidden facts in briefs.
    violations: usize,
}

#[rstest]
#[case::first("stories.json", Floor { stories: 8, facts: 92, searches: 90, violations: 3 })]
#[case::lived("lived.json", Floor { stories: 14, facts: 93, searches: 88, violations: 3 })]
#[case::varied("varied.json", Floor { stories: 10, facts: 83, searches: 73, violations: 9 })]
#[case::fresh("fresh.json", Floor { stories: 6, facts: 93, searches: 80, violations: 1 })]
#[case::blind("blind.json", Floor { stories: 22, facts: 92, searches: 80, violations: 13 })]
#[case::spoken("spoken.json", Floor { stories: 12, facts: 96, searches: 86, violations: 7 })]
#[case::offhand("offhand.json", Floor { stories: 12, facts: 93, searches: 58, violations: 24 })]
#[case::asked_later("asked_later.json", Floor { stories: 12, facts: 82, searches: 75, violations: 11 })]
#[case::declined("declined.json", Floor { stories: 12, facts: 92, searches: 38, violations: 24 })]
#[case::new_words("new_words.json", Floor { stories: 14, facts: 95, searches: 76, violations: 7 })]
#[case::domains("domains.json", Floor { stories: 14, facts: 91, searches: 75, violations: 5 })]
#[case::manners("manners.json", Floor { stories: 14, facts: 88, searches: 70, violations: 25 })]
#[case::trades("trades.json", Floor { stories: 20, facts: 91, searches: 68, violations: 10 })]
#[case::crafts("crafts.json", Floor { stories: 20, facts: 88, searches: 76, violations: 26 })]
#[case::unread("unread.json", Floor { stories: 12, facts: 93, searches: 86, violations: 16 })]
#[case::later("later.json", Floor { stories: 24, facts: 94, searches: 88, violations: 3 })]
#[case::overturned("overturned.json", Floor { stories: 24, facts: 90, searches: 75, violations: 24 })]
#[case::ordinary("ordinary.json", Floor { stories: 24, facts: 95, searches: 85, violations: 7 })]
#[case::asked("asked.json", Floor { stories: 28, facts: 92, searches: 83, violations: 14 })]
#[case::everyday("everyday.json", Floor { stories: 42, facts: 93, searches: 80, violations: 29 })]
#[case::turned_down("turned_down.json", Floor { stories: 28, facts: 91, searches: 76, violations: 48 })]
#[case::first_minute("first_minute.json", Floor { stories: 64, facts: 95, searches: 87, violations: 21 })]
#[case::similar("similar.json", Floor { stories: 14, facts: 94, searches: 90, violations: 3 })]
#[case::cleared("cleared.json", Floor { stories: 14, facts: 90, searches: 85, violations: 4 })]
fn the_next_session_begins_with_what_mattered(#[case] file: &str, #[case] floor: Floor) {
    let stories = read(&own_stories(file));
    assert!(stories.len() >= floor.stories);
    let is_whole = environment::is_long() || stories.len() <= WHOLE_FILE;
    let (count, allowance, allowed) =
        if is_whole { (stories.len(), 0, 0) } else { (SAMPLE, ALLOWANCE, ALLOWED_VIOLATIONS) };
    let (mut facts, mut searches, mut violations) = ((0, 0), (0, 0), 0);
    for told in play_all(&stories[..count], &harness::binaries!(), AT_ONCE) {
        println!("{}: facts {:?}, searches {:?}", told.id, told.facts, told.searches);
        println!("  missed {:?}\n  violated {:?}\n  not found {:?}", told.missed, told.violations, told.not_found);
        let length = told.brief.chars().count();
        assert!(length <= LONGEST, "{}: {length} characters", told.id);
        facts = (facts.0 + told.facts.0, facts.1 + told.facts.1);
        searches = (searches.0 + told.searches.0, searches.1 + told.searches.1);
        violations += told.violations.len();
    }
    println!("facts {facts:?}, searches {searches:?}, violations {violations}");
    assert!(facts.0 * 100 >= (floor.facts - allowance) * facts.1, "facts {facts:?}");
    assert!(searches.0 * 100 >= (floor.searches - allowance) * searches.1, "searches {searches:?}");
    let most = floor.violations * count / stories.len() + allowed;
    assert!(violations <= most, "{violations} violations");
}
