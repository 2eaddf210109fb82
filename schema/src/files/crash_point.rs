//! Crash points: named places at which a process can be ended, to test what its work leaves behind.
//!
//! Only builds with debug assertions have them. `JIKIME_CRASH_AT=log.half` ends the process at that point, `log.half:3` when it is reached
//! for the third time, and `panic=engine.open` panics there instead.

/// All points, with the state when each is reached.
pub const POINTS: &[(&str, &str)] = &[
    ("engine.open", "a server is about to open its store"),
    ("log.half", "half of an entry is at the end of a log"),
    ("log.appended", "an entry is at the end of a log"),
    ("log.rewritten", "a rewritten log exists under a temporary name"),
    ("log.replaced", "the rewritten log has replaced the old one"),
    ("capture.logged", "a memory is in its log, but has no row yet"),
    ("capture.done", "a memory is in its log and has a row, but the sender has no answer"),
    ("bulk.logged", "a log has its memories of a batch, without rows"),
    ("bulk.written", "all logs have their memories of a batch, without rows"),
    ("bulk.done", "all memories of a batch are in logs and rows"),
    ("spool.half", "half of a memory is in the spool, under a temporary name"),
    ("spool.written", "a memory is in the spool, under a temporary name"),
    ("spool.put", "a memory is in the spool"),
    ("spool.kept", "a memory of the spool is stored, but not removed from the spool"),
    ("track.moved", "the changes of a turn are in both files of their buffer"),
    ("track.kept", "the changes of a turn are stored, but their buffer is not emptied"),
    ("store.created", "memory.db exists without tables"),
    ("store.reset", "a damaged memory.db was emptied and has no tables yet"),
    ("sync.batch", "some rows of a log are in sync"),
    ("sync.rows", "all rows of a log are in sync, but its stamp is not recorded"),
    ("forget.hash", "the hashes of deleted texts are recorded, but the texts are in log and rows"),
    ("forget.log", "deleted texts are removed from the log, but not from the rows"),
    ("forget.rows", "deleted texts are removed from log and rows"),
    ("upgrade.copied", "a copy of the Go version's database exists under a temporary name"),
    ("upgrade.backed-up", "the copy has its final name"),
    ("upgrade.logged", "the logs contain everything, but the tables are those of the Go version"),
    ("upgrade.tables", "the new tables exist without rows"),
    ("upgrade.filled", "the new tables are filled, but not committed"),
    ("upgrade.done", "the new tables are committed"),
    ("index.file", "a file is indexed, but not recorded as indexed"),
    ("index.memories", "some memories are indexed"),
    ("rebuild.filled", "a rebuilt index is in the write-ahead log, but not committed"),
    ("rebuild.done", "a rebuilt index is committed, but the write-ahead log is not truncated"),
    ("queue.kept", "the server has stored an event of a hook, but not answered"),
];

/// Ends the process if this point is armed.
#[inline(always)]
pub fn crash_if_armed(name: &'static str) {
    crash_after(name, || {});
}

/// Does `last`, and ends the process, if this point is armed. A release build has no points.
#[inline(always)]
pub fn crash_after(name: &'static str, last: impl FnOnce()) {
    #[cfg(debug_assertions)]
    if let Some(point) = armed::reached_point(name) {
        last();
        point.crash();
    }
    #[cfg(not(debug_assertions))]
    let _ = (name, last);
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::files::environment;

    static ARMED: LazyLock<Option<ArmedPoint>> =
        LazyLock::new(|| environment::text("JIKIME_CRASH_AT").map(|text| ArmedPoint::parse(&text)));

    /// The point that `JIKIME_CRASH_AT` names.
    #[derive(Debug)]
    pub(super) struct ArmedPoint {
        point: String,
        is_panic: bool,
        /// How often the point is still to be reached, including the time at which the process ends.
        remaining: AtomicUsize,
    }

    /// Returns the point with this name if it is armed and reached.
    pub(super) fn reached_point(name: &'static str) -> Option<&'static ArmedPoint> {
        debug_assert!(super::POINTS.iter().any(|(known, _)| *known == name), "{name}");
        let armed = ARMED.as_ref().filter(|armed| armed.point == name)?;
        (armed.remaining.fetch_sub(1, Ordering::SeqCst) == 1).then_some(armed)
    }

    impl ArmedPoint {
        fn parse(text: &str) -> Self {
            let (is_panic, text) = text.strip_prefix("panic=").map_or((false, text), |point| (true, point));
            let (point, times) = text.split_once(':').unwrap_or((text, "1"));
            Self { point: point.to_owned(), is_panic, remaining: AtomicUsize::new(times.parse().unwrap_or(1)) }
        }

        /// Ends the process as `kill -9` does, or panics if the environment asks for that.
        pub(super) fn crash(&self) -> ! {
            assert!(!self.is_panic, "at {}, as the environment says", self.point);
            #[cfg(unix)]
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::process::abort();
        }
    }
}
