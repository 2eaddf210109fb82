//! The team's memory: sharing, approving, retiring and forgetting, each as lines in the file of the user's own name.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use chrono::NaiveDate;
use schema::files::layout::Layout;
use schema::files::store_file::{self, SecretKey, options_for_private, read_or_create_key};
use schema::intake::prepare::{Destination, Draft, prepare};
use schema::log::{TEAM_FILE_LIMIT, TeamAction, TeamFile, TeamNote, render_shared, shared_id};
use schema::model::memory::{Memory, MemoryAttributes, MemoryId, MemoryType};
use schema::model::moment::Moment;
use schema::model::sharing::{EXPIRES, SharedState, TAGS, is_team_file, team_author, team_path};
use schema::privacy::anonymiser::Anonymiser;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::{self, LoadedSettings, Settings};
use schema::store::{MemoryRow, StoreError};
use serde_json::Map;

use super::Engine;
use crate::error::ToolError;
use crate::index::metadata_tags;

/// The file that tells git how to merge, in the directory of the team.
const ATTRIBUTES: &str = ".gitattributes";
const MERGE: &str = "*.md merge=union\n";

/// How a memory is shared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShareOptions {
    /// Replace e-mail addresses, phone numbers, home directories and names by placeholders, instead of refusing them.
    pub anonymise: bool,
    /// The last day on which it holds.
    pub expires: Option<NaiveDate>,
    /// The shared memory that it replaces. If the memory replaces one that is shared, that is the default.
    pub supersedes: Option<String>,
}

/// Whether a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamOutcome {
    Recorded,
    /// The team's files said the same before.
    Unchanged,
}

/// A line in a file of the team that should not be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamFinding {
    /// Relative to the store.
    pub path: String,
    /// From 1.
    pub line: usize,
    pub what: String,
}

impl Engine {
    /// Creates the directory of the team, and tells git how to merge its files.
    pub fn init_team(&mut self) -> Result<(), ToolError> {
        self.store.require_writable()?;
        let layout = self.store.layout();
        create_team_dir(layout).map_err(|error| ToolError::cannot("create the team's directory", &error))
    }

    /// Proposes a memory to the team, and returns the shared one.
    pub fn propose(&mut self, id: &str, options: &ShareOptions) -> Result<(MemoryRow, TeamOutcome), ToolError> {
        let LoadedSettings { settings, sanitizer, .. } = settings::load(self.store.layout());
        let author = author_in(&settings)?;
        let row = self.find_by_prefix(id)?;
        if row.shared_state(&Moment::now()).is_some() {
            return Err(ToolError::Invalid(format!("{id} is shared already, in {}", row.path)));
        }
        if options.expires.is_some_and(|day| day < Moment::now().date()) {
            return Err(ToolError::Invalid("the last day is over already".to_owned()));
        }
        let supersedes = self.shared_predecessor(&row, options.supersedes.as_deref())?;
        let memory = self.shareable(&row.memory, options, supersedes, &sanitizer)?;
        self.catch_up_with_team()?;
        if let Some(shared) = self.shared_row(&memory.id)? {
            return Ok((shared, TeamOutcome::Unchanged));
        }
        let is_forgotten = |note: &TeamNote| note.about == memory.id && note.act == TeamAction::Forget;
        if self.store.team_files()?.values().any(|file| file.notes.iter().any(is_forgotten)) {
            return Err(ToolError::Invalid("the team forgot this text; share another one".to_owned()));
        }
        let line = render_shared(&memory);
        let path = team_path(&author);
        let size = fs::metadata(self.store.layout().store_path(&path)).map_or(0, |file| file.len());
        // Only sharing is refused: retiring and forgetting must always work.
        if size + line.len() as u64 > TEAM_FILE_LIMIT {
            return Err(ToolError::Invalid(format!("{path} would be too large to be read")));
        }
        self.append_to_team(&author, &line)?;
        let missing = || ToolError::NotFound(format!("{} has too many lines to be read", team_path(&author)));
        Ok((self.shared_row(&memory.id)?.ok_or_else(missing)?, TeamOutcome::Recorded))
    }

    /// Proposes a memory that the model asked to share, if the user allows it. Returns what became of that, as a part of a sentence.
    pub fn propose_for_model(&mut self, id: &str) -> String {
        if !settings::load(self.store.layout()).settings.team_share_by_model {
            return format!(
                "not shared, because team_share_by_model is off; the user can run `jikime-memory share {id}`"
            );
        }
        match self.propose(id, &ShareOptions::default()) {
            Ok(_) => "proposed to the team".to_owned(),
            Err(error) => format!("not shared: {error}"),
        }
    }

    /// Whether the user can propose a memory: it holds, its type can be shared, and it is not shared yet.
    pub fn may_share(&mut self, row: &MemoryRow) -> Result<bool, ToolError> {
        let is_candidate = row.shared_state(&Moment::now()).is_none()
            && row.superseded_by.is_none()
            && row.memory.kind.is_shareable()
            && self.store.layout().team_dir().is_dir();
        Ok(is_candidate && self.shared_copy(row)?.is_none())
    }

    /// Approves a shared memory, so that it is in the briefs of all members.
    pub fn approve(&mut self, id: &str) -> Result<(MemoryRow, TeamOutcome), ToolError> {
        let settings = settings::load(self.store.layout()).settings;
        let author = author_in(&settings)?;
        let row = self.find_shared(id)?;
        if team_author(&row.path) == Some(&author) && !settings.team_own_approval {
            let text = "you shared it yourself; another member must approve it, unless team_own_approval is on";
            return Err(ToolError::Invalid(text.to_owned()));
        }
        self.act(&author, &row, TeamAction::Approve, SharedState::Approved)
    }

    /// Returns whether the user can approve memories: proposals of somebody else, or their own if the setting allows it.
    pub fn may_approve(&self) -> impl Fn(&MemoryRow) -> bool + use<> {
        let settings = settings::load(self.store.layout()).settings;
        move |row| {
            let is_own = settings.team_author.is_some() && team_author(&row.path) == settings.team_author.as_deref();
            let is_proposal = row.shared_state(&Moment::now()) == Some(SharedState::Proposed);
            is_proposal && (settings.team_own_approval || !is_own)
        }
    }

    /// Ends a shared memory: it stays, but is in no brief and last in searches.
    pub fn retire(&mut self, id: &str) -> Result<(MemoryRow, TeamOutcome), ToolError> {
        let author = self.author()?;
        let row = self.find_shared(id)?;
        self.act(&author, &row, TeamAction::Retire, SharedState::Retired)
    }

    /// The shared memories, oldest first.
    pub fn shared_memories(&mut self) -> Result<Vec<MemoryRow>, ToolError> {
        self.catch_up_with_team()?;
        let mut rows = self.read_rows(|rows| rows.shared())?;
        rows.sort_by_key(MemoryRow::order);
        Ok(rows)
    }

    /// Finds secrets, personal data, forgotten texts and lines of no known form in the files of the team.
    pub fn check_team(&self) -> Result<Vec<TeamFinding>, ToolError> {
        let layout = self.store.layout();
        let sanitizer = settings::load(layout).sanitizer;
        let (mut files, mut findings) = (Vec::new(), Vec::new());
        for path in self.markdown_files()?.into_iter().filter(|path| is_team_file(path)) {
            let bytes = store_file::read(&layout.store_path(&path))
                .map_err(|error| ToolError::cannot(&format!("read {path}"), &error))?;
            let unread = match team_author(&path) {
                None => Some("not the name of an author; nobody reads the file"),
                Some(_) if bytes.len() as u64 > TEAM_FILE_LIMIT => Some("over 4 MB; nobody reads the file"),
                Some(_) => None,
            };
            findings.extend(unread.map(|what| TeamFinding { path: path.clone(), line: 1, what: what.to_owned() }));
            let text = String::from_utf8_lossy(&bytes).into_owned();
            files.push((path, TeamFile::parse(&text), text));
        }
        let notes = files.iter().flat_map(|(_, file, _)| &file.notes);
        let forgotten: HashSet<&MemoryId> =
            notes.filter(|note| note.act == TeamAction::Forget).map(|note| &note.about).collect();
        for (path, file, text) in &files {
            let mut found = |line: usize, what: &str| {
                findings.push(TeamFinding { path: path.clone(), line, what: what.to_owned() });
            };
            for (line, number) in text.lines().zip(1..) {
                if sanitizer.redact(line).count > 0 {
                    found(number, "a secret");
                }
                if let Some(what) = personal_data(line) {
                    found(number, &what);
                }
                if sanitizer.excludes_text(line, layout.project(), layout.project()) {
                    found(number, "a file that the setting exclude names");
                }
            }
            let gone = file.entries.iter().filter(|entry| forgotten.contains(&entry.memory.id));
            gone.for_each(|entry| found(entry.start_line, "a forgotten text; delete the line"));
            file.unknown.iter().for_each(|line| found(*line, "no memory or note, or changed by hand; nobody reads it"));
        }
        findings.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Ok(findings)
    }

    /// Forgets shared memories in all clones: a line of the user's own file says so, and the texts are removed here.
    pub(super) fn forget_shared(&mut self, rows: &[MemoryRow]) -> Result<usize, ToolError> {
        if rows.is_empty() {
            return Ok(0);
        }
        let author = self.author()?;
        let note =
            |row: &MemoryRow| TeamNote { about: row.memory.id.clone(), act: TeamAction::Forget, at: Moment::now() };
        let notes: String = rows.iter().map(|row| note(row).render()).collect();
        self.append_to_team(&author, &notes)?;
        self.remove_from_team(&rows.iter().map(|row| &row.memory.id).collect())?;
        self.catch_up_with_team()?;
        Ok(rows.len())
    }

    /// Fails for a shared memory, whose line belongs to the whole team.
    pub(super) fn require_own(row: &MemoryRow) -> Result<(), ToolError> {
        let Some(author) = team_author(&row.path) else { return Ok(()) };
        let id = &row.memory.id;
        Err(ToolError::Invalid(format!(
            "{id} is shared by {author}; save what is true now and run `jikime-memory share NEW --supersedes {id}`, or \
             `jikime-memory retire {id}`"
        )))
    }

    /// The user's name in the team.
    pub fn author(&self) -> Result<String, ToolError> {
        author_in(&settings::load(self.store.layout()).settings)
    }

    pub(super) fn catch_up_with_team(&mut self) -> Result<(), ToolError> {
        self.with_repair(|engine| Ok(engine.store.catch_up_with_team().map(drop)?))
    }

    fn shared_row(&mut self, id: &MemoryId) -> Result<Option<MemoryRow>, ToolError> {
        let found = self.read_rows(|rows| rows.by_id(id))?;
        Ok(found.filter(|row| team_author(&row.path).is_some()))
    }

    fn find_shared(&mut self, id: &str) -> Result<MemoryRow, ToolError> {
        self.catch_up_with_team()?;
        let row = self.find_by_prefix(id)?;
        let private = || ToolError::Invalid(format!("{id} is not shared; `jikime-memory share {id}` proposes it"));
        if team_author(&row.path).is_some() { Ok(row) } else { self.shared_copy(&row)?.ok_or_else(private) }
    }

    /// The shared memory that a new one replaces.
    fn shared_predecessor(&mut self, row: &MemoryRow, given: Option<&str>) -> Result<Option<MemoryId>, ToolError> {
        if let Some(given) = given {
            return Ok(Some(self.find_shared(given)?.memory.id));
        }
        let Some(old) = &row.memory.attributes.supersedes else { return Ok(None) };
        let Some(old) = self.read_rows(|rows| rows.by_id(old))? else { return Ok(None) };
        let copy = if team_author(&old.path).is_some() { Some(old) } else { self.shared_copy(&old)? };
        Ok(copy.map(|row| row.memory.id))
    }

    /// The copy of one's own memory that the team has. A copy whose text was anonymised is not found.
    pub fn shared_copy(&mut self, own: &MemoryRow) -> Result<Option<MemoryRow>, ToolError> {
        self.shared_row(&shared_id(own.memory.kind, &own.memory.at, &own.memory.content))
    }

    /// Returns what is shared of a memory, or why it cannot be shared.
    fn shareable(
        &self,
        memory: &Memory,
        options: &ShareOptions,
        supersedes: Option<MemoryId>,
        sanitizer: &Sanitizer,
    ) -> Result<Memory, ToolError> {
        let refuse = |text: String| Err(ToolError::Invalid(text));
        if !memory.kind.is_shareable() {
            let shareable: Vec<&str> =
                MemoryType::ALL.into_iter().filter(|kind| kind.is_shareable()).map(MemoryType::as_str).collect();
            let kinds = shareable.join(", ");
            return refuse(format!("memories of type {} cannot be shared; these can: {kinds}", memory.kind));
        }
        let project = self.store.layout().project();
        let attributes = &memory.attributes;
        let key = || read_or_create_key(&self.store.layout().anonymous_key());
        let anonymiser = options.anonymise.then(|| Anonymiser::new(key()));
        let clean = |text: &str| match &anonymiser {
            Some(anonymiser) => anonymiser.apply(text).into_owned(),
            None => text.to_owned(),
        };
        let (content, also) = (clean(&memory.content), attributes.also.as_deref().map(clean));
        let tags: Vec<String> = attributes.metadata.get(TAGS).into_iter().flat_map(metadata_tags).map(clean).collect();
        for text in std::iter::once(&content).chain(&also).chain(&tags) {
            if let Some(what) = personal_data(text) {
                return refuse(format!("it has {what}; edit it, or share it with `--anonymise`"));
            }
            if sanitizer.excludes_text(text, project, project) {
                return refuse("it names a file that the setting exclude names".to_owned());
            }
        }
        let mut metadata = Map::new();
        if !tags.is_empty() {
            metadata.insert(TAGS.to_owned(), tags.into());
        }
        metadata.extend(options.expires.map(|day| (EXPIRES.to_owned(), day.to_string().into())));
        let draft = Draft {
            attributes: MemoryAttributes { supersedes, also, metadata, ..MemoryAttributes::default() },
            destination: Destination::LongTerm,
            ..Draft::new("", memory.kind, content, memory.at.in_utc())
        };
        match prepare(draft, sanitizer) {
            Some(prepared) if prepared.redactions() == 0 => {
                let memory = prepared.to_memory();
                Ok(Memory { id: shared_id(memory.kind, &memory.at, &memory.content), ..memory })
            }
            _ => refuse("it has a secret; edit it first".to_owned()),
        }
    }

    fn act(
        &mut self,
        author: &str,
        row: &MemoryRow,
        act: TeamAction,
        state: SharedState,
    ) -> Result<(MemoryRow, TeamOutcome), ToolError> {
        match row.shared_state(&Moment::now()) {
            Some(now) if now == state => return Ok((row.clone(), TeamOutcome::Unchanged)),
            Some(now) if now > state => {
                let (id, state) = (&row.memory.id, now.name());
                return Err(ToolError::Invalid(format!("{id} is {state}; share a new memory instead")));
            }
            _ => {}
        }
        let note = TeamNote { about: row.memory.id.clone(), act, at: Moment::now() };
        self.append_to_team(author, &note.render())?;
        let now = self.shared_row(&row.memory.id)?.unwrap_or_else(|| row.clone());
        Ok((now, TeamOutcome::Recorded))
    }

    /// Appends lines to the file of an author and derives the rows again.
    fn append_to_team(&mut self, author: &str, lines: &str) -> Result<(), ToolError> {
        self.store.require_writable()?;
        let layout = self.store.layout().clone();
        let lock = self.store.lock().map_err(StoreError::from)?;
        append_lines(&layout, author, lines)?;
        drop(lock);
        self.catch_up_with_team()
    }
}

fn author_in(settings: &Settings) -> Result<String, ToolError> {
    let missing = || ToolError::Invalid("you have no name in the team yet; run `jikime-memory team init`".to_owned());
    settings.team_author.clone().ok_or_else(missing)
}

fn create_team_dir(layout: &Layout) -> io::Result<()> {
    layout.create_dirs_and_gitignore()?;
    layout.create_team_dir()?;
    match options_for_private().create_new(true).open(layout.team_dir().join(ATTRIBUTES)) {
        Ok(mut file) => file.write_all(MERGE.as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Appends lines to the file of an author, which it creates if it is missing.
pub(super) fn append_lines(layout: &Layout, author: &str, lines: &str) -> Result<(), ToolError> {
    let path = team_path(author);
    let append = |file: &Path| {
        create_team_dir(layout)?;
        let before = match store_file::read(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let begin = match before.last() {
            None => format!("# {author}\n\n"),
            Some(b'\n') => String::new(),
            Some(_) => "\n".to_owned(),
        };
        options_for_private().append(true).create(true).open(file)?.write_all((begin + lines).as_bytes())
    };
    append(&layout.store_path(&path)).map_err(|error| ToolError::cannot(&format!("write {path}"), &error))
}

/// The file without the lines of some shared memories, or `None` if it has none of them.
pub(super) fn without_entries(bytes: &[u8], ids: &HashSet<&MemoryId>) -> Option<Vec<u8>> {
    let is_gone = |line: &&[u8]| {
        let parsed = TeamFile::parse(&String::from_utf8_lossy(line));
        parsed.entries.iter().any(|entry| ids.contains(&entry.memory.id))
    };
    let kept: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_gone(line)).collect();
    let kept = kept.concat();
    (kept.len() < bytes.len()).then_some(kept)
}

/// Names the kinds of personal data in a text.
pub fn personal_data(text: &str) -> Option<String> {
    let kinds = Anonymiser::new(SecretKey::default()).kinds_in(text);
    (!kinds.is_empty()).then(|| kinds.join(", "))
}
