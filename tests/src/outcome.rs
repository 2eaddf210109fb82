//! A program run to its end: input given, output taken, a deadline held.

use std::fmt::Display;
use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::poll::poll;

/// How long the host would see the pipes of a program that has ended still held open, by a child that it left behind.
const PIPES_CLOSE: Duration = Duration::from_secs(2);

/// What a program did: its exit status, what it wrote, and how long it took.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The command as it was run, for messages.
    pub command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// From its start until its end, as its caller sees it.
    pub elapsed: Duration,
}

impl Outcome {
    /// Asserts that it exited 0.
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn code(&self, expected: i32) -> &Self {
        assert_eq!(self.status.code(), Some(expected), "the exit code of {self:#?}");
        self
    }

    /// Asserts that nothing was written to standard output.
    #[track_caller]
    pub fn printed_nothing(&self) -> &Self {
        assert_eq!(self.stdout, "", "standard output of {self:#?}");
        self
    }

    /// Asserts that nothing was written to standard error: no fault was met.
    #[track_caller]
    pub fn complained_of_nothing(&self) -> &Self {
        assert_eq!(self.stderr, "", "standard error of {self:#?}");
        self
    }

    /// Asserts that standard output is one JSON value, and gives it.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in standard output of {self:#?}"))
    }
}

/// Runs `command` to its end with `input` on its standard input; kills it and panics when it takes longer than `deadline`.
///
/// Panics as well when the program has ended and its pipes are still open: a host waits for those.
#[track_caller]
pub fn run_to_end(mut command: Command, input: &str, deadline: Duration) -> Outcome {
    let name = format!("{command:?}");
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
    feed(&mut child, input.to_owned());
    let stdout = drain(child.stdout.take().expect("standard output was asked for as a pipe"));
    let stderr = drain(child.stderr.take().expect("standard error was asked for as a pipe"));
    let ended = poll(deadline, || child.try_wait().expect("a child of this process can be waited for"));
    let seen = Instant::now();
    let Some(status) = ended else {
        end(&mut child);
        panic!("{name} had not ended after {deadline:?}; it wrote {:?}", (stdout.try_recv(), stderr.try_recv()));
    };
    let text = |pipe: Receiver<Drained>| match pipe.recv_timeout(PIPES_CLOSE) {
        Ok(drained) => drained,
        Err(_) => panic!("{name} ended with {status}, and something it started still holds its output"),
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    // Its end closes its pipes, and is seen some milliseconds later.
    let elapsed = stdout.closed.max(stderr.closed).min(seen) - start;
    Outcome { command: name, status, stdout: stdout.text, stderr: stderr.text, elapsed }
}

/// Reports that a test skips something on this machine or with these programs. In plain sight: Cargo hides what a test that passes prints.
pub fn skipped(reason: impl Display) {
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}

/// Kills one child by its own id, if it still runs.
pub(crate) fn end(child: &mut Child) {
    // Both fail only when the child has ended by itself meanwhile, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

fn feed(child: &mut Child, input: String) {
    let mut stdin = child.stdin.take().expect("standard input was asked for as a pipe");
    // A program that ends before it has read everything closes the pipe; whether it may is for the test to say.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
}

/// What a program wrote until it closed a pipe.
#[derive(Debug)]
struct Drained {
    text: String,
    closed: Instant,
}

fn drain(mut pipe: impl Read + Send + 'static) -> Receiver<Drained> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        // Nobody listens when the test has given up already.
        let closed = Instant::now();
        let _ = sender.send(Drained { text: String::from_utf8_lossy(&bytes).into_owned(), closed });
    });
    receiver
}
