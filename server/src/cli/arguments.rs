//! The commands and their options, as `--help` explains them.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::tool::{LoadSource, SearchSource};

use super::browse::BrowseArguments;
use super::config::ConfigCommand;
use super::curate::{PinArguments, PromoteArguments, SupersedeArguments};
use super::export::ExportArguments;
use super::forget::ForgetArguments;
use super::gc::GcArguments;
use super::import::ImportCommand;
use super::init::InitArguments;
use super::list::ListArguments;
use super::narrow::memory_type;
use super::scrub::ScrubArguments;
use super::sessions::SessionsArguments;
use super::stats::StatsArguments;
use super::timeline::TimelineArguments;
use super::uninstall::UninstallArguments;
use super::when;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default());

/// The memory that coding agents lack: what was asked, decided and learned, as Markdown in the project.
#[derive(Debug, Parser)]
#[command(
    name = "jikime-memory",
    version,
    styles = STYLES,
    arg_required_else_help = true,
    after_help = "Try `jikime-memory demo` to see it work on a throw-away project, and `jikime-memory init` to have it in yours.\n\
                  Hosts start `jikime-memory serve`."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Args)]
pub(crate) struct Common {
    /// The project whose memory is meant [default: the one around the working directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// A memory of your own instead of a project's, for hosts that know no project
    #[arg(long, global = true, conflicts_with = "project")]
    pub(crate) personal: bool,
    /// Answer in JSON, for scripts
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Never show long answers in a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

impl Command {
    /// Whether it deletes memories, which is also needed on a full disk.
    pub(crate) fn deletes(&self) -> bool {
        match self {
            Self::Forget(arguments) => !arguments.consent.dry_run,
            Self::Scrub(arguments) => !arguments.dry_run,
            Self::Gc(arguments) => !arguments.consent.dry_run,
            _ => false,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set up a memory for this project: the store, the server and the hooks of its host
    #[command(after_help = "Example: jikime-memory init --host claude-code --host codex")]
    Init(InitArguments),
    /// Take back what init wrote; memories stay
    Uninstall(UninstallArguments),
    /// Look at everything that must be right, and tell how to mend what is not
    #[command(after_help = "The exit status is 0 when everything is fine, and 1 when something was found.")]
    Doctor,
    /// Serve MCP on standard input and output; hosts start this
    Serve(ServeArguments),
    /// The same under the name that some hosts' configurations use
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Find what is remembered, by words or a question in any language
    #[command(after_help = "Example: jikime-memory search 왜 Redis를 쓰기로 했지")]
    Search(SearchArguments),
    /// Look through what is remembered: search as you type, read, edit, delete, promote
    Browse(BrowseArguments),
    /// List the newest memories, by day
    #[command(after_help = "Example: jikime-memory list --type decision --since 7d")]
    List(ListArguments),
    /// Tell what was worked on, day by day
    #[command(after_help = "Example: jikime-memory timeline --since 2w --path src/billing")]
    Timeline(TimelineArguments),
    /// List sessions: what they were about, how long they took, what they changed
    Sessions(SessionsArguments),
    /// Show one memory by its id, a day by its date, or a file of the store by its path
    Show {
        /// The id, or as much of its beginning as tells it apart; a date such as 2026-01-28; or a path such as MEMORY.md
        what: String,
    },
    /// Remember something
    #[command(after_help = "Example: jikime-memory save decision \"Cache JWT tokens in Redis, TTL five minutes\"")]
    Save(SaveArguments),
    /// Move a memory to MEMORY.md, which every session loads
    Promote(PromoteArguments),
    /// Keep a memory from every clean-up
    Pin(PinArguments),
    /// Say that one memory replaces another
    Supersede(SupersedeArguments),
    /// Take in sessions of Claude Code, its own notes, or an export
    #[command(subcommand)]
    Import(ImportCommand),
    /// Write memories as Markdown or JSON, to read and to import elsewhere
    #[command(after_help = "Example: jikime-memory export --format md --type decision -o decisions.md")]
    Export(ExportArguments),
    /// Forget memories for good, out of logs, databases and every copy of ours
    #[command(
        visible_aliases = ["delete", "reset"],
        after_help = "Example: jikime-memory forget --query falcon --dry-run"
    )]
    Forget(ForgetArguments),
    /// Take secrets out of what was remembered before
    Scrub(ScrubArguments),
    /// Clear what is old, or too much
    #[command(alias = "clear", after_help = "Example: jikime-memory gc --older-than 180d --dry-run")]
    Gc(GcArguments),
    /// Tell how much is remembered, how it grows, what is opened most, and what is wrong
    #[command(after_help = "Example: jikime-memory stats --type decision --since 30d")]
    Stats(StatsArguments),
    /// Bring the index in step with the Markdown
    Index {
        /// Only this file
        #[arg(long, value_name = "PATH")]
        file: Option<String>,
        /// Rebuild everything
        #[arg(long)]
        full: bool,
    },
    /// Print what a session loads at its start
    Load {
        /// Also today's log
        #[arg(long)]
        full: bool,
        /// The budget of the answer, about four characters each
        #[arg(long, value_name = "TOKENS")]
        max_tokens: Option<i64>,
    },
    /// Tell settings, where they come from, and what is wrong with them
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print what makes a shell complete commands and options
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
        /// Write the pages of all commands into this folder instead
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Show the main job on a throw-away project: events go in, and are found again
    Demo,
    /// Make vectors for what hooks kept; hooks start this when a session ends and no server runs
    #[command(hide = true)]
    EmbedBackfill,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve MCP on standard input and output
    Serve(ServeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Serve over HTTP at this address instead, such as 127.0.0.1:7700
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,
    /// Let in whoever reaches the address, without a token; on this machine only
    #[arg(long, requires = "http")]
    pub(crate) no_token: bool,
    /// A name by which clients on other machines call this server
    #[arg(long, requires = "http", value_name = "HOST")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// At most so many hits, 1 to 50
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) max_results: Option<i64>,
    /// From which score on a hit counts, 0 to 1
    #[arg(long, value_name = "SCORE")]
    pub(crate) min_score: Option<f64>,
    /// Only this type of memory
    #[arg(long = "type", value_name = "TYPE", value_parser = memory_type())]
    pub(crate) kind: Option<MemoryType>,
    /// Only memories, or only chunks of Markdown
    #[arg(long, value_name = "SOURCE", value_parser = source)]
    pub(crate) source: Option<SearchSource>,
    /// Only this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// From this time on: a date, a time, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = when::since)]
    pub(crate) since: Option<Moment>,
    /// Up to this time
    #[arg(long, value_name = "WHEN", value_parser = when::until)]
    pub(crate) until: Option<Moment>,
    /// Only this file or folder of the store
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Tell how each score came about
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArguments {
    /// What it is; the first five are the course of a session
    #[arg(value_name = "TYPE", value_parser = memory_type())]
    pub(crate) kind: MemoryType,
    /// The text; `-` reads it from standard input
    #[arg(required = true, value_name = "TEXT")]
    pub(crate) content: Vec<String>,
    /// A JSON object that is kept with it
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    /// Into MEMORY.md, which every session loads
    #[arg(long)]
    pub(crate) long_term: bool,
    /// The id of the memory that this one replaces
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<String>,
}

fn source(name: &str) -> Result<SearchSource, String> {
    match name {
        "memory" => Ok(SearchSource::Memory),
        "chunks" => Ok(SearchSource::Chunks),
        _ => Err("known sources are memory and chunks".to_owned()),
    }
}

/// How much is loaded.
pub(crate) fn load_source(full: bool) -> LoadSource {
    if full { LoadSource::Full } else { LoadSource::Startup }
}
