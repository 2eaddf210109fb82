//! Cleans results, and renders them as short texts for hosts that show a model text instead of structure.

use std::fmt::Write as _;

use schema::privacy::output_text::{clean_json, label_as_data};
use schema::tool::{Evidence, Hit, LoadOutput, SearchOutput, StatsOutput, Tool};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tools::error::ToolError;

use super::tool_call::ToolOutput;

/// Sanitizes all texts. Texts of memory_get and memory_load are also labelled as data.
pub(super) fn clean_output(answer: &mut ToolOutput) {
    match answer {
        ToolOutput::Search(output) => clean_value(output),
        ToolOutput::Get(output) => {
            clean_value(output);
            output.content = label_as_data(Tool::Get.name(), &output.content);
        }
        ToolOutput::Load(output) => {
            clean_value(output);
            output.content = label_as_data(Tool::Load.name(), &output.content);
        }
        ToolOutput::Save(output) => clean_value(output),
        ToolOutput::Stats(output) => clean_value(output),
        ToolOutput::Reindex(_) => {}
    }
}

fn clean_value<T: Serialize + DeserializeOwned>(output: &mut T) {
    let value = serde_json::to_value(&*output).map(clean_json);
    *output = value.and_then(serde_json::from_value).expect("a result can be parsed again, because only texts change");
}

pub(super) fn tool_output_text(answer: &ToolOutput) -> String {
    match answer {
        ToolOutput::Search(output) => search_text(output),
        ToolOutput::Get(output) => {
            if output.content.is_empty() && output.memory.is_none() {
                return with_notice_line(format!("{}: nothing here", output.path), output.notice.as_deref());
            }
            let head = format!("{}:{}-{} of {}", output.path, output.start_line, output.end_line, output.total_lines);
            let mut text = format!("{head}\n\n{}", output.content);
            if let Some(Evidence { id, kind, path, start_line, text: said, .. }) =
                output.memory.as_ref().and_then(|memory| memory.evidence.as_ref())
            {
                let _ = write!(text, "\n\nFrom {kind} {id} at {path}:{start_line}: {said}");
            }
            with_notice_line(text, output.notice.as_deref())
        }
        ToolOutput::Load(LoadOutput { content, notice: Some(notice), .. }) if content.is_empty() => notice.clone(),
        ToolOutput::Load(output) => with_notice_line(output.content.clone(), output.notice.as_deref()),
        ToolOutput::Save(output) => format!("{} (id {})", output.message, output.id),
        ToolOutput::Stats(output) => stats_text(output),
        ToolOutput::Reindex(output) => format!(
            "read {} files: {} passages created, {} memories indexed, {} removed",
            output.files, output.chunks, output.memories, output.removed
        ),
    }
}

/// A summary for the log: ids and sizes, no content.
pub(super) fn outcome_for_log(outcome: &Result<ToolOutput, ToolError>) -> String {
    match outcome {
        Ok(ToolOutput::Search(output)) => format!("{} hits", output.count),
        Ok(ToolOutput::Get(output)) => format!("{} bytes", output.content.len()),
        Ok(ToolOutput::Load(output)) => format!("{} files, {} bytes", output.files.len(), output.content.len()),
        Ok(ToolOutput::Save(output)) if output.saved => format!("saved {}", output.id),
        Ok(ToolOutput::Save(output)) => format!("duplicate of {}", output.id),
        Ok(ToolOutput::Stats(output)) => format!("{} memories", output.memories),
        Ok(ToolOutput::Reindex(output)) => format!("{} files, {} memories", output.files, output.memories),
        Err(ToolError::Invalid(_)) => "invalid".to_owned(),
        Err(ToolError::NotFound(_)) => "not found".to_owned(),
        Err(ToolError::Unavailable(_)) => "unavailable".to_owned(),
        Err(ToolError::Interrupted) => "interrupted".to_owned(),
        Err(ToolError::Damaged(_)) => "damaged".to_owned(),
        Err(ToolError::Internal(_)) => "internal error".to_owned(),
    }
}

fn search_text(output: &SearchOutput) -> String {
    let hits = output.results.iter().enumerate().map(|(n, found)| hit_text(n + 1, found));
    with_notice_line(hits.collect::<Vec<_>>().join("\n"), output.notice.as_deref())
}

fn hit_text(n: usize, hit: &Hit) -> String {
    let kind = hit.kind.map_or("note", schema::model::memory::MemoryType::as_str);
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
    if let Some(newer) = &hit.superseded_by {
        let _ = write!(text, " by {newer}");
    }
    if let Some(code) = &hit.code {
        let _ = write!(text, " ({code})");
    }
    let _ = write!(text, "\n   {}", hit.snippet);
    text
}

fn stats_text(output: &StatsOutput) -> String {
    let mut text = format!(
        "{} memories, {} passages of {} files, {} sessions, {} bytes in {}",
        output.memories, output.chunks, output.files, output.sessions, output.bytes, output.project
    );
    for counted in &output.types {
        let _ = write!(text, "\n{}: {}", counted.kind, counted.count);
    }
    let _ = write!(text, "\nevents from hooks go to {}", output.queue_answered_by.describe());
    for problem in &output.problems {
        let _ = write!(text, "\nproblem: {problem}");
    }
    text
}

pub(super) fn with_notice_line(mut text: String, notice: Option<&str>) -> String {
    if let Some(notice) = notice {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let _ = write!(text, "Note: {notice}");
    }
    text
}
