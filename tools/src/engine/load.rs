//! `memory_load`: the context for the start of a session.

use schema::files::layout::Layout;
use schema::host::brief::{BriefRequest, brief};
use schema::host::hook::SessionSource;
use schema::log::{LONG_TERM_FILE, LogKind};
use schema::model::moment::Moment;
use schema::settings;
use schema::tool::{LoadInput, LoadOutput, LoadSource};

use super::Engine;
use super::file_access::{FileText, display_path, max_bytes, read_file};
use crate::error::ToolError;

/// Between two parts.
const SEPARATOR: &str = "\n---\n\n";

const NO_LONG_TERM: &str = "no long-term memory yet; memory_save with longTerm creates it";
const NOTHING_YET: &str = "no long-term memory yet, and nothing logged today";

/// Today's log gets at least one part in this many of the budget.
const LOG_SHARE: usize = 3;

impl Engine {
    /// Returns the brief of a session that would start now.
    pub fn brief(&mut self) -> Result<Option<String>, ToolError> {
        self.brief_for(SessionSource::Startup, "", None)
    }

    /// Returns the brief that a session would get now, of at most `size` characters if it is given.
    pub fn brief_for(
        &mut self,
        source: SessionSource,
        session_id: &str,
        size: Option<usize>,
    ) -> Result<Option<String>, ToolError> {
        self.with_repair(|engine| {
            let settings = settings::load(engine.store.layout()).settings;
            let request = BriefRequest {
                checkout: &engine.checkout,
                session_id,
                source,
                problems: &[],
                has_personal: settings.other_projects,
                finds_conclusions: settings.conclusions,
                size: size.unwrap_or(settings.brief_size),
            };
            Ok(brief(&engine.store, &request)?.map(|brief| brief.text))
        })
    }

    /// `memory_load`.
    pub fn load(&mut self, input: &LoadInput) -> Result<LoadOutput, ToolError> {
        let mut output = load_memory(self.store.layout(), input, &Moment::now())?;
        self.add_notice(&mut output.notice);
        Ok(output)
    }
}

pub(super) fn load_memory(layout: &Layout, input: &LoadInput, now: &Moment) -> Result<LoadOutput, ToolError> {
    let budget = max_bytes(input.max_tokens)?;
    let mut output = LoadOutput { content: String::new(), files: Vec::new(), truncated: false, notice: None };
    let mut notices = Vec::new();
    let mut logs = Vec::new();
    if input.source == LoadSource::Full {
        for name in LogKind::Daily(now.date()).file_names() {
            logs.extend(file_text(layout, &name, &mut notices)?);
        }
    }
    let reserved = logs.iter().map(|(_, text)| text.len()).sum::<usize>().min(budget / LOG_SHARE);
    match file_text(layout, LONG_TERM_FILE, &mut notices)? {
        Some((name, text)) => add_file(&mut output, &name, &text, budget - reserved, KeptEnd::Start, &mut notices),
        None if input.source == LoadSource::Full && logs.is_empty() => notices.push(NOTHING_YET.to_owned()),
        None => notices.push(NO_LONG_TERM.to_owned()),
    }
    if input.source == LoadSource::Full && logs.is_empty() && !output.files.is_empty() {
        notices.push("nothing is logged for today yet".to_owned());
    }
    for (number, (name, text)) in logs.iter().enumerate() {
        let left = budget.saturating_sub(output.content.len()) / (logs.len() - number);
        add_file(&mut output, name, text, left, KeptEnd::End, &mut notices);
    }
    output.notice = (!notices.is_empty()).then(|| notices.join("; "));
    Ok(output)
}

/// Which part of a file to keep if it does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeptEnd {
    Start,
    End,
}

fn add_file(output: &mut LoadOutput, name: &str, text: &str, budget: usize, keep: KeptEnd, notices: &mut Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let costs = |line: &&str| strip_comment(line).len() + 1;
    let mut used = 0;
    let mut fits = |line: &&&str| {
        used += costs(line);
        used <= budget
    };
    let count = match keep {
        KeptEnd::Start => lines.iter().take_while(&mut fits).count(),
        KeptEnd::End => lines.iter().rev().take_while(&mut fits).count(),
    };
    let first = if keep == KeptEnd::Start { 0 } else { lines.len() - count };
    let chosen = &lines[first..first + count];
    if !output.content.is_empty() {
        output.content.push_str(SEPARATOR);
    }
    let start = output.content.len();
    for line in chosen {
        let line = strip_comment(line);
        // A removed comment leaves at most one blank line.
        if !line.trim().is_empty() || !(output.content.len() == start || output.content.ends_with("\n\n")) {
            output.content.push_str(line);
            output.content.push('\n');
        }
    }
    if count < lines.len() {
        output.truncated = true;
        let missing = if keep == KeptEnd::Start { count + 1..=lines.len() } else { 1..=first };
        notices.push(format!(
            "{name} is cut: lines {} to {} are omitted; open them with memory_get, or raise maxTokens",
            missing.start(),
            missing.end()
        ));
    }
    output.files.push(display_path(name));
}

/// Removes the comment with id and session, which is useless to a model.
fn strip_comment(line: &str) -> &str {
    let Some(start) = line.rfind("<!-- ") else { return line };
    let comment = &line[start..];
    let ours = comment.starts_with("<!-- {") || comment.starts_with("<!-- session ");
    if ours && comment.trim_end().ends_with("-->") { line[..start].trim_end() } else { line }
}

fn file_text(layout: &Layout, name: &str, notices: &mut Vec<String>) -> Result<Option<(String, String)>, ToolError> {
    match read_file(layout, name) {
        Ok(FileText { text, notice }) => {
            notices.extend(notice);
            Ok(Some((name.to_owned(), text)))
        }
        Err(ToolError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
