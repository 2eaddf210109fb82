//! `import`: imports transcripts, notes and exports as memories.

mod arguments;
mod auto_memory;
mod claude_code;
mod exports;
mod import_session;
mod transcript_folders;

use std::path::Path;

use tools::error::ToolError;

pub(crate) use arguments::ImportCommand;
use exports::ImportFormat;
pub(crate) use transcript_folders::has_transcripts;

use super::output::Printer;

pub(crate) fn run_import(project: Option<&Path>, printer: &Printer, command: ImportCommand) -> anyhow::Result<()> {
    let named = || project.ok_or_else(|| ToolError::Invalid("give a project with --project".to_owned()));
    match command {
        ImportCommand::ClaudeCode(arguments) => claude_code::import_transcripts(project, printer, arguments),
        ImportCommand::AutoMemory(arguments) => auto_memory::import_notes(named()?, printer, &arguments),
        ImportCommand::Jsonl(arguments) => exports::import_export(named()?, printer, ImportFormat::Jsonl, &arguments),
        ImportCommand::Json(arguments) => exports::import_export(named()?, printer, ImportFormat::Json, &arguments),
        ImportCommand::Md(arguments) => exports::import_export(named()?, printer, ImportFormat::Md, &arguments),
    }
}
