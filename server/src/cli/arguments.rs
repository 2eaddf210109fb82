//! The commands and their options, with their help texts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use schema::model::memory::MemoryType;
use schema::tool::SearchSource;

use super::backfill::BackfillArguments;
use super::browse::BrowseArguments;
use super::config::ConfigCommand;
use super::curate::{IdArgument, PinArguments, PromoteArguments, SupersedeArguments};
use super::doctor::DoctorArguments;
use super::edit::EditArguments;
use super::export::ExportArguments;
use super::filter_arguments::{FilterArguments, MemoryTypeParser, SpanArguments};
use super::forget::ForgetArguments;
use super::gc::GcArguments;
use super::import::ImportCommand;
use super::init::InitArguments;
use super::list::ListArguments;
use super::opening::CommonArguments;
use super::review::ReviewArguments;
use super::save::SaveArguments;
use super::scrub::ScrubArguments;
use super::tasks::TasksArguments;
use super::team::{ShareArguments, TeamCommand};
use super::timeline::TimelineArguments;
use super::uninstall::UninstallArguments;

pub(super) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// A memory for coding agents: prompts, decisions and lessons, as Markdown in the project.
#[derive(Debug, Parser)]
#[command(
    name = "jikime-memory",
    version,
    styles = STYLES,
    arg_required_else_help = true,
    after_help = "Try `jikime-memory demo` with a temporary project, then run `jikime-memory init` in your own project.\n\
                  Hosts run `jikime-memory serve`."
)]
pub(crate) struct CliArguments {
    #[command(flatten)]
    pub(crate) common: CommonArguments,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

impl CliCommand {
    /// Whether the command can print JSON.
    pub(crate) fn has_json(&self) -> bool {
        !matches!(self, Self::Demo | Self::Browse(_) | Self::View(_) | Self::Completions { .. } | Self::Man { .. })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Set up this project: the store, the server and the hooks
    #[command(after_help = "Example: jikime-memory init --host claude-code --host codex")]
    Init(InitArguments),
    /// Remove the setup from host files; memories stay
    Uninstall(UninstallArguments),
    /// Check the setup, suggest fixes, and repair with --fix
    #[command(after_help = "The exit status is 1 if there are problems, else 0.")]
    Doctor(DoctorArguments),
    /// Run the MCP server; hosts start this
    Serve(ServeArguments),
    /// Another name for serve, which some host files use
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Search by words or a question in any language
    #[command(after_help = "Example: jikime-memory search 왜 Redis를 쓰기로 했지")]
    Search(SearchArguments),
    /// Browse in full screen: search as you type, read, edit, delete
    Browse(BrowseArguments),
    /// View and edit memories in a web page
    #[command(
        after_help = "The page is reachable from this machine only, and its server stops 15 minutes after you close it."
    )]
    View(ViewArguments),
    /// List the newest memories, by day
    #[command(visible_alias = "ls", after_help = "Example: jikime-memory list --type decision --since 7d")]
    List(ListArguments),
    /// Show the work of each day
    #[command(after_help = "Example: jikime-memory timeline --since 2w --path src/billing")]
    Timeline(TimelineArguments),
    /// List sessions with their topic, duration and changed files
    Sessions(ListArguments),
    /// List open tasks, or close one
    #[command(after_help = "Example: jikime-memory tasks --close 0af312aa --by \"merged in #41\"")]
    Tasks(TasksArguments),
    /// Show a memory, a day, or a file of the store
    Show {
        /// An id or its unique beginning, a day such as 2026-01-28 or today, MEMORY, or the path of a file
        what: String,
    },
    /// Save a memory
    #[command(
        override_usage = "jikime-memory save [OPTIONS] [TYPE] <TEXT>...",
        after_help = "Example: jikime-memory save decision \"Cache JWT tokens in Redis, TTL five minutes\""
    )]
    Save(SaveArguments),
    /// Change the text of a memory; its id, type and tags stay
    #[command(after_help = "Example: jikime-memory edit 4f368b8b --text \"Cache JWT tokens in Redis for ten minutes\"")]
    Edit(EditArguments),
    /// List preferences, conventions and patterns with their sources
    Insights,
    /// Move a memory to MEMORY.md, the long-term memory
    Promote(PromoteArguments),
    /// Protect a memory from automatic deletion
    Pin(PinArguments),
    /// Mark a memory as replaced by another one
    Supersede(SupersedeArguments),
    /// Confirm a memory whose code changed
    Confirm(IdArgument),
    /// Decide about memories that are outdated or contradict others
    #[command(after_help = "Without a terminal, or with --list, prints them and changes nothing.")]
    Review(ReviewArguments),
    /// List the memories that your team shares through git, by state
    Team {
        #[command(subcommand)]
        command: Option<TeamCommand>,
    },
    /// Propose a memory to the team; commit the changed file with git
    #[command(after_help = "Example: jikime-memory share 0af312aa --expires 2027-01-31")]
    Share(ShareArguments),
    /// Approve a memory that another member proposed
    Approve(IdArgument),
    /// Mark a shared memory as no longer valid; it stays searchable
    Retire(IdArgument),
    /// Import from other programs, sessions of hosts, or an export
    ///
    /// Without a source, lists what this machine has.
    Import {
        #[command(subcommand)]
        source: Option<ImportCommand>,
    },
    /// Export memories as Markdown or JSON
    #[command(after_help = "Example: jikime-memory export --format md --type decision -o decisions.md")]
    Export(ExportArguments),
    /// Delete memories for good
    #[command(
        visible_aliases = ["rm", "delete", "reset"],
        after_help = "Example: jikime-memory forget \"project falcon\" --dry-run"
    )]
    Forget(ForgetArguments),
    /// Remove secrets from stored memories
    Scrub(ScrubArguments),
    /// Delete old memories; without options, as the settings say
    #[command(alias = "clear", after_help = "Example: jikime-memory gc --older-than 180d --dry-run")]
    Gc(GcArguments),
    /// Show size, growth and problems
    #[command(visible_alias = "status", after_help = "Example: jikime-memory stats --type decision --since 30d")]
    Stats(FilterArguments),
    /// Synchronise the index with the Markdown files
    Index {
        /// Only this file
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Rebuild everything
        #[arg(long)]
        full: bool,
    },
    /// Upgrade a store of an earlier version; servers do this too
    Migrate,
    /// Print long-term memory, as memory_load returns it
    Load {
        /// Include today's log
        #[arg(long)]
        full: bool,
        /// Print the brief that hooks give to the next session
        #[arg(long, conflicts_with_all = ["full", "max_tokens"])]
        brief: bool,
        /// Maximum length; a token is about four bytes
        #[arg(long, value_name = "TOKENS")]
        max_tokens: Option<i64>,
    },
    /// Show and change settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    #[command(
        after_help = "Example: jikime-memory completions bash > ~/.local/share/bash-completion/completions/jikime-memory"
    )]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example: jikime-memory man --out ~/.local/share/man/man1")]
    Man {
        /// Write the pages of all commands to this directory instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Show how it works with a temporary project
    Demo,
    /// Make vectors of memories that hooks saved
    EmbedBackfill(BackfillArguments),
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// The same as `jikime-memory serve`
    Serve(ServeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve over HTTP at this address, such as 127.0.0.1:7700
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// Accept all clients without a token; only for addresses of this machine
    #[arg(long, requires = "http")]
    pub(crate) no_token: bool,
    /// Accept this host name in requests; may be repeated
    #[arg(long, requires = "http", value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ViewArguments {
    /// The port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Only print the address
    #[arg(long)]
    pub(crate) no_open: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct SearchArguments {
    /// Words or a question
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Another phrasing or a translation; up to four times
    #[arg(long, value_name = "QUERY")]
    pub(crate) also: Vec<String>,
    /// Maximum number of hits, 1 to 50
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) max_results: Option<i64>,
    /// Minimum score of a hit, 0 to 1
    #[arg(long, value_name = "SCORE")]
    pub(crate) min_score: Option<f64>,
    /// Only this type of memory
    #[arg(long = "type", value_name = "TYPE", value_parser = MemoryTypeParser)]
    pub(crate) kind: Option<MemoryType>,
    /// Only this source: `memory`, or `chunks` (passages of notes)
    #[arg(long, value_name = "SOURCE", value_parser = parse_source)]
    pub(crate) source: Option<SearchSource>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(super) span: SpanArguments,
    /// Only memories and notes with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// Only this file or folder of the store
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Explain the scores
    #[arg(long)]
    pub(crate) explain: bool,
    /// Search all your projects; needs the setting other_projects
    #[arg(long, conflicts_with_all = ["session", "path"])]
    pub(crate) all_projects: bool,
}

fn parse_source(name: &str) -> Result<SearchSource, String> {
    match name {
        "memory" => Ok(SearchSource::Memory),
        "chunks" => Ok(SearchSource::Chunks),
        _ => Err("use memory or chunks".to_owned()),
    }
}
