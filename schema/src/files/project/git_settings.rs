//! Finds the ignore lists that git's settings name. Reads only the settings that matter for that.
//!
//! Every condition of an include counts as met, and every list that any file of settings names counts. A file that is wrongly taken for
//! ignored costs less than one whose content is recorded against a promise.

use std::path::{Path, PathBuf};

use crate::files::project::home_dir;
use crate::files::{environment, regular_file};

/// The longest file of settings that is read, in bytes, and the most files.
const SETTINGS_LIMIT: u64 = 1024 * 1024;
const MOST_FILES: usize = 32;

/// The settings of the user and the machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct GitSettings {
    pub(crate) home: Option<PathBuf>,
    /// The directory `git` in the user's directory of settings.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) files: Vec<PathBuf>,
}

impl GitSettings {
    pub(crate) fn from_environment() -> Self {
        let home = home_dir();
        let settings_dir = environment::path("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
        let directory = settings_dir.map(|settings| settings.join("git"));
        let of_programs = environment::path("ProgramFiles").map(|programs| programs.join("Git/etc/gitconfig"));
        let machine = ["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"].map(PathBuf::from);
        let named = ["GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"].into_iter().filter_map(environment::path);
        let own = [directory.as_ref().map(|git| git.join("config")), home.as_ref().map(|home| home.join(".gitconfig"))];
        let files = named.chain(machine).chain(of_programs).chain(own.into_iter().flatten()).collect();
        Self { home, directory, files }
    }

    /// Returns the ignore lists that apply to all files of a worktree. `own` are the settings of its repository.
    pub(crate) fn ignore_lists(&self, worktree: &Path, own: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
        let mut lists: Vec<PathBuf> = self.directory.iter().map(|git| git.join("ignore")).collect();
        let mut waiting: Vec<PathBuf> = self.files.iter().cloned().chain(own).collect();
        let mut read = 0;
        while let Some(file) = waiting.pop().filter(|_| read < MOST_FILES) {
            read += 1;
            let Ok(bytes) = regular_file::read(&file, SETTINGS_LIMIT) else { continue };
            for setting in settings(&String::from_utf8_lossy(&bytes)) {
                match setting {
                    IgnoreSetting::IgnoreList(path) => lists.push(self.resolve(&path, worktree)),
                    IgnoreSetting::Include(path) => {
                        waiting.push(self.resolve(&path, file.parent().unwrap_or(worktree)));
                    }
                }
            }
        }
        lists
    }

    fn resolve(&self, path: &str, base: &Path) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(path),
        }
    }
}

/// A setting that leads to ignore lists.
#[derive(Debug, PartialEq, Eq)]
enum IgnoreSetting {
    /// `core.excludesFile`.
    IgnoreList(String),
    /// Another file of settings.
    Include(String),
}

fn settings(text: &str) -> Vec<IgnoreSetting> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        // A setting may follow the name of its section on the same line.
        let setting = match line.strip_prefix('[').and_then(|rest| rest.rsplit_once(']')) {
            Some((name, rest)) => {
                section = name.trim().to_ascii_lowercase();
                rest
            }
            None => line,
        };
        let Some((name, value)) = setting.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), unquoted(value.trim()));
        match name.as_str() {
            "excludesfile" => found.push(IgnoreSetting::IgnoreList(value)),
            "path" if section.starts_with("include") => found.push(IgnoreSetting::Include(value)),
            _ => {}
        }
    }
    found
}

/// Returns a value without its quotes, its escapes, and the comment after it.
fn unquoted(value: &str) -> String {
    let (mut text, mut is_quoted) = (String::new(), false);
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_that_lead_to_ignore_lists_are_found() {
        let text = "[core]\n\teditor = vi\n\tExcludesFile = \"~/my list\" ; mine\n[user]\npath = x\n[includeIf \"gitdir:~/a]b/\"] path = b.inc # c\n";
        let expected = [IgnoreSetting::IgnoreList("~/my list".into()), IgnoreSetting::Include("b.inc".into())];
        assert_eq!(settings(text), expected);
    }

    #[test]
    fn lists_of_user_repository_and_included_files_apply() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at(".gitconfig"), "[core]\nexcludesFile = ~/a\n[include]\npath = inner.inc\n").unwrap();
        fs::write(at("inner.inc"), "[core]\nexcludesFile = ~/b\n[include]\npath = inner.inc\n").unwrap();
        fs::write(at("own"), "[core]\nexcludesFile = lists/c\n").unwrap();
        let settings = GitSettings {
            home: Some(home.path().to_owned()),
            directory: Some(at("git")),
            files: vec![at(".gitconfig"), at("missing")],
        };
        let mut lists = settings.ignore_lists(Path::new("/w"), [at("own")]);
        lists.sort();
        lists.dedup();
        let mut expected = [PathBuf::from("/w/lists/c"), at("a"), at("b"), at("git/ignore")];
        expected.sort();
        assert_eq!(lists, expected);
    }
}
