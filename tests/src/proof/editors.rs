//! Editors and git rewrite a store's Markdown while hooks and saves append to it, in all common ways of saving. The last text of the editor
//! or git must stay, and so must each acknowledged memory.
//!
//! A loop is a store with one editor, hooks and saves. It ends with a quiet period, because events may wait in the spool until then.

mod editor;
mod editor_saves;
mod event_sources;
mod git_editor;
mod loop_state;
mod verdict;

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use crate::program_output::run_to_end;
use crate::proof::{ProofResult, SeededRandom};
use crate::sandbox::{Binaries, Sandbox};
pub use editor::Editor;
use git_editor::GitEditor;
use loop_state::{DEADLINE, LoopState, MemoryFile};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSource {
    /// Hooks that write directly, and commands.
    WithoutServer,
    /// Hooks that send to a server, and `memory_save`.
    Server,
}

impl EventSource {
    pub const ALL: [Self; 2] = [Self::WithoutServer, Self::Server];

    fn name(self) -> &'static str {
        match self {
            Self::WithoutServer => "no server",
            Self::Server => "a server",
        }
    }
}

/// Runs each editor with each event source whose part name contains these words. The runs are concurrent, because a round mostly waits.
pub fn run_all(binaries: &Binaries, words: &str, rounds: impl Fn(Editor) -> usize, seed: u64) -> Vec<ProofResult> {
    thread::scope(|scope| {
        let pairs = Editor::ALL.into_iter().flat_map(|editor| EventSource::ALL.map(|intake| (editor, intake)));
        let started: Vec<_> = pairs
            .filter(|(editor, intake)| part_name(*editor, *intake).contains(words))
            .map(|(editor, intake)| {
                let rounds = rounds(editor);
                scope.spawn(move || run(binaries, editor, intake, rounds, seed))
            })
            .collect();
        started.into_iter().map(|part| part.join().expect("a loop reports what it finds")).collect()
    })
}

fn part_name(editor: Editor, intake: EventSource) -> String {
    format!("{}; {}", editor.name(), intake.name())
}

/// Runs rounds of one editor, in loops with a new store each.
pub fn run(binaries: &Binaries, editor: Editor, intake: EventSource, rounds: usize, seed: u64) -> ProofResult {
    let mut tally = ProofResult::new("editors", part_name(editor, intake));
    let (mut loops, mut captured, mut refused) = (0, 0, 0);
    while tally.rounds < rounds {
        let of_this = editor.rounds_of_a_loop().min(rounds - tally.rounds);
        let seed_of_this = seed ^ loops << 8 ^ (editor as u64) << 32 ^ (intake as u64) << 40;
        let done = run_loop(binaries, editor, intake, of_this, &mut SeededRandom::new(seed_of_this));
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

#[derive(Debug, Default)]
struct LoopOutcome {
    /// The number of rounds in which something was sent.
    met: usize,
    captured: usize,
    refused: usize,
    findings: Vec<String>,
}

fn run_loop(
    binaries: &Binaries,
    editor: Editor,
    intake: EventSource,
    rounds: usize,
    random: &mut SeededRandom,
) -> LoopOutcome {
    let mut sandbox =
        if editor == Editor::Git { Sandbox::without_git(binaries.clone()) } else { Sandbox::new(binaries.clone()) };
    sandbox.set_variable("JIKIME_EMBEDDING_PROVIDER", "none");
    let shared = LoopState::new(sandbox);
    let git = match fill_store(&shared).and_then(|()| set_up(&shared, editor, random)) {
        Ok(git) => git,
        Err(error) => {
            return LoopOutcome {
                findings: vec![format!("the store cannot be prepared: {error}")],
                ..LoopOutcome::default()
            };
        }
    };
    let pace = if editor == Editor::Git { event_sources::SaveRate::Fast } else { event_sources::SaveRate::Slow };
    let (hooks, saves, edits) = (random.clone(), fork_random(random, 1), fork_random(random, 2));
    let mut client = (intake == EventSource::Server).then(|| event_sources::serve(&shared));
    let fell: usize = thread::scope(|scope| {
        let (shared, git, client) = (&shared, git.as_ref(), client.as_mut());
        let others = [
            scope.spawn(move || event_sources::run_hooks(shared, hooks)),
            scope.spawn(move || match client {
                Some(client) => event_sources::run_tool_calls(shared, client, pace, saves),
                None => event_sources::run_save_commands(shared, pace, saves),
            }),
        ];
        let edited = scope.spawn(move || match git {
            Some(git) => git.run_rounds(shared, rounds, edits),
            None => editor_saves::run_rounds(shared, editor, rounds, edits),
        });
        let fell = usize::from(edited.join().is_err());
        // Some events arrive after the last round.
        thread::sleep(Duration::from_secs(1));
        shared.is_finished.store(true, Ordering::Release);
        fell + others.into_iter().map(|other| usize::from(other.join().is_err())).sum::<usize>()
    });
    if fell > 0 {
        shared.add_finding("a thread panicked", format!("{fell} threads panicked; see above"));
    }
    verdict::wait_until_complete(&shared);
    if let Some(closed) = client.map(crate::McpClient::close)
        && !closed.status.success()
    {
        shared.add_finding("server", format!("the server ended with {}: {}", closed.status, closed.stderr));
    }
    verdict::check_store(&shared);
    LoopOutcome {
        met: shared.encounters.load(Ordering::Acquire),
        captured: shared.count_acknowledged(),
        refused: git.map_or(0, |git| git.refused()),
        findings: shared.into_findings(),
    }
}

/// Returns an independent generator that is derived from the same seed.
fn fork_random(random: &mut SeededRandom, n: u64) -> SeededRandom {
    SeededRandom::new((random.below(usize::MAX) as u64) ^ n)
}

/// Fills a store as in the middle of a day: events, conclusions, lines by a person, and long-term memory.
fn fill_store(shared: &LoopState) -> io::Result<()> {
    let first = shared.begin_text("the start", MemoryFile::Log);
    let outcome = run_to_end(
        shared.sandbox.hook_command("memory-prompt-save"),
        &shared.sandbox.prompt_event(&first.text).to_string(),
        DEADLINE,
    );
    outcome.assert_success();
    shared.acknowledge(&first);
    for log in shared.logs() {
        let mut file = File::options().append(true).open(log)?;
        for second in 0..30 {
            let said = shared.begin_text("the start", MemoryFile::Log);
            writeln!(file, "- [00:00:{second:02}] **User Prompt**: {}", said.text)?;
            shared.acknowledge(&said);
        }
    }
    for _ in 0..6 {
        let said = shared.begin_text("the start", MemoryFile::LongTerm);
        shared.sandbox.run_cli(["save", "convention", "--long-term", &said.text]).assert_success();
        shared.acknowledge(&said);
    }
    shared.sandbox.run_cli(["index"]).assert_success();
    Ok(())
}

fn set_up(shared: &LoopState, editor: Editor, random: &mut SeededRandom) -> io::Result<Option<GitEditor>> {
    (editor == Editor::Git).then(|| GitEditor::set_up(shared, random)).transpose()
}
