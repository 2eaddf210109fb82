//! Compares a brief and the hits of searches with the expectations of a story.

use regex_lite::{Regex, RegexBuilder};
use serde_json::Value;

/// The result of a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryResult {
    pub id: String,
    pub brief: String,
    /// The weight of the facts in the brief, and of all facts.
    pub facts: (usize, usize),
    /// Facts missing from the brief.
    pub missed: Vec<String>,
    /// Forbidden facts in the brief.
    pub violations: Vec<String>,
    /// All forbidden facts.
    pub forbidden: usize,
    /// Successful searches, and all searches.
    pub searches: (usize, usize),
    /// Questions of failed searches.
    pub not_found: Vec<String>,
}

impl StoryResult {
    /// Judges a brief; no search is counted yet.
    pub(super) fn of_brief(story: &Value, brief: String) -> Self {
        let mut result = Self { brief, ..Self::without_brief(story) };
        for fact in list(&story["brief"]["must"]) {
            let weight = fact["weight"].as_u64().map_or(1, |weight| weight as usize);
            result.facts.1 += weight;
            if matches(&fact["any"], &result.brief) {
                result.facts.0 += weight;
            } else {
                result.missed.push(text(&fact["fact"]).to_owned());
            }
        }
        let unwanted = list(&story["brief"]["must_not"]);
        let violated = unwanted.iter().filter(|unwanted| matches(&unwanted["any"], &result.brief));
        result.violations = violated.map(|unwanted| text(&unwanted["why"]).to_owned()).collect();
        result.forbidden = unwanted.len();
        result
    }

    /// The result for a server that gives no brief.
    pub(super) fn without_brief(story: &Value) -> Self {
        Self {
            id: text(&story["id"]).to_owned(),
            brief: String::new(),
            facts: (0, 0),
            missed: Vec::new(),
            violations: Vec::new(),
            forbidden: 0,
            searches: (0, 0),
            not_found: Vec::new(),
        }
    }

    /// Counts a search with the texts of its hits, best first.
    pub(super) fn count_search(&mut self, question: &Value, shown: &[String]) {
        self.searches.1 += 1;
        let within = question["within"].as_u64().map_or(1, |within| within as usize);
        let is_found = shown.iter().take(within).any(|hit| matches(&question["any"], hit));
        let is_misled = shown.first().is_some_and(|first| matches(&question["not_first"], first));
        if is_found && !is_misled {
            self.searches.0 += 1;
        } else {
            self.not_found.push(text(&question["q"]).to_owned());
        }
    }
}

/// Whether a text matches one of the patterns.
fn matches(patterns: &Value, text: &str) -> bool {
    patterns.as_array().into_iter().flatten().any(|pattern| compiled(pattern).is_match(text))
}

fn compiled(pattern: &Value) -> Regex {
    let pattern = text(pattern);
    let built = RegexBuilder::new(pattern).case_insensitive(true).multi_line(true).build();
    built.unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
