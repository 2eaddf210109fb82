//! What of ours is set up on this machine, as the files of hosts say it, whoever wrote them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::read_file;
use super::host::{Commands, Host, Scope};
use super::json;
use super::lines::Text;
use super::part::Part;
use super::places::Places;
use super::server_entry::Listed;

/// Something of ours in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) host: Host,
    pub(crate) scope: Scope,
    pub(crate) path: PathBuf,
    pub(crate) what: What,
}

/// What it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Server(Listed),
    /// Events, each with the program that it calls.
    Hooks(Vec<(String, String)>),
    Instructions,
    /// A plugin that brings a server and hooks of its own.
    Plugin(String),
    /// The file cannot be read, and why.
    Broken(String),
}

/// Looks through the files of all hosts, those of the project first.
pub(crate) fn look(places: &Places, project: Option<&Path>) -> Vec<Found> {
    let mut found = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        for host in Host::all().iter().copied() {
            let Some(project) = project.or(Some(Path::new("")).filter(|_| scope == Scope::User)) else { continue };
            let targets = host.targets(scope, places, project, &Commands::none()).unwrap_or_default();
            for target in targets {
                let Some(text) = text_of(&target.path) else { continue };
                found.extend(in_text(&target.part, &text).into_iter().map(|what| Found {
                    host,
                    scope,
                    path: target.path.clone(),
                    what,
                }));
            }
        }
        found.extend(of_claude_code_alone(scope, places, project));
    }
    found
}

/// The files that Claude Code reads beside those that are set up.
fn of_claude_code_alone(scope: Scope, places: &Places, project: Option<&Path>) -> Vec<Found> {
    let settings: Vec<PathBuf> = match scope {
        Scope::Project => {
            let folder = project.map(|project| project.join(".claude"));
            folder
                .iter()
                .flat_map(|folder| [folder.join("settings.json"), folder.join("settings.local.json")])
                .collect()
        }
        Scope::User => places.claude().map(|folder| folder.join("settings.json")).into_iter().collect(),
    };
    let here = |path: &Path, what| Found { host: Host::ClaudeCode, scope, path: path.to_owned(), what };
    let mut found = Vec::new();
    for path in &settings {
        let Some(text) = text_of(path) else { continue };
        found.extend(plugins(&text).into_iter().map(|name| here(path, What::Plugin(name))));
        if path.ends_with("settings.local.json") {
            found.extend(in_text(&Part::Hooks(String::new()), &text).into_iter().map(|what| here(path, what)));
        }
    }
    // Servers that were added for one project, and are seen by this user alone.
    if let (Scope::User, Some(project), Some(path)) = (scope, project, places.claude_json()) {
        let projects = text_of(&path).and_then(|text| json::value(&text, "projects")).unwrap_or_default();
        let servers = projects.get(project.to_string_lossy().as_ref()).and_then(|project| project.get("mcpServers"));
        let servers = servers.and_then(Value::as_object).cloned().unwrap_or_default();
        let listed = servers.into_iter().map(|(name, server)| Listed {
            name,
            command: server.get("command").and_then(Value::as_str).map(str::to_owned),
            args: Vec::new(),
        });
        found.extend(listed.filter(Listed::is_ours).map(|server| here(&path, What::Server(server))));
    }
    found
}

/// Of files that say nothing of us it matters only that their hosts can read them.
fn in_text(part: &Part, text: &str) -> Vec<What> {
    if !text.contains("jikime") {
        return part.syntax_error(text).map(|error| What::Broken(error.to_string())).into_iter().collect();
    }
    match part {
        Part::Server(format, _) => match format.servers(text) {
            Ok(servers) => servers.into_iter().filter(Listed::is_ours).map(What::Server).collect(),
            Err(error) => vec![What::Broken(error.to_string())],
        },
        Part::Hooks(_) => match json::hook_programs(text) {
            Ok(hooks) if hooks.is_empty() => Vec::new(),
            Ok(hooks) => vec![What::Hooks(hooks)],
            Err(error) => vec![What::Broken(error.to_string())],
        },
        Part::Instructions => part.is_in(text).then_some(What::Instructions).into_iter().collect(),
    }
}

/// Our plugins that a file of settings turns on.
fn plugins(text: &str) -> Vec<String> {
    let enabled = json::value(text, "enabledPlugins").unwrap_or_default();
    let names = enabled.as_object().into_iter().flatten();
    let ours = names.filter(|(name, on)| name.starts_with("jikime-memory@") && **on == Value::Bool(true));
    ours.map(|(name, _)| name.clone()).collect()
}

/// The plain text of a file, and nothing where there is none.
fn text_of(path: &Path) -> Option<String> {
    Some(Text::of(read_file(path).ok()?).ok()?.plain())
}

impl Commands {
    /// For looking, where it does not matter what would be written.
    fn none() -> Self {
        Self { memory: String::new(), hook: String::new() }
    }
}
