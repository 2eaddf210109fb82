//! Readers with an engine, and their invariants.

use std::fs;
use std::path::{Path, PathBuf};

use schema::model::memory::MemoryType;
use schema::settings::{EmbeddingProvider, Settings};
use schema::tool::{GetInput, LoadInput, ReindexInput, SaveInput, SearchInput, StatsInput};
use tools::control::Control;
use tools::engine::Engine;
use tools::error::ToolError;

use super::readers::{self, InputReader};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzTarget {
    HookJson,
    Transcript,
    DailyLog,
    QueueFrame,
    ToolArguments,
    Query,
    Settings,
}

impl FuzzTarget {
    pub const ALL: [Self; 7] = [
        Self::HookJson,
        Self::Transcript,
        Self::DailyLog,
        Self::QueueFrame,
        Self::ToolArguments,
        Self::Query,
        Self::Settings,
    ];

    /// Returns the name of the target and of its corpus folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::HookJson => "hook-json",
            Self::Transcript => "transcript",
            Self::DailyLog => "daily-log",
            Self::QueueFrame => "queue-frame",
            Self::ToolArguments => "tool-arguments",
            Self::Query => "query",
            Self::Settings => "settings",
        }
    }

    /// Whether it needs an engine.
    pub(in crate::proof) fn needs_engine(self) -> bool {
        matches!(self, Self::Query | Self::ToolArguments)
    }

    /// Returns the corpus of the target, sorted by name.
    pub fn corpus(self) -> Vec<Vec<u8>> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus").join(self.name());
        let listing = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = listing.filter_map(|item| Some(item.ok()?.path())).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
    }
}

/// A reader of one kind of input, with its project.
pub(super) struct FuzzSubject {
    target: FuzzTarget,
    reader: InputReader,
    engine: Option<Engine>,
}

impl FuzzSubject {
    pub(super) fn new(target: FuzzTarget) -> Self {
        let reader = InputReader::default();
        let engine = target.needs_engine().then(|| open_engine(reader.project()));
        Self { target, reader, engine }
    }

    /// Reads an input. An error describes a violated invariant.
    pub(super) fn read_input(&mut self, input: &[u8]) -> Result<(), String> {
        match self.target {
            FuzzTarget::HookJson => self.reader.read_hook(input),
            FuzzTarget::Transcript => self.reader.read_transcript(input),
            FuzzTarget::DailyLog => readers::check_log(input),
            FuzzTarget::QueueFrame => readers::check_frame(input),
            FuzzTarget::ToolArguments => self.read_arguments(input),
            FuzzTarget::Query => self.run_query(&String::from_utf8_lossy(input)),
            FuzzTarget::Settings => self.reader.read_settings(input),
        }
    }

    fn read_arguments(&mut self, input: &[u8]) -> Result<(), String> {
        let engine = self.engine.as_mut().expect("it was opened for this");
        if let Ok(asked) = serde_json::from_slice::<SearchInput>(input) {
            fault_only(engine.search(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<GetInput>(input) {
            fault_only(engine.get(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<LoadInput>(input) {
            fault_only(engine.load(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<SaveInput>(input) {
            fault_only(engine.save(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<ReindexInput>(input) {
            fault_only(engine.reindex(&asked, &mut Control::default()).map(drop))?;
        }
        drop(serde_json::from_slice::<StatsInput>(input));
        Ok(())
    }

    fn run_query(&mut self, query: &str) -> Result<(), String> {
        let engine = self.engine.as_mut().expect("it was opened for this");
        let found = engine.search(&SearchInput { query: query.to_owned(), ..SearchInput::default() });
        if let Ok(found) = &found {
            let in_order = found.results.windows(2).all(|pair| pair[0].score >= pair[1].score);
            let in_bounds = found.results.iter().all(|hit| (0.0..=1.0).contains(&hit.score));
            if !in_bounds || !in_order && !found.results.iter().any(|hit| !hit.flags.is_empty()) {
                return Err(format!("scores: {:?}", found.results.iter().map(|hit| hit.score).collect::<Vec<_>>()));
            }
        }
        fault_only(found.map(drop))
    }
}

/// Returns only internal errors, because a refusal is a valid answer.
fn fault_only(outcome: Result<(), ToolError>) -> Result<(), String> {
    match outcome {
        Err(error @ (ToolError::Internal(_) | ToolError::Damaged(_))) => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn open_engine(project: &Path) -> Engine {
    let settings = Settings { embedding_provider: EmbeddingProvider::None, ..Settings::default() };
    let mut engine = Engine::open_with_settings(project, &settings).expect("a new store can be opened");
    for n in 0..30 {
        let input = SaveInput {
            kind: MemoryType::Decision,
            content: format!("Part {n} caches tokens in redis_{n}.rs for five minutes. 토큰을 캐시한다."),
            also: None,
            tags: Vec::new(),
            metadata: None,
            long_term: n % 5 == 0,
            supersedes: None,
            share: false,
        };
        engine.save(&input).expect("a memory can be saved");
    }
    engine
}
