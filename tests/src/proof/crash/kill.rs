//! Runs a program that may be killed.

use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The time after which a program counts as hung.
const DEADLINE: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KillTime {
    /// At the given occurrence of a point.
    AtPoint { point: &'static str, time: usize },
    /// After a delay.
    After(Duration),
}

#[derive(Debug)]
pub(super) enum ProgramEnd {
    /// It ended by itself, with this output.
    ByItself {
        status: ExitStatus,
        stdout: String,
        stderr: String,
    },
    Killed,
    /// It did not end.
    Hung,
}

impl KillTime {
    /// Arms the crash point of a command.
    pub(super) fn apply(&self, command: &mut Command) {
        if let Self::AtPoint { point, time } = self {
            command.env("JIKIME_CRASH_AT", format!("{point}:{time}"));
        }
    }
}

/// Runs a program to its end, or until it is killed.
pub(super) fn run_until_killed(mut command: Command, input: &str, blow: Option<&KillTime>) -> ProgramEnd {
    blow.into_iter().for_each(|blow| blow.apply(&mut command));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let input = input.to_owned();
    // Writing fails when the program is killed, because that closes its end of the pipe.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let read = move |pipe: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let stdout = thread::spawn(move || stdout.as_mut().map(|pipe| read(pipe)).unwrap_or_default());
    let stderr = thread::spawn(move || stderr.as_mut().map(|pipe| read(pipe)).unwrap_or_default());
    let status = match blow {
        Some(KillTime::After(moment)) => {
            // The moment is random by design, so a sleep is right here.
            thread::sleep(moment.saturating_sub(start.elapsed()));
            let _ = child.kill();
            child.wait().ok()
        }
        _ => wait_until(&mut child, start + DEADLINE),
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    match status {
        Some(status) if status.signal() == Some(9) => ProgramEnd::Killed,
        Some(status) => ProgramEnd::ByItself { status, stdout, stderr },
        None => ProgramEnd::Hung,
    }
}

fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
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
