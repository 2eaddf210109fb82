//! `import`: imports sessions, notes and memories of other programs, and exports.

mod arguments;
mod auto_memory;
mod exports;
mod found;
mod import_session;
mod rules;
mod sources;
mod transcript_folders;
mod transcripts;

use std::path::Path;

use tools::error::ToolError;

pub(crate) use arguments::ImportCommand;
use exports::{ImportFormat, import_export};
use sources::import_source;
use transcript_folders::TranscriptHost;
pub(crate) use transcript_folders::has_transcripts;
use transcripts::import_transcripts;

use super::output::Printer;

pub(crate) fn run_import(
    project: Option<&Path>,
    printer: &Printer,
    command: Option<ImportCommand>,
) -> anyhow::Result<()> {
    let Some(command) = command else { return found::list_sources(project, printer) };
    let named = || project.ok_or_else(|| ToolError::Invalid("give a project with --project".to_owned()));
    let sessions = |host, arguments| import_transcripts(host, project, printer, arguments);
    let export = |format, arguments| import_export(named()?, printer, format, arguments);
    let source = |name, arguments| import_source(name, named()?, printer, arguments);
    match command {
        ImportCommand::ClaudeCode(arguments) => sessions(TranscriptHost::ClaudeCode, arguments),
        ImportCommand::Codex(arguments) => sessions(TranscriptHost::Codex, arguments),
        ImportCommand::Gemini(arguments) => sessions(TranscriptHost::Gemini, arguments),
        ImportCommand::AutoMemory(arguments) => auto_memory::import_notes(named()?, printer, &arguments),
        ImportCommand::Rules(arguments) => rules::import_rules(named()?, printer, &arguments),
        ImportCommand::Jsonl(arguments) => export(ImportFormat::Jsonl, &arguments),
        ImportCommand::Json(arguments) => export(ImportFormat::Json, &arguments),
        ImportCommand::Md(arguments) => export(ImportFormat::Md, &arguments),
        ImportCommand::ClaudeMem(arguments) => source("claude-mem", &arguments),
        ImportCommand::JikimeMem(arguments) => source("jikime-mem", &arguments),
        ImportCommand::ServerMemory(arguments) => source("server-memory", &arguments),
        ImportCommand::McpMemoryService(arguments) => source("mcp-memory-service", &arguments),
        ImportCommand::BasicMemory(arguments) => source("basic-memory", &arguments),
        ImportCommand::Openclaw(arguments) => source("openclaw", &arguments),
    }
}
