//! The table of supported hosts: the files that each one reads, for a project and for a user, and the format of our entries.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schema::host::hook::HookHost;
use serde::{Deserialize, Serialize};
use tools::error::ToolError;

use super::hook_entries::HookSet;
use super::host_dirs::{HostDirs, find_on_path};
use super::json::JsonServerList;
use super::owned_part::{OwnedPart, ServerListFormat};
use super::server_entry::{PERSONAL, ServerEntry, WORKSPACE};
use super::slash_commands::{CommandFormat, command_files};

/// A program that runs agents.
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

/// Where a host is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SetupScope {
    /// One project, in files that may be committed
    Project,
    /// All projects of this user
    User,
}

/// A file and our part in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetupTarget {
    pub(crate) path: PathBuf,
    pub(crate) part: OwnedPart,
}

/// The commands that host files use to start our programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramCommands {
    pub(crate) memory: String,
    pub(crate) hooks: HookSet,
}

const MCP_SERVERS: JsonServerList = JsonServerList { key: "mcpServers", kind: None };
const SERVERS: JsonServerList = JsonServerList { key: "servers", kind: Some(("type", "stdio")) };
/// VS Code reads all files in its folders of hooks.
const VSCODE_HOOKS: &str = "jikime-memory.json";

const CONTEXT_SERVERS: JsonServerList = JsonServerList { key: "context_servers", kind: Some(("source", "custom")) };

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

    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The form of the host's hooks, if it has hooks that record sessions.
    pub(crate) fn hook_host(self) -> Option<HookHost> {
        match self {
            Self::ClaudeCode => Some(HookHost::ClaudeCode),
            Self::Codex => Some(HookHost::Codex),
            Self::Cursor => Some(HookHost::Cursor),
            Self::Vscode => Some(HookHost::Vscode),
            Self::Gemini => Some(HookHost::Gemini),
            Self::Windsurf => Some(HookHost::Windsurf),
            Self::ClaudeDesktop | Self::Zed => None,
        }
    }

    /// Project, if the host lists servers in files of a project.
    pub(crate) fn default_scope(self) -> SetupScope {
        match self {
            Self::ClaudeDesktop | Self::Windsurf => SetupScope::User,
            _ => SetupScope::Project,
        }
    }

    /// The files to write for `project` or for the user.
    pub(crate) fn targets(
        self,
        scope: SetupScope,
        places: &HostDirs,
        project: &Path,
        commands: &ProgramCommands,
    ) -> Result<Vec<SetupTarget>, ToolError> {
        let target = |path, part| SetupTarget { path, part };
        let mut targets = Vec::new();
        // Of a project, Windsurf reads hooks but no servers.
        if (self, scope) != (Self::Windsurf, SetupScope::Project) {
            let (server, format) = self.server_file(scope, places, project)?;
            let args = self.arguments(scope).iter().map(|arg| (*arg).to_owned()).collect();
            let entry = ServerEntry { command: commands.memory.clone(), args };
            targets.push(target(server, OwnedPart::Server(format, entry)));
        }
        let hooks = self.hook_host().zip(self.hook_file(scope, places, project));
        targets.extend(hooks.map(|(host, path)| target(path, OwnedPart::Hooks(host, commands.hooks.clone()))));
        targets.extend(self.instructions(scope, places, project).map(|path| target(path, OwnedPart::Instructions)));
        if let Some((folder, format)) = self.command_folder(scope, places, project) {
            let files = command_files(&folder, format, &commands.memory).into_iter();
            targets.extend(files.map(|(path, text)| target(path, OwnedPart::Command(text))));
        }
        Ok(targets)
    }

    fn server_file(
        self,
        scope: SetupScope,
        places: &HostDirs,
        project: &Path,
    ) -> Result<(PathBuf, ServerListFormat), ToolError> {
        let in_project = |path: &str, format| Ok((project.join(path), format));
        let (folder, name, format) = match (self, scope) {
            (Self::ClaudeCode, SetupScope::Project) => {
                return in_project(".mcp.json", ServerListFormat::Json(MCP_SERVERS));
            }
            (Self::Codex, SetupScope::Project) => return in_project(".codex/config.toml", ServerListFormat::Toml),
            (Self::Cursor, SetupScope::Project) => {
                return in_project(".cursor/mcp.json", ServerListFormat::Json(MCP_SERVERS));
            }
            (Self::Vscode, SetupScope::Project) => {
                return in_project(".vscode/mcp.json", ServerListFormat::Json(SERVERS));
            }
            (Self::Gemini, SetupScope::Project) => {
                return in_project(".gemini/settings.json", ServerListFormat::Json(MCP_SERVERS));
            }
            (Self::Zed, SetupScope::Project) => {
                return in_project(".zed/settings.json", ServerListFormat::Json(CONTEXT_SERVERS));
            }
            (Self::ClaudeDesktop | Self::Windsurf, SetupScope::Project) => {
                let text = format!("{} has no project settings; use --scope user", self.title());
                return Err(ToolError::Invalid(text));
            }
            (Self::ClaudeCode, SetupScope::User) => (places.claude_json(), "", ServerListFormat::Json(MCP_SERVERS)),
            (Self::ClaudeDesktop, SetupScope::User) => {
                (places.claude_desktop(), "claude_desktop_config.json", ServerListFormat::Json(MCP_SERVERS))
            }
            (Self::Codex, SetupScope::User) => (places.codex_dir(), "config.toml", ServerListFormat::Toml),
            (Self::Cursor, SetupScope::User) => (places.cursor_dir(), "mcp.json", ServerListFormat::Json(MCP_SERVERS)),
            (Self::Vscode, SetupScope::User) => (places.vscode_dir(), "mcp.json", ServerListFormat::Json(SERVERS)),
            (Self::Gemini, SetupScope::User) => {
                (places.gemini_dir(), "settings.json", ServerListFormat::Json(MCP_SERVERS))
            }
            (Self::Zed, SetupScope::User) => {
                (places.zed_dir(), "settings.json", ServerListFormat::Json(CONTEXT_SERVERS))
            }
            (Self::Windsurf, SetupScope::User) => {
                (places.windsurf_dir(), "mcp_config.json", ServerListFormat::Json(MCP_SERVERS))
            }
        };
        let folder = folder.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?;
        Ok((if name.is_empty() { folder } else { folder.join(name) }, format))
    }

    /// The file with the host's hooks.
    fn hook_file(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<PathBuf> {
        let (folder, name) = match (self, scope) {
            (Self::ClaudeCode, SetupScope::Project) => (Some(project.join(".claude")), "settings.json"),
            (Self::Codex, SetupScope::Project) => (Some(project.join(".codex")), "hooks.json"),
            (Self::Cursor, SetupScope::Project) => (Some(project.join(".cursor")), "hooks.json"),
            (Self::Vscode, SetupScope::Project) => (Some(project.join(".github/hooks")), VSCODE_HOOKS),
            (Self::Gemini, SetupScope::Project) => (Some(project.join(".gemini")), "settings.json"),
            (Self::Windsurf, SetupScope::Project) => (Some(project.join(".windsurf")), "hooks.json"),
            (Self::ClaudeCode, SetupScope::User) => (places.claude_dir(), "settings.json"),
            (Self::Codex, SetupScope::User) => (places.codex_dir(), "hooks.json"),
            (Self::Cursor, SetupScope::User) => (places.cursor_dir(), "hooks.json"),
            (Self::Vscode, SetupScope::User) => (places.copilot_hooks_dir(), VSCODE_HOOKS),
            (Self::Gemini, SetupScope::User) => (places.gemini_dir(), "settings.json"),
            (Self::Windsurf, SetupScope::User) => (places.windsurf_dir(), "hooks.json"),
            (Self::ClaudeDesktop | Self::Zed, _) => return None,
        };
        Some(folder?.join(name))
    }

    /// The folder and the format of the host's slash commands, if it has them.
    fn command_folder(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<(PathBuf, CommandFormat)> {
        let (of_user, of_project, format) = match self {
            Self::ClaudeCode => (places.claude_dir(), ".claude", CommandFormat::ClaudeCode),
            Self::Gemini => (places.gemini_dir(), ".gemini", CommandFormat::Toml),
            Self::Cursor => (places.cursor_dir(), ".cursor", CommandFormat::Plain),
            _ => return None,
        };
        let folder = if scope == SetupScope::Project { Some(project.join(of_project)) } else { of_user };
        Some((folder?.join("commands"), format))
    }

    /// Arguments that select the memory: the working directory by default, the open folder, or the personal memory.
    ///
    /// For all projects, Cursor starts one server for all its windows, in the home directory. The folder that it names to that server is
    /// that of the window that started it, so a search could return the memory of another project.
    fn arguments(self, scope: SetupScope) -> &'static [&'static str] {
        match (self, scope) {
            (Self::Vscode, _) | (Self::Cursor, SetupScope::Project) => &["serve", "--project", WORKSPACE],
            (Self::ClaudeDesktop, _) | (Self::Cursor | Self::Windsurf, SetupScope::User) => &["serve", PERSONAL],
            _ => &["serve"],
        }
    }

    /// Whether this setup uses the personal memory.
    pub(crate) fn is_personal(self, scope: SetupScope) -> bool {
        self.arguments(scope).contains(&PERSONAL)
    }

    /// Says where hooks and tools differ: the hooks of a host get the project of each event, but its server may not.
    pub(crate) fn memory_note(self, scope: SetupScope) -> Option<String> {
        self.hook_host().filter(|_| self.is_personal(scope))?;
        let note = format!(
            "The hooks of {} record into each project; its tools search only your personal memory",
            self.title()
        );
        Some(match self {
            Self::Cursor => {
                format!("{note}. For tools that search a project, run `jikime-memory init --host cursor` in it.")
            }
            _ => format!("{note}. `jikime-memory search` searches a project."),
        })
    }

    /// Whether the host asks the user before it starts a server from this file.
    pub(crate) fn asks_for_trust(self, scope: SetupScope) -> bool {
        matches!((self, scope), (Self::ClaudeCode, SetupScope::Project) | (Self::Vscode, _))
    }

    /// The instructions file of this host's models.
    fn instructions(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<PathBuf> {
        match (self, scope) {
            (Self::ClaudeCode, SetupScope::Project) => {
                let (usual, inner) = (project.join("CLAUDE.md"), project.join(".claude").join("CLAUDE.md"));
                Some(if inner.exists() && !usual.exists() { inner } else { usual })
            }
            (Self::Codex | Self::Cursor | Self::Vscode | Self::Zed, SetupScope::Project) => {
                Some(project.join("AGENTS.md"))
            }
            (Self::Gemini, SetupScope::Project) => Some(project.join("GEMINI.md")),
            (Self::ClaudeCode, SetupScope::User) => Some(places.claude_dir()?.join("CLAUDE.md")),
            (Self::Codex, SetupScope::User) => Some(places.codex_dir()?.join("AGENTS.md")),
            (Self::Gemini, SetupScope::User) => Some(places.gemini_dir()?.join("GEMINI.md")),
            (Self::ClaudeDesktop | Self::Windsurf, _) | (_, SetupScope::User) => None,
        }
    }

    /// The host's program or folder on this machine.
    pub(crate) fn find_on_machine(self, places: &HostDirs) -> Option<PathBuf> {
        let (folder, program) = match self {
            Self::ClaudeCode => (places.claude_dir(), "claude"),
            Self::ClaudeDesktop => (places.claude_desktop(), ""),
            Self::Codex => (places.codex_dir(), "codex"),
            Self::Cursor => (places.cursor_dir(), "cursor"),
            Self::Vscode => (places.vscode_dir(), "code"),
            Self::Gemini => (places.gemini_dir(), "gemini"),
            Self::Zed => (places.zed_dir(), "zed"),
            Self::Windsurf => (places.windsurf_dir(), "windsurf"),
        };
        let program = if program.is_empty() { None } else { find_on_path(program, places.path.as_deref()) };
        program.or_else(|| folder.filter(|folder| folder.is_dir()))
    }

    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }
}
