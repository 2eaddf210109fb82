//! A program that may not come to its end.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program may take that is not killed. One that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// When a program is killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blow {
    /// When it comes by a point for so many times.
    At { point: &'static str, time: usize },
    /// So long after it was started.
    After(Duration),
}

/// How a program ended.
#[derive(Debug)]
pub(super) enum End {
    /// By itself, and with what it said.
    Own { status: ExitStatus, stdout: String, stderr: String },
    /// It was killed.
    Killed,
    /// Not at all.
    Hung,
}

impl Blow {
    /// Lets a command come by its end.
    pub(super) fn arm(&self, command: &mut Command) {
        if let Self::At { point, time } = self {
            command.env("JIKIME_CRASH_AT", format!("{point}:{time}"));
        }
    }
}

/// Runs a program under a blow, or to its end.
pub(super) fn attempt(mut command: Command, input: &str, blow: Option<&Blow>) -> End {
    blow.into_iter().for_each(|blow| blow.arm(&mut command));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("it was asked for");
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let input = input.to_owned();
    // A program that was killed has closed its end.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let read = move |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let stdout = thread::spawn(move || stdout.as_mut().map(|pipe| read(pipe)).unwrap_or_default());
    let stderr = thread::spawn(move || stderr.as_mut().map(|pipe| read(pipe)).unwrap_or_default());
    let status = match blow {
        Some(Blow::After(moment)) => {
            // The moment is what is tried here, so it is not waited for in any other way.
            thread::sleep(moment.saturating_sub(start.elapsed()));
            let _ = child.kill();
            child.wait().ok()
        }
        _ => wait(&mut child, start + DEADLINE),
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    match status {
        Some(status) if status.signal() == Some(9) => End::Killed,
        Some(status) => End::Own { status, stdout, stderr },
        None => End::Hung,
    }
}

fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(1)),
            ended => return ended.ok().flatten(),
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
