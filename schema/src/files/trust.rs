//! Decides whose stores are used: those of the user, and those that the user's settings trust, like `safe.directory` in git.
//!
//! On Windows ownership is not checked, and every store is used.

use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use toml::de::{DeTable as Table, DeValue as Value};

use crate::files::environment;
use crate::files::project;
use crate::files::regular_file;

/// The setting in the user's file, and the variable that overrides it.
pub(crate) const SETTING: &str = "trusted";
pub(crate) const VARIABLE: &str = "JIKIME_TRUSTED";

/// The maximum size of the user's file, in bytes.
const FILE_LIMIT: u64 = 64 * 1024;

/// The reason why a file or directory of a store is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "constructed only on Unix"))]
pub(crate) enum DistrustReason {
    /// Another user, with this uid, owns it.
    Owner(u32),
    /// Every user may change it.
    WorldWritable,
}

impl fmt::Display for DistrustReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(user) => write!(f, "belongs to another user (uid {user})"),
            Self::WorldWritable => f.write_str("may be changed by every user"),
        }
    }
}

impl DistrustReason {
    /// Returns why a file is not trusted, unless the user's settings trust its store.
    #[cfg(unix)]
    pub(crate) fn from_metadata(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        // Cached, because the effective user does not change and each file needs it.
        static USER: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| rustix::process::geteuid().as_raw());
        let user = *USER;
        let sudo = || environment::text("SUDO_UID")?.parse().ok();
        Self::from_owner_and_mode(metadata.uid(), metadata.mode(), user, sudo)
    }

    #[cfg(not(unix))]
    pub(crate) fn from_metadata(_: &Metadata) -> Option<Self> {
        None
    }

    /// Compares owner and mode. Like git, the superuser also trusts the files of the user who called sudo.
    #[cfg(unix)]
    fn from_owner_and_mode(owner: u32, mode: u32, user: u32, sudo: impl FnOnce() -> Option<u32>) -> Option<Self> {
        if owner != user && !(user == 0 && sudo() == Some(owner)) {
            return Some(Self::Owner(owner));
        }
        (mode & 0o002 != 0).then_some(Self::WorldWritable)
    }
}

/// Whether the user's settings trust the store of a project. They are read again each time, so that a running server notices a change.
pub(crate) fn is_trusted(project: &Path) -> bool {
    is_listed(project, &trusted_paths(environment::text(VARIABLE), project::user_settings_file().as_deref()))
}

/// Returns a path on one line without invisible characters, because another user may have chosen the name.
pub(crate) fn printable_path(path: &Path) -> String {
    let is_unseen = |c: char| {
        c.is_control() || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    path.to_string_lossy().chars().map(|c| if is_unseen(c) { '\u{FFFD}' } else { c }).collect()
}

/// Returns the shell command that trusts the store of a project.
pub(crate) fn trust_command(project: &Path) -> String {
    let path = printable_path(project);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%:,".contains(c);
    match path.chars().all(is_plain) {
        true => format!("jikime-memory config trust {path}"),
        false if cfg!(windows) => format!("jikime-memory config trust \"{path}\""),
        false => format!("jikime-memory config trust '{}'", path.replace('\'', r"'\''")),
    }
}

/// Parses the list of trusted projects; `*` trusts all projects.
pub(crate) fn parse_trusted_paths(value: &Value<'_>) -> Option<Vec<PathBuf>> {
    match value {
        Value::String(list) => Some(std::env::split_paths(list.as_ref()).collect()),
        Value::Array(list) => list.iter().map(|item| Some(PathBuf::from(item.as_ref().as_str()?))).collect(),
        _ => None,
    }
}

fn trusted_paths(variable: Option<String>, file: Option<&Path>) -> Vec<PathBuf> {
    let value = match variable.filter(|list| !list.is_empty()) {
        Some(list) => parse_trusted_paths(&Value::String(list.into())),
        None => file.and_then(|file| {
            let text = regular_file::read_text(file, FILE_LIMIT).ok()?;
            parse_trusted_paths(Table::parse(&text).ok()?.get_ref().get(SETTING)?.get_ref())
        }),
    };
    value.unwrap_or_default()
}

fn is_listed(project: &Path, listed: &[PathBuf]) -> bool {
    let real = project.canonicalize().ok();
    listed
        .iter()
        .any(|path| path.as_os_str() == "*" || path == project || real.is_some() && path.canonicalize().ok() == real)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::own(1000, 0o755, 1000, None, None)]
    #[case::group_writable(1000, 0o775, 1000, None, None)]
    #[case::world_writable(1000, 0o757, 1000, None, Some(DistrustReason::WorldWritable))]
    #[case::sticky(1000, 0o1777, 1000, None, Some(DistrustReason::WorldWritable))]
    #[case::of_another(1001, 0o700, 1000, None, Some(DistrustReason::Owner(1001)))]
    #[case::of_root(0, 0o755, 1000, None, Some(DistrustReason::Owner(0)))]
    #[case::another_for_root(1000, 0o755, 0, None, Some(DistrustReason::Owner(1000)))]
    #[case::sudo(1000, 0o755, 0, Some(1000), None)]
    #[case::sudo_of_another(1000, 0o755, 0, Some(1001), Some(DistrustReason::Owner(1000)))]
    #[case::variable_of_a_user(1001, 0o755, 1000, Some(1001), Some(DistrustReason::Owner(1001)))]
    fn only_own_files_that_others_cannot_change_are_trusted(
        #[case] owner: u32,
        #[case] mode: u32,
        #[case] user: u32,
        #[case] sudo: Option<u32>,
        #[case] expected: Option<DistrustReason>,
    ) {
        assert_eq!(DistrustReason::from_owner_and_mode(owner, mode, user, || sudo), expected);
    }

    #[test]
    fn trusted_projects_come_from_the_variable_or_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let (project, link, file) = (dir.path().join("p"), dir.path().join("link"), dir.path().join("memory.toml"));
        fs::create_dir(&project).unwrap();
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let is_trusted = |variable: &str, text: &str| {
            fs::write(&file, text).unwrap();
            is_listed(&project, &trusted_paths(Some(variable.to_owned()), Some(&file)))
        };
        assert!(!is_trusted("", "") && !is_trusted("", "trusted = 3") && !is_trusted("", "trusted = [\"/\"]"));
        assert!(is_trusted("", "trusted = [\"/\", \"*\"]"));
        assert!(is_trusted("", &format!("trusted = [{link:?}]")));
        assert!(is_trusted(&format!("/:{}", project.display()), "") && is_trusted("*", ""));
        assert!(!is_trusted("/", "trusted = [\"*\"]"), "the variable goes before the file");
    }

    #[test]
    fn command_is_one_line_that_runs_nothing_else() {
        assert_eq!(trust_command(Path::new("/tmp/p")), "jikime-memory config trust /tmp/p");
        assert_eq!(trust_command(Path::new("/tmp/$(rm x)\n'")), r"jikime-memory config trust '/tmp/$(rm x)�'\'''");
    }
}
