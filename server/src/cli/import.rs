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
use tools::import::SOURCES;

pub(crate) use arguments::ImportCommand;
use exports::ImportFormat;
use transcript_folders::TranscriptHost;
pub(crate) use transcript_folders::has_transcripts;

use super::output::Printer;

pub(crate) fn run_import(
    project: Option<&Path>,
    printer: &Printer,
    command: Option<ImportCommand>,
) -> anyhow::Result<()> {
    let named = || project.ok_or_else(|| ToolError::Invalid("give a project with --project".to_owned()));
    let Some(command) = command else { return found::list_sources(project, printer) };
    let (name, arguments) = match command {
        ImportCommand::ClaudeCode(arguments) => {
            return transcripts::import_transcripts(TranscriptHost::ClaudeCode, project, printer, arguments);
        }
        ImportCommand::Codex(arguments) => {
            return transcripts::import_transcripts(TranscriptHost::Codex, project, printer, arguments);
        }
        ImportCommand::Gemini(arguments) => {
            return transcripts::import_transcripts(TranscriptHost::Gemini, project, printer, arguments);
        }
        ImportCommand::AutoMemory(arguments) => return auto_memory::import_notes(named()?, printer, &arguments),
        ImportCommand::Rules(arguments) => return rules::import_rules(named()?, printer, &arguments),
        ImportCommand::Jsonl(arguments) => {
            return exports::import_export(named()?, printer, ImportFormat::Jsonl, &arguments);
        }
        ImportCommand::Json(arguments) => {
            return exports::import_export(named()?, printer, ImportFormat::Json, &arguments);
        }
        ImportCommand::Md(arguments) => return exports::import_export(named()?, printer, ImportFormat::Md, &arguments),
        ImportCommand::ClaudeMem(arguments) => ("claude-mem", arguments),
        ImportCommand::JikimeMem(arguments) => ("jikime-mem", arguments),
        ImportCommand::ServerMemory(arguments) => ("server-memory", arguments),
        ImportCommand::McpMemoryService(arguments) => ("mcp-memory-service", arguments),
        ImportCommand::BasicMemory(arguments) => ("basic-memory", arguments),
        ImportCommand::Openclaw(arguments) => ("openclaw", arguments),
    };
    let source = SOURCES.into_iter().find(|source| source.name == name);
    let source = source.ok_or_else(|| ToolError::Internal(format!("no source {name}")))?;
    sources::import_source(source, named()?, printer, &arguments)
}
