//! The table of supported hosts: the files that each one reads, for a project and for a user, and the format of our entries.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use schema::host::hook::HookHost;
use serde::{Deserialize, Serialize};
use tools::error::ToolError;

use super::hook_entries::HookSet;
use super::host_dirs::{HostDirs, all_on_path};
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

    /// The folder of the host's settings, in the project or of the user.
    fn settings_dir(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<PathBuf> {
        let desktop = places.desktop.as_ref();
        let (of_project, of_user) = match self {
            Self::ClaudeCode => (".claude", places.claude_dir()),
            Self::ClaudeDesktop => ("", desktop.map(|desktop| desktop.join("Claude"))),
            Self::Codex => (".codex", places.codex_dir.clone()),
            Self::Cursor => (".cursor", places.in_home(".cursor")),
            Self::Vscode => (".vscode", desktop.map(|desktop| desktop.join("Code").join("User"))),
            Self::Gemini => (".gemini", places.in_home(".gemini")),
            Self::Zed => (".zed", places.zed.clone()),
            Self::Windsurf => (".windsurf", places.windsurf_dir()),
        };
        if scope == SetupScope::Project { Some(project.join(of_project)) } else { of_user }
    }

    /// The file that lists servers.
    fn server_file(
        self,
        scope: SetupScope,
        places: &HostDirs,
        project: &Path,
    ) -> Result<(PathBuf, ServerListFormat), ToolError> {
        let (name, format) = match self {
            Self::ClaudeCode => (".mcp.json", ServerListFormat::Json(MCP_SERVERS)),
            Self::ClaudeDesktop => ("claude_desktop_config.json", ServerListFormat::Json(MCP_SERVERS)),
            Self::Codex => ("config.toml", ServerListFormat::Toml),
            Self::Cursor => ("mcp.json", ServerListFormat::Json(MCP_SERVERS)),
            Self::Vscode => ("mcp.json", ServerListFormat::Json(SERVERS)),
            Self::Gemini => ("settings.json", ServerListFormat::Json(MCP_SERVERS)),
            Self::Zed => ("settings.json", ServerListFormat::Json(CONTEXT_SERVERS)),
            Self::Windsurf => ("mcp_config.json", ServerListFormat::Json(MCP_SERVERS)),
        };
        let path = match (self, scope) {
            (Self::ClaudeDesktop | Self::Windsurf, SetupScope::Project) => {
                let text = format!("{} has no project settings; use --scope user", self.title());
                return Err(ToolError::Invalid(text));
            }
            (Self::ClaudeCode, SetupScope::Project) => Some(project.join(name)),
            (Self::ClaudeCode, SetupScope::User) => places.claude_json(),
            _ => self.settings_dir(scope, places, project).map(|folder| folder.join(name)),
        };
        let path = path.ok_or_else(|| ToolError::NotFound("no home directory is known; set HOME".to_owned()))?;
        Ok((path, format))
    }

    /// The file with the host's hooks.
    fn hook_file(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<PathBuf> {
        let name = match (self, scope) {
            // VS Code reads all files in its folders of hooks. It shares the one of the user with the Copilot CLI.
            (Self::Vscode, SetupScope::Project) => return Some(project.join(".github/hooks/jikime-memory.json")),
            (Self::Vscode, SetupScope::User) => {
                return Some(places.in_home(".copilot")?.join("hooks").join("jikime-memory.json"));
            }
            (Self::ClaudeCode | Self::Gemini, _) => "settings.json",
            (Self::Codex | Self::Cursor | Self::Windsurf, _) => "hooks.json",
            (Self::ClaudeDesktop | Self::Zed, _) => return None,
        };
        Some(self.settings_dir(scope, places, project)?.join(name))
    }

    /// The folder and the format of the host's slash commands, if it has them.
    fn command_folder(self, scope: SetupScope, places: &HostDirs, project: &Path) -> Option<(PathBuf, CommandFormat)> {
        let format = match self {
            Self::ClaudeCode => CommandFormat::ClaudeCode,
            Self::Gemini => CommandFormat::Toml,
            Self::Cursor => CommandFormat::Plain,
            _ => return None,
        };
        Some((self.settings_dir(scope, places, project)?.join("commands"), format))
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
        let name = match (self, scope) {
            (Self::ClaudeCode, _) => "CLAUDE.md",
            (Self::Codex, _) | (Self::Cursor | Self::Vscode | Self::Zed, SetupScope::Project) => "AGENTS.md",
            (Self::Gemini, _) => "GEMINI.md",
            _ => return None,
        };
        if scope == SetupScope::User {
            return Some(self.settings_dir(scope, places, project)?.join(name));
        }
        let (usual, inner) = (project.join(name), project.join(".claude").join(name));
        let is_inner = self == Self::ClaudeCode && inner.exists() && !usual.exists();
        Some(if is_inner { inner } else { usual })
    }

    /// The host's program or folder on this machine.
    pub(crate) fn find_on_machine(self, places: &HostDirs) -> Option<PathBuf> {
        let program = match self {
            Self::ClaudeCode => Some("claude"),
            Self::ClaudeDesktop => None,
            Self::Codex => Some("codex"),
            Self::Cursor => Some("cursor"),
            Self::Vscode => Some("code"),
            Self::Gemini => Some("gemini"),
            Self::Zed => Some("zed"),
            Self::Windsurf => Some("windsurf"),
        };
        let folder = || self.settings_dir(SetupScope::User, places, Path::new("")).filter(|folder| folder.is_dir());
        program.and_then(|program| all_on_path(program, places.path.as_deref()).next()).or_else(folder)
    }

    pub(crate) fn all() -> &'static [Self] {
        Self::value_variants()
    }
}
