//! Plans a setup or its removal: computes the changes of all files before any of them is made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schema::files::layout::Layout;
use tools::error::ToolError;

use super::change::{self, FileChange};
use super::host::{Host, SetupScope, SetupTarget};
use super::host_dirs::{HostDirs, ProjectDirs};
use super::owned_part::OwnedPart;
use super::settings_file::{self, OriginalFile, is_tracked};
use super::settings_text::{EditError, SettingsText};
use super::setup_record::{RecordedFile, SetupRecord};

/// The place of the files and of the record.
#[derive(Debug, Clone)]
pub(crate) struct SetupContext {
    /// The directory of project files. `None` for the user's files, which can be anywhere.
    root: Option<PathBuf>,
    /// The project, whose store has the record for all its worktrees.
    project: Option<PathBuf>,
    record: PathBuf,
    host_dirs: HostDirs,
}

/// Planned changes.
#[derive(Debug)]
pub(crate) struct SetupPlan {
    context: SetupContext,
    pub(crate) changes: Vec<FileChange>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// Skipped files.
    pub(crate) skipped: Vec<SkippedFile>,
    record: SetupRecord,
}

/// A skipped file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkippedFile {
    pub(crate) reason: String,
    /// Whether the file may contain our text.
    pub(crate) may_hold_ours: bool,
}

/// One file and all its targets.
struct PlannedFile {
    shown_path: PathBuf,
    original: OriginalFile,
    hosts: BTreeSet<Host>,
    parts: Vec<OwnedPart>,
}

impl SetupContext {
    pub(crate) fn new(scope: SetupScope, places: &HostDirs, site: &ProjectDirs) -> Result<Self, ToolError> {
        let (root, record) = match scope {
            SetupScope::Project => (Some(site.files.clone()), Layout::new(&site.project).setup_record()),
            SetupScope::User => {
                places.require_home()?;
                let record = places.setup_record_file();
                (None, record.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?)
            }
        };
        let project = root.as_ref().map(|_| site.project.clone());
        Ok(Self { root, project, record, host_dirs: places.clone() })
    }

    /// Whether the record cannot be read or names files that do not exist. Carrying out any plan corrects it.
    pub(crate) fn has_stale_record(&self) -> bool {
        let record = SetupRecord::read(&self.record);
        let is_gone = |file: &String| !self.resolve_recorded(Path::new(file)).exists();
        record.files.keys().any(is_gone) || (self.record.exists() && record.files.is_empty())
    }

    /// A path for messages.
    pub(crate) fn display_path(&self, path: &Path) -> String {
        self.host_dirs.display_in_project(path, self.root.as_deref())
    }

    /// A path in the record. It is relative inside the project, so that the project can be moved, and absolute for worktrees elsewhere.
    fn record_key(&self, real: &Path) -> String {
        let root = self.project.as_deref().and_then(|root| root.canonicalize().ok());
        let relative = root.and_then(|root| real.strip_prefix(root).map(Path::to_owned).ok());
        relative.as_deref().unwrap_or(real).to_string_lossy().replace('\\', "/")
    }

    /// The path that a key of the record stands for.
    fn resolve_recorded(&self, path: &Path) -> PathBuf {
        self.project.as_deref().map_or_else(|| path.to_owned(), |project| project.join(path))
    }

    /// Groups targets by file. `on_error` gets files that cannot be read.
    fn group_by_file(
        &self,
        targets: Vec<(Host, SetupTarget)>,
        mut on_error: impl FnMut(&Path, ToolError) -> Result<(), ToolError>,
    ) -> Result<Vec<PlannedFile>, ToolError> {
        let mut files: Vec<PlannedFile> = Vec::new();
        for (host, SetupTarget { path, part }) in targets {
            let original = match settings_file::read_original(&path, self.root.as_deref()) {
                Ok(original) => original,
                Err(error) => {
                    on_error(&path, error)?;
                    continue;
                }
            };
            match files.iter_mut().find(|file| file.original.real_path == original.real_path) {
                Some(file) => {
                    file.hosts.insert(host);
                    if !file.parts.contains(&part) {
                        file.parts.push(part);
                    }
                }
                None => files.push(PlannedFile { shown_path: path, original, hosts: [host].into(), parts: vec![part] }),
            }
        }
        Ok(files)
    }

    /// Plans the setup of all `targets`.
    pub(crate) fn plan_setup(&self, targets: Vec<(Host, SetupTarget)>) -> Result<SetupPlan, ToolError> {
        let mut record = SetupRecord::read(&self.record);
        let mut changes = Vec::new();
        for file in self.group_by_file(targets, |_, error| Err(error))? {
            let key = self.record_key(&file.original.real_path);
            let known = record.files.remove(&key);
            let (change, changed) = self.plan_file_setup(&file, known)?;
            record.files.extend(changed.map(|changed| (key, changed)));
            changes.push(change);
        }
        Ok(SetupPlan { context: self.clone(), changes, notes: Vec::new(), skipped: Vec::new(), record })
    }

    fn plan_file_setup(
        &self,
        file: &PlannedFile,
        known: Option<RecordedFile>,
    ) -> Result<(FileChange, Option<RecordedFile>), ToolError> {
        let (before, text) = (file.before(), file.text());
        let refused =
            |error| ToolError::Invalid(format!("{}; nothing was written", self.file_error_text(file, &error)));
        let after = text.with_plain(&file.apply_edits(OwnedPart::add_to).map_err(refused)?);
        let change = FileChange {
            display_path: self.display_path(&file.shown_path),
            real_path: file.original.real_path.clone(),
            about: file.about(),
            before,
            after: Some(after.clone()),
        };
        if change.is_unchanged() {
            // Nothing to undo: somebody else wrote this text.
            let changed = known.map(|mut known| {
                known.hosts.extend(&file.hosts);
                known
            });
            return Ok((change, changed));
        }
        let (existed, base) = match known.as_ref().and_then(|known| Some((known.existed, known.undone(text.whole())?)))
        {
            Some(original) => original,
            // An older entry of ours without a record is not part of the original text.
            None => {
                let plain = file.apply_edits(OwnedPart::remove_from).map_err(refused)?;
                let existed = if known.is_some() { !file.is_blank(&plain) } else { change.before.is_some() };
                (existed, text.with_plain(&plain))
            }
        };
        let hosts = known.map(|known| known.hosts).unwrap_or_default().union(&file.hosts).copied().collect();
        let changed = RecordedFile::new(hosts, existed, &base, &after);
        Ok((change, Some(changed)))
    }

    /// Plans the removal of all `targets`. Files that cannot be read are skipped.
    pub(crate) fn plan_removal(&self, targets: Vec<(Host, SetupTarget)>) -> Result<SetupPlan, ToolError> {
        let mut record = SetupRecord::read(&self.record);
        let (mut changes, mut notes, mut left) = (Vec::new(), Vec::new(), Vec::<SkippedFile>::new());
        let files = self.group_by_file(targets, |path, error| {
            let why = error.to_string();
            let is_dangling = path.is_symlink() && !path.exists();
            if left.iter().all(|left| left.reason != why) {
                left.push(SkippedFile { reason: why, may_hold_ours: !is_dangling });
            }
            Ok(())
        })?;
        for file in files {
            let key = self.record_key(&file.original.real_path);
            if let Some(known) = record.files.get_mut(&key) {
                known.hosts.retain(|host| !file.hosts.contains(host));
                if !known.hosts.is_empty() {
                    // Another host still reads the file.
                    continue;
                }
            }
            match self.plan_file_removal(&file, record.files.get(&key), &mut notes) {
                Ok(change) => {
                    record.files.remove(&key);
                    changes.extend(change.filter(|change| !change.is_unchanged()));
                }
                Err(error) => {
                    left.push(SkippedFile { reason: self.file_error_text(&file, &error), may_hold_ours: true });
                }
            }
            if !file.may_hold_ours()
                && let Some(error) = file.syntax_error()
            {
                left.push(SkippedFile { reason: self.file_error_text(&file, &error), may_hold_ours: false });
            }
        }
        Ok(SetupPlan { context: self.clone(), changes, notes, skipped: left, record })
    }

    fn plan_file_removal(
        &self,
        file: &PlannedFile,
        known: Option<&RecordedFile>,
        notes: &mut Vec<String>,
    ) -> Result<Option<FileChange>, EditError> {
        let shown = self.display_path(&file.shown_path);
        let Some(before) = file.before() else { return Ok(None) };
        let after = match known.and_then(|known| Some((known.existed, known.undone(&before)?))) {
            Some((true, undone)) => Some(undone),
            Some((false, _)) => None,
            // A file that cannot be parsed is an error only if it may contain our text.
            None if !file.may_hold_ours() => Some(before.clone()),
            None => {
                let plain = file.apply_edits(OwnedPart::remove_from)?;
                let is_other = plain != file.text().plain();
                let is_rest_blank = is_other && file.is_blank(&plain);
                // Without a record, another person set this up. A file that git tracks is shared, so it is not deleted.
                let is_shared = known.is_none() && is_rest_blank && is_tracked(&file.original.real_path);
                let may_go = is_rest_blank && !is_shared && known.is_none_or(|known| !known.existed);
                if is_other && known.is_none() && !file.is_command() {
                    let stays = if is_shared { "; git tracks the file, so it stays" } else { "" };
                    notes.push(format!(
                        "{shown} has no setup record here; our entries were recognised by their text{stays}"
                    ));
                }
                // A command that others share stays as it is, because an empty one would be an error of the host.
                let is_edited = is_other && !file.is_command();
                (!may_go).then(|| if is_edited { file.text().with_plain(&plain) } else { before.clone() })
            }
        };
        let real = file.original.real_path.clone();
        Ok(Some(FileChange { display_path: shown, real_path: real, about: file.about(), before: Some(before), after }))
    }

    fn file_error_text(&self, file: &PlannedFile, error: &EditError) -> String {
        format!("{}: {error}", self.display_path(&file.shown_path))
    }

    /// The folders above the record, innermost first.
    fn record_folders(&self) -> Vec<PathBuf> {
        match &self.project {
            Some(project) => {
                let layout = Layout::new(project);
                let outer = layout.store_dir().parent().map(Path::to_owned);
                [layout.track_dir(), layout.spool_dir(), layout.store_dir().to_owned()]
                    .into_iter()
                    .chain(outer)
                    .collect()
            }
            None => self.record.parent().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// Removes empty folders that were created for a record that is not needed.
    fn remove_new_folders(&self, new: &[PathBuf]) {
        if let Some(store) = new.iter().find(|folder| Some(folder.as_path()) == self.record.parent()) {
            let _ = fs::remove_file(store.join(".gitignore"));
        }
        for folder in new {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl PlannedFile {
    fn is_command(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, OwnedPart::Command(_)))
    }

    fn about(&self) -> String {
        let mut titles: Vec<&str> = self.parts.iter().map(OwnedPart::title).collect();
        titles.dedup();
        titles.join(" and ")
    }

    fn text(&self) -> SettingsText {
        self.original.text.clone().unwrap_or_default()
    }

    fn before(&self) -> Option<String> {
        self.original.text.as_ref().map(|text| text.whole().to_owned())
    }

    fn apply_edits(&self, edit: fn(&OwnedPart, &str) -> Result<String, EditError>) -> Result<String, EditError> {
        self.parts.iter().try_fold(self.text().plain(), |text, part| edit(part, &text))
    }

    fn may_hold_ours(&self) -> bool {
        self.original.text.as_ref().is_some_and(|text| text.whole().contains("jikime"))
    }

    fn syntax_error(&self) -> Option<EditError> {
        let text = self.original.text.as_ref()?.plain();
        self.parts.iter().find_map(|part| part.syntax_error(&text))
    }

    fn is_blank(&self, text: &str) -> bool {
        self.parts.iter().all(|part| part.is_blank(text))
    }
}

impl SetupPlan {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.iter().all(FileChange::is_unchanged)
    }

    /// Whether a setup remains: for another host, or in another worktree.
    pub(crate) fn leaves_parts(&self) -> bool {
        self.record.files.keys().any(|file| self.context.resolve_recorded(Path::new(file)).exists())
    }

    /// Makes the changes. The record is written first, so that an interrupted run can be undone.
    pub(crate) fn carry_out(mut self) -> Result<(), ToolError> {
        let before = SetupRecord::read(&self.context.record);
        let new: Vec<PathBuf> = self.context.record_folders().into_iter().filter(|folder| !folder.exists()).collect();
        let made = self.write_record(&self.record).and_then(|()| change::apply_all(&self.changes));
        let folders = match made {
            Ok(folders) => folders,
            Err(error) => {
                let _ = self.write_record(&before);
                self.context.remove_new_folders(&new);
                return Err(error);
            }
        };
        let relative = |folder: PathBuf| match &self.context.project {
            Some(root) => folder.strip_prefix(root).map(Path::to_owned).unwrap_or(folder),
            None => folder,
        };
        self.record.folders.extend(folders.into_iter().map(relative));
        let all: Vec<PathBuf> =
            self.record.folders.iter().map(|folder| self.context.resolve_recorded(folder)).collect();
        let left = change::remove_empty_folders(&all);
        self.record.folders.retain(|folder| left.contains(&self.context.resolve_recorded(folder)));
        // Drops worktrees that no longer exist.
        self.record.files.retain(|file, _| self.context.resolve_recorded(Path::new(file)).exists());
        self.write_record(&self.record)
    }

    fn write_record(&self, record: &SetupRecord) -> Result<(), ToolError> {
        let path = &self.context.record;
        let cannot =
            |cause| ToolError::Unavailable(format!("cannot write {}: {cause}; nothing was changed", path.display()));
        if record.files.is_empty() && !path.exists() {
            return Ok(());
        }
        match &self.context.project {
            Some(project) => Layout::new(project).create_dirs_and_gitignore().map_err(cannot)?,
            None => path.parent().map_or(Ok(()), fs::create_dir_all).map_err(cannot)?,
        }
        record.write(path).map_err(cannot)
    }
}
