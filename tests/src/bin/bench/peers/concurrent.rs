//! Several processes of one server that save at once into one store, and what became of their saves.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use harness::peer::{Peer, PeerError, TimedServer};

use super::report::ConcurrentSaves;
use crate::arguments::Outcome;
use crate::crowd::{TURNS, WORKERS};
use crate::memories::{needle, sample_memories};
use harness::peer::plain_text;

/// The time for the saves of all processes, and for the searches that check them.
const SAVING: Duration = Duration::from_secs(30);
const CHECKING: Duration = Duration::from_mins(1);

/// The first number of unique words, which no sample has.
const UNIQUE: usize = 21_000_000;

/// The saves of one process alone, which show how often a search returns a saved text.
const ALONE: usize = 5;

/// A text that begins with a unique word.
#[derive(Debug, Clone)]
struct UniqueText {
    word: String,
    text: String,
}

pub(super) fn measure(peer: &Peer) -> Outcome<ConcurrentSaves> {
    let home = tempfile::tempdir()?;
    let texts = unique_texts(ALONE + WORKERS * TURNS);
    let (alone, at_once) = texts.split_at(ALONE);
    let mut server = peer.start(home.path())?;
    for text in alone {
        peer.save(&mut server, &text.text)?;
    }
    server.stop();
    let mut counts = ConcurrentSaves::default();
    let mut acknowledged = Vec::new();
    for (sent, saved) in run_processes(peer, home.path(), at_once).into_iter().flatten() {
        counts.processes += 1;
        counts.sent += sent;
        counts.refused += sent - saved.len();
        acknowledged.extend(saved);
    }
    check(peer, &mut peer.start(home.path())?, alone, &acknowledged, &mut counts)?;
    Ok(counts)
}

fn unique_texts(count: usize) -> Vec<UniqueText> {
    let unique = |(number, text): (usize, String)| {
        let word = needle(UNIQUE + number);
        UniqueText { text: format!("{word} is the code name. {text}"), word }
    };
    sample_memories(count).into_iter().enumerate().map(unique).collect()
}

/// Runs the processes and returns for each that started how many saves it was sent, and those that it acknowledged.
fn run_processes<'a>(peer: &Peer, home: &Path, texts: &'a [UniqueText]) -> Vec<Option<(usize, Vec<&'a UniqueText>)>> {
    let all_started = Barrier::new(WORKERS);
    let run = |texts: &'a [UniqueText]| {
        let server = peer.start(home);
        all_started.wait();
        let mut server = server.ok()?;
        let outcome = save_all(peer, &mut server, texts);
        server.stop();
        Some(outcome)
    };
    thread::scope(|scope| {
        let work: Vec<_> = texts.chunks(TURNS).map(|texts| scope.spawn(move || run(texts))).collect();
        work.into_iter().map(|work| work.join().ok().flatten()).collect()
    })
}

fn save_all<'a>(peer: &Peer, server: &mut TimedServer, texts: &'a [UniqueText]) -> (usize, Vec<&'a UniqueText>) {
    let started = Instant::now();
    let (mut sent, mut saved) = (0, Vec::new());
    for text in texts {
        if started.elapsed() > SAVING {
            break;
        }
        sent += 1;
        match peer.save(server, &text.text) {
            Ok(_) => saved.push(text),
            Err(PeerError::Refused { .. }) => {}
            // The server does not answer any more.
            Err(_) => break,
        }
    }
    (sent, saved)
}

/// Searches for the acknowledged saves, as many as the time allows.
fn check(
    peer: &Peer,
    server: &mut TimedServer,
    alone: &[UniqueText],
    acknowledged: &[&UniqueText],
    counts: &mut ConcurrentSaves,
) -> Outcome<()> {
    let mut times_found = |text: &UniqueText| -> Outcome<usize> {
        let tool = peer.description.check.as_ref().unwrap_or(&peer.description.search);
        let (_, answer) = peer.call(server, tool, &text.word)?;
        // Not only the word, because some servers repeat the question.
        Ok(plain_text(&answer).matches(&format!("{} is the code name", text.word)).count())
    };
    let alone: Vec<usize> = alone.iter().map(&mut times_found).collect::<Outcome<_>>()?;
    let usual = alone.iter().copied().max().unwrap_or_default();
    counts.is_searchable = alone.iter().all(|times| *times > 0);
    let started = Instant::now();
    for text in acknowledged {
        if !counts.is_searchable || started.elapsed() > CHECKING {
            break;
        }
        let times = times_found(text)?;
        counts.checked += 1;
        counts.lost += usize::from(times == 0);
        counts.duplicated += usize::from(times > usual);
    }
    Ok(())
}
