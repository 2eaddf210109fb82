//! Logs as documents: their list and their text.

use std::cmp::Reverse;

use schema::files::layout::Layout;
use schema::log::LogKind;

use super::Engine;
use super::file_access::{confine_path, read_file};
use crate::error::ToolError;

/// Byte limit of a text: hosts drop messages of 16 MiB, and JSON escaping may double a text.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

impl Engine {
    /// The text of long-term memory, or of all files of a day, each up to a limit.
    pub fn log_text(&self, log: LogKind) -> Result<String, ToolError> {
        let (layout, names) = (self.store.layout(), log.file_names());
        let mut text = file_text(layout, &names[0])?;
        for name in names[1..].iter().filter(|name| layout.store_path(name).exists()) {
            text.push('\n');
            text.push_str(&file_text(layout, name)?);
        }
        Ok(text)
    }

    /// All logs: long-term memory first, then days from the newest.
    pub fn logs(&self) -> Result<Vec<LogKind>, ToolError> {
        let files = self.markdown_files()?;
        let mut logs: Vec<LogKind> =
            files.iter().filter_map(|path| LogKind::from_path(path)).filter(|log| *log != LogKind::Team).collect();
        logs.sort_by_key(|log| match log {
            LogKind::LongTerm | LogKind::Team => (0, Reverse(None)),
            LogKind::Daily(date) => (1, Reverse(Some(*date))),
        });
        // A day may have several files.
        logs.dedup();
        Ok(logs)
    }

    /// The Markdown files of the store, relative to it.
    pub(super) fn markdown_files(&self) -> Result<Vec<String>, ToolError> {
        self.store.layout().markdown_files().map_err(|error| ToolError::cannot("list the store", &error))
    }
}

fn file_text(layout: &Layout, path: &str) -> Result<String, ToolError> {
    let inside = confine_path(layout, path)?;
    let mut text = read_file(layout, &inside)?.text;
    if text.len() > MAX_TEXT_BYTES {
        let end = text[..text.floor_char_boundary(MAX_TEXT_BYTES)].rfind('\n').map_or(MAX_TEXT_BYTES, |end| end + 1);
        text.truncate(text.floor_char_boundary(end));
        let next = text.lines().count() + 1;
        text.push_str(&format!("\n[cut here; memory_get with path {inside:?} and from {next} continues]\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use schema::model::moment::Moment;
    use schema::tool::{LoadInput, LoadSource};

    use super::super::load::load_memory;
    use super::*;
    use crate::engine::tests::new_engine;

    #[test]
    fn day_with_two_files_is_one_log() {
        let (_project, engine) = new_engine();
        let layout = engine.store.layout();
        for (name, text) in [("2026-01-28.md", "one\n"), ("2026-01-28.2.md", "two\n")] {
            std::fs::write(layout.store_path(name), text).unwrap();
        }
        let day = LogKind::from_path("2026-01-28.md").unwrap();
        assert_eq!((engine.logs().unwrap(), engine.log_text(day).unwrap()), (vec![day], "one\n\ntwo\n".to_owned()));
        let now = Moment::parse_rfc3339("2026-01-28T10:00:00+00:00").unwrap();
        let input = LoadInput { source: LoadSource::Full, max_tokens: None };
        let loaded = load_memory(layout, &input, &now).unwrap();
        assert!(loaded.content.contains("one") && loaded.content.contains("two"), "{}", loaded.content);
    }

    #[test]
    fn long_text_is_cut_after_a_line_and_says_where() {
        let (_project, engine) = new_engine();
        let line = "매우 긴 기억\n";
        std::fs::write(engine.store.layout().store_path("MEMORY.md"), line.repeat(MAX_TEXT_BYTES / line.len() + 1))
            .unwrap();
        let text = engine.log_text(LogKind::LongTerm).unwrap();
        let kept = MAX_TEXT_BYTES / line.len();
        let end = format!("\n[cut here; memory_get with path \"MEMORY.md\" and from {} continues]\n", kept + 1);
        assert_eq!(text, line.repeat(kept) + &end);
    }
}
