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

/// Where files lie that are changed together, and where that is written down.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    /// The project; files of a user lie anywhere.
    root: Option<PathBuf>,
    record: PathBuf,
    places: Places,
}

/// Changes that wait to be made.
#[derive(Debug)]
pub(crate) struct Plan {
    ground: Ground,
    pub(crate) changes: Vec<Change>,
    record: Record,
}

/// One file with everything that concerns it.
struct File {
    named: PathBuf,
    original: Original,
    hosts: BTreeSet<Host>,
    parts: Vec<Part>,
}

impl Ground {
    pub(crate) fn new(scope: Scope, places: &Places, project: &Path) -> Result<Self, ToolError> {
        let (root, record) = match scope {
            Scope::Project => (Some(project.to_owned()), Layout::new(project).setup_record()),
            Scope::User => {
                places.check_home()?;
                let record = places.record();
                (None, record.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?)
            }
        };
        Ok(Self { root, record, places: places.clone() })
    }

    /// A path as people write it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match self.root.as_deref().and_then(|root| path.strip_prefix(root).ok()) {
            Some(relative) => relative.to_string_lossy().replace('\\', "/"),
            None => self.places.shown(path),
        }
    }

    /// A path as it is written down: where a project is moved, its record goes along.
    fn key(&self, real: &Path) -> String {
        let root = self.root.as_deref().and_then(|root| root.canonicalize().ok());
        let relative = root.and_then(|root| real.strip_prefix(root).map(Path::to_owned).ok());
        relative.as_deref().unwrap_or(real).to_string_lossy().replace('\\', "/")
    }

    fn within(&self, folder: &Path) -> PathBuf {
        self.root.as_deref().map_or_else(|| folder.to_owned(), |root| root.join(folder))
    }

    /// Puts targets that lead to the same file together.
    fn files(&self, targets: Vec<(Host, Target)>) -> Result<Vec<File>, ToolError> {
        let mut files: Vec<File> = Vec::new();
        for (host, Target { path, part }) in targets {
            let original = file::read(&path, self.root.as_deref())?;
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
        for file in self.files(targets)? {
            let key = self.key(&file.original.real);
            let known = record.files.remove(&key);
            let (change, changed) = self.set_up(&file, known)?;
            record.files.extend(changed.map(|changed| (key, changed)));
            changes.push(change);
        }
        Ok(Plan { ground: self.clone(), changes, record })
    }

    fn set_up(&self, file: &File, known: Option<Changed>) -> Result<(Change, Option<Changed>), ToolError> {
        let (before, text) = (file.before(), file.text());
        let refused = |error| self.refused(file, &error);
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

    /// What it comes to when `targets` are taken back.
    pub(crate) fn to_take_back(&self, targets: Vec<(Host, Target)>) -> Result<Plan, ToolError> {
        let mut record = Record::read(&self.record);
        let mut changes = Vec::new();
        for file in self.files(targets)? {
            let key = self.key(&file.original.real);
            if let Some(known) = record.files.get_mut(&key) {
                known.hosts.retain(|host| !file.hosts.contains(host));
                if !known.hosts.is_empty() {
                    // Another host still reads it.
                    continue;
                }
            }
            let known = record.files.remove(&key);
            changes.extend(self.taken_back(&file, known.as_ref())?.filter(|change| !change.is_none()));
        }
        Ok(Plan { ground: self.clone(), changes, record })
    }

    fn taken_back(&self, file: &File, known: Option<&Changed>) -> Result<Option<Change>, ToolError> {
        let Some(before) = file.before() else { return Ok(None) };
        let after = match known.and_then(|known| Some((known.existed, known.undo(&before)?))) {
            Some((true, undone)) => Some(undone),
            Some((false, _)) => None,
            // A file that cannot be read is refused only when it may hold something of ours.
            None if !before.contains("jikime") => Some(before.clone()),
            None => {
                let plain = file.edited(Part::remove).map_err(|error| self.refused(file, &error))?;
                let is_other = plain != file.text().plain();
                let may_go = is_other && file.is_blank(&plain) && known.is_none_or(|known| !known.existed);
                (!may_go).then(|| if is_other { file.text().with_plain(&plain) } else { before.clone() })
            }
        };
        let (shown, real) = (self.shown(&file.named), file.original.real.clone());
        Ok(Some(Change { shown, real, before: Some(before), after }))
    }

    fn refused(&self, file: &File, error: &EditError) -> ToolError {
        ToolError::Invalid(format!("{}: {error}; nothing was written", self.shown(&file.named)))
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

    fn is_blank(&self, text: &str) -> bool {
        self.parts.iter().all(|part| part.is_blank(text))
    }
}

impl Plan {
    pub(crate) fn is_empty(&self) -> bool {
        self.changes.iter().all(Change::is_none)
    }

    /// Makes the changes. What is needed to take them back is written down first, so that being stopped half-way does no harm.
    pub(crate) fn carry_out(mut self) -> Result<(), ToolError> {
        let before = Record::read(&self.ground.record);
        self.write_down(&self.record)?;
        let folders = match change::make(&self.changes) {
            Ok(folders) => folders,
            Err(error) => {
                self.write_down(&before)?;
                return Err(error);
            }
        };
        let relative = |folder: PathBuf| match &self.ground.root {
            Some(root) => folder.strip_prefix(root).map(Path::to_owned).unwrap_or(folder),
            None => folder,
        };
        self.record.folders.extend(folders.into_iter().map(relative));
        let all: Vec<PathBuf> = self.record.folders.iter().map(|folder| self.ground.within(folder)).collect();
        let left = change::remove_empty(&all);
        self.record.folders.retain(|folder| left.contains(&self.ground.within(folder)));
        self.write_down(&self.record)
    }

    fn write_down(&self, record: &Record) -> Result<(), ToolError> {
        let path = &self.ground.record;
        let fault =
            |cause| ToolError::Unavailable(format!("cannot write {}: {cause}; nothing was changed", path.display()));
        if record.files.is_empty() && !path.exists() {
            return Ok(());
        }
        match &self.ground.root {
            Some(root) => Layout::new(root).create().map_err(fault)?,
            None => path.parent().map_or(Ok(()), fs::create_dir_all).map_err(fault)?,
        }
        record.write(path).map_err(fault)
    }
}
