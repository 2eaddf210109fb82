//! The side that asks: hooks. Waits little, and takes any fault for a server that is not there.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::address::{Address, address};
use super::frame::{LINE_LIMIT, Recalled, Reply, Request};
use crate::capture::Prepared;
use crate::layout::Layout;

/// How long a connection may take to be accepted.
const CONNECT: Duration = Duration::from_millis(20);

/// How long the server may take to keep what it was sent.
const CAPTURE: Duration = Duration::from_millis(150);

/// How long it may take to look something up, while a person waits.
const RECALL: Duration = Duration::from_millis(80);

/// Hands memories to the running server. `false` when it is not known to have kept them all, which it may have done all the
/// same: keeping them again does no harm.
pub fn capture(layout: &Layout, memories: &[Prepared]) -> bool {
    matches!(ask(layout, &Request::Capture(memories.to_vec()), CAPTURE), Some(Reply::Captured))
}

/// The memories that fit a text best, in that order, or `None` when no server answers in time.
pub fn recall(layout: &Layout, query: &str, session_id: &str) -> Option<Vec<Recalled>> {
    let request = Request::Recall { query: query.to_owned(), session_id: session_id.to_owned() };
    match ask(layout, &request, RECALL)? {
        Reply::Recalled(memories) => Some(memories),
        Reply::Captured | Reply::Refused(_) => None,
    }
}

fn ask(layout: &Layout, request: &Request, patience: Duration) -> Option<Reply> {
    let address = address(layout).ok().filter(Address::is_private)?;
    let line = request.to_line();
    if line.len() > LINE_LIMIT {
        return None;
    }
    let reply = platform::exchange(&address, line.as_bytes(), patience).ok()?;
    Reply::parse(&reply)
}

/// Reads up to the end of the first line.
fn read_line(mut stream: impl Read, mut before_reading: impl FnMut() -> io::Result<()>) -> io::Result<Vec<u8>> {
    let (mut line, mut bytes) = (Vec::new(), [0; 4096]);
    while line.len() <= LINE_LIMIT {
        before_reading()?;
        match stream.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => line.extend_from_slice(&bytes[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end);
            return Ok(line);
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

#[cfg(unix)]
mod platform {
    use std::os::unix::net::UnixStream;

    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket};

    use super::*;

    pub(super) fn exchange(address: &Address, line: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
        let mut stream = open(address)?;
        let deadline = Instant::now() + patience;
        stream.set_write_timeout(Some(patience))?;
        stream.write_all(line)?;
        let limit = stream.try_clone()?;
        read_line(stream, || {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { limit.set_read_timeout(Some(left)) }
        })
    }

    /// Connects in limited time. The standard library's own way waits for a server that has stopped to accept, for as long as
    /// its queue of connections is full; the limit for sending counts for connecting as well.
    fn open(address: &Address) -> io::Result<UnixStream> {
        let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        set_socket_timeout(&socket, Timeout::Send, Some(CONNECT))?;
        connect(&socket, &SocketAddrUnix::new(&address.0)?)?;
        Ok(UnixStream::from(socket))
    }
}

#[cfg(windows)]
mod platform {
    use std::fs::{File, OpenOptions};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Every instance of the pipe is taken; one becomes free within moments.
    const ERROR_PIPE_BUSY: i32 = 231;

    /// A pipe that was opened as a file knows no timeouts, so a thread waits for it and is left behind when it takes too long.
    pub(super) fn exchange(address: &Address, line: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
        let mut pipe = open(address)?;
        let line = line.to_vec();
        let (done, answer) = mpsc::channel();
        thread::spawn(move || {
            let read = pipe.write_all(&line).and_then(|()| read_line(pipe, || Ok(())));
            let _ = done.send(read);
        });
        answer.recv_timeout(patience).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    fn open(address: &Address) -> io::Result<File> {
        let deadline = Instant::now() + CONNECT;
        loop {
            match OpenOptions::new().read(true).write(true).open(&address.0) {
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(1));
                }
                opened => return opened,
            }
        }
    }
}
