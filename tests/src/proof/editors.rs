//! Editors and git that rewrite the Markdown of a store while hooks and saves add to it, in the ways in which programs save files.
//! The last text of an editor or of git stays, and so does every acknowledged memory.
//!
//! A loop is a store with one editor, hooks and saves. It ends with a quiet time, because events may wait in the spool until then.

mod git;
mod intake;
mod saving;
mod shared;
mod verdict;

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::outcome::run_to_end;
use crate::proof::{Random, Tally};
use crate::sandbox::{Binaries, Sandbox};
use git::Git;
use shared::{DEADLINE, Place, Shared, prompt};

/// A program that rewrites Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor {
    /// Opens a file with truncation, waits, and writes back what it read.
    InPlace,
    /// Reads every file, adds or removes a blank line, and writes it in place, as `prettier --write` does.
    Formatter,
    /// Writes the same old buffer in place every 200 ms, as a script with `writeFileSync` does.
    StaleWriter,
    /// Saves a buffer in which somebody types, in place, every second.
    Autosave,
    /// Writes a temporary file and renames it over the old one.
    Atomic,
    /// `git checkout -f` between commits whose `MEMORY.md` and log differ, and `git merge`.
    Git,
}

impl Editor {
    pub const ALL: [Self; 6] =
        [Self::InPlace, Self::Formatter, Self::StaleWriter, Self::Autosave, Self::Atomic, Self::Git];

    fn name(self) -> &'static str {
        match self {
            Self::InPlace => "an editor that truncates and writes",
            Self::Formatter => "a formatter",
            Self::StaleWriter => "a script with an old buffer",
            Self::Autosave => "an autosave every second",
            Self::Atomic => "an editor that renames",
            Self::Git => "git checkout -f and git merge",
        }
    }

    /// Rounds of one loop. After git, only what came after the last round can be judged, so its loops are short.
    fn rounds_of_a_loop(self) -> usize {
        match self {
            Self::InPlace | Self::Formatter | Self::Atomic => 50,
            // Longer than the ten seconds after which a day may continue in another file.
            Self::StaleWriter => 70,
            Self::Autosave => 25,
            Self::Git => 15,
        }
    }
}

/// The programs that take events and saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intake {
    /// Hooks that write by themselves, and the command line.
    WithoutServer,
    /// Hooks that send to a server, and its `memory_save`.
    Server,
}

impl Intake {
    pub const ALL: [Self; 2] = [Self::WithoutServer, Self::Server];

    fn name(self) -> &'static str {
        match self {
            Self::WithoutServer => "no server",
            Self::Server => "a server",
        }
    }
}

/// How many rounds the short form has, in less than a minute.
pub fn short(editor: Editor) -> usize {
    let loops = if editor == Editor::Git { 3 } else { 1 };
    loops * editor.rounds_of_a_loop()
}

/// Every editor with every intake whose part has these words, all at the same time: a round waits most of the time.
pub fn run_all(binaries: &Binaries, words: &str, rounds: impl Fn(Editor) -> usize, seed: u64) -> Vec<Tally> {
    thread::scope(|scope| {
        let pairs = Editor::ALL.into_iter().flat_map(|editor| Intake::ALL.map(|intake| (editor, intake)));
        let started: Vec<_> = pairs
            .filter(|(editor, intake)| part(*editor, *intake).contains(words))
            .map(|(editor, intake)| {
                let rounds = rounds(editor);
                scope.spawn(move || run(binaries, editor, intake, rounds, seed))
            })
            .collect();
        started.into_iter().map(|part| part.join().expect("a loop reports what it finds")).collect()
    })
}

fn part(editor: Editor, intake: Intake) -> String {
    format!("{}; {}", editor.name(), intake.name())
}

/// So many rounds of one editor, in loops with a new store each.
pub fn run(binaries: &Binaries, editor: Editor, intake: Intake, rounds: usize, seed: u64) -> Tally {
    let mut tally = Tally::new("editors", part(editor, intake));
    let (mut loops, mut captured, mut refused) = (0, 0, 0);
    while tally.rounds < rounds {
        let of_this = editor.rounds_of_a_loop().min(rounds - tally.rounds);
        let seed_of_this = seed ^ loops << 8 ^ (editor as u64) << 32 ^ (intake as u64) << 40;
        let done = one_loop(binaries, editor, intake, of_this, &mut Random::new(seed_of_this));
        let named = |finding| format!("loop {loops} of seed {seed}, {finding}");
        tally.findings.extend(done.findings.into_iter().map(named));
        tally.rounds += of_this;
        tally.faults += done.met;
        captured += done.captured;
        refused += done.refused;
        loops += 1;
    }
    tally.measured = format!("{loops} loops; {captured} memories acknowledged");
    if editor == Editor::Git {
        tally.measured += &format!("; {refused} merges refused because of local changes");
    }
    tally
}

/// The result of one loop.
#[derive(Debug, Default)]
struct Done {
    /// Rounds in which something was sent.
    met: usize,
    captured: usize,
    refused: usize,
    findings: Vec<String>,
}

fn one_loop(binaries: &Binaries, editor: Editor, intake: Intake, rounds: usize, random: &mut Random) -> Done {
    let mut sandbox =
        if editor == Editor::Git { Sandbox::without_git(binaries.clone()) } else { Sandbox::new(binaries.clone()) };
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    let shared = Shared::new(sandbox);
    let git = match fill(&shared).and_then(|()| set_up(&shared, editor, random)) {
        Ok(git) => git,
        Err(error) => {
            return Done { findings: vec![format!("the store cannot be prepared: {error}")], ..Done::default() };
        }
    };
    let pace = if editor == Editor::Git { intake::Pace::Fast } else { intake::Pace::Slow };
    let (hooks, saves, edits) = (random.clone(), fork(random, 1), fork(random, 2));
    let mut client = (intake == Intake::Server).then(|| intake::served(&shared));
    let fell: usize = thread::scope(|scope| {
        let (shared, git, client) = (&shared, git.as_ref(), client.as_mut());
        let others = [
            scope.spawn(move || intake::hooks(shared, hooks)),
            scope.spawn(move || match client {
                Some(client) => intake::tool_calls(shared, client, pace, saves),
                None => intake::commands(shared, pace, saves),
            }),
        ];
        let edited = scope.spawn(move || match git {
            Some(git) => git.rounds(shared, rounds, edits),
            None => saving::rounds(shared, editor, rounds, edits),
        });
        let fell = usize::from(edited.join().is_err());
        // Some events arrive after the last round.
        thread::sleep(Duration::from_millis(1_000));
        shared.over.store(true, Ordering::Release);
        fell + others.into_iter().map(|other| usize::from(other.join().is_err())).sum::<usize>()
    });
    if fell > 0 {
        shared.find("a thread panicked", format!("{fell} threads panicked; see above"));
    }
    verdict::wait_until_all_is_there(&shared);
    if let Some(closed) = client.map(crate::McpClient::close)
        && !closed.status.success()
    {
        shared.find("server", format!("the server ended with {}: {}", closed.status, closed.stderr));
    }
    verdict::judge(&shared);
    Done {
        met: shared.met.load(Ordering::Acquire),
        captured: shared.acknowledged(),
        refused: git.map_or(0, |git| git.refused()),
        findings: shared.into_findings(),
    }
}

/// Other random numbers of the same seed.
fn fork(random: &mut Random, n: u64) -> Random {
    Random::new((random.below(usize::MAX) as u64) ^ n)
}

/// A store as it is in the middle of a day: events and conclusions of ours, lines that a person wrote, and long-term memory.
fn fill(shared: &Shared) -> io::Result<()> {
    let first = shared.begin("the start", Place::Log);
    let outcome =
        run_to_end(shared.sandbox.hook_command("memory-prompt-save"), &prompt(&shared.sandbox, &first.text), DEADLINE);
    outcome.success();
    shared.acknowledge(&first);
    for log in shared.logs() {
        let mut file = File::options().append(true).open(log)?;
        for second in 0..30 {
            let said = shared.begin("the start", Place::Log);
            writeln!(file, "- [00:00:{second:02}] **User Prompt**: {}", said.text)?;
            shared.acknowledge(&said);
        }
    }
    for _ in 0..6 {
        let said = shared.begin("the start", Place::LongTerm);
        shared.sandbox.run_cli(["save", "convention", "--long-term", &said.text]).success();
        shared.acknowledge(&said);
    }
    shared.sandbox.run_cli(["index"]).success();
    Ok(())
}

fn set_up(shared: &Shared, editor: Editor, random: &mut Random) -> io::Result<Option<Git>> {
    (editor == Editor::Git).then(|| Git::set_up(shared, random)).transpose()
}
