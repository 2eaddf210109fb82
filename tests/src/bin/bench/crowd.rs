//! Runs several workers concurrently and times each turn.

use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::Outcome;

/// Concurrent workers, and turns of each.
pub(crate) const WORKERS: usize = 8;
pub(crate) const TURNS: usize = 200;

/// Total time, and the time of each turn.
#[derive(Debug)]
pub(crate) struct CrowdTimes {
    pub(crate) total: Duration,
    pub(crate) turns: Vec<Duration>,
}

/// Runs all workers concurrently. `turn` gets the worker, its number and the turn's number.
pub(crate) fn run_crowd<W: Send>(
    workers: &mut [W],
    turn: impl Fn(&mut W, usize, usize) -> Outcome<()> + Sync,
) -> Outcome<CrowdTimes> {
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
    Ok(CrowdTimes { total: started.elapsed(), turns: each.concat() })
}
