//! The server entry in a settings file, and how to recognise ours.

use std::path::Path;

use serde_json::Value;

/// These hosts replace it with the open folder, because they start servers in their own folder.
pub(crate) const WORKSPACE: &str = "${workspaceFolder}";

/// The name of the entry, and of the program without a file extension.
pub(crate) const NAME: &str = "jikime-memory";

/// The flag for the personal memory.
pub(crate) const PERSONAL: &str = "--personal";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

/// A server entry in a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedServer {
    pub(crate) name: String,
    /// `None` if the server is reached by URL.
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
}

impl ListedServer {
    pub(super) fn from_json(name: String, server: &Value) -> Self {
        let args = server.get("args").and_then(Value::as_array).into_iter().flatten();
        Self {
            name,
            command: server.get("command").and_then(Value::as_str).map(str::to_owned),
            args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }

    /// Whether the entry has our name or starts our program.
    pub(crate) fn is_ours(&self) -> bool {
        self.name == NAME || self.command.as_deref().is_some_and(|command| program_name(command) == NAME)
    }

    /// Whether it serves the personal memory. A host may have this and a project's server.
    pub(crate) fn is_personal(&self) -> bool {
        self.args.iter().any(|arg| arg == PERSONAL)
    }

    /// Whether it is our entry for the same memory.
    pub(super) fn is_same_server(&self, entry: &ServerEntry) -> bool {
        self.is_ours() && self.is_personal() == entry.is_personal()
    }

    /// The new content of an outdated entry, or `None`. URLs and other arguments of `serve` stay as they are.
    pub(super) fn updated(&self, entry: &ServerEntry) -> Option<ServerEntry> {
        let command = self.command.as_deref()?;
        let serves = matches!(
            self.args.iter().map(String::as_str).collect::<Vec<_>>()[..],
            ["serve", ..] | ["mcp", "serve", ..]
        );
        // In a linked worktree, the open folder was replaced by the main worktree.
        let is_renamed = self.args.iter().any(|arg| arg == WORKSPACE)
            && entry.args.iter().any(|arg| arg == "--project")
            && !entry.args.iter().any(|arg| arg == WORKSPACE);
        let args = if serves && !is_renamed { &self.args } else { &entry.args };
        let updated = ServerEntry { command: entry.command.clone(), args: args.clone() };
        (command != updated.command || self.args != updated.args).then_some(updated)
    }
}

impl ServerEntry {
    pub(crate) fn is_personal(&self) -> bool {
        self.args.iter().any(|arg| arg == PERSONAL)
    }

    /// The command and its arguments, for people.
    pub(crate) fn command_line(&self) -> String {
        format!("{} {}", self.command, self.args.join(" "))
    }

    /// A name that no other entry has.
    pub(super) fn unused_name(&self, others: &[ListedServer]) -> String {
        let taken = |name: &str| others.iter().any(|other| other.name == name);
        if !taken(NAME) {
            return NAME.to_owned();
        }
        let named = format!("{NAME}-{}", if self.is_personal() { "personal" } else { "project" });
        let mut names = std::iter::once(named.clone()).chain((2..).map(|n| format!("{named}-{n}")));
        names.find(|name| !taken(name)).unwrap_or(named)
    }
}

/// The name of a command's program without folder and `.exe`. Settings are shared between systems, so both slashes are separators.
pub(crate) fn program_name(command: &str) -> &str {
    let name = command.rsplit(['/', '\\']).next().unwrap_or(command);
    let is_program = Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("exe"));
    if is_program { &name[..name.len() - ".exe".len()] } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(name: &str, command: &str, args: &[&str]) -> ListedServer {
        ListedServer {
            name: name.to_owned(),
            command: Some(command.to_owned()),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        }
    }

    #[test]
    fn our_entry_is_recognised_by_program_or_name() {
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
    fn entry_keeps_custom_arguments() {
        let entry = ServerEntry { command: "jikime-memory".to_owned(), args: vec!["serve".to_owned()] };
        assert_eq!(listed("m", "jikime-memory", &["serve", "--project", "x"]).updated(&entry), None);
        assert_eq!(listed("m", "jikime-memory", &["mcp", "serve"]).updated(&entry), None);
        assert_eq!(listed("m", "jikime-memory", &["start"]).updated(&entry), Some(entry.clone()));
        let updated = listed("m", "/old/jikime-memory", &["serve", "--project", "x"]).updated(&entry).unwrap();
        assert_eq!((updated.command.as_str(), updated.args.len()), ("jikime-memory", 3));
    }
}
