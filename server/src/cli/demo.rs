//! The main job in a few seconds, on a project that is thrown away: events of a session go in, and a search finds them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use schema::capture::{Destination, Draft, capture};
use schema::database::Patience;
use schema::memory::{Attributes, MemoryType};
use schema::moment::Moment;
use schema::screen::Screen;
use schema::store::Store;
use schema::tool::{SaveInput, SearchInput};
use tools::engine::Engine;

use super::output::Printer;
use super::pager;
use super::text::{fit, padded};

/// What a session said, as hooks capture it.
const SESSION: [(MemoryType, &str); 4] = [
    (MemoryType::UserPrompt, "결제 웹훅이 두 번 처리되는 문제를 고쳐줘"),
    (MemoryType::ToolUsage, "Files modified: src/billing/webhook.rs\nCommands: cargo test -p billing"),
    (MemoryType::Error, "Bash failed: cargo test -p billing\nassertion failed: retry_queue::requeues_on_conflict"),
    (
        MemoryType::AssistantResponse,
        "The handler acknowledged before the commit. I moved the acknowledgement behind the transaction in webhook.rs.",
    ),
];

/// What the agent saved by itself.
const DECISION: &str =
    "Acknowledge webhooks only after the database commit, because a serialization failure must requeue them.";

/// Columns of a name.
const NAME: usize = 20;

const QUERIES: [&str; 3] = ["웹훅", "why do we acknowledge after commit?", "webhook.rs"];

/// Shows capture, saving and search on a new store, and removes it.
pub(crate) fn demo(printer: &Printer) -> anyhow::Result<()> {
    let project = Scratch::new()?;
    printer.line(&format!("A project for this demo, removed at its end: {}\n", project.0.display()))?;
    printer.line("What a session of Claude Code says is captured by hooks:")?;
    remember_session(&project.0, printer)?;
    let mut engine = Engine::open(&project.0, None, None)?;
    engine.save(&SaveInput {
        kind: MemoryType::Decision,
        content: DECISION.to_owned(),
        metadata: None,
        long_term: true,
        supersedes: None,
    })?;
    told(printer, "memory_save", DECISION)?;
    printer.line("")?;
    engine.refresh()?;
    printer.line("In a later session any host finds it with memory_search:\n")?;
    for query in QUERIES {
        printer.line(&format!("> {query}"))?;
        let input = SearchInput { query: query.to_owned(), max_results: Some(2), ..SearchInput::default() };
        printer.found(&engine.search(&input)?)?;
        printer.line("")?;
    }
    printer.line("The memory is Markdown that you read and edit, in .jikime/memory of the project.")?;
    printer.line("To use it in yours, run jikime-memory init there and start your host.")
}

fn remember_session(project: &Path, printer: &Printer) -> anyhow::Result<()> {
    let mut store = Store::open(project, Patience::Server)?;
    for (kind, content) in SESSION {
        let draft = Draft {
            session_id: "demo".to_owned(),
            kind,
            content: content.to_owned(),
            at: Moment::now(),
            attributes: Attributes::default(),
            destination: Destination::DailyLog,
        };
        capture(&mut store, draft, &Screen::default())?;
        told(printer, kind.as_str(), content.lines().next().unwrap_or_default())?;
    }
    Ok(())
}

/// A name and a text, on one line of the terminal.
fn told(printer: &Printer, name: &str, text: &str) -> anyhow::Result<()> {
    let room = pager::columns().map_or(usize::MAX, |columns| columns.saturating_sub(NAME + 2));
    printer.line(&format!("  {}{}", padded(name, NAME), fit(text, room)))
}

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("jikime-memory-demo-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
