//! Who reads the input that needs no engine, and what has to be so afterwards. `tests/fuzz` takes this file as it is, without what the rest
//! of the harness needs, which takes half an hour to build there.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use schema::capture::{Destination, Draft, prepare};
use schema::daily_log::{Ending, LogKind, Tail, insertion, parse, without};
use schema::extract::extract;
use schema::hook::{Event, Occurrence, Payload};
use schema::layout::Layout;
use schema::memory::{Attributes, Memory, MemoryId, MemoryType};
use schema::moment::Moment;
use schema::queue::{Reply, Request};
use schema::screen::Screen;
use schema::settings::{self, Settings};
use schema::transcript::{Since, Thread, last_answer, turns};
use tempfile::TempDir;

/// A project in which input is read.
#[derive(Debug)]
pub struct Reader {
    project: TempDir,
    screen: Screen,
}

impl Default for Reader {
    fn default() -> Self {
        Self { project: tempfile::tempdir().expect("a temporary directory can be made"), screen: Screen::default() }
    }
}

impl Reader {
    /// Where the project lies.
    pub fn project(&self) -> &Path {
        self.project.path()
    }

    pub fn hook(&self, input: &[u8]) -> Result<(), String> {
        let Ok(payload) = Payload::parse(input) else { return Ok(()) };
        let Some(Occurrence { event, .. }) = Occurrence::of(&payload, self.project.path(), &self.screen) else {
            return Ok(());
        };
        match event {
            Event::Prompt(text) | Event::Failure(text) | Event::Compacted(text) => self.prepared(&text),
            _ => Ok(()),
        }
    }

    fn prepared(&self, text: &str) -> Result<(), String> {
        let draft = draft(text);
        let Some(prepared) = prepare(draft, &self.screen) else { return Ok(()) };
        let kept = &prepared.draft().content;
        let again = self.screen.clean(kept);
        if again.text != kept.as_str() {
            return Err(format!("what was cleaned is cleaned again: {kept:?} to {:?}", again.text));
        }
        if kept.len() > schema::capture::LIMIT + 256 {
            return Err(format!("{} bytes are kept", kept.len()));
        }
        Ok(())
    }

    pub fn transcript(&self, input: &[u8]) -> Result<(), String> {
        let path = self.project.path().join("transcript.jsonl");
        fs::write(&path, input).map_err(|error| error.to_string())?;
        for thread in [Thread::Main, Thread::Subagent] {
            last_answer(&path, thread).map_err(|error| error.to_string())?;
        }
        for since in [Since::Start, Since::LastCompaction] {
            let said = turns(&path, since).map_err(|error| error.to_string())?;
            for found in extract(said, &self.screen) {
                self.prepared(&found.content)?;
            }
        }
        Ok(())
    }

    pub fn settings(&self, input: &[u8]) -> Result<(), String> {
        let layout = Layout::new(self.project.path());
        let without = settings::load(&layout).settings;
        let path = layout.settings();
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(|error| error.to_string())?;
        fs::write(&path, input).map_err(|error| error.to_string())?;
        let with = settings::load(&layout).settings;
        fs::remove_file(&path).map_err(|error| error.to_string())?;
        // Whatever a project says, it does not say where texts go.
        let sends = |settings: &Settings| (settings.embedding_provider, settings.embedding_base_url.clone());
        match sends(&with) == sends(&without) {
            true => Ok(()),
            false => Err(format!("a project sends texts elsewhere: {:?}", sends(&with))),
        }
    }
}

fn draft(text: &str) -> Draft {
    Draft {
        session_id: "s".to_owned(),
        kind: MemoryType::UserPrompt,
        content: text.to_owned(),
        at: Moment::from_unix(1_769_563_815, Some(32_400)).expect("a moment"),
        attributes: Attributes::default(),
        destination: Destination::DailyLog,
    }
}

/// Any bytes are a log: its entries lie in it, one more is read back, and one less takes nothing else along.
pub fn log(input: &[u8]) -> Result<(), String> {
    let at = Moment::from_unix(1_769_563_815, Some(32_400)).expect("a moment");
    for kind in [LogKind::Daily(at.date()), LogKind::LongTerm] {
        let text = String::from_utf8_lossy(input).into_owned();
        let parsed = parse(&text, kind);
        let lines = text.split('\n').count();
        if let Some(entry) = parsed
            .entries
            .iter()
            .find(|entry| entry.start_line < 1 || entry.end_line < entry.start_line || entry.end_line > lines)
        {
            return Err(format!("an entry lies at {}-{} of {lines} lines", entry.start_line, entry.end_line));
        }
        let before = contents(&text, kind);
        for memory_kind in [MemoryType::UserPrompt, MemoryType::Decision] {
            let memory = memory(memory_kind, at);
            let bytes = text.as_bytes();
            let after = match kind {
                LogKind::Daily(day) => [bytes, &Ending::of(Tail::Whole(bytes)).add(&memory, day)].concat(),
                LogKind::LongTerm => insertion(bytes, &memory),
            };
            let mut after = contents(&String::from_utf8_lossy(&after), kind);
            match after.get_mut(&memory.content) {
                Some(1) => drop(after.remove(&memory.content)),
                Some(count) => *count -= 1,
                None => return Err(format!("an entry that was put into a log is not in it: {kind:?}")),
            }
            // Half an entry at the end may have been completed.
            if after != before && text.ends_with('\n') {
                return Err(format!("an entry that was put into a log changed others: {before:?} to {after:?}"));
            }
        }
        if !parsed.entries.is_empty() {
            let after = without(text.as_bytes(), &parsed, &HashSet::from([0]));
            let after: usize = contents(&String::from_utf8_lossy(&after), kind).values().sum();
            let before: usize = before.values().sum();
            if after + 1 != before {
                return Err(format!("{after} entries are left of {before} without one"));
            }
        }
    }
    Ok(())
}

fn contents(text: &str, kind: LogKind) -> BTreeMap<String, usize> {
    let mut contents = BTreeMap::new();
    for entry in parse(text, kind).entries {
        *contents.entry(entry.memory.content).or_default() += 1;
    }
    contents
}

fn memory(kind: MemoryType, at: Moment) -> Memory {
    let content = "a text that no log held before,\nin two lines".to_owned();
    let id = MemoryId::derive("fuzz", kind, &at, &content, 0);
    Memory { id, session_id: "fuzz".to_owned(), kind, content, at, attributes: Attributes::default() }
}

/// What is understood is understood again when it is sent on.
pub fn frame(input: &[u8]) -> Result<(), String> {
    if let Ok(request) = Request::parse(input) {
        let again = Request::parse(request.to_line().as_bytes());
        if again.as_ref() != Ok(&request) {
            return Err(format!("{request:?} becomes {again:?}"));
        }
    }
    if let Some(reply) = Reply::parse(input) {
        let again = Reply::parse(reply.to_line().as_bytes());
        if again.as_ref() != Some(&reply) {
            return Err(format!("{reply:?} becomes {again:?}"));
        }
    }
    Ok(())
}
