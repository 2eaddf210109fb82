//! Runs a program to its end with an input and a deadline.

use std::fmt::Display;
use std::io::{self, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::polling::poll;

/// The maximum time for which a child may keep the pipes of an ended program open. With more, a host would hang.
const PIPES_CLOSE: Duration = Duration::from_secs(2);

/// Exit status, output and duration of a program.
#[derive(Debug, Clone)]
pub struct ProgramOutput {
    /// The command, for messages.
    pub command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    /// The time from start to end, as the caller sees it.
    pub elapsed: Duration,
}

impl ProgramOutput {
    /// Asserts exit code 0.
    #[track_caller]
    pub fn assert_success(&self) -> &Self {
        self.assert_code(0)
    }

    #[track_caller]
    pub fn assert_code(&self, expected: i32) -> &Self {
        assert_eq!(self.status.code(), Some(expected), "the exit code of {self:#?}");
        self
    }

    /// Asserts empty standard output.
    #[track_caller]
    pub fn assert_no_stdout(&self) -> &Self {
        assert_eq!(self.stdout, "", "standard output of {self:#?}");
        self
    }

    /// Asserts empty standard error.
    #[track_caller]
    pub fn assert_no_stderr(&self) -> &Self {
        assert_eq!(self.stderr, "", "standard error of {self:#?}");
        self
    }

    /// Parses standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in standard output of {self:#?}"))
    }
}

/// Runs `command` to its end with `input` on standard input. Kills it and panics after `deadline`.
///
/// Also panics if its pipes stay open after its end, because a host waits for them.
#[track_caller]
pub fn run_to_end(mut command: Command, input: &str, deadline: Duration) -> ProgramOutput {
    let name = format!("{command:?}");
    let start = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {name}: {error}"));
    feed(&mut child, input.to_owned());
    let stdout = drain(child.stdout.take().expect("standard output is piped"));
    let stderr = drain(child.stderr.take().expect("standard error is piped"));
    let ended = poll(deadline, || child.try_wait().expect("a child of this process can be waited for"));
    let seen = Instant::now();
    let Some(status) = ended else {
        end(&mut child);
        panic!("{name} did not end within {deadline:?}; it wrote {:?}", (stdout.try_recv(), stderr.try_recv()));
    };
    let text = |pipe: Receiver<PipeText>| {
        let drained = pipe.recv_timeout(PIPES_CLOSE);
        drained
            .unwrap_or_else(|_| panic!("{name} ended with {status}, and something it started still holds its output"))
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    // The end of a process closes its pipes before polling notices it.
    let elapsed = stdout.closed.max(stderr.closed).min(seen) - start;
    ProgramOutput { command: name, status, stdout: stdout.text, stderr: stderr.text, elapsed }
}

/// Reports a skipped part on the real standard error, because Cargo hides the output of passing tests.
pub fn report_skip(reason: impl Display) {
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}

/// Kills a child if it still runs.
pub(crate) fn end(child: &mut Child) {
    // Both fail only if the child has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

fn feed(child: &mut Child, input: String) {
    let mut stdin = child.stdin.take().expect("standard input is piped");
    // A program may end before it has read everything; the test decides whether that is valid.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
}

/// Output of a program until it closed the pipe.
#[derive(Debug)]
struct PipeText {
    text: String,
    closed: Instant,
}

fn drain(mut pipe: impl Read + Send + 'static) -> Receiver<PipeText> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        // The test may have given up.
        let closed = Instant::now();
        let _ = sender.send(PipeText { text: String::from_utf8_lossy(&bytes).into_owned(), closed });
    });
    receiver
}
