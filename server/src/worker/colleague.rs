//! The server that answers the queue, as another server hands it what is to be kept. It has the lock, the rows and the end of the log at
//! hand, and keeps what all servers have at once; each by itself they would wait for each other.

use std::time::Duration;

use schema::capture::Prepared;
use schema::layout::Layout;
use schema::queue::handover::Kept;

/// How long it may take. Who is not answered by then keeps the memories by itself.
pub(crate) const PATIENCE: Duration = Duration::from_millis(150);

/// What became of memories that were to be handed over.
pub(super) enum Sent {
    Kept(Vec<Kept>),
    /// Nobody has them.
    Not,
    /// Nobody said that they are kept, but they may be.
    Perhaps,
}

pub(super) use platform::Colleague;

#[cfg(unix)]
mod platform {
    use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use schema::queue::{LINE_LIMIT, Places, connect, handover};

    use super::*;

    /// How long it is left alone after it could not be reached, or did not answer in time.
    const REST: Duration = Duration::from_secs(1);

    pub(in super::super) struct Colleague {
        layout: Layout,
        stream: Option<BufReader<UnixStream>>,
        /// When it is asked again.
        rest: Option<Instant>,
    }

    impl Colleague {
        pub(in super::super) fn new(layout: Layout) -> Self {
            Self { layout, stream: None, rest: None }
        }

        /// Has memories kept, all of them or none.
        pub(in super::super) fn keep(&mut self, memories: &[Prepared]) -> Sent {
            let line = handover::request(memories);
            if line.len() > LINE_LIMIT || self.rest.is_some_and(|rest| Instant::now() < rest) {
                return Sent::Not;
            }
            self.rest = None;
            if !self.send(line.as_bytes()) {
                self.leave_alone();
                return Sent::Not;
            }
            match self.answer().map(|answer| handover::replied(&answer)) {
                Ok(Some(kept)) if kept.len() == memories.len() => Sent::Kept(kept),
                _ => {
                    self.leave_alone();
                    Sent::Perhaps
                }
            }
        }

        fn leave_alone(&mut self) {
            self.stream = None;
            self.rest = Some(Instant::now() + REST);
        }

        /// Sends a line whole, over a connection that is there or a new one. The other side closes one that was silent for long.
        fn send(&mut self, line: &[u8]) -> bool {
            if let Some(stream) = &mut self.stream
                && is_open(stream.get_ref())
                && stream.get_mut().write_all(line).is_ok()
            {
                return true;
            }
            self.stream = self.connect();
            self.stream.as_mut().is_some_and(|stream| stream.get_mut().write_all(line).is_ok())
        }

        fn connect(&self) -> Option<BufReader<UnixStream>> {
            let places = Places::from_environment();
            let mut addresses = places.to_ask(&self.layout).ok()?;
            let stream = addresses.find_map(|address| connect(&address).ok())?;
            stream.set_write_timeout(Some(PATIENCE)).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            Some(BufReader::new(stream))
        }

        fn answer(&mut self) -> io::Result<Vec<u8>> {
            let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            let mut line = Vec::new();
            // It comes in few pieces, so that to wait for each is to wait for all.
            stream.by_ref().take(LINE_LIMIT as u64).read_until(b'\n', &mut line)?;
            if line.ends_with(b"\n") { Ok(line) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
        }
    }

    /// Whether the other side has not closed a connection on which nothing is under way.
    fn is_open(stream: &UnixStream) -> bool {
        use rustix::net::{RecvFlags, recv};
        let mut byte = [0; 1];
        let peeked = recv(stream, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }
}

#[cfg(windows)]
mod platform {
    use super::*;

    /// A pipe that was opened as a file knows no timeouts: every server writes by itself.
    pub(in super::super) struct Colleague;

    impl Colleague {
        pub(in super::super) fn new(_layout: Layout) -> Self {
            Self
        }

        pub(in super::super) fn keep(&mut self, _memories: &[Prepared]) -> Sent {
            Sent::Not
        }
    }
}
