//! Everybody at once on one store: hooks, servers, command lines, a person who edits Markdown, and one who rebuilds the index.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::mcp_client::{Era, McpClient};
use crate::outcome::{Outcome, run_to_end};
use crate::proof::{Ledger, Pace, Random, Tally, age_temporary_files, at_rest, texts_in_rows};
use crate::sandbox::{Binaries, Sandbox};

/// Who is at work at once, and how long they rest in between.
#[derive(Debug, Clone, Copy)]
struct Crowd {
    servers: usize,
    hooks: usize,
    commands: usize,
    /// Whether somebody edits Markdown.
    edits: bool,
    /// The longest rest of a command line, and the rest after a rebuild, in milliseconds.
    rests: (usize, u64),
}

const EVERYBODY: Crowd = Crowd { servers: 3, hooks: 2, commands: 1, edits: true, rests: (100, 200) };

/// Programs that open and close an index that is replaced all the time.
const OPENING: Crowd = Crowd { servers: 1, hooks: 0, commands: 3, edits: false, rests: (1, 0) };

/// How long a command may take beside all the others. More is a hang.
const DEADLINE: Duration = Duration::from_secs(120);

/// What says that somebody was shown the trouble of others.
const TROUBLE: [&str; 8] = [
    "disk I/O error",
    "kept in memory",
    "database is locked",
    "database is busy",
    "held by another process",
    "SQLITE_BUSY",
    "is indexing; try",
    "panicked",
];

/// What those at work share.
struct Field<'f> {
    sandbox: &'f Sandbox,
    crowd: Crowd,
    until: Instant,
    ledger: Mutex<Ledger>,
    findings: Mutex<Vec<String>>,
    hooks: Mutex<Pace>,
    rebuilds: AtomicUsize,
    texts: AtomicUsize,
    done: AtomicUsize,
}

/// Everybody at work for so long.
pub fn run(binaries: &Binaries, time: Duration, seed: u64) -> Tally {
    with(EVERYBODY, format!("{} s", time.as_secs()), binaries, time, seed)
}

/// Programs that open and close databases for so long, while an index takes the place of another all the time.
pub fn opening(binaries: &Binaries, time: Duration, seed: u64) -> Tally {
    with(OPENING, format!("{} s of opening", time.as_secs()), binaries, time, seed)
}

fn with(crowd: Crowd, part: String, binaries: &Binaries, time: Duration, seed: u64) -> Tally {
    let mut tally = Tally::new("concurrency", part);
    let mut sandbox = Sandbox::new(binaries.clone());
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    // A command line that reads makes no store, and rightly says that there is none.
    const FIRST: &str = "the first of all texts";
    sandbox.run_cli(["save", "decision", FIRST]).success();
    let field = Field {
        sandbox: &sandbox,
        crowd,
        until: Instant::now() + time,
        ledger: Mutex::default(),
        findings: Mutex::default(),
        hooks: Mutex::default(),
        rebuilds: AtomicUsize::new(0),
        texts: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
    };
    let edited = thread::scope(|scope| {
        let field = &field;
        let random = |n: usize| Random::new(seed + n as u64);
        let servers = (0..crowd.servers).map(|n| scope.spawn(move || field.serve(random(n))));
        let hooks = (0..crowd.hooks).map(|n| scope.spawn(move || field.hook(random(10 + n))));
        let commands = (0..crowd.commands).map(|n| scope.spawn(move || field.command(random(20 + n))));
        let others: Vec<_> = servers.chain(hooks).chain(commands).chain([scope.spawn(|| field.rebuild())]).collect();
        let editor = crowd.edits.then(|| scope.spawn(move || field.edit(random(30))));
        let fell: usize = others.into_iter().map(|other| usize::from(other.join().is_err())).sum();
        if fell > 0 {
            field.find(format!("{fell} of those at work fell over; see above"));
        }
        editor.and_then(|editor| editor.join().ok()).unwrap_or_default()
    });
    let Field { ledger, findings, hooks, rebuilds, done, .. } = field;
    let (mut ledger, hooks) = (ledger.into_inner().expect("nobody fell over"), hooks.into_inner().expect("nobody"));
    tally.findings = findings.into_inner().expect("nobody fell over");
    edited.iter().map(String::as_str).chain([FIRST]).for_each(|text| ledger.keep(text));
    age_temporary_files(&sandbox.store());
    tally.findings.extend(trouble(&sandbox.run_cli(["index"])));
    match texts_in_rows(&sandbox.store()) {
        Ok(there) => tally.findings.extend(ledger.findings(&there)),
        Err(error) => tally.findings.push(format!("the rows cannot be read: {error}")),
    }
    tally.findings.extend(at_rest(&sandbox.store()));
    tally.rounds = done.into_inner();
    tally.measured = measured(crowd, ledger.kept().count(), rebuilds.into_inner(), &hooks);
    tally
}

fn measured(crowd: Crowd, kept: usize, rebuilds: usize, hooks: &Pace) -> String {
    let Crowd { servers, hooks: at_once, commands, .. } = crowd;
    if at_once == 0 {
        return format!(
            "{servers} server, {commands} command lines; {kept} memories kept; {rebuilds} indexes replaced"
        );
    }
    format!(
        "{servers} servers, {at_once} hooks at once, a command line, an editor, a rebuild; {kept} memories kept; {} hooks, one took {}",
        hooks.count(),
        hooks.in_words()
    )
}

/// What an outcome shows of the trouble of others.
fn trouble(outcome: &Outcome) -> Option<String> {
    let said = format!("{}{}", outcome.stdout, outcome.stderr);
    let shown = TROUBLE.iter().any(|trouble| said.contains(trouble));
    (shown || !outcome.status.success()).then(|| format!("{} ended with {}: {said}", outcome.command, outcome.status))
}

impl Field<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn find(&self, finding: String) {
        self.findings.lock().expect("nobody falls over while holding it").push(finding);
    }

    /// A text that nobody said before, which somebody is about to say.
    fn text(&self, who: &str) -> String {
        let text = format!("text {} of {who}", self.texts.fetch_add(1, Ordering::Relaxed));
        self.ledger.lock().expect("nobody falls over while holding it").try_to_keep(&text);
        text
    }

    fn keep(&self, text: &str) {
        self.ledger.lock().expect("nobody falls over while holding it").keep(text);
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn hook(&self, mut random: Random) {
        let mut pace = Pace::default();
        while !self.is_over() {
            let text = self.text("a hook");
            let mut event = self.sandbox.event("UserPromptSubmit");
            event["prompt"] = text.clone().into();
            let command = self.sandbox.hook_command("memory-prompt-save");
            let outcome = run_to_end(command, &event.to_string(), DEADLINE);
            match trouble(&outcome) {
                None if outcome.stderr.is_empty() => self.keep(&text),
                None => self.find(format!("a hook complained: {}", outcome.stderr)),
                Some(trouble) => self.find(trouble),
            }
            pace.add(outcome.elapsed);
            // A person does not prompt without a pause, nor an agent act.
            thread::sleep(Duration::from_millis(random.below(60) as u64));
        }
        self.hooks.lock().expect("nobody falls over while holding it").append(pace);
    }

    fn serve(&self, mut random: Random) {
        let mut client = self.sandbox.serve(random.one(&[Era::Modern, Era::Legacy]));
        client.set_patience(DEADLINE);
        while !self.is_over() {
            let (tool, arguments, text) = match random.below(6) {
                0 => {
                    let text = self.text("a server");
                    let kind = random.one(&["decision", "learning", "error_fix"]);
                    ("memory_save", json!({ "type": kind, "content": text }), Some(text))
                }
                1 => ("memory_load", json!({ "source": "full" }), None),
                2 => ("memory_stats", json!({}), None),
                _ => ("memory_search", json!({ "query": format!("what is text {}", random.below(500)) }), None),
            };
            self.called(&mut client, tool, arguments, text.as_deref());
            thread::sleep(Duration::from_millis(random.below(40) as u64));
        }
        let closed = client.close();
        if !closed.status.success() || TROUBLE.iter().any(|trouble| closed.stderr.contains(trouble)) {
            self.find(format!("a server ended with {}: {}", closed.status, closed.stderr));
        }
    }

    fn called(&self, client: &mut McpClient, tool: &str, arguments: serde_json::Value, text: Option<&str>) {
        match client.call(tool, arguments) {
            Ok(answer) if !answer.is_error && !TROUBLE.iter().any(|trouble| answer.text.contains(trouble)) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                text.into_iter().for_each(|text| self.keep(text));
            }
            answer => self.find(format!("{tool}: {answer:?}")),
        }
    }

    fn command(&self, mut random: Random) {
        while !self.is_over() {
            let text = self.text("a command line");
            let arguments: &[&str] = match random.below(5) {
                0 | 1 => &["save", "convention", &text],
                2 => &["search", "text of a hook"],
                3 => &["stats"],
                _ => &["list", "--json"],
            };
            match trouble(&self.sandbox.run_cli(arguments)) {
                Some(trouble) => self.find(trouble),
                None if arguments[0] == "save" => self.keep(&text),
                None => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            }
            thread::sleep(Duration::from_millis(random.below(self.crowd.rests.0) as u64));
        }
    }

    fn rebuild(&self) {
        while !self.is_over() {
            match trouble(&self.sandbox.run_cli(["index", "--full"])) {
                Some(trouble) => self.find(trouble),
                None => drop(self.done.fetch_add(1, Ordering::Relaxed)),
            }
            self.rebuilds.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(self.crowd.rests.1));
        }
    }

    /// A person rewrites notes, long-term memory and the log of a day that is over, in the ways in which editors save. Gives what the
    /// log holds in the end.
    fn edit(&self, mut random: Random) -> Vec<String> {
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
                        self.ledger.lock().expect("nobody falls over while holding it").forget(&gone);
                    }
                    log.push(self.text("an editor"));
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

    fn save_as_editors_do(&self, name: &str, text: &str, random: &mut Random) {
        let path = self.sandbox.store().join(name);
        let saved = fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).and_then(|()| match random.below(3) {
            // In place.
            0 => fs::write(&path, text),
            // Under another name, which then takes the place.
            1 => {
                let other = path.with_extension("md.new");
                fs::write(&other, text).and_then(|()| fs::rename(&other, &path))
            }
            // With a swap file, and the old text kept as a backup until the new one is there.
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
            Err(error) => self.find(format!("an editor cannot save {name}: {error}")),
        }
    }
}
