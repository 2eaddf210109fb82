//! Which memories are meant by those who want to forget some.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

use schema::daily_log::LogKind;
use schema::layout::STORE_DIR;
use schema::memory::MemoryType;
use schema::moment::Moment;
use schema::screen::Screen;
use schema::store::Row;
use schema::tool_usage;
use schema::track::Line;
use unicode_normalization::UnicodeNormalization as _;

use super::Engine;
use crate::error::ToolError;

/// Rows read at once.
const PIECE: usize = 1_000;

/// What memories have to meet, all of it. Nothing at all is met by every memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Ids, or their beginnings.
    pub ids: Vec<String>,
    /// Words as they stand in the text, whatever their case.
    pub query: Option<String>,
    /// A session, or the beginning of its id.
    pub session: Option<String>,
    /// Seconds since 1970, both included.
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub kinds: Vec<MemoryType>,
    /// A log of the store, or a file or glob of the project that the text names.
    pub path: Option<String>,
}

impl Selection {
    fn span(&self) -> RangeInclusive<i64> {
        self.since.unwrap_or(i64::MIN)..=self.until.unwrap_or(i64::MAX)
    }
}

/// The memories that are meant.
#[derive(Debug, Clone, Default)]
pub struct Selected {
    /// Oldest first.
    pub rows: Vec<Row>,
    /// How many there are in all.
    pub total: usize,
    /// The session that was meant.
    pub(super) session: Option<String>,
    /// What was asked for. Without it the rows were chosen in another way.
    pub(super) selection: Option<Selection>,
}

impl Selected {
    pub(super) fn of(rows: Vec<Row>) -> Self {
        Self { total: rows.len(), rows, ..Self::default() }
    }

    /// Whether everything was asked for: the store is to be empty, whatever it holds.
    pub fn is_unlimited(&self) -> bool {
        self.selection.as_ref().is_some_and(|selection| *selection == Selection::default())
    }

    /// Whether nothing would be left.
    pub fn is_everything(&self) -> bool {
        self.total > 0 && self.rows.len() == self.total
    }
}

impl Engine {
    /// Whether a selection means what waits in a buffer until its turn ends.
    pub(super) fn judge_of_uses(&self, selection: &Selection) -> Result<impl Fn(&Line) -> bool, ToolError> {
        let project = self.store.layout().project().to_owned();
        let judge = Judge::new(selection, &project)?;
        let (query, path) = (judge.query, judge.path);
        let span = selection.span();
        Ok(move |line: &Line| {
            let text =
                [&line.file, &line.command].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ");
            let at = Moment::parse_rfc3339(&line.at).map(|at| at.unix());
            at.map_or(span == (i64::MIN..=i64::MAX), |at| span.contains(&at))
                && query.as_ref().is_none_or(|query| folded(&text).contains(query))
                && match &path {
                    None => true,
                    Some(Named::Log(_)) => false,
                    Some(Named::Files(screen)) => screen.excludes_text(&text, &project, &project),
                }
        })
    }

    /// Finds the memories that a selection means.
    pub fn select(&mut self, selection: &Selection) -> Result<Selected, ToolError> {
        let mut whole = selection.clone();
        for id in &mut whole.ids {
            *id = self.known(id)?.0.to_string();
        }
        let project = self.store.layout().project().to_owned();
        let mut judge = Judge::new(&whole, &project)?;
        let (mut selected, mut sessions) = (Selected::default(), BTreeSet::new());
        selected.selection = Some(selection.clone());
        let mut last = 0;
        loop {
            let rows = self.mending(|engine| Ok(engine.store.rows().after(last, PIECE)?))?;
            let Some(row) = rows.last() else { break };
            last = row.seq;
            selected.total += rows.len();
            for row in rows.into_iter().filter(|row| judge.is_met_by(row)) {
                sessions.insert(row.memory.session_id.clone());
                selected.rows.push(row);
            }
        }
        if let Some(session) = judge.session.take() {
            let exact = sessions.contains(&session);
            if !exact && sessions.len() > 1 {
                let names: Vec<String> = sessions.into_iter().take(3).collect();
                let text =
                    format!("{session:?} is the beginning of several sessions: {}: give more of it", names.join(", "));
                return Err(ToolError::Invalid(text));
            }
            if exact {
                selected.rows.retain(|row| row.memory.session_id == session);
            }
            selected.session = if exact { Some(session) } else { sessions.pop_first() };
        }
        selected.rows.sort_by_key(|row| (row.memory.at, row.seq));
        Ok(selected)
    }
}

/// A selection made ready.
struct Judge<'s> {
    selection: &'s Selection,
    query: Option<String>,
    session: Option<String>,
    path: Option<Named>,
    project: &'s Path,
}

/// What a path names.
enum Named {
    /// A file of the store.
    Log(String),
    /// Files of the project.
    Files(Box<Screen>),
}

impl<'s> Judge<'s> {
    fn new(selection: &'s Selection, project: &'s Path) -> Result<Self, ToolError> {
        let given = |text: &Option<String>, name: &str| match text.as_deref().map(str::trim) {
            Some("") => Err(ToolError::Invalid(format!("{name} is empty"))),
            text => Ok(text.map(str::to_owned)),
        };
        let path = given(&selection.path, "path")?.map(|path| named(&path, project)).transpose()?;
        Ok(Self {
            query: given(&selection.query, "query")?.map(|query| folded(&query)),
            session: given(&selection.session, "session")?,
            selection,
            path,
            project,
        })
    }

    fn is_met_by(&self, row: &Row) -> bool {
        let memory = &row.memory;
        let Selection { ids, kinds, .. } = self.selection;
        (ids.is_empty() || ids.iter().any(|id| id == memory.id.as_str()))
            && (kinds.is_empty() || kinds.contains(&memory.kind))
            && self.selection.span().contains(&memory.at.unix())
            && self.session.as_ref().is_none_or(|session| memory.session_id.starts_with(session.as_str()))
            && self.query.as_ref().is_none_or(|query| says(row, query))
            && self.path.as_ref().is_none_or(|path| path.is_of(row, self.project))
    }
}

impl Named {
    fn is_of(&self, row: &Row, project: &Path) -> bool {
        match self {
            Self::Log(path) => row.path == *path,
            Self::Files(screen) => {
                let content = &row.memory.content;
                tool_usage::files(content).any(|file| screen.excludes(file, project, project))
                    || screen.excludes_text(content, project, project)
            }
        }
    }
}

fn named(path: &str, project: &Path) -> Result<Named, ToolError> {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let inside = path.strip_prefix(STORE_DIR).map(|rest| rest.trim_start_matches('/'));
    if let Some(log) = inside.or(Some(path)).filter(|path| LogKind::of(path).is_some()) {
        return Ok(Named::Log(log.to_owned()));
    }
    if let Some(inside) = inside {
        let text = format!("{STORE_DIR}/{inside} is no log: what people write there is theirs to delete");
        return Err(ToolError::Invalid(text));
    }
    let project = project.to_string_lossy().replace('\\', "/");
    let relative = path.strip_prefix(&*project).map_or(path, |rest| rest.trim_start_matches('/'));
    let (screen, problems) = Screen::new(&[], &[relative.to_owned()]);
    match problems.first() {
        Some(problem) => Err(ToolError::Invalid(format!("path is {path:?}: {problem}"))),
        None => Ok(Named::Files(Box::new(screen))),
    }
}

/// Whether the text of a memory, or a value of its metadata, holds words.
fn says(row: &Row, query: &str) -> bool {
    let metadata = &row.memory.attributes.metadata;
    folded(&row.memory.content).contains(query)
        || !metadata.is_empty() && folded(&serde_json::Value::Object(metadata.clone()).to_string()).contains(query)
}

fn folded(text: &str) -> String {
    let folded: String = text.nfc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}
