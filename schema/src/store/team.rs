//! Derives shared memories from the files of all authors. The result does not depend on the order of lines or merges.
//!
//! The state of a memory only ever grows: proposed, approved, retired, forgotten. So it depends on which records exist, and on no clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;

use super::memory_row::{AND_SHARED, EntryState};
use super::sync::SyncReport;
use super::{MemoryRow, Rows, Store, StoreError};
use crate::files::file_stamp::FileStamp;
use crate::log::{LogKind, TEAM_FILE_LIMIT, TeamAction, TeamFile, log_file, render_shared};
use crate::model::memory::{Memory, MemoryId};
use crate::model::moment::Moment;
use crate::model::sharing::{SharedState, is_team_file, team_author, team_path};
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

/// Returns the memories that the files of the authors share, by id. If several lines have the same id, the alphabetically
/// first author has it, and of their lines the alphabetically first one counts.
/// An approval counts if somebody else shares the memory,
/// or if `own_approval` is set.
pub fn merge_team<'f>(
    files: impl IntoIterator<Item = (&'f str, &'f TeamFile)>,
    own_approval: bool,
) -> BTreeMap<MemoryId, SharedMemory> {
    let files: BTreeMap<&str, &TeamFile> = files.into_iter().collect();
    let mut lines: BTreeMap<MemoryId, (&str, String, &Memory)> = BTreeMap::new();
    let mut sharers: BTreeMap<&MemoryId, BTreeSet<&str>> = BTreeMap::new();
    for (author, entry) in files.iter().flat_map(|(author, file)| file.entries.iter().map(|entry| (*author, entry))) {
        sharers.entry(&entry.memory.id).or_default().insert(author);
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
            TeamAction::Approve if own_approval || sharers[&note.about].iter().any(|sharer| *sharer != by) => {
                approved.insert(note.about.clone());
                SharedState::Approved
            }
            TeamAction::Approve => continue,
            TeamAction::Retire => SharedState::Retired,
            TeamAction::Forget => {
                forgotten.insert(note.about.clone());
                continue;
            }
        };
        found.state = found.state.max(state);
    }
    shared.retain(|id, _| !forgotten.contains(id));
    let times: BTreeMap<MemoryId, Moment> = shared.iter().map(|(id, found)| (id.clone(), found.memory.at)).collect();
    for (id, found) in &mut shared {
        let is_retired = found.state == SharedState::Retired;
        // A proposal does not replace what holds for everybody, and nothing replaces what is newer.
        let may_replace = |old: &MemoryId| {
            let is_older = times.get(old).is_some_and(|at| (at, old) < (&found.memory.at, id));
            is_older && !is_retired && (approved.contains(id) || !approved.contains(old))
        };
        if !found.memory.attributes.supersedes.as_ref().is_some_and(may_replace) {
            found.memory.attributes.supersedes = None;
        }
        found.state.write(&mut found.memory.attributes.metadata);
    }
    shared
}

impl Store {
    /// Returns all files of the team if `team_own_approval` changed since their rows were derived.
    pub(super) fn team_files_under_another_rule(&self, present: &[String]) -> Result<Vec<String>, StoreError> {
        let team: Vec<String> = present.iter().filter(|path| is_team_file(path)).cloned().collect();
        if team.is_empty() {
            return Ok(team);
        }
        let counts = settings::load(&self.layout).settings.team_own_approval;
        let is_same = self.rows().meta(OWN_APPROVAL)?.is_none_or(|before| before == counts.to_string());
        Ok(if is_same { Vec::new() } else { team })
    }

    /// Reads the files of all authors, except those over [`TEAM_FILE_LIMIT`].
    pub fn team_files(&self) -> Result<BTreeMap<String, TeamFile>, StoreError> {
        let mut files = BTreeMap::new();
        for path in self.existing_logs()? {
            if let Some(author) = team_author(&path) {
                let file = self.layout.store_path(&path);
                if fs::metadata(&file).is_ok_and(|metadata| metadata.len() > TEAM_FILE_LIMIT) {
                    continue;
                }
                let bytes = log_file::read(&file)?;
                files.insert(author.to_owned(), TeamFile::parse(&String::from_utf8_lossy(&bytes)));
            }
        }
        Ok(files)
    }

    /// The size of all files of the team, in bytes.
    pub fn team_size(&self) -> io::Result<u64> {
        match fs::read_dir(self.layout.team_dir()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            listing => listing?.map(|item| Ok(item?.metadata()?.len())).sum(),
        }
    }

    /// Derives the rows of all shared memories if a file of the team changed. Costs nothing without a team.
    pub fn catch_up_with_team(&mut self) -> Result<SyncReport, StoreError> {
        // Another branch may have no team.
        let may_have_team = self.layout.team_dir().is_dir() || self.rows().has_team()?;
        let is_team = |path: &String| LogKind::from_path(path) == Some(LogKind::Team);
        if may_have_team && self.changed_logs()?.iter().any(is_team) {
            return self.sync_team();
        }
        Ok(SyncReport::default())
    }

    /// Derives the rows of all shared memories from the files of all authors.
    pub(super) fn sync_team(&mut self) -> Result<SyncReport, StoreError> {
        // The stamps are read first, so that a file that changes meanwhile is read again.
        let present = self.existing_logs()?.into_iter().filter(|path| is_team_file(path));
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
        self.column(&format!("SELECT path FROM files WHERE true{AND_SHARED}"), [])
    }

    /// Replaces the rows of shared memories. A memory of this store keeps its id if a shared one claims the same.
    fn replace_shared(&self, mut shared: BTreeMap<MemoryId, SharedMemory>) -> rusqlite::Result<SyncReport> {
        let mut report = SyncReport::default();
        let mut replaced: HashMap<MemoryId, i64> = HashMap::new();
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
            replaced.insert(id, row.access_count);
            self.delete(row.seq)?;
        }
        let mut own = BTreeSet::new();
        for id in shared.keys() {
            if self.by_id(id)?.is_some() {
                own.insert(id.clone());
            }
        }
        for (id, SharedMemory { author, mut memory, .. }) in shared {
            if own.contains(&id) {
                continue;
            }
            memory.attributes.supersedes.take_if(|old| own.contains(old));
            let seq = self.insert(&memory, &team_path(&author), EntryState::Found)?;
            match replaced.get(&id) {
                Some(count) => self.set_access_count(seq, *count)?,
                None => report.added += 1,
            }
        }
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::database::LockTimeout;
    use crate::log::{TeamNote, shared_id};
    use crate::model::memory::{MemoryAttributes, MemoryType, content_hash};

    const AUTHORS: [&str; 4] = ["jun", "minji", "seo", "yuna"];

    fn at(second: i64) -> Moment {
        Moment::from_unix(1_769_563_800 + second, Some(0)).unwrap()
    }

    fn entry(number: usize, supersedes: Option<usize>) -> Memory {
        let id = |number: usize| shared_id(MemoryType::Decision, &at(number as i64), &format!("text {number}"));
        Memory {
            id: id(number),
            session_id: String::new(),
            kind: MemoryType::Decision,
            content: format!("text {number}"),
            at: at(number as i64),
            attributes: MemoryAttributes { supersedes: supersedes.map(id), ..MemoryAttributes::default() },
        }
    }

    fn note(number: usize, act: TeamAction) -> String {
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
        let own = [("jun", render_shared(&entry(1, None)) + &note(1, TeamAction::Approve))];
        assert_eq!(states(&own, false), [("text 1".to_owned(), SharedState::Proposed, false)]);
        assert_eq!(states(&own, true), [("text 1".to_owned(), SharedState::Approved, false)]);
        let others = [
            ("jun", render_shared(&entry(1, None))),
            ("seo", note(1, TeamAction::Approve) + &note(7, TeamAction::Forget)),
        ];
        assert_eq!(states(&others, false), [("text 1".to_owned(), SharedState::Approved, false)]);
    }

    #[test]
    fn second_sharer_takes_no_approval_away() {
        let line = render_shared(&entry(1, None));
        let approved = note(1, TeamAction::Approve);
        let before = [("minji", line.clone()), ("adam", approved.clone())];
        let after = [("minji", line.clone()), ("adam", line + &approved)];
        assert_eq!(states(&before, false), states(&after, false));
        assert_eq!(states(&after, false)[0].1, SharedState::Approved);
    }

    #[test]
    fn proposal_does_not_replace_what_was_approved() {
        let old = ("jun", render_shared(&entry(1, None)));
        let newer = render_shared(&entry(2, Some(1)));
        let proposed = [old.clone(), ("seo", note(1, TeamAction::Approve) + &newer)];
        let replaces = |files: &[(&str, String)]| states(files, false).into_iter().any(|(.., replaces)| replaces);
        assert!(!replaces(&proposed));
        let approved =
            [old.clone(), ("seo", note(1, TeamAction::Approve) + &newer), ("yuna", note(2, TeamAction::Approve))];
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
        let replacing = entry(1, Some(2));
        store.with_transaction(|rows| rows.insert(&own, "MEMORY.md", EntryState::Found)).unwrap();
        std::fs::write(team.join("jun.md"), render_shared(&replacing) + &render_shared(&entry(2, None))).unwrap();
        assert_eq!(store.catch_up_with_team().unwrap().added, 1);
        let shared = |store: &Store| -> Vec<(String, Option<SharedState>)> {
            let rows = store.rows().shared().unwrap();
            rows.iter().map(|row| (row.memory.content.clone(), row.shared_state(&at(0)))).collect()
        };
        assert_eq!(shared(&store), [("text 1".to_owned(), Some(SharedState::Proposed))]);
        let kept = store.rows().by_id(&own.id).unwrap().unwrap();
        assert_eq!((kept.memory.content.as_str(), kept.superseded_by), ("my own", None));
        std::fs::write(team.join("seo.md"), note(1, TeamAction::Approve)).unwrap();
        assert_eq!(store.catch_up_with_team().unwrap().changed, 1);
        assert_eq!(shared(&store), [("text 1".to_owned(), Some(SharedState::Approved))]);
        assert_eq!(store.catch_up_with_team().unwrap(), SyncReport::default());
        std::fs::remove_dir_all(team).unwrap();
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
                    2 => note(number, TeamAction::Approve),
                    3 => note(number, TeamAction::Retire),
                    _ => note(number, TeamAction::Forget),
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
