//! Checks whether the code that a shown memory is about changed since. Changes nothing itself.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::anchored::LARGEST_FILE;
use super::block::{find_same_lines, hash_bytes};
use super::renamed::{RenameResult, RenamedFiles};
use crate::files::file_stamp::FileStamp;
use crate::files::project::git_branch::CheckedOutBranch;
use crate::files::regular_file;
use crate::model::code_anchor::{CodeAnchor, CodeContext};
use crate::model::moment::Moment;
use crate::store::{MemoryRow, Rows};

/// The most bytes that are read for one answer.
const MOST_READ: u64 = 8 * 1024 * 1024;

/// The most results that are kept.
const MOST_KNOWN: usize = 4_096;

/// A file that was written less than this before it was read may be written again with the same stamp.
const STAMP_UNCERTAIN_FOR: Duration = Duration::from_secs(2);

/// The most anchors that one line describes.
const DESCRIBED: usize = 2;

/// The state of an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeState {
    Same,
    /// Its lines begin at this line now.
    Moved(u64),
    /// The file is too large to read, and its size or time does not show that it is the same.
    MayHaveChanged,
    /// The seconds from the memory to the last change, if they are known.
    Changed(Option<i64>),
    /// There is no such file.
    Gone,
}

/// An anchor and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeChange {
    pub anchor: CodeAnchor,
    /// The path of the file now, if it was renamed.
    pub renamed_to: Option<String>,
    pub state: CodeState,
}

/// What changed since a memory was made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeChanges {
    pub anchors: Vec<CodeChange>,
    /// The branch on which it was made, if another one is checked out and that one was never merged.
    pub unmerged: Option<String>,
}

/// Compares anchors with the files of a checkout, and remembers the results of files that stay as they are.
#[derive(Debug)]
pub struct ChangeDetector {
    root: PathBuf,
    known: HashMap<CodeAnchor, (FileStamp, CodeState)>,
    unread: u64,
    /// Read when the first memory of an answer needs it.
    checked_out: Option<Option<CheckedOutBranch>>,
    /// `None` if missing files are not looked for.
    pub renamed: Option<RenamedFiles>,
}

/// Returns the code that a memory is about, and since when that is so: it was made or last confirmed.
pub fn current_code(rows: Rows<'_>, row: &MemoryRow) -> rusqlite::Result<(CodeContext, Moment)> {
    if !row.memory.kind.is_about_code() {
        return Ok((CodeContext::default(), row.memory.at));
    }
    let confirmed = rows.last_confirmation(&row.memory.id)?;
    let (at, fields) =
        confirmed.as_ref().map_or((row.memory.at, &row.memory.attributes.metadata), |(at, fields)| (*at, fields));
    Ok((CodeContext::from_fields(fields), at))
}

impl ChangeDetector {
    /// Compares with the files below `root`.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), known: HashMap::new(), unread: MOST_READ, checked_out: None, renamed: None }
    }

    /// Begins another answer.
    pub fn begin(&mut self) {
        self.unread = MOST_READ;
        self.checked_out = None;
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
    }

    /// Returns the states of the code that a memory is about.
    pub fn changes(&mut self, rows: Rows<'_>, row: &MemoryRow) -> rusqlite::Result<CodeChanges> {
        let (code, since) = current_code(rows, row)?;
        let unmerged = code.branch.filter(|branch| self.is_unmerged(branch));
        Ok(CodeChanges { unmerged, ..self.compare_all(code.anchors, since) })
    }

    /// Returns the states of the files alone, whatever the branch.
    pub fn file_changes(&mut self, rows: Rows<'_>, row: &MemoryRow) -> rusqlite::Result<CodeChanges> {
        let (code, since) = current_code(rows, row)?;
        Ok(self.compare_all(code.anchors, since))
    }

    fn compare_all(&mut self, anchors: Vec<CodeAnchor>, since: Moment) -> CodeChanges {
        let anchors = anchors.into_iter().map(|anchor| self.change_of(anchor, since)).collect();
        CodeChanges { anchors, unmerged: None }
    }

    fn change_of(&mut self, anchor: CodeAnchor, since: Moment) -> CodeChange {
        let state = self.state(&anchor, since);
        let is_gone = state == CodeState::Gone;
        let renamed = self.renamed.as_mut().filter(|_| is_gone).map(|renamed| renamed.new_path(&anchor, since));
        match renamed {
            Some(RenameResult::Now(path)) => {
                let state = self.state(&CodeAnchor { path: path.clone(), ..anchor.clone() }, since);
                CodeChange { anchor, renamed_to: Some(path), state }
            }
            Some(RenameResult::Unknown) => CodeChange { anchor, renamed_to: None, state: CodeState::MayHaveChanged },
            Some(RenameResult::Gone) | None => CodeChange { anchor, renamed_to: None, state },
        }
    }

    fn is_unmerged(&mut self, branch: &str) -> bool {
        let checked_out = self.checked_out.get_or_insert_with(|| CheckedOutBranch::read(&self.root));
        checked_out.as_ref().is_some_and(|checked_out| checked_out.has_unmerged(branch))
    }

    fn state(&mut self, anchor: &CodeAnchor, since: Moment) -> CodeState {
        let Some((file, metadata)) = self.find(&anchor.path) else { return CodeState::Gone };
        let written = metadata.modified().ok().and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let seconds = written.map(|written| written.as_secs().cast_signed() - since.unix());
        let is_older = seconds.is_some_and(|seconds| seconds < -STAMP_UNCERTAIN_FOR.as_secs().cast_signed());
        if metadata.len() == anchor.size && is_older {
            return CodeState::Same;
        }
        let changed = CodeState::Changed(seconds.filter(|seconds| *seconds >= 0));
        if anchor.hash.is_none() || metadata.len() > LARGEST_FILE {
            let is_other = metadata.len() != anchor.size;
            return if is_other && anchor.symbol.is_none() { changed } else { CodeState::MayHaveChanged };
        }
        match self.compare(anchor, &file, &metadata) {
            CodeState::Changed(_) => changed,
            state => state,
        }
    }

    /// Compares the bytes of a file, unless it was compared before and stayed as it was.
    fn compare(&mut self, anchor: &CodeAnchor, file: &Path, metadata: &Metadata) -> CodeState {
        let stamp = FileStamp::from_metadata(metadata);
        if let Some((_, state)) = self.known.get(anchor).filter(|(known, _)| Some(*known) == stamp) {
            return *state;
        }
        if metadata.len() > self.unread {
            return CodeState::MayHaveChanged;
        }
        self.unread -= metadata.len();
        let Ok(bytes) = regular_file::read(file, LARGEST_FILE) else { return CodeState::MayHaveChanged };
        let state = compare_bytes(anchor, &bytes);
        let is_stamp_certain =
            metadata.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > STAMP_UNCERTAIN_FOR));
        if let Some(stamp) = stamp.filter(|_| is_stamp_certain) {
            self.known.insert(anchor.clone(), (stamp, state));
        }
        state
    }

    /// Returns a regular file below the root. Links must not lead out of it.
    fn find(&self, path: &str) -> Option<(PathBuf, Metadata)> {
        let mut file = self.root.clone();
        let mut is_linked = false;
        for part in path.split('/') {
            file.push(part);
            is_linked |= fs::symlink_metadata(&file).ok()?.is_symlink();
        }
        if is_linked {
            file = fs::canonicalize(&file).ok()?;
            fs::canonicalize(&self.root).ok().filter(|root| file.starts_with(root))?;
        }
        let metadata = fs::symlink_metadata(&file).ok()?;
        metadata.is_file().then_some((file, metadata))
    }
}

fn compare_bytes(anchor: &CodeAnchor, bytes: &[u8]) -> CodeState {
    if anchor.size == bytes.len() as u64 && anchor.hash.as_ref().is_some_and(|hash| *hash == hash_bytes(bytes)) {
        return CodeState::Same;
    }
    match anchor.symbol.as_ref().and_then(|symbol| Some((symbol.line, find_same_lines(bytes, symbol)?))) {
        Some((before, now)) if before == now => CodeState::Same,
        Some((_, now)) => CodeState::Moved(now),
        None => CodeState::Changed(None),
    }
}

impl CodeChanges {
    /// Returns a few words on what changed, the worst first, or `None` if nothing did. Lines that only moved are still right.
    pub fn summary(&self) -> Option<String> {
        let is_right = |change: &&CodeChange| matches!(change.state, CodeState::Same | CodeState::Moved(_));
        let mut changed: Vec<&CodeChange> = self.anchors.iter().filter(|change| !is_right(change)).collect();
        changed.sort_by_key(|change| std::cmp::Reverse(change.state));
        let mut texts: Vec<String> = changed.iter().take(DESCRIBED).map(|change| change.describe()).collect();
        texts.extend(self.unmerged.as_ref().map(|branch| format!("branch {branch} is not merged")));
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Returns the factor for the score of a memory: slightly less if its code changed, and less if all of it is gone.
    pub fn demotion(&self) -> f64 {
        const CHANGED: f64 = 0.9;
        const GONE: f64 = 0.8;
        let is_gone = |change: &CodeChange| change.state == CodeState::Gone;
        let is_changed = |change: &CodeChange| is_gone(change) || matches!(change.state, CodeState::Changed(_));
        match &self.anchors {
            changes if !changes.is_empty() && changes.iter().all(is_gone) => GONE,
            changes if changes.iter().any(is_changed) => CHANGED,
            _ => 1.0,
        }
    }
}

impl CodeChange {
    /// Describes the state in a few words.
    pub fn describe(&self) -> String {
        let CodeAnchor { path, symbol, .. } = &self.anchor;
        let path = self.renamed_to.as_ref().unwrap_or(path);
        let what = symbol.as_ref().map_or_else(|| path.clone(), |symbol| format!("{} in {path}", symbol.name));
        match self.state {
            CodeState::Same if self.renamed_to.is_some() => format!("{} is now {path}", self.anchor.path),
            CodeState::Same => format!("{what} is unchanged"),
            CodeState::Moved(line) => format!("{what} moved to line {line}"),
            CodeState::MayHaveChanged => format!("{path} may have changed"),
            CodeState::Changed(seconds) => {
                format!("{what} changed {}", seconds.map_or_else(|| "since".to_owned(), age))
            }
            CodeState::Gone => format!("{path} is gone"),
        }
    }
}

fn age(seconds: i64) -> String {
    const HOUR: i64 = 3_600;
    const DAY: i64 = 24 * HOUR;
    let (count, unit) = match seconds {
        ..HOUR => return "soon after this".to_owned(),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{count} {unit}{} after this", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::block::find_symbol;
    use super::*;
    use crate::privacy::sanitizer::Sanitizer;

    const TEXT: &str = "use x;\n\nfn verify_token() {\n    check();\n}\n\nfn other() {}\n";

    fn project() -> (tempfile::TempDir, CodeAnchor) {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join("src")).unwrap();
        fs::write(project.path().join("src/auth.rs"), TEXT).unwrap();
        let anchor = CodeAnchor {
            path: "src/auth.rs".to_owned(),
            size: TEXT.len() as u64,
            hash: Some(hash_bytes(TEXT.as_bytes())),
            symbol: find_symbol(TEXT.as_bytes(), "verify_token").map(|found| found.symbol),
        };
        (project, anchor)
    }

    fn state_of(project: &tempfile::TempDir, anchor: &CodeAnchor, seconds: i64) -> CodeState {
        let since = Moment::from_unix(Moment::now().unix() + seconds, Some(0)).unwrap();
        ChangeDetector::new(project.path()).state(anchor, since)
    }

    #[rstest]
    #[case::same(TEXT, CodeState::Same)]
    #[case::added_above(&format!("\n{TEXT}"), CodeState::Moved(4))]
    #[case::added_below(&format!("{TEXT}fn more() {{}}\n"), CodeState::Same)]
    #[case::another_function(&TEXT.replace("other", "rest"), CodeState::Same)]
    #[case::within(&TEXT.replace("check()", "test_()"), CodeState::Changed(None))]
    #[case::white_space(&TEXT.replace("    check", "\tcheck"), CodeState::Changed(None))]
    #[case::line_ends(&TEXT.replace('\n', "\r\n"), CodeState::Changed(None))]
    #[case::renamed(&TEXT.replace("verify_token", "check_token"), CodeState::Changed(None))]
    #[case::empty("", CodeState::Changed(None))]
    fn function_is_compared_by_its_lines(#[case] text: &str, #[case] expected: CodeState) {
        let (project, anchor) = project();
        fs::write(project.path().join("src/auth.rs"), text).unwrap();
        // The file is as old as the memory, so that only its bytes decide.
        assert_eq!(state_of(&project, &anchor, 1), expected);
    }

    #[test]
    fn file_without_a_name_is_compared_as_a_whole() {
        let (project, anchor) = project();
        let anchor = CodeAnchor { symbol: None, ..anchor };
        assert_eq!(state_of(&project, &anchor, 0), CodeState::Same);
        fs::write(project.path().join("src/auth.rs"), format!("\n{TEXT}")).unwrap();
        let CodeState::Changed(Some(seconds)) = state_of(&project, &anchor, -12 * 86_400) else { panic!() };
        let change = CodeChange { anchor, renamed_to: None, state: CodeState::Changed(Some(seconds)) };
        assert_eq!(
            CodeChanges { anchors: vec![change], unmerged: Some("fix/a".to_owned()) }.summary().unwrap(),
            "src/auth.rs changed 12 days after this; branch fix/a is not merged"
        );
    }

    #[test]
    fn renamed_file_is_compared_under_its_new_name() {
        let (project, anchor) = project();
        let (old, new) = (project.path().join("src/auth.rs"), project.path().join("src/token.rs"));
        fs::rename(old, &new).unwrap();
        let mut detector = ChangeDetector::new(project.path());
        detector.renamed = Some(RenamedFiles::new(project.path(), Sanitizer::default()));
        let since = Moment::from_unix(Moment::now().unix() - 60, Some(0)).unwrap();
        let change = detector.change_of(anchor.clone(), since);
        assert_eq!((change.state, change.renamed_to.as_deref()), (CodeState::Same, Some("src/token.rs")));
        assert_eq!(change.describe(), "src/auth.rs is now src/token.rs");
        let changes = CodeChanges { anchors: vec![change], unmerged: None };
        assert_eq!((changes.summary(), changes.demotion()), (None, 1.0));
        fs::remove_file(new).unwrap();
        assert_eq!(detector.change_of(anchor, since).state, CodeState::Gone);
    }

    #[test]
    fn older_file_of_the_same_size_is_not_read() {
        let (project, anchor) = project();
        fs::write(project.path().join("src/auth.rs"), TEXT.replace("check", "other")).unwrap();
        assert_eq!(state_of(&project, &anchor, 60), CodeState::Same);
        assert_eq!(state_of(&project, &anchor, -1), CodeState::Changed(Some(1)));
    }

    #[test]
    fn large_file_is_judged_by_its_size_and_time() {
        let (project, anchor) = project();
        let path = project.path().join("src/auth.rs");
        let large = CodeAnchor { size: 2 << 30, hash: None, symbol: None, ..anchor.clone() };
        for (size, seconds, expected) in [
            (2 << 30, 60, CodeState::Same),
            (2 << 30, 0, CodeState::MayHaveChanged),
            ((2 << 30) + 1, 1, CodeState::Changed(None)),
        ] {
            fs::File::create(&path).unwrap().set_len(size).unwrap();
            assert_eq!(state_of(&project, &large, seconds), expected, "{size} {seconds}");
        }
        assert_eq!(state_of(&project, &anchor, 0), CodeState::MayHaveChanged, "a function in it");
    }

    #[test]
    fn anchor_without_a_project_file_is_gone() {
        let (project, anchor) = project();
        let (path, outside) = (project.path().join("src/auth.rs"), tempfile::tempdir().unwrap());
        fs::remove_file(&path).unwrap();
        assert_eq!(state_of(&project, &anchor, 60), CodeState::Gone);
        fs::create_dir(&path).unwrap();
        assert_eq!(state_of(&project, &anchor, 60), CodeState::Gone);
        fs::remove_dir(&path).unwrap();
        #[cfg(unix)]
        {
            fs::write(outside.path().join("auth.rs"), TEXT).unwrap();
            std::os::unix::fs::symlink(outside.path().join("auth.rs"), &path).unwrap();
            assert_eq!(state_of(&project, &anchor, 60), CodeState::Gone, "a link to it");
            fs::remove_dir_all(project.path().join("src")).unwrap();
            std::os::unix::fs::symlink(outside.path(), project.path().join("src")).unwrap();
            assert_eq!(state_of(&project, &anchor, 60), CodeState::Gone, "a folder that is a link");
            fs::remove_file(project.path().join("src")).unwrap();
            fs::create_dir(project.path().join("src")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
            assert_eq!(state_of(&project, &anchor, -60), CodeState::Gone, "a pipe");
        }
        drop(outside);
    }

    #[test]
    fn known_result_holds_until_the_file_changes() {
        let (project, anchor) = project();
        let path = project.path().join("src/auth.rs");
        let mut detector = ChangeDetector::new(project.path());
        let old = SystemTime::now() - Duration::from_mins(1);
        let since = Moment::from_unix(Moment::now().unix() - 3_600, Some(0)).unwrap();
        let mut state = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
            detector.unread = 0;
            let unread = detector.state(&anchor, since);
            detector.begin();
            let read = detector.state(&anchor, since);
            detector.unread = 0;
            (unread, read, detector.state(&anchor, since))
        };
        let expected = (CodeState::MayHaveChanged, CodeState::Same, CodeState::Same);
        assert_eq!(state(TEXT), expected);
        let (unread, read, known) = state(&TEXT.replace("check", "other"));
        assert_eq!((unread, read), (CodeState::MayHaveChanged, known));
        assert!(matches!(read, CodeState::Changed(Some(_))), "{read:?}");
    }
}
