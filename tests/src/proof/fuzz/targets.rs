//! Who reads the input, and what has to be so afterwards.

use std::path::Path;

use schema::memory::MemoryType;
use schema::settings::{Provider, Settings};
use schema::tool::{GetInput, LoadInput, ReindexInput, SaveInput, SearchInput, StatsInput};
use tools::engine::Engine;
use tools::error::ToolError;

use super::Target;
use super::readers::{self, Reader};

/// Whoever reads input of one kind, with a project to do it in.
pub(super) struct Subject {
    target: Target,
    reader: Reader,
    engine: Option<Engine>,
}

impl Subject {
    pub(super) fn new(target: Target) -> Self {
        let reader = Reader::default();
        let engine = target.needs_engine().then(|| engine(reader.project()));
        Self { target, reader, engine }
    }

    /// Reads an input; what is wrong is told in words.
    pub(super) fn take(&mut self, input: &[u8]) -> Result<(), String> {
        match self.target {
            Target::HookJson => self.reader.hook(input),
            Target::Transcript => self.reader.transcript(input),
            Target::DailyLog => readers::log(input),
            Target::QueueFrame => readers::frame(input),
            Target::ToolArguments => self.arguments(input),
            Target::Query => self.query(&String::from_utf8_lossy(input)),
            Target::Settings => self.reader.settings(input),
        }
    }

    fn arguments(&mut self, input: &[u8]) -> Result<(), String> {
        let engine = self.engine.as_mut().expect("it was opened for this");
        if let Ok(asked) = serde_json::from_slice::<SearchInput>(input) {
            answered(engine.search(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<GetInput>(input) {
            answered(engine.get(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<LoadInput>(input) {
            answered(engine.load(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<SaveInput>(input) {
            answered(engine.save(&asked).map(drop))?;
        }
        if let Ok(asked) = serde_json::from_slice::<ReindexInput>(input) {
            answered(engine.reindex(&asked, &mut |_| {}, &|| true).map(drop))?;
        }
        drop(serde_json::from_slice::<StatsInput>(input));
        Ok(())
    }

    fn query(&mut self, query: &str) -> Result<(), String> {
        let engine = self.engine.as_mut().expect("it was opened for this");
        let found = engine.search(&SearchInput { query: query.to_owned(), ..SearchInput::default() });
        if let Ok(found) = &found {
            let in_order = found.results.windows(2).all(|pair| pair[0].score >= pair[1].score);
            let in_bounds = found.results.iter().all(|hit| (0.0..=1.0).contains(&hit.score));
            if !in_bounds || !in_order && !found.results.iter().any(|hit| !hit.flags.is_empty()) {
                return Err(format!("scores: {:?}", found.results.iter().map(|hit| hit.score).collect::<Vec<_>>()));
            }
        }
        answered(found.map(drop))
    }
}

/// A fault of ours is a finding; that something cannot be done is an answer.
fn answered(outcome: Result<(), ToolError>) -> Result<(), String> {
    match outcome {
        Err(error @ (ToolError::Internal(_) | ToolError::Damaged(_))) => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn engine(project: &Path) -> Engine {
    let settings = Settings { embedding_provider: Provider::None, ..Settings::default() };
    let mut engine = Engine::open_with(project, None, &settings).expect("a new store can be opened");
    for n in 0..30 {
        let input = SaveInput {
            kind: MemoryType::Decision,
            content: format!("Part {n} caches tokens in redis_{n}.rs for five minutes. 토큰을 캐시한다."),
            metadata: None,
            long_term: n % 5 == 0,
            supersedes: None,
        };
        engine.save(&input).expect("a memory can be saved");
    }
    engine
}
