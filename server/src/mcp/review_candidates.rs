//! The candidates of a review as text for the prompt `review-memory`.

use std::time::{Duration, Instant};

use rmcp::model::GetPromptRequestParams;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use tools::engine::ReviewCandidate;

use crate::dispatcher::{Dispatcher, ReadNeed};

/// The most candidates.
const LISTED: usize = 10;

/// The longest text of a memory, in bytes; `memory_get` has all of it.
const LONGEST: usize = 600;

/// How long new memories are examined. The next prompt goes on.
const AT_MOST: Duration = Duration::from_secs(3);

/// Lists candidates; with a topic, only those that contain one of its words. Lists nothing if the store cannot be read.
pub(super) async fn list_candidates(dispatcher: &Dispatcher, request: &GetPromptRequestParams) -> String {
    let topic = request.arguments.as_ref().and_then(|arguments| arguments.get("topic")?.as_str()).unwrap_or_default();
    let topic: Vec<String> = topic.split_whitespace().map(str::to_lowercase).collect();
    let listed = dispatcher.read(ReadNeed::OpenStore, None, move |engine, may_go_on| {
        let start = Instant::now();
        let report = engine.review(&mut |_| {}, &|| may_go_on() && start.elapsed() < AT_MOST)?;
        let sanitizer = settings::load(engine.store().layout()).sanitizer;
        let is_about = |text: &String| topic.is_empty() || topic.iter().any(|word| text.to_lowercase().contains(word));
        let texts = report.candidates.iter().map(|candidate| describe(candidate, &sanitizer)).filter(is_about);
        let texts: Vec<String> = texts.collect();
        let more = texts.len().saturating_sub(LISTED);
        let rest = if report.is_complete { "" } else { "; older memories are not compared yet" };
        Ok(match texts.is_empty() {
            true => format!("\nThere are no candidates{rest}.\n"),
            false => {
                let shown = texts.into_iter().take(LISTED).collect::<String>();
                format!("\nCandidates, {more} more later{rest}:\n\n{shown}")
            }
        })
    });
    listed.await.unwrap_or_default()
}

fn describe(candidate: &ReviewCandidate, sanitizer: &Sanitizer) -> String {
    let mut text = format!("- {}: {}\n", candidate.kind.name().replace('_', " "), candidate.reason);
    for row in std::iter::once(&candidate.older).chain(&candidate.newer) {
        let content = sanitizer.clean(&row.memory.content).text.replace('\n', "\n    ");
        let content = &content[..content.floor_char_boundary(LONGEST)];
        text.push_str(&format!("  - {} {} {}: {content}\n", row.memory.id, row.memory.kind, row.memory.at.date()));
    }
    text
}
