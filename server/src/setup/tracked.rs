//! Whether git knows a file: then it is part of what people share, and not ours to delete.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a file is tracked. Where nobody can tell, it counts as that.
pub(super) fn is_tracked(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return true };
    let Some(git) = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists()) else { return false };
    if git.is_dir() && !git.join("index").exists() {
        // Nothing was ever added.
        return false;
    }
    let mut command = Command::new("git");
    // What a hook of git would have set names another repository, and what a repository says of programs is not started.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        command.env_remove(variable);
    }
    command.current_dir(folder).args(["-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--"]).arg(name);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.map_or(true, |status| status.code() != Some(1))
}
