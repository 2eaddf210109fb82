//! Ends the program when its terminal is gone. The library that reads keys would read the end of such a terminal over and over, and
//! never come back to where signals are looked at.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::screen;

/// How often it is looked whether the program should have ended.
const GLANCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// What the screen has for ending by itself.
const GRACE: Duration = Duration::from_millis(300);

/// Watches the terminal and the wish to end, in a thread of its own. What is being written is as whole as after any end of a process.
pub(super) fn watch(ended: Arc<AtomicBool>) {
    let watching = move || {
        loop {
            let stdin = std::io::stdin();
            // No event is asked for: a terminal that is gone is told all the same.
            let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
            let is_gone = poll(&mut terminal, Some(&GLANCE)).is_ok_and(|found| found > 0);
            if is_gone || ended.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
                thread::sleep(GRACE);
                let _ = screen::give_back();
                process::exit(0);
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("hangup".to_owned()).spawn(watching) {
        tracing::warn!("cannot start a thread: {error}");
    }
}
