//! What setting up or taking back comes to: the changes of all files together, worked out before any of them is made.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schema::layout::Layout;
use tools::error::ToolError;

use super::change::{self, Change};
use super::file::{self, Original};
use super::host::{Host, Scope, Target};
use super::lines::Text;
use super::part::{EditError, Part};
use super::places::Places;
use super::record::{Changed, Record};
use super::site::Site;
use super::tracked::is_tracked;

/// Where files lie that are changed together, and where that is written down.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    /// Where the files lie; those of a user lie anywhere.
    root: Option<PathBuf>,
    /// The project, in whose store the record lies: that of all its worktrees.
    project: Option<PathBuf>,
    record: PathBuf,
    places: Places,
}

/// Changes that wait to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    ground: Ground,
    pub(crate) changes: Vec<Change>,
    /// What a person should know of the changes.
    pub(crate) notes: Vec<String>,
    /// Files that are left as they are, and why.
    pub(crate) left: Vec<Left>,
    record: Record,
}

/// A file that is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) why: String,
    /// Whether something of ours may be in it.
    pub(crate) may_hold: bool,
}

/// One file with everything that concerns it.
struct File {
    named: PathBuf,
    original: Original,
    hosts: BTreeSet<Host>,
    parts: Vec<Part>,
}

impl Ground {
    pub(crate) fn new(scope: Scope, places: &Places, site: &Site) -> Result<Self, ToolError> {
        let (root, record) = match scope {
            Scope::Project => (Some(site.files.clone()), Layout::new(&site.project).setup_record()),
            Scope::User => {
                places.check_home()?;
                let record = places.record();
                (None, record.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?)
            }
        };
        let project = root.as_ref().map(|_| site.project.clone());
        Ok(Self { root, project, record, places: places.clone() })
    }

    /// A path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match self.root.as_deref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(relative) => relative.to_string_lossy().replace('\\', "/"),
            None => self.places.shown(path),
        }
    }

    /// A path as it is written down: where a project is moved, its record goes along. Worktrees elsewhere are named whole.
    fn key(&self, real: &Path) -> String {
        let root = self.project.as_deref().and_then(|root| root.canonicalize().ok());
        let relative = root.and_then(|root| real.strip_prefix(root).map(Path::to_owned).ok());
        relative.as_deref().unwrap_or(real).to_string_lossy().replace('\\', "/")
    }

    fn within(&self, folder: &Path) -> PathBuf {
        self.project.as_deref().map_or_else(|| folder.to_owned(), |project| project.join(folder))
    }

    /// Puts targets that lead to the same file together. What cannot be read goes to `fault`.
    fn files(
        &self,
        targets: Vec<(Host, Target)>,
        mut fault: impl FnMut(&Path, ToolError) -> Result<(), ToolError>,
    ) -> Result<Vec<File>, ToolError> {
        let mut files: Vec<File> = Vec::new();
        for (host, Target { path, part }) in targets {
            let original = match file::read(&path, self.root.as_deref()) {
                Ok(original) => original,
                Err(error) => {
                    fault(&path, error)?;
                    continue;
                }
            };
            match files.iter_mut().find(|file| file.original.real == original.real) {
                Some(file) => {
                    file.hosts.insert(host);
                    if !file.parts.contains(&part) {
                        file.parts.push(part);
                    }
                }
                None => files.push(File { named: path, original, hosts: [host].into(), parts: vec![part] }),
            }
        }
        Ok(files)
    }

    /// What it comes to when all `targets` are set up.
    pub(crate) fn to_set_up(&self, targets: Vec<(Host, Target)>) -> Result<Plan, ToolError> {
        let mut record = Record::read(&self.record);
        let mut changes = Vec::new();
        for file in self.files(targets, |_, error| Err(error))? {
            let key = self.key(&file.original.real);
            let known = record.files.remove(&key);
            let (change, changed) = self.set_up(&file, known)?;
            record.files.extend(changed.map(|changed| (key, changed)));
            changes.push(change);
        }
        Ok(Plan { ground: self.clone(), changes, notes: Vec::new(), left: Vec::new(), record })
    }

    fn set_up(&self, file: &File, known: Option<Changed>) -> Result<(Change, Option<Changed>), ToolError> {
        let (before, text) = (file.before(), file.text());
        let refused = |error| ToolError::Invalid(format!("{}; nothing was written", self.fault(file, &error)));
        let after = text.with_plain(&file.edited(Part::set).map_err(refused)?);
        let undone = known.as_ref().and_then(|known| known.undo(text.whole()));
        let change = Change {
            shown: self.shown(&file.named),
            real: file.original.real.clone(),
            before,
            after: Some(after.clone()),
        };
        if change.is_none() {
            // What somebody else wrote is not ours to take back.
            let changed = known.map(|mut known| {
                known.hosts.extend(&file.hosts);
                known
            });
            return Ok((change, changed));
        }
        let existed = match (&known, &undone) {
            (Some(known), Some(_)) => known.existed,
            (Some(_), None) => !file.is_blank(&file.edited(Part::remove).map_err(refused)?),
            (None, _) => change.before.is_some(),
        };
        let base = match undone {
            Some(undone) => undone,
            // Ours from before, of which nothing is written down, is not what was there without us.
            None => text.with_plain(&file.edited(Part::remove).map_err(refused)?),
        };
        let hosts = known.map(|known| known.hosts).unwrap_or_default().union(&file.hosts).copied().collect();
        let changed = Changed::new(hosts, existed, &base, &after);
        Ok((change, Some(changed)))
    }

    /// What it comes to when `targets` are taken back. What cannot be read is left, and the rest is taken back all the same.
    pub(crate) fn to_take_back(&self, targets: Vec<(Host, Target)>) -> Result<Plan, ToolError> {
        let mut record = Record::read(&self.record);
        let (mut changes, mut notes, mut left) = (Vec::new(), Vec::new(), Vec::<Left>::new());
        let files = self.files(targets, |path, error| {
            let why = error.to_string();
            let is_dangling = path.is_symlink() && !path.exists();
            if left.iter().all(|left| left.why != why) {
                left.push(Left { why, may_hold: !is_dangling });
            }
            Ok(())
        })?;
        for file in files {
            let key = self.key(&file.original.real);
            if let Some(known) = record.files.get_mut(&key) {
                known.hosts.retain(|host| !file.hosts.contains(host));
                if !known.hosts.is_empty() {
                    // Another host still reads it.
                    continue;
                }
            }
            match self.taken_back(&file, record.files.get(&key), &mut notes) {
                Ok(change) => {
                    record.files.remove(&key);
                    changes.extend(change.filter(|change| !change.is_none()));
                }
                Err(error) => left.push(Left { why: self.fault(&file, &error), may_hold: true }),
            }
            if !file.may_hold_ours()
                && let Some(error) = file.syntax_error()
            {
                left.push(Left { why: self.fault(&file, &error), may_hold: false });
            }
        }
        Ok(Plan { ground: self.clone(), changes, notes, left, record })
    }

    fn taken_back(
        &self,
        file: &File,
        known: Option<&Changed>,
        notes: &mut Vec<String>,
    ) -> Result<Option<Change>, EditError> {
        let shown = self.shown(&file.named);
        let Some(before) = file.before() else { return Ok(None) };
        let after = match known.and_then(|known| Some((known.existed, known.undo(&before)?))) {
            Some((true, undone)) => Some(undone),
            Some((false, _)) => None,
            // A file that cannot be read is refused only when it may hold something of ours.
            None if !file.may_hold_ours() => Some(before.clone()),
            None => {
                let plain = file.edited(Part::remove)?;
                let is_other = plain != file.text().plain();
                let is_rest_blank = is_other && file.is_blank(&plain);
                // Of a set-up by somebody else nothing is written down here, and what is shared is not deleted for him.
                let is_shared = known.is_none() && is_rest_blank && is_tracked(&file.original.real);
                let may_go = is_rest_blank && !is_shared && known.is_none_or(|known| !known.existed);
                if is_other && known.is_none() {
                    let stays = if is_shared { "; git tracks the file, so it stays" } else { "" };
                    notes.push(format!("{shown} was not set up here: what is ours was told by what it says{stays}"));
                }
                (!may_go).then(|| if is_other { file.text().with_plain(&plain) } else { before.clone() })
            }
        };
        let real = file.original.real.clone();
        Ok(Some(Change { shown, real, before: Some(before), after }))
    }

    fn fault(&self, file: &File, error: &EditError) -> String {
        format!("{}: {error}", self.shown(&file.named))
    }

    /// The folders that the record lies in, inner ones first.
    fn own_folders(&self) -> Vec<PathBuf> {
        match &self.project {
            Some(project) => {
                let layout = Layout::new(project);
                let outer = layout.dir().parent().map(Path::to_owned);
                [layout.track(), layout.spool(), layout.dir().to_owned()].into_iter().chain(outer).collect()
            }
            None => self.record.parent().map(Path::to_owned).into_iter().collect(),
        }
    }

    /// Takes away what was made for a record that is not needed after all, as far as nothing else lies there.
    fn remove_new(&self, new: &[PathBuf]) {
        if let Some(store) = new.iter().find(|folder| Some(folder.as_path()) == self.record.parent()) {
            let _ = fs::remove_file(store.join(".gitignore"));
        }
        for folder in new {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl File {
    fn text(&self) -> Text {
        self.original.text.clone().unwrap_or_default()
    }

    fn before(&self) -> Option<String> {
        self.original.text.as_ref().map(|text| text.whole().to_owned())
    }

    fn edited(&self, edit: fn(&Part, &str) -> Result<String, EditError>) -> Result<String, EditError> {
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

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.iter().all(Change::is_none)
    }

    /// Whether something is set up still when it is carried out: for another host, or in another worktree.
    pub(crate) fn leaves_some(&self) -> bool {
        self.record.files.keys().any(|file| self.ground.within(Path::new(file)).exists())
    }

    /// Makes the changes. What is needed to take them back is written down first, so that being stopped half-way does no harm.
    pub(crate) fn carry_out(mut self) -> Result<(), ToolError> {
        let before = Record::read(&self.ground.record);
        let new: Vec<PathBuf> = self.ground.own_folders().into_iter().filter(|folder| !folder.exists()).collect();
        let made = self.write_down(&self.record).and_then(|()| change::make(&self.changes));
        let folders = match made {
            Ok(folders) => folders,
            Err(error) => {
                let _ = self.write_down(&before);
                self.ground.remove_new(&new);
                return Err(error);
            }
        };
        let relative = |folder: PathBuf| match &self.ground.project {
            Some(root) => folder.strip_prefix(root).map(Path::to_owned).unwrap_or(folder),
            None => folder,
        };
        self.record.folders.extend(folders.into_iter().map(relative));
        let all: Vec<PathBuf> = self.record.folders.iter().map(|folder| self.ground.within(folder)).collect();
        let left = change::remove_empty(&all);
        self.record.folders.retain(|folder| left.contains(&self.ground.within(folder)));
        // Worktrees come and go.
        self.record.files.retain(|file, _| self.ground.within(Path::new(file)).exists());
        self.write_down(&self.record)
    }

    fn write_down(&self, record: &Record) -> Result<(), ToolError> {
        let path = &self.ground.record;
        let fault =
            |cause| ToolError::Unavailable(format!("cannot write {}: {cause}; nothing was changed", path.display()));
        if record.files.is_empty() && !path.exists() {
            return Ok(());
        }
        match &self.ground.project {
            Some(project) => Layout::new(project).create().map_err(fault)?,
            None => path.parent().map_or(Ok(()), fs::create_dir_all).map_err(fault)?,
        }
        record.write(path).map_err(fault)
    }
}
