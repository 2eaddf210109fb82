//! The memories of a team: what follows from the files of all authors, whatever order git merged their lines in.
//!
//! The state of a memory only ever grows: proposed, approved, retired, forgotten. So it depends on which records exist, and on no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::memory_row::EntryState;
use super::sync::SyncReport;
use super::{MemoryRow, Rows, Store, StoreError};
use crate::files::file_stamp::FileStamp;
use crate::log::{LogKind, TeamAct, TeamFile, log_file, render_shared, team_author};
use crate::model::memory::{Memory, MemoryId};
use crate::model::sharing::SharedState;
use crate::settings;

/// Whether approvals by the author counted when the rows were derived.
const OWN_APPROVAL: &str = "team_own_approval";

/// A shared memory that nobody forgot. The metadata has its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedMemory {
    pub author: String,
    pub memory: Memory,
    pub state: SharedState,
}

/// Returns the memories that the files of the authors share, by id. If several lines share the same id, the first author
/// has it, and of their lines the first one in alphabetical order.
/// An author's approval of their own memory counts if `own_approval` is set.
pub fn merge_team<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f TeamFile)>,
    own_approval: bool,
) -> BTreeMap<MemoryId, SharedMemory> {
    let files: BTreeMap<&str, &TeamFile> = files.into_iter().collect();
    let mut lines: BTreeMap<MemoryId, (&str, String, &Memory)> = BTreeMap::new();
    for (author, entry) in files.iter().flat_map(|(author, file)| file.entries.iter().map(|entry| (*author, entry))) {
        let line = (author, render_shared(&entry.memory), &entry.memory);
        let first = lines.entry(entry.memory.id.clone()).or_insert_with(|| line.clone());
        if (line.0, &line.1) < (first.0, &first.1) {
            *first = line;
        }
    }
    let proposed = |(id, (author, _, memory)): (MemoryId, (&str, String, &Memory))| {
        (id, SharedMemory { author: author.to_owned(), memory: memory.clone(), state: SharedState::Proposed })
    };
    let mut shared: BTreeMap<MemoryId, SharedMemory> = lines.into_iter().map(proposed).collect();
    let (mut approved, mut forgotten) = (BTreeSet::new(), BTreeSet::new());
    for (by, note) in files.iter().flat_map(|(by, file)| file.notes.iter().map(move |note| (*by, note))) {
        let Some(found) = shared.get_mut(&note.about) else { continue };
        let state = match note.act {
            TeamAct::Approve if own_approval || by != found.author => {
                approved.insert(note.about.clone());
                SharedState::Approved
            }
            TeamAct::Approve => continue,
            TeamAct::Retire => SharedState::Retired,
            TeamAct::Forget => {
                forgotten.insert(note.about.clone());
                continue;
            }
        };
        found.state = found.state.max(state);
    }
    shared.retain(|id, _| !forgotten.contains(id));
    let ids: BTreeSet<MemoryId> = shared.keys().cloned().collect();
    for (id, found) in &mut shared {
        let replaced = &mut found.memory.attributes.supersedes;
        // A proposal does not replace what holds for everybody.
        if replaced.as_ref().is_some_and(|old| !ids.contains(old) || approved.contains(old) && !approved.contains(id)) {
            *replaced = None;
        }
        found.state.write(&mut found.memory.attributes.metadata);
    }
    shared
}

impl Store {
    /// Returns the files of the team that must be read again.
    pub(super) fn changed_team_files(&self, present: &[String]) -> Result<Vec<String>, StoreError> {
        let team: Vec<String> = present.iter().filter(|path| team_author(path).is_some()).cloned().collect();
        if team.is_empty() {
            return Ok(team);
        }
        let counts = settings::load(&self.layout).settings.team_own_approval;
        let is_same = self.rows().meta(OWN_APPROVAL)?.is_none_or(|before| before == counts.to_string());
        Ok(if is_same { Vec::new() } else { team })
    }

    /// Reads the files of all authors.
    pub fn team_files(&self) -> Result<BTreeMap<String, TeamFile>, StoreError> {
        let mut files = BTreeMap::new();
        for path in self.existing_logs()? {
            if let Some(author) = team_author(&path) {
                let bytes = log_file::read(&self.layout.store_path(&path))?;
                files.insert(author.to_owned(), TeamFile::parse(&String::from_utf8_lossy(&bytes)));
            }
        }
        Ok(files)
    }

    /// Derives the rows of all shared memories if a file of the team changed. Costs nothing without a team.
    pub fn catch_up_with_team(&mut self) -> Result<SyncReport, StoreError> {
        let is_team = |path: &String| LogKind::from_path(path) == Some(LogKind::Team);
        match self.layout.team_dir().is_dir() && self.changed_logs()?.iter().any(is_team) {
            true => self.sync_team(),
            false => Ok(SyncReport::default()),
        }
    }

    /// Derives the rows of all shared memories from the files of all authors.
    pub(super) fn sync_team(&mut self) -> Result<SyncReport, StoreError> {
        // The stamps are read first, so that a file that changes meanwhile is read again.
        let present = self.existing_logs()?.into_iter().filter(|path| team_author(path).is_some());
        let stamps: HashMap<String, Option<FileStamp>> =
            present.map(|path| (path.clone(), FileStamp::read(&self.layout.store_path(&path)))).collect();
        let files = self.team_files()?;
        let own_approval = settings::load(&self.layout).settings.team_own_approval;
        let shared = merge_team(files.iter().map(|(author, file)| (author.as_str(), file)), own_approval);
        self.with_transaction(|rows| {
            let report = rows.replace_shared(shared)?;
            for path in rows.team_paths()?.into_iter().filter(|path| !stamps.contains_key(path)) {
                rows.delete_log_state(&path)?;
            }
            for (path, stamp) in &stamps {
                rows.begin_reading(path)?;
                if let Some(stamp) = stamp {
                    rows.record_read(path, *stamp)?;
                }
            }
            rows.set_meta(OWN_APPROVAL, &own_approval.to_string())?;
            Ok(report)
        })
    }
}

impl Rows<'_> {
    /// Returns all shared memories.
    pub fn shared(&self) -> rusqlite::Result<Vec<MemoryRow>> {
        let mut found = Vec::new();
        for path in self.team_paths()? {
            found.extend(self.by_path(&path)?);
        }
        Ok(found)
    }

    /// Whether there are files of a team.
    pub fn has_team(&self) -> rusqlite::Result<bool> {
        Ok(!self.team_paths()?.is_empty())
    }

    /// Returns the files of the team that have rows or a known state.
    fn team_paths(&self) -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT path FROM files WHERE path > 'team/' AND path < 'team0'";
        self.0.prepare_cached(sql)?.query_map([], |row| row.get(0))?.collect()
    }

    /// Replaces the rows of shared memories. A memory of this store keeps its id if a shared one claims the same.
    fn replace_shared(&self, mut shared: BTreeMap<MemoryId, SharedMemory>) -> rusqlite::Result<SyncReport> {
        let mut report = SyncReport::default();
        let mut replaced: HashSet<MemoryId> = HashSet::new();
        for row in self.shared()? {
            let id = row.memory.id.clone();
            match shared.get(&id) {
                Some(found) if found.memory == row.memory && team_author(&row.path) == Some(&found.author) => {
                    shared.remove(&id);
                    continue;
                }
                Some(_) => report.changed += 1,
                None => report.removed += 1,
            }
            replaced.insert(id);
            self.delete(row.seq)?;
        }
        for (id, SharedMemory { author, memory, .. }) in shared {
            if self.by_id(&id)?.is_some() {
                continue;
            }
            self.insert(&memory, &crate::log::team_path(&author), EntryState::Found)?;
            report.added += usize::from(!replaced.contains(&id));
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::database::LockTimeout;
    use crate::log::TeamNote;
    use crate::model::memory::{MemoryAttributes, MemoryType, content_hash};
    use crate::model::moment::Moment;

    const AUTHORS: [&str; 4] = ["jun", "minji", "seo", "yuna"];

    fn at(second: i64) -> Moment {
        Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap()
    }

    fn entry(number: usize, supersedes: Option<usize>) -> Memory {
        let id = |number: usize| MemoryId::parse(&format!("id{number}")).unwrap();
        Memory {
            id: id(number),
            session_id: String::new(),
            kind: MemoryType::Decision,
            content: format!("text {number}"),
            at: at(number as i64),
            attributes: MemoryAttributes { supersedes: supersedes.map(id), ..MemoryAttributes::default() },
        }
    }

    fn note(number: usize, act: TeamAct) -> String {
        TeamNote { about: entry(number, None).id, act, at: at(0) }.render()
    }

    fn states(files: &[(&str, String)], own_approval: bool) -> Vec<(String, SharedState, bool)> {
        let parsed: Vec<(&str, TeamFile)> =
            files.iter().map(|(author, text)| (*author, TeamFile::parse(text))).collect();
        let merged = merge_team(parsed.iter().map(|(author, file)| (*author, file)), own_approval);
        let of =
            |found: SharedMemory| (found.memory.content, found.state, found.memory.attributes.supersedes.is_some());
        merged.into_values().map(of).collect()
    }

    #[test]
    fn approval_needs_another_author_unless_the_team_says_so() {
        let own = [("jun", render_shared(&entry(1, None)) + &note(1, TeamAct::Approve))];
        assert_eq!(states(&own, false), [("text 1".to_owned(), SharedState::Proposed, false)]);
        assert_eq!(states(&own, true), [("text 1".to_owned(), SharedState::Approved, false)]);
        let others =
            [("jun", render_shared(&entry(1, None))), ("seo", note(1, TeamAct::Approve) + &note(7, TeamAct::Forget))];
        assert_eq!(states(&others, false), [("text 1".to_owned(), SharedState::Approved, false)]);
    }

    #[test]
    fn proposal_does_not_replace_what_was_approved() {
        let old = ("jun", render_shared(&entry(1, None)));
        let newer = render_shared(&entry(2, Some(1)));
        let proposed = [old.clone(), ("seo", note(1, TeamAct::Approve) + &newer)];
        let replaces = |files: &[(&str, String)]| states(files, false).into_iter().any(|(.., replaces)| replaces);
        assert!(!replaces(&proposed));
        let approved = [old.clone(), ("seo", note(1, TeamAct::Approve) + &newer), ("yuna", note(2, TeamAct::Approve))];
        assert!(replaces(&approved));
        assert!(replaces(&[old, ("seo", newer)]), "one proposal replaces another");
    }

    #[test]
    fn rows_follow_the_files_and_own_ids_stay() {
        let project = tempfile::tempdir().unwrap();
        let mut store = Store::open(project.path(), LockTimeout::Server).unwrap();
        let team = store.layout().team_dir();
        std::fs::create_dir_all(&team).unwrap();
        let own = Memory { content: "my own".to_owned(), ..entry(2, None) };
        store.with_transaction(|rows| rows.insert(&own, "MEMORY.md", EntryState::Found)).unwrap();
        std::fs::write(team.join("jun.md"), render_shared(&entry(1, None)) + &render_shared(&entry(2, None))).unwrap();
        assert_eq!(store.catch_up_with_team().unwrap().added, 1);
        let shared = |store: &Store| -> Vec<(String, Option<SharedState>)> {
            let rows = store.rows().shared().unwrap();
            rows.iter().map(|row| (row.memory.content.clone(), row.shared_state(&at(0)))).collect()
        };
        assert_eq!(shared(&store), [("text 1".to_owned(), Some(SharedState::Proposed))]);
        assert_eq!(store.rows().by_id(&own.id).unwrap().unwrap().memory.content, "my own");
        std::fs::write(team.join("seo.md"), note(1, TeamAct::Approve)).unwrap();
        assert_eq!(store.catch_up_with_team().unwrap().changed, 1);
        assert_eq!(shared(&store), [("text 1".to_owned(), Some(SharedState::Approved))]);
        assert_eq!(store.catch_up_with_team().unwrap(), SyncReport::default());
        std::fs::remove_file(team.join("jun.md")).unwrap();
        store.catch_up_with_team().unwrap();
        assert_eq!(shared(&store), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Four clones write to their own files and merge in any order; git's union driver may repeat and reorder lines.
        #[test]
        fn any_order_of_merges_gives_the_same_memories(
            acts in prop::collection::vec((0..4usize, 0..6usize, 0..5u8), 1..40),
            seed in any::<usize>(),
        ) {
            let mut lines: [Vec<String>; 4] = Default::default();
            for (author, number, act) in acts {
                lines[author].push(match act {
                    0 => render_shared(&entry(number, None)),
                    1 => render_shared(&entry(number, number.checked_sub(1))),
                    2 => note(number, TeamAct::Approve),
                    3 => note(number, TeamAct::Retire),
                    _ => note(number, TeamAct::Forget),
                });
            }
            let written: Vec<(&str, String)> = AUTHORS.into_iter().zip(lines.iter().map(|lines| lines.concat())).collect();
            let merged = |(author, mut lines): (&'static str, Vec<String>)| {
                // A union merge repeats what both sides appended.
                lines.extend(lines.iter().take(seed % 3).cloned().collect::<Vec<_>>());
                lines.sort_by_key(|line| content_hash(&format!("{seed}{line}")));
                (author, lines.concat())
            };
            let mut merged: Vec<(&str, String)> = AUTHORS.into_iter().zip(lines).map(merged).collect();
            merged.rotate_left(seed % 4);
            prop_assert_eq!(states(&written, false), states(&merged, false));
        }
    }
}
