//! Arguments of `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use schema::model::moment::Moment;
use tools::time_expression;

#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Sessions of Claude Code, from their transcripts
    #[command(after_help = "Example: jikime-memory import claude-code --since 2026-01-01")]
    ClaudeCode(TranscriptArguments),
    /// Sessions of Codex CLI, from its transcripts
    #[command(after_help = "Example: jikime-memory import codex --dry-run")]
    Codex(TranscriptArguments),
    /// Sessions of Gemini CLI, from its recorded chats
    #[command(after_help = "Example: jikime-memory import gemini --dry-run")]
    Gemini(TranscriptArguments),
    /// Notes of Claude Code, from its memory/*.md, which stay unchanged
    AutoMemory(NoteArguments),
    /// Instructions in CLAUDE.md, AGENTS.md and Cursor rules; asks about each
    #[command(after_help = "Example: jikime-memory import rules --dry-run")]
    Rules(RuleArguments),
    /// Observations, summaries and prompts of claude-mem
    #[command(after_help = "Example: jikime-memory import claude-mem --dry-run")]
    ClaudeMem(SourceArguments),
    /// Prompts, responses and tool uses of jikime-mem
    #[command(after_help = "Example: jikime-memory import jikime-mem --dry-run")]
    JikimeMem(SourceArguments),
    /// The graph of @modelcontextprotocol/server-memory
    #[command(after_help = "Example: jikime-memory import server-memory --from ~/memory.jsonl")]
    ServerMemory(SourceArguments),
    /// Memories of mcp-memory-service
    #[command(after_help = "Example: jikime-memory import mcp-memory-service --dry-run")]
    McpMemoryService(SourceArguments),
    /// Notes of basic-memory
    #[command(after_help = "Example: jikime-memory import basic-memory --from ~/basic-memory")]
    BasicMemory(SourceArguments),
    /// MEMORY.md and daily notes of OpenClaw
    #[command(after_help = "Example: jikime-memory import openclaw --from ~/.openclaw/workspace")]
    Openclaw(SourceArguments),
    /// Memories that `export` wrote, one per line
    #[command(after_help = "Example: jikime-memory export | jikime-memory --personal import jsonl -")]
    Jsonl(ImportFileArguments),
    /// Memories that `export --format json` wrote
    #[command(after_help = "Example: jikime-memory export --format json | jikime-memory --personal import json -")]
    Json(ImportFileArguments),
    /// Memories that `export --format md` wrote, a log, or a folder of logs
    #[command(after_help = "Example: jikime-memory import md ../old-project/.jikime/memory")]
    Md(ImportFileArguments),
}

#[derive(Debug, Args)]
pub(crate) struct TranscriptArguments {
    /// Import sessions of all projects that have a memory, each into its own
    #[arg(long, conflicts_with = "from")]
    pub(super) all: bool,
    /// Import this transcript, or all in this folder, whatever project they belong to
    #[arg(long, value_name = "PATH")]
    pub(super) from: Option<PathBuf>,
    /// Only events since this date or time
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_since)]
    pub(super) since: Option<Moment>,
    /// Read unchanged transcripts again
    #[arg(long)]
    pub(super) again: bool,
    /// Only show what would be imported
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NoteArguments {
    /// The folder of notes [default: the folder of Claude Code]
    #[arg(long, value_name = "DIR")]
    pub(super) from: Option<PathBuf>,
    /// Only show what would be imported
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SourceArguments {
    /// The database, file or folder of the program [default: its usual place]
    #[arg(long, value_name = "PATH")]
    pub(super) from: Option<PathBuf>,
    /// Import memories of all projects into this one
    #[arg(long)]
    pub(super) all: bool,
    /// Only memories since this date or time
    #[arg(long, value_name = "WHEN", value_parser = time_expression::parse_since)]
    pub(super) since: Option<Moment>,
    /// Only show what would be imported
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RuleArguments {
    /// The file with instructions [default: those of the project and of the user]
    #[arg(long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    /// Save all without asking
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Only show what would be saved
    #[arg(long)]
    pub(super) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ImportFileArguments {
    /// The file; `-` is standard input
    pub(super) file: PathBuf,
    /// Only show what would be imported
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl ImportCommand {
    /// Importing all projects needs no current project.
    pub(crate) fn concerns_all_projects(&self) -> bool {
        matches!(self, Self::ClaudeCode(arguments) | Self::Codex(arguments) | Self::Gemini(arguments) if arguments.all)
    }
}
