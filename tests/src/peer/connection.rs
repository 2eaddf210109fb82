//! A server started as a host does, whose calls are timed. It uses no extra threads, and every answer has a deadline.

use std::fmt;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::polling::poll;
use crate::program_output::end;

/// Time limit of an answer. Some servers load a model before the first one.
const ANSWER_DEADLINE: Duration = Duration::from_mins(2);

/// Time limit of a server's exit after the end of its input.
const END_DEADLINE: Duration = Duration::from_secs(10);

/// Why a server could not be measured.
#[derive(Debug)]
pub enum PeerError {
    /// The description is missing or invalid.
    Description { path: String, reason: String },
    /// The program does not start.
    Start { command: String, reason: String },
    /// The server ended before it answered.
    Ended { method: String },
    /// The server did not answer in time.
    TooSlow { method: String, limit: Duration },
    /// The server answered with an error; it still runs.
    Refused { method: String, answer: String },
    /// The connection failed, or the exit status is not 0.
    Failed(String),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description { path, reason } => write!(f, "{path} does not describe a server: {reason}"),
            Self::Start { command, reason } => write!(f, "cannot start {command}: {reason}"),
            Self::Ended { method } => write!(f, "the server ended before it answered {method}"),
            Self::TooSlow { method, limit } => write!(f, "no answer to {method} within {limit:?}"),
            Self::Refused { method, answer } => write!(f, "{method} failed: {answer}"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for PeerError {}

impl From<io::Error> for PeerError {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A running server. Drop kills it.
#[derive(Debug)]
pub struct TimedServer {
    pub started: Instant,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    limit: Duration,
}

impl TimedServer {
    /// Starts the server and waits for its list of tools.
    pub fn start(command: Command) -> Result<Self, PeerError> {
        let mut server = Self::spawn(command)?;
        server.initialize()?;
        server.list()?;
        Ok(server)
    }

    /// Starts the server without a request.
    pub fn spawn(mut command: Command) -> Result<Self, PeerError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn().map_err(|error| PeerError::Start {
            command: command.get_program().to_string_lossy().into_owned(),
            reason: error.to_string(),
        })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| PeerError::Failed("no standard output".to_owned()))?;
        Ok(Self { started, child, stdin, stdout: BufReader::new(stdout), next: 0, limit: ANSWER_DEADLINE })
    }

    /// Sets the time limit of each answer.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Initialises the server like hosts of protocols up to 2025-11-25.
    pub fn initialize(&mut self) -> Result<(), PeerError> {
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.request("initialize", &hello).map(drop)
    }

    /// Requests the list of tools.
    pub fn list(&mut self) -> Result<Value, PeerError> {
        self.send("initialized", &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.request("tools/list", &json!({}))
    }

    /// Initialises the server like hosts of the 2026-07-28 protocol.
    pub fn discover(&mut self) -> Result<(), PeerError> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.request("server/discover", &json!({ "_meta": meta })).map(drop)
    }

    /// Calls a tool and measures the time. An error of the tool is [`PeerError::Refused`].
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value), PeerError> {
        let started = Instant::now();
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok((started.elapsed(), result))
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, PeerError> {
        self.next += 1;
        let id = self.next;
        self.send(method, &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let deadline = Instant::now() + self.limit;
        loop {
            let line = self.read_line(method, deadline)?;
            // Some servers print other lines, and hosts ignore them.
            let Ok(mut answer) = serde_json::from_slice::<Value>(&line) else { continue };
            if answer["id"] != id || answer.get("method").is_some() {
                continue;
            }
            if answer["result"]["isError"] == true || answer["error"].is_object() {
                return Err(PeerError::Refused { method: method.to_owned(), answer: answer.to_string() });
            }
            return Ok(answer["result"].take());
        }
    }

    fn send(&mut self, method: &str, message: &Value) -> Result<(), PeerError> {
        let ended = || PeerError::Ended { method: method.to_owned() };
        let stdin = self.stdin.as_mut().ok_or_else(ended)?;
        // A write fails only if the server has closed its input.
        stdin.write_all(format!("{message}\n").as_bytes()).map_err(|_| ended())
    }

    fn read_line(&mut self, method: &str, deadline: Instant) -> Result<Vec<u8>, PeerError> {
        let mut line = Vec::new();
        loop {
            if self.stdout.buffer().is_empty() && !is_readable(self.stdout.get_ref(), deadline)? {
                return Err(PeerError::TooSlow { method: method.to_owned(), limit: self.limit });
            }
            let bytes = self.stdout.fill_buf()?;
            if bytes.is_empty() {
                return Err(PeerError::Ended { method: method.to_owned() });
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(bytes.len(), |end| end + 1);
            line.extend_from_slice(&bytes[..length]);
            self.stdout.consume(length);
            if end.is_some() {
                return Ok(line);
            }
        }
    }

    /// Returns the resident memory of the server and its children in MiB, if the system reports it.
    pub fn resident(&self) -> Option<f64> {
        let family = family_of(self.child.id());
        family.into_iter().map(resident_of).sum::<Option<f64>>()
    }

    /// Returns the processor time so far, if the system reports it.
    pub fn processor(&self) -> Option<Duration> {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        // All systems with this file have ticks of 10 ms.
        Some(Duration::from_millis(ticks * 10))
    }

    /// Closes the connection and waits for the server's exit, which must succeed.
    pub fn end(mut self) -> Result<(), PeerError> {
        match self.wait()? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(PeerError::Failed(format!("the server ended with {status}"))),
            None => {
                Err(PeerError::Failed(format!("the server still runs {END_DEADLINE:?} after its input was closed")))
            }
        }
    }

    /// Closes the connection and waits for the server's exit, successful or not; kills it if it does not exit.
    pub fn stop(mut self) {
        // Drop kills it.
        let _ = self.wait();
    }

    fn wait(&mut self) -> io::Result<Option<ExitStatus>> {
        drop(self.stdin.take());
        poll(END_DEADLINE, || self.child.try_wait().transpose()).transpose()
    }
}

impl Drop for TimedServer {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Returns the text blocks of a tool's result, joined by line ends.
pub fn result_text(result: &Value) -> String {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
    texts.join("\n")
}

/// Waits until there is something to read, or the end.
#[cfg(unix)]
fn is_readable(stdout: &ChildStdout, deadline: Instant) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec};
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match rustix::event::poll(&mut [PollFd::new(stdout, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            readable => return Ok(readable? > 0),
        }
    }
}

/// Other systems wait without a deadline.
#[cfg(not(unix))]
fn is_readable(_stdout: &ChildStdout, _deadline: Instant) -> io::Result<bool> {
    Ok(true)
}

/// Returns a process and its descendants.
fn family_of(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while let Some(parent) = family.get(next) {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
        family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    family
}

fn resident_of(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
}
