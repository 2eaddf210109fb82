//! Replays a story through the tools of another server: what people and agents said is saved, and the next session asks.

use serde_json::Value;

use super::verdict::{StoryResult, letters, list, text};
use crate::peer::{DocumentMarks, Peer, PeerError};

/// Plays a story and returns its result. Facts and violations are counted only if the description has a tool for the context of a new
/// session. A hit is a saved text whose beginning is in the answer, in the order of the answer; repeated questions are ignored, as for
/// our product.
pub fn play_by_tools(story: &Value, peer: &Peer) -> Result<StoryResult, PeerError> {
    let home = tempfile::tempdir()?;
    let mut server = peer.start(home.path())?;
    let said = said_in(story);
    for (number, session) in said.iter().enumerate() {
        // A host starts the server again for each session.
        if number > 0 {
            server.stop();
            server = peer.start(home.path())?;
        }
        for said in session {
            peer.save(&mut server, said)?;
        }
    }
    let mut result = match &peer.description.context {
        Some(context) => StoryResult::of_brief(story, peer.call(&mut server, context, "")?.1),
        None => StoryResult::without_brief(story),
    };
    let marks = DocumentMarks::new(said.iter().flatten().map(|said| (*said, *said)));
    let mut asked = Vec::new();
    for question in list(&story["search"]) {
        asked.push(letters(text(&question["q"])));
        let answer = match peer.search(&mut server, text(&question["q"])) {
            Err(PeerError::Refused { .. }) => String::new(),
            answer => answer?.1,
        };
        let shown = marks.shown_in(&answer).into_iter().map(|said| said.join("\n"));
        let shown: Vec<String> = shown.filter(|said| !asked.contains(&letters(said))).collect();
        result.count_search(question, &shown);
    }
    server.stop();
    Ok(result)
}

/// Returns the prompts, answers and explicit saves of each session.
fn said_in(story: &Value) -> Vec<Vec<&str>> {
    let sessions = list(&story["sessions"]).iter();
    sessions.map(|session| list(&session["events"]).iter().filter_map(said_by).collect()).collect()
}

/// Returns the text of an event that people or agents said.
fn said_by(event: &Value) -> Option<&str> {
    let (kind, value) = event.as_object()?.iter().next()?;
    let said = match kind.as_str() {
        "prompt" | "answer" | "memory_md" => value.as_str(),
        "save" => value["content"].as_str(),
        _ => None,
    };
    said.filter(|said| !said.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn prompts_answers_and_saves_are_said() {
        let events = json!([{ "prompt": "a" }, { "bash": { "command": "b" } }, { "answer": " " }, { "save": { "content": "c" } }]);
        let story =
            json!({ "sessions": [{ "events": events }, { "events": [{ "memory_md": "d" }, { "end": "other" }] }] });
        assert_eq!(said_in(&story), [vec!["a", "c"], vec!["d"]]);
    }
}
