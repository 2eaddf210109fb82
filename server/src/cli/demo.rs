//! Shows in ten seconds what the memory does, in a temporary project: a recorded session, a secret that is not stored, the brief of the
//! next session, and a Korean question that finds an English decision.

use std::path::Path;

use schema::files::database::LockTimeout;
use schema::files::layout::Layout;
use schema::intake::capture::capture;
use schema::intake::prepare::Draft;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::store::Store;
use schema::tool::{SaveInput, SearchInput};
use tools::control::Control;
use tools::engine::Engine;
use tools::private_temp_dir::PrivateTempDir;

use super::output::{Printer, STRONG};
use super::pager;
use super::terminal_text::{clean_for_terminal, fit_columns, pad_columns};

/// The events of a session that hooks record. The password is not a real one.
const SESSION: [(MemoryType, &str); 4] = [
    (MemoryType::UserPrompt, "Webhooks run twice on postgres://app:s3cr3t-Pa55@db"),
    (MemoryType::ToolUsage, "Files modified: src/billing/webhook.rs\nCommands: cargo test -p billing"),
    (MemoryType::Error, "Bash failed: cargo test -p billing\nassertion failed: retry_queue::requeues_on_conflict"),
    (
        MemoryType::AssistantResponse,
        "The handler answered too early. I moved that behind the transaction in webhook.rs.",
    ),
];

/// The memory that the agent saves.
const DECISION: &str =
    "Acknowledge webhooks only after the database commit, because a serialization failure must requeue them.";

/// "What happens to webhooks after a serialization failure?"
const QUESTION: &str = "직렬화 실패가 나면 웹훅은 어떻게 되지?";

const NAME_COLUMNS: usize = 20;

/// Lines of the brief to show: those about the memory and the work, before its failures.
const BRIEF_LINES: usize = 7;

/// Runs the demo in a new store, and deletes it.
pub(crate) fn run_demo(printer: &Printer) -> anyhow::Result<()> {
    let temporary = PrivateTempDir::create("demo")?;
    let project = temporary.path();
    print_heading(printer, "1. Hooks record a session of Claude Code")?;
    remember_session(project, printer)?;
    let mut engine = Engine::open(project, None, None)?;
    engine.save(&SaveInput { long_term: true, ..SaveInput::new(MemoryType::Decision, DECISION.to_owned()) })?;
    print_named(printer, "memory_save", DECISION)?;
    engine.refresh(&mut Control::default())?;

    print_heading(printer, "2. Secrets are removed before anything is written. The Markdown file contains")?;
    print_prompt_on_disk(project, printer)?;

    print_heading(printer, "3. The next session starts with this brief")?;
    let brief = clean_for_terminal(&engine.brief()?.unwrap_or_default());
    // The lines above it are for the model.
    brief
        .lines()
        .skip_while(|line| !line.starts_with("Long-term memory"))
        .filter(|line| !line.trim().is_empty())
        .take(BRIEF_LINES)
        .try_for_each(|line| printer.print_line(&format!("  {}", fit_columns(line, line_room(2)))))?;

    print_heading(printer, "4. A question in Korean finds the decision in English")?;
    printer.print_line(&format!("> {QUESTION}"))?;
    let input = SearchInput { query: QUESTION.to_owned(), max_results: Some(1), ..SearchInput::default() };
    printer.print_hits(&engine.search(&input)?)?;
    printer.print_line("\nThe temporary project is deleted. Next: run jikime-memory init in your project.")
}

fn print_heading(printer: &Printer, text: &str) -> anyhow::Result<()> {
    let gap = if text.starts_with('1') { "" } else { "\n" };
    printer.print_text(&format!("{gap}{STRONG}{text}:{STRONG:#}\n"))
}

fn remember_session(project: &Path, printer: &Printer) -> anyhow::Result<()> {
    let mut store = Store::open(project, LockTimeout::Server)?;
    for (kind, content) in SESSION {
        let draft = Draft::new("demo", kind, content, Moment::now());
        capture(&mut store, draft, &Sanitizer::default())?;
        print_named(printer, kind.as_str(), content.lines().next().unwrap_or_default())?;
    }
    Ok(())
}

/// Prints the stored prompt as it is in the Markdown file.
fn print_prompt_on_disk(project: &Path, printer: &Printer) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    for path in layout.markdown_files()? {
        let text = std::fs::read_to_string(layout.store_path(&path))?;
        for line in text.lines().filter(|line| line.contains("**User Prompt**")) {
            // The comment at the end of a line is for programs.
            let shown = line.split(" <!--").next().unwrap_or(line);
            printer.print_line(&format!("  {}", fit_columns(shown, line_room(2))))?;
        }
    }
    Ok(())
}

/// Columns of a line with an indentation.
fn line_room(indent: usize) -> usize {
    pager::terminal_columns().map_or(usize::MAX, |columns| columns.saturating_sub(indent))
}

/// Prints a name and a text on one line.
fn print_named(printer: &Printer, name: &str, text: &str) -> anyhow::Result<()> {
    printer.print_line(&format!(
        "  {}{}",
        pad_columns(name, NAME_COLUMNS),
        fit_columns(text, line_room(NAME_COLUMNS + 2))
    ))
}
