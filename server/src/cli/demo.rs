//! Shows the main functions on a temporary project: records events of a session and finds them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use schema::files::database::LockTimeout;
use schema::intake::capture::{Destination, Draft, capture};
use schema::model::memory::{MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::store::Store;
use schema::tool::{SaveInput, SearchInput};
use tools::engine::Engine;

use super::output::Printer;
use super::pager;
use super::terminal_text::{fit_columns, pad_columns};

/// The events of a session that hooks record.
const SESSION: [(MemoryType, &str); 4] = [
    (MemoryType::UserPrompt, "결제 웹훅이 두 번 처리되는 문제를 고쳐줘"),
    (MemoryType::ToolUsage, "Files modified: src/billing/webhook.rs\nCommands: cargo test -p billing"),
    (MemoryType::Error, "Bash failed: cargo test -p billing\nassertion failed: retry_queue::requeues_on_conflict"),
    (
        MemoryType::AssistantResponse,
        "The handler acknowledged before the commit. I moved the acknowledgement behind the transaction in webhook.rs.",
    ),
];

/// The memory that the agent saves.
const DECISION: &str =
    "Acknowledge webhooks only after the database commit, because a serialization failure must requeue them.";

const NAME: usize = 20;

const QUERIES: [&str; 3] = ["웹훅", "why do we acknowledge after commit?", "webhook.rs"];

/// Runs the demo in a new store, and deletes it.
pub(crate) fn run_demo(printer: &Printer) -> anyhow::Result<()> {
    let project = ScratchProject::new()?;
    printer.print_line(&format!("Temporary project, deleted at the end: {}\n", project.0.display()))?;
    printer.print_line("Hooks record a session of Claude Code:")?;
    remember_session(&project.0, printer)?;
    let mut engine = Engine::open(&project.0, None, None)?;
    engine.save(&SaveInput {
        kind: MemoryType::Decision,
        content: DECISION.to_owned(),
        also: None,
        tags: Vec::new(),
        metadata: None,
        long_term: true,
        supersedes: None,
    })?;
    print_named(printer, "memory_save", DECISION)?;
    printer.print_line("")?;
    engine.refresh()?;
    printer.print_line("In a later session, any host finds it with memory_search:\n")?;
    for query in QUERIES {
        printer.print_line(&format!("> {query}"))?;
        let input = SearchInput { query: query.to_owned(), max_results: Some(2), ..SearchInput::default() };
        printer.print_hits(&engine.search(&input)?)?;
        printer.print_line("")?;
    }
    printer.print_line("The memory is Markdown in .jikime/memory of the project. You can read and edit it.")?;
    printer.print_line("To use it, run jikime-memory init in your project and start your host.")
}

fn remember_session(project: &Path, printer: &Printer) -> anyhow::Result<()> {
    let mut store = Store::open(project, LockTimeout::Server)?;
    for (kind, content) in SESSION {
        let draft = Draft {
            session_id: "demo".to_owned(),
            kind,
            content: content.to_owned(),
            at: Moment::now(),
            attributes: MemoryAttributes::default(),
            destination: Destination::DailyLog,
        };
        capture(&mut store, draft, &Sanitizer::default())?;
        print_named(printer, kind.as_str(), content.lines().next().unwrap_or_default())?;
    }
    Ok(())
}

/// Prints a name and a text on one line.
fn print_named(printer: &Printer, name: &str, text: &str) -> anyhow::Result<()> {
    let room = pager::terminal_columns().map_or(usize::MAX, |columns| columns.saturating_sub(NAME + 2));
    printer.print_line(&format!("  {}{}", pad_columns(name, NAME), fit_columns(text, room)))
}

/// A temporary directory, deleted on drop.
struct ScratchProject(PathBuf);

impl ScratchProject {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("jikime-memory-demo-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for ScratchProject {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
