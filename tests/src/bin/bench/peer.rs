//! Measures another memory server in alternation with ours.
//!
//! `--peer NAME` is a description in `tests/peers`, `--peer FILE.json` one of your own. `--peers-installed FOLDER` is the folder that
//! `tests/peers/install` filled.

use std::path::PathBuf;
use std::time::Duration;

use harness::peer::{Peer, TimedServer};

use crate::arguments::{Outcome, given};
use crate::figures::FigureTable;
use crate::memories::BenchQuestion;
use crate::serving;

/// The maximum number of memories for a peer. Some peers need a second for ten.
const MOST: usize = 2_000;

/// Returns the peer of the command line.
pub(crate) fn given_peer() -> Outcome<Option<Peer>> {
    given("--peer").map(|name| Ok(Peer::named(&name, &installed_folder()?)?)).transpose()
}

/// Returns the absolute path of the installed servers, because they start in another folder.
pub(crate) fn installed_folder() -> Outcome<PathBuf> {
    Ok(std::path::absolute(given("--peers-installed").unwrap_or_else(|| ".".to_owned()))?)
}

/// Repeats our saves and searches with a peer and reports both.
pub(crate) fn measure(
    ours: &mut TimedServer,
    memories: &[String],
    questions: &[BenchQuestion],
    table: &mut FigureTable,
) -> Outcome<()> {
    let Some(peer) = given_peer()? else { return Ok(()) };
    let home = tempfile::tempdir()?;
    let mut server = peer.start(home.path())?;
    let mut saves = Vec::new();
    for text in memories.iter().take(MOST) {
        saves.push(peer.save(&mut server, text)?);
    }
    let (mut of_peer, mut of_ours) = (Vec::<Duration>::new(), Vec::new());
    for question in questions {
        of_peer.push(peer.search(&mut server, &question.text)?.0);
        of_ours.push(serving::search(ours, &question.text)?.0);
    }
    let name = format!("{} with {} memories", peer.name(), saves.len());
    let marks = [50, 95, 99].map(|percent| (percent, None));
    table.add_times(&format!("{name}, save"), &mut saves, None, &marks);
    table.add_times(&format!("{name}, search"), &mut of_peer, None, &marks);
    table.add_times("ours at the same time, all memories, search", &mut of_ours, None, &marks);
    server.stop();
    Ok(())
}
