//! A server started as a host does, used without extra threads.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::arguments::Outcome;

#[derive(Debug)]
pub(crate) struct BenchServer {
    pub(crate) started: Instant,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    next: u64,
}

impl BenchServer {
    /// Starts the server and waits for its list of tools.
    pub(crate) fn start(command: Command) -> Outcome<Self> {
        let mut server = Self::spawn(command)?;
        server.initialize()?;
        server.list()?;
        Ok(server)
    }

    /// Starts the server without a request.
    pub(crate) fn spawn(mut command: Command) -> Outcome<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no standard output")?);
        Ok(Self { started, child, stdin, stdout, next: 0 })
    }

    /// Initialises the server like hosts of protocols up to 2025-11-25.
    pub(crate) fn initialize(&mut self) -> Outcome<()> {
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        self.request("initialize", &hello).map(drop)
    }

    pub(crate) fn list(&mut self) -> Outcome<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.request("tools/list", &json!({})).map(drop)
    }

    /// Initialises the server like hosts of the 2026-07-28 protocol.
    pub(crate) fn discover(&mut self) -> Outcome<()> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        self.request("server/discover", &json!({ "_meta": meta })).map(drop)
    }

    fn send(&mut self, message: &Value) -> Outcome<()> {
        Ok(self.stdin.write_all(format!("{message}\n").as_bytes())?)
    }

    fn request(&mut self, method: &str, params: &Value) -> Outcome<Value> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
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

    /// Calls a tool and measures the time.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Outcome<(Duration, Value)> {
        let started = Instant::now();
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        Ok((started.elapsed(), result))
    }

    /// Searches and returns path and first line of each hit.
    pub(crate) fn search(&mut self, query: &str) -> Outcome<(Duration, Vec<(String, usize)>)> {
        let (took, result) =
            self.call("memory_search", &json!({ "query": query, "maxResults": 10, "maxTokens": 4000 }))?;
        let hits = result["structuredContent"]["results"].as_array().ok_or("no results")?;
        let place = |hit: &Value| Some((hit["path"].as_str()?.to_owned(), hit["start_line"].as_u64()? as usize));
        Ok((took, hits.iter().filter_map(place).collect()))
    }

    /// Returns the resident memory in MiB, if the system reports it.
    pub(crate) fn resident(&self) -> Option<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1024.0)
    }

    /// Returns the processor time so far, if the system reports it.
    pub(crate) fn processor(&self) -> Option<Duration> {
        let status = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        // All systems with this file have ticks of 10 ms.
        Some(Duration::from_millis(ticks * 10))
    }

    pub(crate) fn end(self) -> Outcome<()> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait()?.success().then_some(()).ok_or_else(|| "the server failed".into())
    }
}
