//! The queue: how an event reaches the running server. One line of JSON each way over a local socket; the reply follows the commit.
//!
//! Memories are prepared before they are sent, so no secret leaves the process that saw it. This file has the client side, which hooks use:
//! it waits only briefly, and treats any failure as a missing server.

mod address;
mod frame;

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

pub use address::{QueueAddress, QueueAddressError, SocketDirs, is_own_user};
pub use frame::{LINE_LIMIT, QueueReply, QueueRequest, RecalledMemory};
pub use platform::connect;

use crate::files::layout::Layout;
use crate::files::lock::{FileLock, LockError};
use crate::intake::prepare::PreparedMemory;
use crate::privacy::sanitizer::Sanitizer;

/// How long a connection may take to be accepted.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(20);

/// How long the server may take to store what it received.
const CAPTURE_TIMEOUT: Duration = Duration::from_millis(150);

/// How long the server may take for a search while a person waits.
const RECALL_TIMEOUT: Duration = Duration::from_millis(80);

/// Whether a server answers the queue of this store. An I/O error means that none does.
pub fn is_served(layout: &Layout) -> bool {
    let lock = layout.queue_lock();
    lock.exists() && matches!(FileLock::acquire(&lock, Duration::ZERO), Err(LockError::Busy(_)))
}

/// Sends memories to the running server. Returns `false` if it did not confirm that all are stored. They may be stored all the same;
/// storing them again is harmless.
pub fn send_memories(layout: &Layout, memories: &[PreparedMemory]) -> bool {
    let request = QueueRequest::Capture(memories.to_vec());
    send_request(&SocketDirs::from_environment(), layout, &request, CAPTURE_TIMEOUT) == Some(QueueReply::Captured)
}

/// Returns the memories that fit a prompt best, best first, or `None` if no server answers in time. The prompt and the session's name are
/// sent in their cleaned form, because memories have that form as well.
pub fn recall(layout: &Layout, sanitizer: &Sanitizer, prompt: &str, session_id: &str) -> Option<Vec<RecalledMemory>> {
    let clean = |text: &str| sanitizer.clean(text).text.into_owned();
    let request = QueueRequest::Recall { query: clean(prompt), session_id: clean(session_id) };
    match send_request(&SocketDirs::from_environment(), layout, &request, RECALL_TIMEOUT)? {
        QueueReply::Recalled(memories) => Some(memories),
        QueueReply::Captured | QueueReply::Refused(_) => None,
    }
}

fn send_request(places: &SocketDirs, layout: &Layout, request: &QueueRequest, timeout: Duration) -> Option<QueueReply> {
    let line = request.to_line();
    if line.len() > LINE_LIMIT {
        return None;
    }
    for address in places.connect_addresses(layout).ok()? {
        match platform::connect(&address) {
            Ok(stream) => return QueueReply::parse(&platform::exchange(stream, line.as_bytes(), timeout).ok()?),
            // There is no server, not even a slow one.
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {}
            // A server is there, but has no time.
            Err(_) => return None,
        }
    }
    None
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
    use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType, socket};

    use super::{CONNECT_TIMEOUT, Duration, Instant, QueueAddress, Write as _, io, read_line};

    pub(super) fn exchange(mut stream: UnixStream, line: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
        let deadline = Instant::now() + timeout;
        stream.set_write_timeout(Some(timeout))?;
        stream.write_all(line)?;
        let limit = stream.try_clone()?;
        read_line(stream, || {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { limit.set_read_timeout(Some(left)) }
        })
    }

    /// Connects in limited time. `UnixStream::connect` waits for a stalled server as long as its backlog is full. The send timeout also
    /// applies to connecting.
    pub fn connect(address: &QueueAddress) -> io::Result<UnixStream> {
        let socket = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_TIMEOUT))?;
        net::connect(&socket, &SocketAddrUnix::new(&address.0)?)?;
        Ok(UnixStream::from(socket))
    }
}

#[cfg(windows)]
mod platform {
    use std::fs::{File, OpenOptions};
    use std::os::windows::fs::OpenOptionsExt as _;
    use std::sync::mpsc;
    use std::thread;

    use super::{CONNECT_TIMEOUT, Duration, Instant, QueueAddress, Write as _, io, read_line};

    /// Every instance of the pipe is in use; one becomes free within moments.
    const ERROR_PIPE_BUSY: i32 = 231;

    /// Lets the creator of the pipe identify us, but not act in our name: another program may have taken the name first.
    const SECURITY_IDENTIFICATION: u32 = 0x0001_0000;

    /// A pipe that is opened as a file has no timeouts, so a thread waits for it and is abandoned if it takes too long.
    pub(super) fn exchange(mut pipe: File, line: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
        let line = line.to_vec();
        let (done, answer) = mpsc::channel();
        thread::spawn(move || {
            let read = pipe.write_all(&line).and_then(|()| read_line(pipe, || Ok(())));
            let _ = done.send(read);
        });
        answer.recv_timeout(timeout).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Connects in limited time.
    pub fn connect(address: &QueueAddress) -> io::Result<File> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            let mut options = OpenOptions::new();
            match options.read(true).write(true).security_qos_flags(SECURITY_IDENTIFICATION).open(&address.0) {
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY) && Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(1));
                }
                opened => return opened,
            }
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn store_is_served_while_its_queue_is_locked() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        fs::create_dir_all(layout.store_dir()).unwrap();
        assert!(!is_served(&layout) && !layout.queue_lock().exists());
        let lock = FileLock::acquire(&layout.queue_lock(), Duration::ZERO).unwrap();
        assert!(is_served(&layout));
        drop(lock);
        assert!(!is_served(&layout));
    }

    #[test]
    fn server_is_found_after_empty_dir_and_stale_socket() {
        let root = tempfile::tempdir().unwrap();
        let layout = Layout::new(root.path());
        fs::create_dir_all(layout.store_dir()).unwrap();
        let [poor, stale, rich] = ["tmp", "stale", "empty"].map(|name| {
            fs::create_dir(root.path().join(name)).unwrap();
            root.path().join(name)
        });
        let server = SocketDirs::new([], [poor.clone()]).listen_address(&layout).unwrap();
        let left = SocketDirs::new([stale.clone()], []).listen_address(&layout).unwrap();
        drop(UnixListener::bind(&left.0).unwrap());
        let listener = UnixListener::bind(&server.0).unwrap();
        let request = QueueRequest::Recall { query: "q".into(), session_id: "s".into() };
        let reply = thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                read_line(&stream, || Ok(())).unwrap();
                stream.write_all(QueueReply::Recalled(vec![]).to_line().as_bytes()).unwrap();
            });
            send_request(&SocketDirs::new([rich, stale], [poor]), &layout, &request, Duration::from_secs(20))
        });
        assert_eq!(reply, Some(QueueReply::Recalled(vec![])));
    }
}
