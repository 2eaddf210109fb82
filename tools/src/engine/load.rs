//! `memory_load`: what every session should know at its start.

use schema::daily_log::{LONG_TERM_FILE, LogKind};
use schema::layout::Layout;
use schema::moment::Moment;
use schema::tool::{LoadInput, LoadOutput, LoadSource, LoadedFile};

use super::file_access::{Text, read, shown};
use crate::error::ToolError;

/// Tokens of an answer when nothing is said, of about four characters each.
const DEFAULT_TOKENS: i64 = 8_000;

/// The share of the budget that today's log has for certain.
const LOG_SHARE: usize = 3;

pub(super) fn load(layout: &Layout, input: &LoadInput, now: &Moment) -> Result<LoadOutput, ToolError> {
    let tokens = input.max_tokens.unwrap_or(DEFAULT_TOKENS);
    if tokens < 1 {
        return Err(ToolError::Invalid(format!("maxTokens is {tokens}: it starts at 1")));
    }
    let budget = (tokens as usize).saturating_mul(4);
    let mut output = LoadOutput { content: String::new(), files: Vec::new(), truncated: false, notice: None };
    let mut notices = Vec::new();
    let mut logs = Vec::new();
    if input.source == LoadSource::Full {
        for name in LogKind::Daily(now.date()).file_names() {
            logs.extend(text(layout, &name, &mut notices)?);
        }
    }
    let reserved = logs.iter().map(|(_, text)| text.len()).sum::<usize>().min(budget / LOG_SHARE);
    match text(layout, LONG_TERM_FILE, &mut notices)? {
        Some((name, text)) => add(&mut output, &name, &text, budget - reserved, Keep::Start, &mut notices),
        None => notices.push("there is no long-term memory yet; memory_save with longTerm begins it".to_owned()),
    }
    if input.source == LoadSource::Full && logs.is_empty() {
        notices.push("nothing was logged today yet".to_owned());
    }
    for (number, (name, text)) in logs.iter().enumerate() {
        let left = budget.saturating_sub(output.content.len()) / (logs.len() - number);
        add(&mut output, name, text, left, Keep::End, &mut notices);
    }
    output.notice = (!notices.is_empty()).then(|| notices.join("; "));
    Ok(output)
}

/// Which part of a file matters when not all of it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Start,
    End,
}

fn add(output: &mut LoadOutput, name: &str, text: &str, budget: usize, keep: Keep, notices: &mut Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let costs = |line: &&str| without_comment(line).len() + 1;
    let mut used = 0;
    let mut fits = |line: &&&str| {
        used += costs(line);
        used <= budget
    };
    let count = match keep {
        Keep::Start => lines.iter().take_while(&mut fits).count(),
        Keep::End => lines.iter().rev().take_while(&mut fits).count(),
    };
    let first = if keep == Keep::Start { 0 } else { lines.len() - count };
    let chosen = &lines[first..first + count];
    if !output.content.is_empty() {
        output.content.push('\n');
    }
    for line in chosen {
        let line = without_comment(line);
        // Where a comment was, one blank line is enough.
        if !line.trim().is_empty() || !(output.content.is_empty() || output.content.ends_with("\n\n")) {
            output.content.push_str(line);
            output.content.push('\n');
        }
    }
    if count < lines.len() {
        output.truncated = true;
        let missing = if keep == Keep::Start { count + 1..=lines.len() } else { 1..=first };
        notices.push(format!(
            "{name} is cut: lines {} to {} are left out; memory_get opens them, a larger maxTokens loads more",
            missing.start(),
            missing.end()
        ));
    }
    output.files.push(LoadedFile {
        path: shown(name),
        start_line: first + 1,
        end_line: first + count,
        total_lines: lines.len(),
    });
}

/// A line without the comment that carries ids and sessions: it costs a model tokens and tells it nothing.
fn without_comment(line: &str) -> &str {
    let Some(start) = line.rfind("<!-- ") else { return line };
    let comment = &line[start..];
    let ours = comment.starts_with("<!-- {") || comment.starts_with("<!-- session ");
    if ours && comment.trim_end().ends_with("-->") { line[..start].trim_end() } else { line }
}

fn text(layout: &Layout, name: &str, notices: &mut Vec<String>) -> Result<Option<(String, String)>, ToolError> {
    match read(layout, name) {
        Ok(Text { text, notice }) => {
            notices.extend(notice);
            Ok(Some((name.to_owned(), text)))
        }
        Err(ToolError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
