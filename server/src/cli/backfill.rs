//! `embed-backfill`: vectors for what hooks kept while no server ran. Started by the hooks client at the end of a session, without
//! anybody who waits for it or reads what it prints.

use std::path::Path;
use std::process;
use std::thread;
use std::time::{Duration, Instant};

use schema::layout::Layout;
use schema::lock::FileLock;
use tools::engine::Engine;

/// How long it goes on. What is left is done by the next one, or by a server.
const LONGEST: Duration = Duration::from_secs(30);

/// Embeds what waits, unless somebody else does.
pub(super) fn backfill(project: &Path, open: impl FnOnce(&Path) -> anyhow::Result<Engine>) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    if !layout.memory_db().exists() {
        return Ok(());
    }
    let Ok(_alone) = FileLock::acquire(&layout.backfill_lock(), Duration::ZERO) else { return Ok(()) };
    // A service may take longer for one answer than there is time.
    let end = Instant::now() + LONGEST;
    thread::Builder::new().name("end".to_owned()).spawn(|| {
        thread::sleep(LONGEST);
        process::exit(0);
    })?;
    let may_go_on = || Instant::now() < end && !is_served(&layout);
    let mut engine = open(project)?;
    engine.refresh_while(&may_go_on)?;
    // What goes wrong is told by the next server, which meets it as well.
    while may_go_on() && engine.embed_some()?.is_more {}
    Ok(())
}

/// Whether a server looks after the store, and so after what waits.
fn is_served(layout: &Layout) -> bool {
    FileLock::acquire(&layout.queue_lock(), Duration::ZERO).is_err()
}
