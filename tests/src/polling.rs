//! Waits for a condition that another process fulfils.

use std::thread;
use std::time::{Duration, Instant};

/// Pause between two checks: short enough not to slow tests, long enough to leave the processor to others.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` holds; panics after `deadline`.
#[track_caller]
pub fn eventually(deadline: Duration, mut condition: impl FnMut() -> bool) {
    eventually_some(deadline, || condition().then_some(()));
}

/// Waits until `probe` returns a value; panics after `deadline`.
#[track_caller]
pub fn eventually_some<T>(deadline: Duration, probe: impl FnMut() -> Option<T>) -> T {
    match poll(deadline, probe) {
        Some(found) => found,
        None => panic!("the condition did not hold within {deadline:?}"),
    }
}

/// Probes at least once, and once after the deadline, so that load does not cause a false failure.
pub(crate) fn poll<T>(deadline: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + deadline;
    loop {
        let last = Instant::now() >= end;
        match probe() {
            Some(found) => return Some(found),
            None if last => return None,
            None => thread::sleep(PAUSE),
        }
    }
}
