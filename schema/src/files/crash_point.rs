//! Points at which a process ends, for tests of what is left of its work then.
//!
//! They are there in builds with debug assertions, where `JIKIME_CRASH_AT` names one: `JIKIME_CRASH_AT=log.half`, or `log.half:3` for
//! the third time that it is reached, or `panic=engine.open` for a panic there. A release build holds none of it.

/// Every point, and what has been done when it is reached.
pub const POINTS: &[(&str, &str)] = &[
    ("engine.open", "a server is about to open its store"),
    ("log.half", "half of an entry is at the end of a log"),
    ("log.appended", "an entry is at the end of a log"),
    ("log.rewritten", "a log is written anew, under another name"),
    ("log.replaced", "a log is replaced by the one that was written anew"),
    ("capture.logged", "a memory is in its log, and its row is not there yet"),
    ("capture.done", "a memory is in its log and its row is there, and nobody was told"),
    ("bulk.logged", "a log of several that take in memories has them, without their rows"),
    ("bulk.written", "all logs have the memories of a batch, without their rows"),
    ("bulk.done", "a batch is in logs and rows"),
    ("spool.half", "half of a memory is in the spool, under another name"),
    ("spool.written", "a memory is in the spool, under another name"),
    ("spool.put", "a memory waits in the spool"),
    ("spool.kept", "a memory of the spool is kept, and still waits there"),
    ("track.kept", "what a turn changed is kept, and its buffer is still full"),
    ("store.created", "memory.db is there, without tables"),
    ("store.reset", "a damaged memory.db is empty, and has no tables yet"),
    ("sync.batch", "some rows of a log are in step"),
    ("sync.rows", "all rows of a log are in step, and its stamp is not noted"),
    ("forget.hash", "what is forgotten is noted, and still in log and rows"),
    ("forget.log", "what is forgotten is out of the log, and still in the rows"),
    ("forget.rows", "what is forgotten is out of log and rows"),
    ("upgrade.copied", "a copy of the database of the Go version is there, under another name"),
    ("upgrade.backed-up", "the copy has its name"),
    ("upgrade.logged", "the logs hold everything, and the tables are those of the Go version"),
    ("upgrade.tables", "the tables are ours, and have no rows yet"),
    ("upgrade.filled", "the tables of this version are full, and not committed"),
    ("upgrade.done", "the tables of this version are committed"),
    ("index.file", "a file is indexed, and not noted as such"),
    ("index.memories", "some memories are indexed"),
    ("rebuild.filled", "a rebuilt index is in the write-ahead log, and not committed"),
    ("rebuild.done", "a rebuilt index is committed, and the write-ahead log is not truncated"),
    ("queue.kept", "a server has kept what a hook sent, and not answered"),
];

/// Ends the process here if it is to end here.
#[inline(always)]
pub fn crash_if_armed(name: &'static str) {
    if is_armed(name) {
        crash(name);
    }
}

/// Whether the process is to end at a point, by the caller with [`crash`].
#[inline(always)]
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "a release build has no points"))]
pub fn is_armed(name: &'static str) -> bool {
    #[cfg(debug_assertions)]
    return armed::is_armed(name);
    #[cfg(not(debug_assertions))]
    return false;
}

/// Ends the process as `kill -9` does.
pub fn crash(name: &'static str) -> ! {
    #[cfg(debug_assertions)]
    armed::crash(name);
    #[cfg(not(debug_assertions))]
    unreachable!("{name}: a release build has no points");
}

#[cfg(debug_assertions)]
mod armed {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::files::environment;

    /// What the environment says.
    struct ArmedPoint {
        point: String,
        is_panic: bool,
        /// How often the point is still to be passed, the last time included.
        remaining: AtomicUsize,
    }

    static ARMED: OnceLock<Option<ArmedPoint>> = OnceLock::new();

    fn armed() -> Option<&'static ArmedPoint> {
        ARMED.get_or_init(|| environment::text("JIKIME_CRASH_AT").map(|text| ArmedPoint::parse(&text))).as_ref()
    }

    impl ArmedPoint {
        fn parse(text: &str) -> Self {
            let (is_panic, text) = text.strip_prefix("panic=").map_or((false, text), |point| (true, point));
            let (point, times) = text.split_once(':').unwrap_or((text, "1"));
            Self { point: point.to_owned(), is_panic, remaining: AtomicUsize::new(times.parse().unwrap_or(1)) }
        }
    }

    pub(super) fn is_armed(name: &'static str) -> bool {
        debug_assert!(super::POINTS.iter().any(|(known, _)| *known == name), "{name}");
        armed().is_some_and(|armed| armed.point == name && armed.remaining.fetch_sub(1, Ordering::SeqCst) == 1)
    }

    pub(super) fn crash(name: &'static str) -> ! {
        assert!(!armed().is_some_and(|armed| armed.is_panic), "at {name}, as the environment says");
        #[cfg(unix)]
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort();
    }
}
