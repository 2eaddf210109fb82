//! The results as short texts, for hosts that show a model text rather than structure.

use std::fmt::Write as _;

use schema::sanitize::{as_record, sanitize_json};
use schema::tool::{GetOutput, Hit, LoadOutput, SearchOutput, StatsOutput, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tools::error::ToolError;

use super::call::Answer;

/// An answer as it leaves: every text is clean, and those that are read whole are labelled as data.
pub(super) fn outgoing(answer: Answer) -> Answer {
    match answer {
        Answer::Search(output) => Answer::Search(clean(&output)),
        Answer::Get(output) => {
            let output = clean(&output);
            Answer::Get(GetOutput { content: as_record(Tool::Get.name(), &output.content), ..output })
        }
        Answer::Load(output) => {
            let output = clean(&output);
            Answer::Load(LoadOutput { content: as_record(Tool::Load.name(), &output.content), ..output })
        }
        Answer::Save(output) => Answer::Save(clean(&output)),
        Answer::Stats(output) => Answer::Stats(clean(&output)),
        Answer::Reindex(output) => Answer::Reindex(output),
    }
}

fn clean<T: Serialize + DeserializeOwned>(output: &T) -> T {
    let value = serde_json::to_value(output).map(sanitize_json);
    value.and_then(serde_json::from_value).expect("a result reads back, and cleaning changes only texts")
}

/// The text of an answer.
pub(super) fn of(answer: &Answer) -> String {
    match answer {
        Answer::Search(output) => search(output),
        Answer::Get(output) => {
            let head = format!("{}:{}-{} of {}", output.path, output.start_line, output.end_line, output.total_lines);
            with_notice(format!("{head}\n\n{}", output.content), output.notice.as_deref())
        }
        Answer::Load(output) => with_notice(output.content.clone(), output.notice.as_deref()),
        Answer::Save(output) => format!("{} (id {})", output.message, output.id),
        Answer::Stats(output) => stats(output),
        Answer::Reindex(output) => format!(
            "read {} files: {} chunks made, {} memories taken in, {} removed",
            output.files, output.chunks, output.memories, output.removed
        ),
    }
}

/// What a log may know of an outcome: ids and sizes, nothing of what is remembered or was asked.
pub(super) fn for_log(outcome: &Result<Answer, ToolError>) -> String {
    match outcome {
        Ok(Answer::Search(output)) => format!("{} hits", output.count),
        Ok(Answer::Get(output)) => format!("{} bytes", output.content.len()),
        Ok(Answer::Load(output)) => format!("{} files, {} bytes", output.files.len(), output.content.len()),
        Ok(Answer::Save(output)) if output.saved => format!("saved {}", output.id),
        Ok(Answer::Save(output)) => format!("known as {}", output.id),
        Ok(Answer::Stats(output)) => format!("{} memories", output.memories),
        Ok(Answer::Reindex(output)) => format!("{} files, {} memories", output.files, output.memories),
        Err(ToolError::Invalid(_)) => "refused".to_owned(),
        Err(ToolError::NotFound(_)) => "not found".to_owned(),
        Err(ToolError::Unavailable(_)) => "cannot be done now".to_owned(),
        Err(ToolError::Interrupted) => "stopped".to_owned(),
        Err(ToolError::Damaged(_)) => "damage".to_owned(),
        Err(ToolError::Internal(_)) => "a fault".to_owned(),
    }
}

fn search(output: &SearchOutput) -> String {
    let hits = output.results.iter().enumerate().map(|(n, found)| hit(n + 1, found));
    with_notice(hits.collect::<Vec<_>>().join("\n"), output.notice.as_deref())
}

fn hit(n: usize, hit: &Hit) -> String {
    let kind = hit.kind.map_or("note", schema::memory::MemoryType::as_str);
    let mut text = format!("{n}. [{kind}]");
    if let Some(date) = &hit.date {
        let _ = write!(text, " {date}");
    }
    let _ = write!(
        text,
        " {}:{} (score {:.2} {}, id {})",
        hit.path,
        hit.start_line,
        hit.score,
        hit.confidence.as_str(),
        hit.id
    );
    for flag in &hit.flags {
        let _ = write!(text, " {flag}");
    }
    let _ = write!(text, "\n   {}", hit.snippet);
    text
}

fn stats(output: &StatsOutput) -> String {
    let mut text = format!(
        "{} memories, {} chunks of {} files, {} sessions, {} bytes in {}",
        output.memories, output.chunks, output.files, output.sessions, output.bytes, output.project
    );
    for counted in &output.types {
        let _ = write!(text, "\n{}: {}", counted.kind, counted.count);
    }
    let _ = write!(text, "\nqueue of hooks answered by {}", output.queue_answered_by.as_str());
    for problem in &output.problems {
        let _ = write!(text, "\nproblem: {problem}");
    }
    text
}

pub(super) fn with_notice(mut text: String, notice: Option<&str>) -> String {
    if let Some(notice) = notice {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(text, "Note: {notice}");
    }
    text
}
