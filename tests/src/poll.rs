//! Waiting for something that another process does: ask again and again, until a deadline.

use std::thread;
use std::time::{Duration, Instant};

/// How long to rest between two questions. Short enough that no test is slower for it, long enough to leave the processor to
/// the process that is waited for.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until `condition` holds, and panics when it does not hold within `deadline`.
#[track_caller]
pub fn eventually(deadline: Duration, mut condition: impl FnMut() -> bool) {
    eventually_some(deadline, || condition().then_some(()));
}

/// Waits until `probe` finds something, and panics when it has found nothing within `deadline`.
#[track_caller]
pub fn eventually_some<T>(deadline: Duration, probe: impl FnMut() -> Option<T>) -> T {
    match poll(deadline, probe) {
        Some(found) => found,
        None => panic!("it did not come about within {deadline:?}"),
    }
}

/// Asks once at least, and once more after the deadline, so that a machine under load is not judged by a late look.
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
