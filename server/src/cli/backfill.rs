//! `embed-backfill`: makes vectors of memories that hooks saved without a server. The hooks client starts it in the background at the end
//! of a session.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use schema::files::layout::Layout;
use schema::files::lock::FileLock;
use schema::intake::queue;

use super::opening::open_engine;
use super::terminal_text::count_with_unit;
use crate::exit;
use tools::control::Control;

/// Time limit. The next run or a server does the rest.
const MAX_TIME: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(crate) struct BackfillArguments {
    /// The project directory, the same as --project
    #[arg(long, value_name = "DIR")]
    pub(super) project_dir: Option<PathBuf>,
    /// The session that has ended. All memories without a vector get one, also those of other sessions
    #[arg(long, value_name = "ID")]
    pub(super) session_id: Option<String>,
}

/// Embeds pending texts, unless another process does it.
pub(super) fn run_backfill(project: &Path, session_id: Option<&str>) -> anyhow::Result<()> {
    tracing::debug!("vectors are made after the end of session {}", session_id.unwrap_or("(unknown)"));
    let layout = Layout::new(project);
    if !layout.memory_db().exists() {
        return Ok(());
    }
    let Ok(_alone) = FileLock::acquire(&layout.backfill_lock(), Duration::ZERO) else { return Ok(()) };
    // A request to a service may take longer than the limit.
    let end = Instant::now() + MAX_TIME;
    thread::Builder::new().name("end".to_owned()).spawn(|| {
        thread::sleep(MAX_TIME);
        process::exit(0);
    })?;
    let mut control = Control::default().cancelled_if(|| Instant::now() >= end || queue::is_served(&layout));
    let mut engine = open_engine(project)?;
    engine.refresh(&mut control)?;
    let mut embedded = 0;
    let mut has_more = true;
    // Errors are not reported here; the next server meets and reports them.
    while has_more && !control.is_cancelled() {
        let batch = engine.embed_batch_anywhere()?;
        (embedded, has_more) = (embedded + batch.embedded, batch.has_more);
    }
    if io::stdout().is_terminal() {
        exit::print_status(&format!("{} made", count_with_unit(embedded as u64, "vector")));
    }
    Ok(())
}
