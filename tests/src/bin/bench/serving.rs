//! A server as a host starts it, spoken to without a thread in between.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Outcome;

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) started: Instant,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts it and waits for its tools.
    pub(crate) fn start(command: Command) -> Outcome<Self> {
        let mut server = Self::spawn(command)?;
        server.initialize()?;
        server.list()?;
        Ok(server)
    }

    /// Starts it and says nothing yet.
    pub(crate) fn spawn(mut command: Command) -> Outcome<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { started, child, stdin, stdout, next: 0 })
    }

    /// Begins as hosts of the protocols up to 2025-11-25 do.
    pub(crate) fn initialize(&mut self) -> Outcome<()> {
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.ask("initialize", &hello).map(drop)
    }

    /// Has the tools listed.
    pub(crate) fn list(&mut self) -> Outcome<()> {
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.ask("tools/list", &json!({})).map(drop)
    }

    /// Begins as hosts of the protocol of 2026-07-28 do.
    pub(crate) fn discover(&mut self) -> Outcome<()> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.ask("server/discover", &json!({ "_meta": meta })).map(drop)
    }

    fn say(&mut self, message: &Value) -> Outcome<()> {
        Ok(self.stdin.write_all(format!("{message}\n").as_bytes())?)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.next += 1;
        let id = self.next;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err(format!("the server ended before it answered {method}").into());
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == id {
                if answer["result"]["isError"] == true || answer["error"].is_object() {
                    return Err(format!("{method} failed: {answer}").into());
                }
                return Ok(answer["result"].take());
            }
        }
    }

    /// Calls a tool and says how long that took.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<(Duration, Value)> {
        let started = Instant::now();
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok((started.elapsed(), result))
    }

    /// Searches, and answers the path and first line of each hit.
    pub(crate) fn search(&mut self, query: &str) -> Outcome<(Duration, Vec<(String, usize)>)> {
        let (took, result) =
            self.call("memory_search", &json!({ "query": query, "maxResults": 10, "maxTokens": 4000 }))?;
        let hits = result["structuredContent"]["results"].as_array().ok_or("no results")?;
        let place = |hit: &Value| Some((hit["path"].as_str()?.to_owned(), hit["start_line"].as_u64()? as usize));
        Ok((took, hits.iter().filter_map(place).collect()))
    }

    /// Mebibytes of memory that it holds, where the system says so.
    pub(crate) fn resident(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
    }

    /// Time of processors that it took until now, where the system says so.
    pub(crate) fn processor(&self) -> Option<Duration> {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        // The unit of these figures is a hundredth of a second on every system that has them.
        Some(Duration::from_millis(ticks * 10))
    }

    pub(crate) fn end(self) -> Outcome<()> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait()?.success().then_some(()).ok_or_else(|| "the server failed".into())
    }
}
