//! Programs from the environment, such as `$PAGER` and `$EDITOR`, with shell quoting.

use std::process::Command;

/// Starts a program through the shell, so that its name can contain options and quotes. Arguments are passed unchanged.
pub(crate) fn shell_command(name: &str) -> Command {
    if cfg!(windows) {
        let mut words = name.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(name));
        command.args(words);
        return command;
    }
    let mut command = Command::new("sh");
    // After the script comes `$0`, then the arguments for `"$@"`.
    command.arg("-c").arg(format!("{name} \"$@\"")).arg("sh");
    command
}
