//! `embed-backfill`: makes vectors of memories that hooks saved without a server. The hooks client starts it in the background at the end
//! of a session.

use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use schema::files::layout::Layout;
use schema::files::lock::FileLock;
use tools::engine::Engine;

/// Time limit. The next run or a server does the rest.
const MAX_TIME: Duration = Duration::from_secs(30);

/// Embeds pending texts, unless another process does it.
pub(super) fn run_backfill(project: &Path, open: impl FnOnce(&Path) -> anyhow::Result<Engine>) -> anyhow::Result<()> {
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
    let may_go_on = || Instant::now() < end && !is_store_served(&layout);
    let mut engine = open(project)?;
    engine.refresh_while(&may_go_on)?;
    // Errors are not reported here; the next server meets and reports them.
    while may_go_on() && engine.embed_batch_anywhere()?.has_more {}
    Ok(())
}

/// Whether a server is running, which embeds pending texts.
fn is_store_served(layout: &Layout) -> bool {
    FileLock::acquire(&layout.queue_lock(), Duration::ZERO).is_err()
}
