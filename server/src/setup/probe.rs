//! Starts a server as a host would, and lists its tools.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tools::private_temp_dir::PrivateTempDir;

use super::server_entry::{ServerEntry, WORKSPACE};

/// Time for all responses together. Hosts wait at least ten seconds.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Time for the server to end.
const END_TIMEOUT: Duration = Duration::from_secs(6);

/// Characters of standard error to report.
const MAX_STDERR_CHARS: usize = 300;

/// The result of a successful start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProbeResult {
    pub(crate) tools: Vec<String>,
    pub(crate) version: String,
    pub(crate) milliseconds: u128,
}

/// Starts the server of `entry` in a project and lists its tools. An error describes the host's view.
pub(crate) fn probe_server(entry: &ServerEntry, project: &Path) -> Result<ProbeResult, String> {
    run_probe(entry, project, Command::new(&entry.command))
}

/// Starts the server in a temporary folder, so that no project gets a store from the check.
pub(crate) fn probe_in_temporary(entry: &ServerEntry) -> Result<ProbeResult, String> {
    let folder = PrivateTempDir::create("check").map_err(|error| error.to_string())?;
    let mut command = Command::new(&entry.command);
    command.env("JIKIME_PROJECT_DIR", folder.path());
    run_probe(entry, folder.path(), command)
}

fn run_probe(entry: &ServerEntry, folder: &Path, mut command: Command) -> Result<ProbeResult, String> {
    let start = Instant::now();
    command.args(entry.args.iter().map(|arg| arg.replace(WORKSPACE, &folder.to_string_lossy())));
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", entry.command))?;
    let said = child.stderr.take().map(|mut pipe| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        receiver
    });
    let talked = exchange_messages(&mut child, start + TIMEOUT);
    end_child(&mut child);
    talked.map(|answered| ProbeResult { milliseconds: start.elapsed().as_millis(), ..answered }).map_err(|error| {
        let said = said.and_then(|said| said.recv_timeout(END_TIMEOUT).ok()).unwrap_or_default();
        let said: String =
            said.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_STDERR_CHARS).collect();
        if said.is_empty() { error } else { format!("{error}; its standard error: {said}") }
    })
}

fn exchange_messages(child: &mut Child, deadline: Instant) -> Result<ProbeResult, String> {
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
        // If the server has ended, its standard error says why.
        let _ = writeln!(input, "{message}").and_then(|()| input.flush());
        if message.get("id").is_some() {
            answers.push(read_response(&lines, deadline)?);
        }
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tools = answers[1]["tools"].as_array().ok_or("it responded without a list of tools")?;
    Ok(ProbeResult {
        tools: tools.iter().map(|tool| text(&tool["name"])).collect(),
        version: text(&answers[0]["serverInfo"]["version"]),
        milliseconds: 0,
    })
}

/// The next response; notifications are skipped.
fn read_response(lines: &Receiver<String>, deadline: Instant) -> Result<Value, String> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => format!("it did not respond within {} s", TIMEOUT.as_secs()),
            mpsc::RecvTimeoutError::Disconnected => "it ended without a response".to_owned(),
        })?;
        let message: Value = serde_json::from_str(&line)
            .map_err(|_| "it writes text to standard output that is not a protocol message")?;
        if let Some(error) = message.get("error") {
            return Err(format!("it returned an error: {}", error["message"]));
        }
        if let Some(result) = message.get("result") {
            return Ok(result.clone());
        }
    }
}

fn read_lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // Ends with the output, or when nobody receives lines any more.
        BufReader::new(output).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

/// Waits for the server, whose input is closed, and kills it if it does not end.
fn end_child(child: &mut Child) {
    let deadline = Instant::now() + END_TIMEOUT;
    while Instant::now() < deadline {
        match child.try_wait() {
            Ok(None) => thread::sleep(Duration::from_millis(5)),
            _ => return,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}
