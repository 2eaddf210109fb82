//! Starts a server as an entry says and asks for its tools, as a host would.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::WORKSPACE;
use super::server_entry::Entry;

/// How long all answers together may take. Hosts give up after ten seconds at the earliest.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the server may take to end after that.
const END: Duration = Duration::from_secs(6);

/// Of what it says on standard error, so many characters are told.
const SAID: usize = 300;

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) tools: Vec<String>,
    pub(crate) version: String,
    pub(crate) milliseconds: u128,
}

/// Starts the server of `entry` in a project and lists its tools. An error says what a host would have met.
pub(crate) fn probe(entry: &Entry, project: &Path) -> Result<Answered, String> {
    run(entry, project, Command::new(&entry.command))
}

/// The same where there is no project, or none that should get a store from this: in a folder that is removed at the end.
pub(crate) fn probe_apart(entry: &Entry) -> Result<Answered, String> {
    let folder = std::env::temp_dir().join(format!("jikime-memory-check-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut command = Command::new(&entry.command);
    command.env("JIKIME_PROJECT_DIR", &folder);
    let answered = run(entry, &folder, command);
    let _ = std::fs::remove_dir_all(&folder);
    answered
}

fn run(entry: &Entry, folder: &Path, mut command: Command) -> Result<Answered, String> {
    let start = Instant::now();
    command.args(entry.args.iter().map(|arg| arg.replace(WORKSPACE, &folder.to_string_lossy())));
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{} cannot be started: {error}", entry.command))?;
    let said = child.stderr.take().map(|mut pipe| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        receiver
    });
    let talked = talk(&mut child, start + PATIENCE);
    end(&mut child);
    talked.map(|answered| Answered { milliseconds: start.elapsed().as_millis(), ..answered }).map_err(|error| {
        let said = said.and_then(|said| said.recv_timeout(END).ok()).unwrap_or_default();
        let said: String = said.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SAID).collect();
        if said.is_empty() { error } else { format!("{error}; it said: {said}") }
    })
}

fn talk(child: &mut Child, deadline: Instant) -> Result<Answered, String> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("it has no standard input and output".to_owned());
    };
    let lines = read_lines(output);
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "jikime-memory", "version": env!("CARGO_PKG_VERSION") },
    });
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} }),
    ];
    let mut answers = Vec::new();
    for message in messages {
        // A server that is gone says why on standard error.
        let _ = writeln!(input, "{message}").and_then(|()| input.flush());
        if message.get("id").is_some() {
            answers.push(answer(&lines, deadline)?);
        }
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tools = answers[1]["tools"].as_array().ok_or("it answers, and lists no tools")?;
    Ok(Answered {
        tools: tools.iter().map(|tool| text(&tool["name"])).collect(),
        version: text(&answers[0]["serverInfo"]["version"]),
        milliseconds: 0,
    })
}

/// The next answer; notifications in between are not waited for.
fn answer(lines: &Receiver<String>, deadline: Instant) -> Result<Value, String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => format!("it did not answer within {} s", PATIENCE.as_secs()),
            mpsc::RecvTimeoutError::Disconnected => "it ended without an answer".to_owned(),
        })?;
        let message: Value = serde_json::from_str(&line)
            .map_err(|_| "it writes to standard output what is no message of the protocol")?;
        if let Some(error) = message.get("error") {
            return Err(format!("it answered with an error: {}", error["message"]));
        }
        if let Some(result) = message.get("result") {
            return Ok(result.clone());
        }
    }
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Its input is closed by now. It finishes what it does, or is killed.
fn end(child: &mut Child) {
    let deadline = Instant::now() + END;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
