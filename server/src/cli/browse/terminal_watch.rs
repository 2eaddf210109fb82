//! Ends the program when its terminal is gone. The key library would read the closed terminal in a loop and never return to the check for
//! signals.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::terminal_screen;

/// Interval of the checks.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Time for the screen to end by itself.
const GRACE: Duration = Duration::from_millis(300);

/// Watches the terminal and the end flag in a thread. It ends the process only if the main thread does not.
pub(super) fn watch_terminal(ended: Arc<AtomicBool>) {
    let watching = move || {
        loop {
            let stdin = std::io::stdin();
            // A closed terminal is reported even without requested events.
            let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
            let is_gone = poll(&mut terminal, Some(&POLL_INTERVAL)).is_ok_and(|found| found > 0);
            if is_gone || ended.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
                thread::sleep(GRACE);
                let _ = terminal_screen::restore_terminal();
                process::exit(0);
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("hangup".to_owned()).spawn(watching) {
        tracing::warn!("cannot start a thread: {error}");
    }
}
