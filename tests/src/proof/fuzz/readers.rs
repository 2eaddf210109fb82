//! Readers without an engine, and their invariants. `tests/fuzz` includes this file alone, because the rest of the harness
//! takes half an hour to build there.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use schema::files::layout::Layout;
use schema::host::conclusions::{Speaker, conclusions};
use schema::host::hook::{EventKind, HookPayload, HostEvent};
use schema::host::transcript::{ReadFrom, TranscriptThread, Utterance, last_answer, utterances};
use schema::intake::prepare::{Draft, prepare};
use schema::intake::queue::{QueueReply, QueueRequest};
use schema::log::{LogEnd, LogKind, LogTail, insert_long_term, parse, remove_entries, render_shared};
use schema::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::{self, Settings};
use tempfile::TempDir;

/// A project in which input is read.
#[derive(Debug)]
pub struct InputReader {
    project: TempDir,
    sanitizer: Sanitizer,
}

impl Default for InputReader {
    fn default() -> Self {
        Self {
            project: tempfile::tempdir().expect("a temporary directory can be made"),
            sanitizer: Sanitizer::default(),
        }
    }
}

impl InputReader {
    pub fn project(&self) -> &Path {
        self.project.path()
    }

    pub fn read_hook(&self, input: &[u8]) -> Result<(), String> {
        let Ok(payload) = HookPayload::parse(input) else { return Ok(()) };
        let Some(HostEvent { kind: event, .. }) =
            HostEvent::from_payload(&payload, self.project.path(), &self.sanitizer)
        else {
            return Ok(());
        };
        match event {
            EventKind::Prompt(text) | EventKind::Failure(text) | EventKind::Summary(text) => self.check_prepare(&text),
            _ => Ok(()),
        }
    }

    fn check_prepare(&self, text: &str) -> Result<(), String> {
        let draft = draft(text);
        let Some(prepared) = prepare(draft, &self.sanitizer) else { return Ok(()) };
        let kept = &prepared.draft().content;
        let again = self.sanitizer.clean(kept);
        if again.text != kept.as_str() {
            return Err(format!("cleaning twice changes the text: {kept:?} to {:?}", again.text));
        }
        if kept.len() > schema::intake::prepare::TEXT_LIMIT + 256 {
            return Err(format!("{} bytes are kept", kept.len()));
        }
        Ok(())
    }

    pub fn read_transcript(&self, input: &[u8]) -> Result<(), String> {
        let path = self.project.path().join("transcript.jsonl");
        fs::write(&path, input).map_err(|error| error.to_string())?;
        for thread in [TranscriptThread::Main, TranscriptThread::Subagent] {
            last_answer(&path, thread).map_err(|error| error.to_string())?;
        }
        for since in [ReadFrom::Start, ReadFrom::LastCompaction] {
            for said in utterances(&path, since).map_err(|error| error.to_string())? {
                let (text, speaker) = match said {
                    Utterance::Prompt { text, .. } => (text, Speaker::Person),
                    Utterance::Answer { text, .. } | Utterance::Summary { text, .. } => (text, Speaker::Agent),
                };
                for found in conclusions(&text, speaker, &self.sanitizer) {
                    self.check_prepare(&found.text)?;
                }
            }
        }
        Ok(())
    }

    pub fn read_settings(&self, input: &[u8]) -> Result<(), String> {
        let layout = Layout::new(self.project.path());
        let without = settings::load(&layout).settings;
        let path = layout.settings_file();
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(|error| error.to_string())?;
        fs::write(&path, input).map_err(|error| error.to_string())?;
        let with = settings::load(&layout).settings;
        fs::remove_file(&path).map_err(|error| error.to_string())?;
        // A project must never redirect texts.
        let sends = |settings: &Settings| (settings.embedding_provider, settings.embedding_base_url.clone());
        match sends(&with) == sends(&without) {
            true => Ok(()),
            false => Err(format!("a project redirects texts: {:?}", sends(&with))),
        }
    }
}

fn draft(text: &str) -> Draft {
    Draft::new("s", MemoryType::UserPrompt, text, Moment::from_unix(1_769_563_815, Some(32_400)).expect("a moment"))
}

/// Checks that any bytes can be read as a log. Entries must be within it, an added entry must be read back, and removing one must not
/// change the others.
pub fn check_log(input: &[u8]) -> Result<(), String> {
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
            return Err(format!("an entry is at {}-{} of {lines} lines", entry.start_line, entry.end_line));
        }
        let before = count_contents(&text, kind);
        for memory_kind in [MemoryType::UserPrompt, MemoryType::Decision] {
            let memory = memory(memory_kind, at);
            let bytes = text.as_bytes();
            let after = match kind {
                LogKind::Daily(day) => {
                    [bytes, &LogEnd::from_tail(LogTail::whole(bytes)).append_entry(&memory, day)].concat()
                }
                LogKind::LongTerm => insert_long_term(bytes, &memory),
                LogKind::Team => [bytes, render_shared(&memory).as_bytes()].concat(),
            };
            let mut after = count_contents(&String::from_utf8_lossy(&after), kind);
            match after.get_mut(&memory.content) {
                Some(1) => drop(after.remove(&memory.content)),
                Some(count) => *count -= 1,
                None => return Err(format!("an appended entry is missing: {kind:?}")),
            }
            // Half an entry at the end may have been completed.
            if after != before && text.ends_with('\n') {
                return Err(format!("an appended entry changed others: {before:?} to {after:?}"));
            }
        }
        if !parsed.entries.is_empty() {
            let after = remove_entries(text.as_bytes(), &parsed, &HashSet::from([0]));
            let after: usize = count_contents(&String::from_utf8_lossy(&after), kind).values().sum();
            let before: usize = before.values().sum();
            if after + 1 != before {
                return Err(format!("{after} entries are left of {before} without one"));
            }
        }
    }
    Ok(())
}

fn count_contents(text: &str, kind: LogKind) -> BTreeMap<String, usize> {
    let mut contents = BTreeMap::new();
    for entry in parse(text, kind).entries {
        *contents.entry(entry.memory.content).or_default() += 1;
    }
    contents
}

fn memory(kind: MemoryType, at: Moment) -> Memory {
    let content = "a text that no log held before,\nin two lines".to_owned();
    let id = MemoryId::derive("fuzz", kind, &at, &content, 0);
    Memory { id, session_id: "fuzz".to_owned(), kind, content, at, attributes: MemoryAttributes::default() }
}

/// Checks that a parsed frame survives another round trip.
pub fn check_frame(input: &[u8]) -> Result<(), String> {
    if let Ok(request) = QueueRequest::parse(input) {
        let again = QueueRequest::parse(request.to_line().as_bytes());
        if again.as_ref() != Ok(&request) {
            return Err(format!("{request:?} becomes {again:?}"));
        }
    }
    if let Some(reply) = QueueReply::parse(input) {
        let again = QueueReply::parse(reply.to_line().as_bytes());
        if again.as_ref() != Some(&reply) {
            return Err(format!("{reply:?} becomes {again:?}"));
        }
    }
    Ok(())
}
