//! The hosts that can be set up, as a table: which files each reads, for a project and for its user, and what ours looks like there.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tools::error::ToolError;

use super::part::{Format, Part, Shape};
use super::places::Places;
use super::programs::on_path;
use super::server_entry::{Entry, PERSONAL};

/// A program that agents run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Host {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Vscode,
    Gemini,
    Zed,
    Windsurf,
}

/// For whom a host is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// One project, in files that may be committed
    Project,
    /// All projects of this user
    User,
}

/// A file, and what of ours it is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    pub(crate) part: Part,
}

/// What is written into files: the commands that start our programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commands {
    pub(crate) memory: String,
    pub(crate) hook: String,
}

const MCP_SERVERS: Shape = Shape { key: "mcpServers", kind: None };
const SERVERS: Shape = Shape { key: "servers", kind: Some(("type", "stdio")) };
const CONTEXT_SERVERS: Shape = Shape { key: "context_servers", kind: Some(("source", "custom")) };

/// What these hosts put in the place of it; they start servers in a folder of their own.
pub(crate) const WORKSPACE: &str = "${workspaceFolder}";

impl Host {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Gemini => "Gemini CLI",
            Self::Zed => "Zed",
            Self::Windsurf => "Windsurf",
        }
    }

    /// The name by which the command line calls it.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// A project where the host knows such a thing.
    pub(crate) fn usual_scope(self) -> Scope {
        match self {
            Self::ClaudeDesktop | Self::Windsurf => Scope::User,
            _ => Scope::Project,
        }
    }

    /// The files that set the host up in `project`, or for its user.
    pub(crate) fn targets(
        self,
        scope: Scope,
        places: &Places,
        project: &Path,
        commands: &Commands,
    ) -> Result<Vec<Target>, ToolError> {
        let target = |path, part| Target { path, part };
        let (server, format) = self.server_file(scope, places, project)?;
        let entry = Entry {
            command: commands.memory.clone(),
            args: self.arguments(scope).iter().map(|arg| (*arg).to_owned()).collect(),
        };
        let mut targets = vec![target(server, Part::Server(format, entry))];
        if self == Self::ClaudeCode {
            let folder = match scope {
                Scope::Project => Some(project.join(".claude")),
                Scope::User => places.claude(),
            };
            targets
                .extend(folder.map(|folder| target(folder.join("settings.json"), Part::Hooks(commands.hook.clone()))));
        }
        targets.extend(self.instructions(scope, places, project).map(|path| target(path, Part::Instructions)));
        Ok(targets)
    }

    fn server_file(self, scope: Scope, places: &Places, project: &Path) -> Result<(PathBuf, Format), ToolError> {
        let in_project = |path: &str, format| Ok((project.join(path), format));
        let (folder, name, format) = match (self, scope) {
            (Self::ClaudeCode, Scope::Project) => return in_project(".mcp.json", Format::Json(MCP_SERVERS)),
            (Self::Codex, Scope::Project) => return in_project(".codex/config.toml", Format::Toml),
            (Self::Cursor, Scope::Project) => return in_project(".cursor/mcp.json", Format::Json(MCP_SERVERS)),
            (Self::Vscode, Scope::Project) => return in_project(".vscode/mcp.json", Format::Json(SERVERS)),
            (Self::Gemini, Scope::Project) => return in_project(".gemini/settings.json", Format::Json(MCP_SERVERS)),
            (Self::Zed, Scope::Project) => return in_project(".zed/settings.json", Format::Json(CONTEXT_SERVERS)),
            (Self::ClaudeDesktop | Self::Windsurf, Scope::Project) => {
                let text = format!("{} has no settings of a project; use --scope user", self.title());
                return Err(ToolError::Invalid(text));
            }
            (Self::ClaudeCode, Scope::User) => (places.claude_json(), "", Format::Json(MCP_SERVERS)),
            (Self::ClaudeDesktop, Scope::User) => {
                (places.claude_desktop(), "claude_desktop_config.json", Format::Json(MCP_SERVERS))
            }
            (Self::Codex, Scope::User) => (places.codex(), "config.toml", Format::Toml),
            (Self::Cursor, Scope::User) => (places.cursor(), "mcp.json", Format::Json(MCP_SERVERS)),
            (Self::Vscode, Scope::User) => (places.vscode(), "mcp.json", Format::Json(SERVERS)),
            (Self::Gemini, Scope::User) => (places.gemini(), "settings.json", Format::Json(MCP_SERVERS)),
            (Self::Zed, Scope::User) => (places.zed(), "settings.json", Format::Json(CONTEXT_SERVERS)),
            (Self::Windsurf, Scope::User) => (places.windsurf(), "mcp_config.json", Format::Json(MCP_SERVERS)),
        };
        let folder = folder.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?;
        Ok((if name.is_empty() { folder } else { folder.join(name) }, format))
    }

    /// How the server is told whose memory is meant: by the folder that the host starts it in, by name, or not at all, and then it
    /// is the user's own.
    fn arguments(self, scope: Scope) -> &'static [&'static str] {
        match (self, scope) {
            (Self::Vscode, _) | (Self::Cursor, Scope::Project) => &["serve", "--project", WORKSPACE],
            (Self::ClaudeDesktop | Self::Windsurf, _) | (Self::Cursor, Scope::User) => &["serve", PERSONAL],
            _ => &["serve"],
        }
    }

    /// Whether what is set up is the memory of the user's own.
    pub(crate) fn is_personal(self, scope: Scope) -> bool {
        self.arguments(scope).contains(&PERSONAL)
    }

    /// Whether the host asks before it starts a server that it was told of so.
    pub(crate) fn asks_for_trust(self, scope: Scope) -> bool {
        matches!((self, scope), (Self::ClaudeCode, Scope::Project) | (Self::Vscode, _))
    }

    /// The file that models of this host read first.
    fn instructions(self, scope: Scope, places: &Places, project: &Path) -> Option<PathBuf> {
        match (self, scope) {
            (Self::ClaudeCode, Scope::Project) => {
                let (usual, inner) = (project.join("CLAUDE.md"), project.join(".claude").join("CLAUDE.md"));
                Some(if inner.exists() && !usual.exists() { inner } else { usual })
            }
            (Self::Codex | Self::Cursor | Self::Vscode | Self::Zed, Scope::Project) => Some(project.join("AGENTS.md")),
            (Self::Gemini, Scope::Project) => Some(project.join("GEMINI.md")),
            (Self::ClaudeCode, Scope::User) => Some(places.claude()?.join("CLAUDE.md")),
            (Self::Codex, Scope::User) => Some(places.codex()?.join("AGENTS.md")),
            (Self::Gemini, Scope::User) => Some(places.gemini()?.join("GEMINI.md")),
            (Self::ClaudeDesktop | Self::Windsurf, _) | (_, Scope::User) => None,
        }
    }

    /// What of the host is on this machine: its folder or its program.
    pub(crate) fn found_at(self, places: &Places) -> Option<PathBuf> {
        let (folder, program) = match self {
            Self::ClaudeCode => (places.claude(), "claude"),
            Self::ClaudeDesktop => (places.claude_desktop(), ""),
            Self::Codex => (places.codex(), "codex"),
            Self::Cursor => (places.cursor(), "cursor"),
            Self::Vscode => (places.vscode(), "code"),
            Self::Gemini => (places.gemini(), "gemini"),
            Self::Zed => (places.zed(), "zed"),
            Self::Windsurf => (places.windsurf(), "windsurf"),
        };
        let program = if program.is_empty() { None } else { on_path(program, places.path.as_deref()) };
        program.or_else(|| folder.filter(|folder| folder.is_dir()))
    }

    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }
}
