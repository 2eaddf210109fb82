//! Selects memories to forget.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;
use std::path::Path;

use schema::files::layout::STORE_DIR;
use schema::host::track_buffer::BufferedUse;
use schema::log::LogKind;
use schema::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::sharing::team_author;
use schema::model::tool_usage;
use schema::privacy::exclude::ExcludeList;
use schema::store::MemoryRow;
use unicode_normalization::UnicodeNormalization as _;

use super::Engine;
use crate::error::ToolError;

/// Rows per read.
const ROWS_PER_READ: usize = 1_000;

/// All conditions must match. An empty selection matches every memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Ids or prefixes of ids.
    pub ids: Vec<String>,
    /// Words of the text, ignoring case.
    pub query: Option<String>,
    /// A session id or its prefix.
    pub session: Option<String>,
    /// Seconds since 1970, inclusive.
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

#[derive(Debug, Clone, Default)]
pub struct SelectedMemories {
    /// Oldest first.
    pub rows: Vec<MemoryRow>,
    /// The rows that are selected only because they were drawn from a selected memory.
    pub conclusions: HashSet<MemoryId>,
    /// Number of memories in the store.
    pub total: usize,
    /// The resolved session id.
    pub(super) session: Option<String>,
    /// `None` if the rows were chosen in another way.
    pub(super) selection: Option<Selection>,
}

impl SelectedMemories {
    pub(super) fn new(rows: Vec<MemoryRow>) -> Self {
        Self { total: rows.len(), rows, ..Self::default() }
    }

    /// Adds those of the `drawn` conclusions whose source is selected.
    fn add_conclusions(&mut self, mut drawn: Vec<MemoryRow>) {
        let sources: HashSet<&MemoryId> = self.rows.iter().map(|row| &row.memory.id).collect();
        drawn.retain(|row| row.memory.attributes.source.as_ref().is_some_and(|source| sources.contains(source)));
        self.conclusions = drawn.iter().map(|row| row.memory.id.clone()).collect();
        self.rows.extend(drawn);
    }

    /// Whether the selection is empty, so that the store is emptied.
    pub fn is_unlimited(&self) -> bool {
        self.selection.as_ref().is_some_and(|selection| *selection == Selection::default())
    }

    /// Whether no memory would be left.
    pub fn is_everything(&self) -> bool {
        self.total > 0 && self.rows.len() == self.total
    }
}

impl Engine {
    /// Returns a test for buffered tool uses. It checks time, query and path only; the caller checks ids, session and types.
    pub(super) fn buffered_use_matcher(
        &self,
        selection: &Selection,
    ) -> Result<impl Fn(&BufferedUse) -> bool, ToolError> {
        let project = self.store.layout().project().to_owned();
        let matcher = SelectionMatcher::new(selection, &project)?;
        let (query, path) = (matcher.query, matcher.path);
        let span = selection.span();
        Ok(move |line: &BufferedUse| {
            let texts = [&line.file, &line.command, &line.change].into_iter().flatten().map(String::as_str);
            let text = texts.collect::<Vec<_>>().join(" ");
            let at = Moment::parse_rfc3339(&line.at).map(|at| at.unix());
            at.map_or(span == (i64::MIN..=i64::MAX), |at| span.contains(&at))
                && query.as_ref().is_none_or(|query| normalize_words(&text).contains(query))
                && match &path {
                    None => true,
                    Some(PathTarget::Log(_)) => false,
                    Some(PathTarget::Files(files)) => files.excludes_text(&text, &project, &project),
                }
        })
    }

    /// Finds the selected memories, and the conclusions that were drawn from them.
    pub fn select(&mut self, selection: &Selection) -> Result<SelectedMemories, ToolError> {
        let mut whole = selection.clone();
        for id in &mut whole.ids {
            *id = self.find_by_prefix(id)?.memory.id.to_string();
        }
        let project = self.store.layout().project().to_owned();
        let mut matcher = SelectionMatcher::new(&whole, &project)?;
        let (mut selected, mut sessions) = (SelectedMemories::default(), BTreeSet::new());
        selected.selection = Some(selection.clone());
        let (mut last, mut drawn) = (0, Vec::new());
        loop {
            let mut rows = self.read_rows(|rows| rows.inserted_after(last, ROWS_PER_READ))?;
            let Some(row) = rows.last() else { break };
            last = row.seq;
            // A shared memory is selected only by its id.
            rows.retain(|row| !whole.ids.is_empty() || team_author(&row.path).is_none());
            selected.total += rows.len();
            for row in rows {
                if matcher.matches(&row) {
                    sessions.insert(row.memory.session_id.clone());
                    selected.rows.push(row);
                } else if is_untouched_conclusion(&row) {
                    drawn.push(row);
                }
            }
        }
        if let Some(session) = matcher.session.take() {
            if sessions.contains(&session) {
                selected.rows.retain(|row| row.memory.session_id == session);
                selected.session = Some(session);
            } else if sessions.len() > 1 {
                let names = sessions.into_iter().take(3).collect::<Vec<_>>().join(", ");
                let text = format!("{session:?} matches several sessions: {names}; give more characters of the id");
                return Err(ToolError::Invalid(text));
            } else {
                selected.session = sessions.pop_first();
            }
        }
        selected.add_conclusions(drawn);
        selected.rows.sort_by_key(|row| (row.memory.at, row.seq));
        Ok(selected)
    }
}

/// Whether a memory was extracted automatically, and nobody edited, copied or pinned it since.
fn is_untouched_conclusion(row: &MemoryRow) -> bool {
    let attributes = &row.memory.attributes;
    attributes.auto && attributes.source.is_some() && !attributes.pinned && row.memory.has_derived_id()
}

/// A compiled selection.
struct SelectionMatcher<'s> {
    selection: &'s Selection,
    query: Option<String>,
    session: Option<String>,
    path: Option<PathTarget>,
    project: &'s Path,
}

enum PathTarget {
    /// A log of the store.
    Log(String),
    /// Files of the project.
    Files(ExcludeList),
}

impl<'s> SelectionMatcher<'s> {
    fn new(selection: &'s Selection, project: &'s Path) -> Result<Self, ToolError> {
        let given = |text: &Option<String>, name: &str| match text.as_deref().map(str::trim) {
            Some("") => Err(ToolError::Invalid(format!("{name} is empty"))),
            text => Ok(text.map(str::to_owned)),
        };
        let path = given(&selection.path, "path")?.map(|path| path_target(&path, project)).transpose()?;
        Ok(Self {
            query: given(&selection.query, "query")?.map(|query| normalize_words(&query)),
            session: given(&selection.session, "session")?,
            selection,
            path,
            project,
        })
    }

    fn matches(&self, row: &MemoryRow) -> bool {
        let memory = &row.memory;
        let Selection { ids, kinds, .. } = self.selection;
        (ids.is_empty() || ids.iter().any(|id| id == memory.id.as_str()))
            && (kinds.is_empty() || kinds.contains(&memory.kind))
            && self.selection.span().contains(&memory.at.unix())
            && self.session.as_ref().is_none_or(|session| memory.session_id.starts_with(session.as_str()))
            && self.query.as_ref().is_none_or(|query| contains_words(row, query))
            && self.path.as_ref().is_none_or(|path| path.matches(row, self.project))
    }
}

impl PathTarget {
    fn matches(&self, row: &MemoryRow, project: &Path) -> bool {
        match self {
            Self::Log(path) => row.path == *path,
            Self::Files(files) => {
                let content = &row.memory.content;
                tool_usage::files(content).any(|file| files.excludes_path(file, project, project))
                    || files.excludes_text(content, project, project)
            }
        }
    }
}

fn path_target(path: &str, project: &Path) -> Result<PathTarget, ToolError> {
    let path = path.replace('\\', "/");
    let path = path.trim_start_matches("./");
    let inside = path.strip_prefix(STORE_DIR).map(|rest| rest.trim_start_matches('/'));
    if let Some(log) = inside.or(Some(path)).filter(|path| LogKind::from_path(path).is_some()) {
        return Ok(PathTarget::Log(log.to_owned()));
    }
    if let Some(inside) = inside {
        let text = format!("{STORE_DIR}/{inside} is not a log: delete that file yourself");
        return Err(ToolError::Invalid(text));
    }
    let project = project.to_string_lossy().replace('\\', "/");
    let relative = path.strip_prefix(&*project).map_or(path, |rest| rest.trim_start_matches('/'));
    let (files, problems) = ExcludeList::new(&[relative.to_owned()]);
    match problems.first() {
        Some(problem) => Err(ToolError::Invalid(format!("path is {path:?}: {problem}"))),
        None => Ok(PathTarget::Files(files)),
    }
}

/// Whether a memory's text, the words it is also asked by, or its metadata contain the words.
fn contains_words(row: &MemoryRow, query: &str) -> bool {
    let MemoryAttributes { metadata, also, .. } = &row.memory.attributes;
    normalize_words(&row.memory.content).contains(query)
        || also.as_deref().is_some_and(|also| normalize_words(also).contains(query))
        || !metadata.is_empty()
            && normalize_words(&serde_json::Value::Object(metadata.clone()).to_string()).contains(query)
}

/// Returns a text in the form in which it is compared with a query: composed, in lower case, with single spaces.
fn normalize_words(text: &str) -> String {
    let folded: String = text.nfc().flat_map(char::to_lowercase).collect();
    folded.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use schema::host::hook::{ToolChange, ToolUse};
    use schema::host::track_buffer::{append, files_of_turn, resume, take_uses, to_buffered_use};
    use schema::intake::capture::commit;
    use schema::intake::prepare::{Draft, prepare};
    use schema::model::failure::Attempt;
    use schema::privacy::sanitizer::Sanitizer;

    use super::*;
    use crate::engine::tests::new_engine;
    use crate::engine::{ForgetExtent, OldDatabases};

    fn put(engine: &mut Engine, kind: MemoryType, content: &str, attributes: MemoryAttributes) -> MemoryId {
        let draft = Draft {
            attributes,
            ..Draft::new("s", kind, content, Moment::from_unix(1_769_563_800, Some(32_400)).unwrap())
        };
        commit(&mut engine.store, &prepare(draft, &Sanitizer::default()).unwrap()).unwrap();
        let rows = engine.store.rows().inserted_after(0, 100).unwrap();
        rows.into_iter().find(|row| row.memory.content == content).unwrap().memory.id
    }

    fn buffer_use(engine: &Engine, session: &str) {
        let attempt = Attempt { tool: "Bash".to_owned(), input: None, passed: false };
        let used = ToolUse { attempt, changed: Some(ToolChange::Command("make".to_owned())), is_success_known: true };
        let at = Moment::from_unix(1_769_563_800, Some(32_400)).unwrap();
        append(engine.store.layout(), session, &to_buffered_use(&used, false, &at, &Sanitizer::default())).unwrap();
    }

    fn has_buffered_use(engine: &Engine, session: &str) -> bool {
        let mut has_use = false;
        let note = |_| {
            has_use = true;
            Ok(())
        };
        take_uses(engine.store.layout(), session, note).unwrap();
        has_use
    }

    #[rstest]
    #[case::type_among_others(&[MemoryType::Error, MemoryType::ToolUsage], None, [false, false])]
    #[case::other_type(&[MemoryType::Error], None, [true, true])]
    #[case::session(&[], Some("s"), [false, true])]
    #[case::session_without_memories(&[], Some("u"), [true, true])]
    fn buffered_uses_are_forgotten_by_type_and_session(
        #[case] kinds: &[MemoryType],
        #[case] session: Option<&str>,
        #[case] left: [bool; 2],
    ) {
        let (_project, mut engine) = new_engine();
        put(&mut engine, MemoryType::UserPrompt, "Build it", MemoryAttributes::default());
        ["s", "t"].iter().for_each(|session| buffer_use(&engine, session));
        let session = session.map(str::to_owned);
        let selected = engine.select(&Selection { kinds: kinds.to_vec(), session, ..Selection::default() }).unwrap();
        engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep).unwrap();
        assert_eq!(["s", "t"].map(|session| has_buffered_use(&engine, session)), left);
    }

    #[test]
    fn saved_files_of_an_open_turn_are_forgotten() {
        let (_project, mut engine) = new_engine();
        let at = Moment::from_unix(1_769_563_800, Some(32_400)).unwrap();
        resume(engine.store.layout(), "s", None, vec!["src/plan.rs".to_owned()], &at).unwrap();
        let selected =
            engine.select(&Selection { path: Some("src/plan.rs".to_owned()), ..Selection::default() }).unwrap();
        engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep).unwrap();
        assert_eq!(files_of_turn(engine.store.layout(), "s"), Vec::<String>::new());
    }

    #[test]
    fn conclusions_are_forgotten_with_their_prompt() {
        let (_project, mut engine) = new_engine();
        let prompt = put(&mut engine, MemoryType::UserPrompt, "We take zlib", MemoryAttributes::default());
        let other = put(&mut engine, MemoryType::UserPrompt, "We take tabs", MemoryAttributes::default());
        let from = |source: &MemoryId| MemoryAttributes { source: Some(source.clone()), ..MemoryAttributes::default() };
        let auto = |source: &MemoryId| MemoryAttributes { auto: true, ..from(source) };
        let drawn = put(&mut engine, MemoryType::Decision, "zlib is taken", auto(&prompt));
        put(&mut engine, MemoryType::Decision, "Edit me: zlib", auto(&prompt));
        put(&mut engine, MemoryType::Decision, "Pinned: zlib", MemoryAttributes { pinned: true, ..auto(&prompt) });
        put(&mut engine, MemoryType::Decision, "Saved: zlib", from(&prompt));
        put(&mut engine, MemoryType::Preference, "Tabs are taken", auto(&other));
        let path = engine.store.rows().by_id(&drawn).unwrap().unwrap().path;
        engine
            .store
            .rewrite_log(&path, |bytes| Some(String::from_utf8_lossy(bytes).replace("Edit me", "Edited").into_bytes()))
            .unwrap();
        engine.store.sync_log(&path).unwrap();
        let selection = Selection { ids: vec![prompt.to_string()], ..Selection::default() };
        let selected = engine.select(&selection).unwrap();
        assert_eq!(selected.conclusions, HashSet::from([drawn]));
        assert_eq!(selected.rows.len(), 2);
        engine.forget(&selected, ForgetExtent::Memories, OldDatabases::Keep).unwrap();
        let left = engine.store.rows().inserted_after(0, 100).unwrap();
        let mut left: Vec<String> = left.into_iter().map(|row| row.memory.content).collect();
        left.sort();
        assert_eq!(left, ["Edited: zlib", "Pinned: zlib", "Saved: zlib", "Tabs are taken", "We take tabs"]);
    }
}
