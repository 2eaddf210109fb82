//! Several workers at once, each with one turn after the other, and how long the turns take.

use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Workers at once, and turns of each.
pub(crate) const WORKERS: usize = 8;
pub(crate) const TURNS: usize = 200;

/// How long all turns took together, and each of them.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) all: Duration,
    pub(crate) each: Vec<Duration>,
}

/// Gives every worker its turns, all workers at once. `turn` gets the worker, its number and the number of the turn.
pub(crate) fn at_once<W: Send>(
    workers: &mut [W],
    turn: impl Fn(&mut W, usize, usize) -> Outcome<()> + Sync,
) -> Outcome<Taken> {
    let started = Instant::now();
    let each = thread::scope(|scope| {
        let turn = &turn;
        let timed = |worker: &mut W, number, n| {
            let started = Instant::now();
            turn(worker, number, n).map_err(|error| error.to_string())?;
            Ok::<_, String>(started.elapsed())
        };
        let work: Vec<_> = (workers.iter_mut().enumerate())
            .map(|(number, worker)| {
                scope.spawn(move || (0..TURNS).map(|n| timed(worker, number, n)).collect::<Result<Vec<_>, _>>())
            })
            .collect();
        let join = |work: thread::ScopedJoinHandle<'_, Result<_, String>>| {
            work.join().map_err(|_| "a worker panicked".to_owned())?
        };
        work.into_iter().map(join).collect::<Result<Vec<_>, String>>()
    })?;
    Ok(Taken { all: started.elapsed(), each: each.concat() })
}
