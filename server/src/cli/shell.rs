//! Programs that people name in the environment, such as `$PAGER` and `$EDITOR`: a program with its options, quoted as in a shell.

use std::process::Command;

/// Starts as the shell would start it, so that quotes and options in the name count; arguments are added as they are.
pub(crate) fn command(name: &str) -> Command {
    if cfg!(windows) {
        let mut words = name.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(name));
        command.args(words);
        return command;
    }
    let mut command = Command::new("sh");
    // What follows the script is its name for `$0`, then the arguments that `"$@"` stands for.
    command.arg("-c").arg(format!("{name} \"$@\"")).arg("sh");
    command
}
