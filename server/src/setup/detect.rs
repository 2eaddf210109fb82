//! Finds our entries in the files of hosts, whoever wrote them.

use std::path::{Path, PathBuf};

use schema::host::hook::HookHost;
use serde_json::Value;

use super::hook_entries::HookSet;
use super::host::{Host, ProgramCommands, SetupScope};
use super::host_dirs::HostDirs;
use super::json;
use super::owned_part::OwnedPart;
use super::server_entry::ListedServer;
use super::settings_file::read_file;
use super::settings_text::SettingsText;
use super::toml;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DetectedPart {
    pub(crate) host: Host,
    pub(crate) scope: SetupScope,
    pub(crate) path: PathBuf,
    pub(crate) kind: DetectedKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DetectedKind {
    Server(ListedServer),
    /// Events, each with the program that it calls.
    Hooks(Vec<(String, String)>),
    /// A plugin, which has its own server and hooks.
    Plugin(String),
    /// The error of a file that cannot be parsed.
    Broken(String),
}

impl DetectedPart {
    /// Whether its host starts the server because of it.
    pub(crate) fn starts_server(&self) -> bool {
        matches!(self.kind, DetectedKind::Server(_) | DetectedKind::Plugin(_))
    }

    /// Whether its host starts the server of the personal memory.
    pub(crate) fn serves_personal(&self) -> bool {
        matches!(&self.kind, DetectedKind::Server(server) if server.is_personal())
    }
}

/// Checks the files of all hosts, project files first.
pub(crate) fn detect_all(places: &HostDirs, project: Option<&Path>) -> Vec<DetectedPart> {
    let mut found = Vec::new();
    for scope in [SetupScope::Project, SetupScope::User] {
        for host in Host::all().iter().copied() {
            let Some(project) = project.or(Some(Path::new("")).filter(|_| scope == SetupScope::User)) else { continue };
            let targets = host.targets(scope, places, project, &ProgramCommands::default()).unwrap_or_default();
            for target in targets {
                let Some(text) = plain_text(&target.path) else { continue };
                found.extend(detect_in_text(&target.part, &text).into_iter().map(|what| DetectedPart {
                    host,
                    scope,
                    path: target.path.clone(),
                    kind: what,
                }));
            }
        }
        found.extend(detect_claude_code_extras(scope, places, project));
    }
    found
}

/// The settings of one person in a project.
const LOCAL_SETTINGS: &str = "settings.local.json";

/// Files that only Claude Code reads and that `init` does not write.
fn detect_claude_code_extras(scope: SetupScope, places: &HostDirs, project: Option<&Path>) -> Vec<DetectedPart> {
    let (folder, names): (_, &[&str]) = match scope {
        SetupScope::Project => (project.map(|project| project.join(".claude")), &["settings.json", LOCAL_SETTINGS]),
        SetupScope::User => (places.claude_dir(), &["settings.json"]),
    };
    let here = |path: &Path, what| DetectedPart { host: Host::ClaudeCode, scope, path: path.to_owned(), kind: what };
    let mut found = Vec::new();
    for path in folder.iter().flat_map(|folder| names.iter().map(move |name| folder.join(name))) {
        let Some(text) = plain_text(&path) else { continue };
        found.extend(enabled_plugins(&text).into_iter().map(|name| here(&path, DetectedKind::Plugin(name))));
        if path.ends_with(LOCAL_SETTINGS) {
            let hooks = detect_in_text(&OwnedPart::Hooks(HookHost::ClaudeCode, HookSet::default()), &text);
            found.extend(hooks.into_iter().map(|what| here(&path, what)));
        }
    }
    // Servers that this user added for one project.
    if let (SetupScope::User, Some(project), Some(path)) = (scope, project, places.claude_json()) {
        let projects = plain_text(&path).and_then(|text| json::top_level_value(&text, "projects")).unwrap_or_default();
        let servers = projects.get(project.to_string_lossy().as_ref()).and_then(|project| project.get("mcpServers"));
        let servers = servers.and_then(Value::as_object).cloned().unwrap_or_default();
        let listed = servers.into_iter().map(|(name, server)| ListedServer::from_json(name, &server));
        found.extend(listed.filter(ListedServer::is_ours).map(|server| here(&path, DetectedKind::Server(server))));
    }
    found
}

/// A file without our entries must still be valid, so that its host can read it.
fn detect_in_text(part: &OwnedPart, text: &str) -> Vec<DetectedKind> {
    if !text.contains("jikime") {
        return part.syntax_error(text).map(|error| DetectedKind::Broken(error.to_string())).into_iter().collect();
    }
    match part {
        OwnedPart::Server(format, _) => match format.list_servers(text) {
            Ok(servers) => servers.into_iter().filter(ListedServer::is_ours).map(DetectedKind::Server).collect(),
            Err(error) => vec![DetectedKind::Broken(error.to_string())],
        },
        OwnedPart::Hooks(..) => match json::own_hook_programs(text) {
            Ok(hooks) if hooks.is_empty() => Vec::new(),
            Ok(hooks) => vec![DetectedKind::Hooks(hooks)],
            Err(error) => vec![DetectedKind::Broken(error.to_string())],
        },
        OwnedPart::Instructions | OwnedPart::Command(_) => Vec::new(),
    }
}

/// How many hooks of a file the user of Codex has trusted. Codex skips the others without a word.
pub(crate) fn trusted_codex_hooks(places: &HostDirs, hooks_file: &Path) -> usize {
    let config =
        places.codex_dir.as_ref().and_then(|folder| plain_text(&folder.join("config.toml"))).unwrap_or_default();
    let real = hooks_file.canonicalize().unwrap_or_else(|_| hooks_file.to_owned());
    toml::trusted_hooks(&config, &[hooks_file, &real])
}

/// Our plugins that are enabled in a settings file.
fn enabled_plugins(text: &str) -> Vec<String> {
    let enabled = json::top_level_value(text, "enabledPlugins").unwrap_or_default();
    let names = enabled.as_object().into_iter().flatten();
    let ours = names.filter(|(name, on)| name.starts_with("jikime-memory@") && **on == Value::Bool(true));
    ours.map(|(name, _)| name.clone()).collect()
}

/// The text of a file, or `None` if it cannot be read.
fn plain_text(path: &Path) -> Option<String> {
    Some(SettingsText::from_bytes(read_file(path).ok()?).ok()?.plain())
}
