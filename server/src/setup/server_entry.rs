//! The entry by which a host starts our server: what it says, and how one of ours is told from those of others.

use std::path::Path;

use super::host::WORKSPACE;

/// The name under which hosts know the server.
pub(crate) const NAME: &str = "jikime-memory";

/// The program that is started, without the ending of a platform.
const PROGRAM: &str = "jikime-memory";

/// What starts the user's own memory instead of a project's.
pub(crate) const PERSONAL: &str = "--personal";

/// How the server is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// An entry for a server as it stands in a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    /// `None` when the host reaches the server by a URL.
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
}

impl Listed {
    /// Whether it starts our server, under whatever name, or bears our name.
    pub(crate) fn is_ours(&self) -> bool {
        self.name == NAME || self.command.as_deref().is_some_and(|command| program_name(command) == PROGRAM)
    }

    /// Whether it is about the user's own memory: both may stand side by side.
    pub(crate) fn is_personal(&self) -> bool {
        self.args.iter().any(|arg| arg == PERSONAL)
    }

    /// Whether it is the one that `entry` would be: ours, and about the same memory.
    pub(super) fn stands_for(&self, entry: &Entry) -> bool {
        self.is_ours() && self.is_personal() == entry.is_personal()
    }

    /// What it should say, where that is something else. A URL is left as it is, and so are arguments that serve in another way.
    pub(super) fn updated(&self, entry: &Entry) -> Option<Entry> {
        let command = self.command.as_deref()?;
        let serves = matches!(
            self.args.iter().map(String::as_str).collect::<Vec<_>>()[..],
            ["serve", ..] | ["mcp", "serve", ..]
        );
        // The folder that is open gave way to the project that its memory is shared with.
        let is_renamed = self.args.iter().any(|arg| arg == WORKSPACE)
            && entry.args.iter().any(|arg| arg == "--project")
            && !entry.args.iter().any(|arg| arg == WORKSPACE);
        let args = if serves && !is_renamed { &self.args } else { &entry.args };
        let updated = Entry { command: entry.command.clone(), args: args.clone() };
        (command != updated.command || self.args != updated.args).then_some(updated)
    }
}

impl Entry {
    pub(crate) fn is_personal(&self) -> bool {
        self.args.iter().any(|arg| arg == PERSONAL)
    }

    /// A name that none of the others bears.
    pub(super) fn free_name(&self, others: &[Listed]) -> String {
        let taken = |name: &str| others.iter().any(|other| other.name == name);
        if !taken(NAME) {
            return NAME.to_owned();
        }
        let named = format!("{NAME}-{}", if self.is_personal() { "personal" } else { "project" });
        let mut names = std::iter::once(named.clone()).chain((2..).map(|n| format!("{named}-{n}")));
        names.find(|name| !taken(name)).unwrap_or(named)
    }
}

/// The name of the program that a command starts, without its folder and without `.exe`. Settings travel, so both kinds of slashes
/// count.
pub(crate) fn program_name(command: &str) -> &str {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let is_program = Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exe"));
    if is_program { &name[..name.len() - ".exe".len()] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, command: &str, args: &[&str]) -> Listed {
        Listed {
            name: name.to_owned(),
            command: Some(command.to_owned()),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        }
    }

    #[test]
    fn ours_is_told_by_its_program_or_its_name() {
        for (name, command, expected) in [
            ("memory", "jikime-memory", true),
            ("memory", "/opt/bin/jikime-memory", true),
            ("memory", r"C:\Users\me\bin\jikime-memory.EXE", true),
            ("jikime-memory", "docker", true),
            ("memory", "npx", false),
            ("memory", "/opt/jikime-memory/bin/other", false),
        ] {
            assert_eq!(listed(name, command, &["serve"]).is_ours(), expected, "{name} {command}");
        }
    }

    #[test]
    fn an_entry_keeps_the_arguments_that_somebody_chose() {
        let entry = Entry { command: "jikime-memory".to_owned(), args: vec!["serve".to_owned()] };
        assert_eq!(listed("m", "jikime-memory", &["serve", "--project", "x"]).updated(&entry), None);
        assert_eq!(listed("m", "jikime-memory", &["mcp", "serve"]).updated(&entry), None);
        assert_eq!(listed("m", "jikime-memory", &["start"]).updated(&entry), Some(entry.clone()));
        let updated = listed("m", "/old/jikime-memory", &["serve", "--project", "x"]).updated(&entry).unwrap();
        assert_eq!((updated.command.as_str(), updated.args.len()), ("jikime-memory", 3));
    }
}
