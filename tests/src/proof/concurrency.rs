//! Concurrent use of one store: hooks, servers, commands, a person who edits Markdown, and index rebuilds.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp_client::{Era, McpClient};
use crate::program_output::{ProgramOutput, run_to_end};
use crate::proof::{
    Durations, ExpectedMemories, ProofResult, RunLength, SeededRandom, age_temporary_files, check_at_rest,
    texts_in_rows,
};
use crate::sandbox::{Binaries, Sandbox};

/// The concurrent actors and their pauses.
#[derive(Debug, Clone, Copy)]
struct CrowdSize {
    servers: usize,
    hooks: usize,
    commands: usize,
    edits: bool,
    /// The maximum pause of a command, and the pause after a rebuild, in milliseconds.
    rests: (usize, u64),
}

const EVERYBODY: CrowdSize = CrowdSize { servers: 3, hooks: 2, commands: 1, edits: true, rests: (100, 200) };

/// Only programs that open and close an index while it is constantly rebuilt.
const OPENING: CrowdSize = CrowdSize { servers: 1, hooks: 0, commands: 3, edits: false, rests: (1, 0) };

/// A command that takes longer hangs.
const DEADLINE: Duration = Duration::from_mins(2);

/// The number of findings after which a run ends, because a run that fails repeatedly never completes its rounds.
const ENOUGH: usize = 20;

/// Messages of errors that another process caused.
const TROUBLE: [&str; 8] = [
    "disk I/O error",
    "temporarily in memory",
    "database is locked",
    "database is busy",
    "held by another process",
    "SQLITE_BUSY",
    "is indexing; try",
    "panicked",
];

/// Shared state of the actors.
struct ConcurrencyRun<'f> {
    sandbox: &'f Sandbox,
    crowd: CrowdSize,
    start: Instant,
    length: RunLength,
    ledger: Mutex<ExpectedMemories>,
    findings: Mutex<Vec<String>>,
    hooks: Mutex<Durations>,
    rebuilds: AtomicUsize,
    texts: AtomicUsize,
    done: AtomicUsize,
}

/// Runs all actors concurrently.
pub fn run(binaries: &Binaries, length: RunLength, seed: u64) -> ProofResult {
    run_crowd(EVERYBODY, "everybody", binaries, length, seed)
}

/// Runs programs that open and close databases while the index is constantly rebuilt.
pub fn run_opening(binaries: &Binaries, length: RunLength, seed: u64) -> ProofResult {
    run_crowd(OPENING, "opening", binaries, length, seed)
}

fn run_crowd(crowd: CrowdSize, part: &str, binaries: &Binaries, length: RunLength, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("concurrency", part);
    let mut sandbox = Sandbox::new(binaries.clone());
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    // Commands that only read do not create a store, so the first one must save.
    const FIRST: &str = "the first of all texts";
    sandbox.run_cli(["save", "decision", FIRST]).assert_success();
    let field = ConcurrencyRun {
        sandbox: &sandbox,
        crowd,
        start: Instant::now(),
        length,
        ledger: Mutex::default(),
        findings: Mutex::default(),
        hooks: Mutex::default(),
        rebuilds: AtomicUsize::new(0),
        texts: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
    };
    let edited = thread::scope(|scope| {
        let field = &field;
        let random = |n: usize| SeededRandom::new(seed + n as u64);
        let servers = (0..crowd.servers).map(|n| scope.spawn(move || field.run_server(random(n))));
        let hooks = (0..crowd.hooks).map(|n| scope.spawn(move || field.run_hooks(random(10 + n))));
        let commands = (0..crowd.commands).map(|n| scope.spawn(move || field.run_commands(random(20 + n))));
        let others: Vec<_> =
            servers.chain(hooks).chain(commands).chain([scope.spawn(|| field.run_rebuilds())]).collect();
        let editor = crowd.edits.then(|| scope.spawn(move || field.run_edits(random(30))));
        let fell: usize = others.into_iter().map(|other| usize::from(other.join().is_err())).sum();
        if fell > 0 {
            field.add_finding(format!("{fell} threads panicked; see above"));
        }
        editor.and_then(|editor| editor.join().ok()).unwrap_or_default()
    });
    let ConcurrencyRun { ledger, findings, hooks, rebuilds, done, start, .. } = field;
    let (mut ledger, hooks) = (ledger.into_inner().expect("no thread panicked"), hooks.into_inner().expect("nobody"));
    tally.findings = findings.into_inner().expect("no thread panicked");
    edited.iter().map(String::as_str).chain([FIRST]).for_each(|text| ledger.expect(text));
    age_temporary_files(&sandbox.store());
    tally.findings.extend(find_trouble(&sandbox.run_cli(["index"])));
    match texts_in_rows(&sandbox.store()) {
        Ok(there) => tally.findings.extend(ledger.findings(&there)),
        Err(error) => tally.findings.push(format!("the rows cannot be read: {error}")),
    }
    tally.findings.extend(check_at_rest(&sandbox.store()));
    tally.rounds = done.into_inner();
    tally.measured =
        describe_measurement(crowd, start.elapsed(), ledger.expected().count(), rebuilds.into_inner(), &hooks);
    tally
}

fn describe_measurement(crowd: CrowdSize, time: Duration, kept: usize, rebuilds: usize, hooks: &Durations) -> String {
    let seconds = time.as_secs();
    let CrowdSize { servers, hooks: at_once, commands, .. } = crowd;
    if at_once == 0 {
        return format!(
            "{seconds} s; {servers} server, {commands} commands; {kept} memories saved; {rebuilds} index rebuilds"
        );
    }
    format!(
        "{seconds} s; {servers} servers, {at_once} hooks at once, a command, an editor, a rebuild; {kept} memories saved; {} hooks, each took {}",
        hooks.count(),
        hooks.summary()
    )
}

/// Returns the output of a program if it shows an error that another process caused.
fn find_trouble(outcome: &ProgramOutput) -> Option<String> {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    let shown = TROUBLE.iter().any(|trouble| said.contains(trouble));
    (shown || !outcome.status.success()).then(|| format!("{} ended with {}: {said}", outcome.command, outcome.status))
}

impl ConcurrencyRun<'_> {
    fn is_over(&self) -> bool {
        self.length.is_over(self.start, self.done.load(Ordering::Relaxed))
            || self.findings.lock().expect("no thread panics while holding it").len() >= ENOUGH
    }

    fn add_finding(&self, finding: String) {
        self.findings.lock().expect("no thread panics while holding it").push(finding);
    }

    /// Creates a unique text that is about to be saved.
    fn new_text(&self, who: &str) -> String {
        let text = format!("text {} of {who}", self.texts.fetch_add(1, Ordering::Relaxed));
        self.ledger.lock().expect("no thread panics while holding it").allow(&text);
        text
    }

    fn record_kept(&self, text: &str) {
        self.ledger.lock().expect("no thread panics while holding it").expect(text);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn run_hooks(&self, mut random: SeededRandom) {
        let mut pace = Durations::default();
        while !self.is_over() {
            let text = self.new_text("a hook");
            let mut event = self.sandbox.event("UserPromptSubmit");
            event["prompt"] = text.clone().into();
            let command = self.sandbox.hook_command("memory-prompt-save");
            let outcome = run_to_end(command, &event.to_string(), DEADLINE);
            match find_trouble(&outcome) {
                None if outcome.stderr.is_empty() => self.record_kept(&text),
                None => self.add_finding(format!("a hook complained: {}", outcome.stderr)),
                Some(trouble) => self.add_finding(trouble),
            }
            pace.add(outcome.elapsed);
            // People and agents pause between events.
            thread::sleep(Duration::from_millis(random.below(60) as u64));
        }
        self.hooks.lock().expect("no thread panics while holding it").append(pace);
    }

    fn run_server(&self, mut random: SeededRandom) {
        let mut client = self.sandbox.serve(random.pick(&[Era::Modern, Era::Legacy]));
        client.set_timeout(DEADLINE);
        while !self.is_over() {
            let (tool, arguments, text) = match random.below(6) {
                0 => {
                    let text = self.new_text("a server");
                    let kind = random.pick(&["decision", "learning", "error_fix"]);
                    ("memory_save", json!({ "type": kind, "content": text }), Some(text))
                }
                1 => ("memory_load", json!({ "source": "full" }), None),
                2 => ("memory_stats", json!({}), None),
                _ => ("memory_search", json!({ "query": format!("what is text {}", random.below(500)) }), None),
            };
            self.call(&mut client, tool, arguments, text.as_deref());
            thread::sleep(Duration::from_millis(random.below(40) as u64));
        }
        let closed = client.close();
        if !closed.status.success() || TROUBLE.iter().any(|trouble| closed.stderr.contains(trouble)) {
            self.add_finding(format!("a server ended with {}: {}", closed.status, closed.stderr));
        }
    }

    fn call(&self, client: &mut McpClient, tool: &str, arguments: serde_json::Value, text: Option<&str>) {
        match client.call(tool, arguments) {
            Ok(answer) if !answer.is_error && !TROUBLE.iter().any(|trouble| answer.text.contains(trouble)) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                text.into_iter().for_each(|text| self.record_kept(text));
            }
            answer => self.add_finding(format!("{tool}: {answer:?}")),
        }
    }

    fn run_commands(&self, mut random: SeededRandom) {
        while !self.is_over() {
            let text = self.new_text("a command line");
            let arguments: &[&str] = match random.below(5) {
                0 | 1 => &["save", "convention", &text],
                2 => &["search", "text of a hook"],
                3 => &["stats"],
                _ => &["list", "--json"],
            };
            match find_trouble(&self.sandbox.run_cli(arguments)) {
                Some(trouble) => self.add_finding(trouble),
                None if arguments[0] == "save" => self.record_kept(&text),
                None => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            }
            thread::sleep(Duration::from_millis(random.below(self.crowd.rests.0) as u64));
        }
    }

    fn run_rebuilds(&self) {
        while !self.is_over() {
            match find_trouble(&self.sandbox.run_cli(["index", "--full"])) {
                Some(trouble) => self.add_finding(trouble),
                None => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            }
            self.rebuilds.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(self.crowd.rests.1));
        }
    }

    /// Rewrites notes, long-term memory and the log of a past day, in the ways of different editors. Returns the final
    /// contents of the log.
    fn run_edits(&self, mut random: SeededRandom) -> Vec<String> {
        let mut log: Vec<String> = Vec::new();
        for round in 0.. {
            match random.below(3) {
                0 => self.save_as_editors_do("MEMORY.md", &format!("# Memory\n\nRound {round}.\n"), &mut random),
                1 => {
                    let text = format!("# Note\n\nThe note says {round} in this round.\n").repeat(1 + random.below(30));
                    self.save_as_editors_do(&format!("notes/{}.md", random.below(9)), &text, &mut random);
                }
                _ => {
                    if log.len() > 20 {
                        let gone = log.remove(random.below(log.len()));
                        self.ledger.lock().expect("no thread panics while holding it").expect_gone(&gone);
                    }
                    log.push(self.new_text("an editor"));
                    let lines = log.iter().map(|text| format!("- [10:30:15] **User Prompt**: {text}\n"));
                    let whole = format!("# 2026-01-28\n\n{}", lines.collect::<String>());
                    self.save_as_editors_do("2026-01-28.md", &whole, &mut random);
                }
            }
            if self.is_over() {
                break;
            }
            thread::sleep(Duration::from_millis(20 + random.below(60) as u64));
        }
        log
    }

    fn save_as_editors_do(&self, name: &str, text: &str, random: &mut SeededRandom) {
        let path = self.sandbox.store().join(name);
        let saved = fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).and_then(|()| match random.below(3) {
            // In place.
            0 => fs::write(&path, text),
            // Write to a temporary name, then rename.
            1 => {
                let other = path.with_extension("md.new");
                fs::write(&other, text).and_then(|()| fs::rename(&other, &path))
            }
            // With a swap file and a backup of the old text.
            _ => {
                let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let (swap, backup) = (path.with_file_name(format!(".{file}.swp")), path.with_file_name(file + "~"));
                fs::write(&swap, "swap").and_then(|()| {
                    let _ = fs::rename(&path, &backup);
                    fs::write(&path, text)?;
                    let _ = fs::remove_file(&backup);
                    fs::remove_file(&swap)
                })
            }
        });
        match saved {
            Ok(()) => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            Err(error) => self.add_finding(format!("an editor cannot save {name}: {error}")),
        }
    }
}
