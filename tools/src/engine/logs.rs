//! Logs as documents: which there are, and their text.

use std::cmp::Reverse;

use schema::daily_log::LogKind;
use schema::layout::Layout;

use super::file_access::{confine, read};
use crate::error::ToolError;

/// Bytes of a text: hosts drop messages of 16 MiB, and escaped as JSON a text may be twice as long.
const LIMIT: usize = 4 * 1024 * 1024;

pub(super) fn text(layout: &Layout, path: &str) -> Result<String, ToolError> {
    let inside = confine(layout, path)?;
    let mut text = read(layout, &inside)?.text;
    if text.len() > LIMIT {
        let end = text[..text.floor_char_boundary(LIMIT)].rfind('\n').map_or(LIMIT, |end| end + 1);
        text.truncate(text.floor_char_boundary(end));
        let next = text.lines().count() + 1;
        text.push_str(&format!("\n[cut here; memory_get with path {inside:?} and from {next} goes on]\n"));
    }
    Ok(text)
}

pub(super) fn logs(layout: &Layout) -> Result<Vec<LogKind>, ToolError> {
    let listing = layout.markdown_files();
    let files = listing.map_err(|error| ToolError::Unavailable(format!("cannot list the store: {error}")))?;
    let mut logs: Vec<LogKind> = files.iter().filter_map(|path| LogKind::of(path)).collect();
    logs.sort_by_key(|log| match log {
        LogKind::LongTerm => (0, Reverse(None)),
        LogKind::Daily(date) => (1, Reverse(Some(*date))),
    });
    Ok(logs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_very_long_text_is_cut_after_a_line_and_says_where_it_goes_on() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create().unwrap();
        let line = "매우 긴 기억\n";
        std::fs::write(layout.file("MEMORY.md"), line.repeat(LIMIT / line.len() + 1)).unwrap();
        let text = text(&layout, "MEMORY.md").unwrap();
        let kept = LIMIT / line.len();
        let end = format!("\n[cut here; memory_get with path \"MEMORY.md\" and from {} goes on]\n", kept + 1);
        assert_eq!(text, line.repeat(kept) + &end);
    }
}
