//! `config`: shows settings and their sources, checks the setting files, prints their paths, and trusts projects.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use schema::files::layout::Layout;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings::{self, ExplainedSettings, Setting, SettingOrigin, SettingsFile};
use serde::Serialize;
use serde_json::Value;
use toml_edit::{Array, DocumentMut};
use tools::error::ToolError;

use super::config_set::{SetArguments, UnsetArguments, set_setting, unset_setting, user_path};
use super::opening::{CommonArguments, resolve_project, resolve_project_to_write};
use super::output::{DIM, GOOD, KIND, Printer, push_lines};
use super::pager::NARROW;
use super::terminal_text::{clean_for_terminal, display_width, fit_columns, pad_columns, wrap};
use crate::exit;
use crate::setup::settings_file::edit_file;

/// Columns of a line with a setting if the output is not a terminal.
const PIPED_SETTING_COLUMNS: usize = 160;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting, its value and its source
    Show,
    /// Check both files for unknown, invalid or forbidden settings; the exit status is 1 if there are any
    Check,
    /// Print the paths of the user's and the project's file
    Path,
    /// Set a setting in the project's file, or in your own
    #[command(after_help = "Example: jikime-memory config set brief_size 2000")]
    Set(SetArguments),
    /// Remove a setting from the project's file, or from your own
    Unset(UnsetArguments),
    /// Use a project's memory although another user owns it or can change it
    Trust {
        /// The project directory [default: the project of the working directory]
        #[arg(value_name = "DIR")]
        path: Option<PathBuf>,
    },
}

#[derive(Debug, Serialize)]
struct ShownConfig<'e> {
    settings: Vec<ShownSetting<'e>>,
    /// Whether `JIKIME_MEMORY_DISABLED` stops all hooks.
    disabled: bool,
    problems: Vec<&'e str>,
}

#[derive(Debug, Serialize)]
struct ShownSetting<'e> {
    name: &'e str,
    value: Value,
    default: &'e Value,
    origins: Vec<ShownOrigin>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<&'e str>,
}

#[derive(Debug, Serialize)]
struct ShownOrigin {
    /// `default`, `user`, `project`, `environment` or `doubt`.
    from: &'static str,
    /// The file or the variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

#[derive(Debug, Serialize)]
struct CheckedConfig<'e> {
    ok: bool,
    files: Vec<CheckedFile<'e>>,
    /// Problems of variables, and consequences of all problems.
    problems: &'e [String],
}

#[derive(Debug, Serialize)]
struct CheckedFile<'e> {
    of: &'static str,
    path: &'e Path,
    exists: bool,
    problems: &'e [String],
}

pub(crate) fn run_config(common: CommonArguments, printer: &Printer, command: &ConfigCommand) -> anyhow::Result<()> {
    let project = match command {
        ConfigCommand::Trust { path: Some(path) } => path.clone(),
        // One's own file can be changed anywhere, also in the home directory.
        ConfigCommand::Set(SetArguments { user: true, .. })
        | ConfigCommand::Unset(UnsetArguments { user: true, .. }) => resolve_project(common).unwrap_or_default(),
        ConfigCommand::Set(_) => resolve_project_to_write(common)?,
        _ => resolve_project(common)?,
    };
    let layout = Layout::new(&project);
    let explained = settings::explain(&layout);
    match command {
        ConfigCommand::Show => {
            let sanitizer = settings::load(&layout).sanitizer;
            let settings = explained.settings.iter().map(|setting| ShownSetting::from_setting(setting, &sanitizer));
            let (disabled, problems) = (explained.is_disabled, all_problems(&explained));
            let shown = ShownConfig { settings: settings.collect(), disabled, problems };
            printer.print_paged(&shown, |columns| render_settings(&shown, columns.unwrap_or(PIPED_SETTING_COLUMNS)))
        }
        ConfigCommand::Check => {
            let checked = CheckedConfig::from_explained(&explained);
            printer
                .print_paged(&checked, |columns| render_check(&checked, columns.unwrap_or(PIPED_SETTING_COLUMNS)))?;
            let count = all_problems(&explained).len();
            let text = format!("{count} {} to be fixed", if count == 1 { "problem has" } else { "problems have" });
            if checked.ok { Ok(()) } else { Err(ToolError::Invalid(text).into()) }
        }
        ConfigCommand::Path => {
            let checked = CheckedConfig::from_explained(&explained);
            printer.print_paged(&checked.files, |_| render_paths(&checked.files))
        }
        ConfigCommand::Trust { .. } => trust_project(&project),
        ConfigCommand::Set(arguments) => set_setting(&project, printer, arguments),
        ConfigCommand::Unset(arguments) => unset_setting(&project, printer, arguments),
    }
}

/// Adds a project to the trusted projects in the user's file.
fn trust_project(project: &Path) -> anyhow::Result<()> {
    let file = user_path()?;
    let missing = |error| ToolError::Invalid(format!("cannot find {}: {error}", project.display()));
    let path = project.canonicalize().map_err(missing)?;
    let path = path.to_str().ok_or_else(|| ToolError::Invalid(format!("{} is not UTF-8", path.display())))?;
    edit_file(&file, None, |text| {
        add_trusted_path(text, path).map_err(|why| ToolError::Invalid(format!("{}: {why}", file.display())))
    })?;
    exit::print_status(&format!("{} is trusted now; the list is in {}", clean_for_terminal(path), file.display()));
    Ok(())
}

/// Adds a path to the list in the text of the user's file.
fn add_trusted_path(text: &str, path: &str) -> Result<String, String> {
    let mut table: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let listed = table.entry("trusted").or_insert_with(|| toml_edit::value(Array::new())).as_array_mut();
    let listed = listed.ok_or("trusted is not a list; make it one")?;
    if listed.iter().all(|known| known.as_str() != Some(path)) {
        listed.push(path);
    }
    Ok(table.to_string())
}

fn all_problems(explained: &ExplainedSettings) -> Vec<&str> {
    let files = explained.user.iter().chain([&explained.project]);
    files.flat_map(|file| &file.problems).chain(&explained.problems).map(String::as_str).collect()
}

impl<'e> ShownSetting<'e> {
    fn from_setting(setting: &'e Setting, sanitizer: &Sanitizer) -> Self {
        let value = match &setting.value {
            // A URL may contain a password.
            Value::String(text) => Value::from(sanitizer.clean(text).text.into_owned()),
            value => value.clone(),
        };
        let origins = setting.origins.iter().map(ShownOrigin::from_origin).collect();
        Self { name: setting.name, value, default: &setting.default, origins, variable: setting.variable }
    }
}

impl ShownOrigin {
    fn from_origin(origin: &SettingOrigin) -> Self {
        let (from, place) = match origin {
            SettingOrigin::Default => ("default", None),
            SettingOrigin::User(path) => ("user", Some(path.display().to_string())),
            SettingOrigin::Project(path) => ("project", Some(path.display().to_string())),
            SettingOrigin::Environment(name) => ("environment", Some((*name).to_owned())),
            SettingOrigin::Fallback => ("doubt", None),
        };
        Self { from, place }
    }

    fn describe(&self) -> String {
        match (self.from, &self.place) {
            ("default", _) => "default".to_owned(),
            ("doubt", _) => "off until the problems below are fixed".to_owned(),
            ("environment", Some(name)) => format!("environment, {name}"),
            (from, place) => format!("{from}'s file, {}", clean_for_terminal(place.as_deref().unwrap_or_default())),
        }
    }
}

impl<'e> CheckedConfig<'e> {
    fn from_explained(explained: &'e ExplainedSettings) -> Self {
        let file = |of: &'static str, file: &'e SettingsFile| CheckedFile {
            of,
            path: &file.path,
            exists: file.exists,
            problems: &file.problems,
        };
        let user = explained.user.iter().map(|checked| file("user", checked));
        Self {
            ok: all_problems(explained).is_empty(),
            files: user.chain([file("project", &explained.project)]).collect(),
            problems: &explained.problems,
        }
    }
}

fn render_settings(shown: &ShownConfig<'_>, columns: usize) -> String {
    let mut text = String::new();
    let value = |setting: &ShownSetting<'_>| match &setting.value {
        Value::Null => "(the provider's default)".to_owned(),
        value => clean_for_terminal(&value.to_string()),
    };
    let names = shown.settings.iter().map(|setting| display_width(setting.name)).max().unwrap_or_default();
    let values = shown.settings.iter().map(|setting| display_width(&value(setting))).max().unwrap_or_default().min(24);
    for setting in &shown.settings {
        let (name, value) = (setting.name, value(setting));
        let origins = setting.origins.iter().map(ShownOrigin::describe).collect::<Vec<_>>().join("; ");
        if columns < NARROW {
            let _ = writeln!(
                text,
                "{KIND}{name}{KIND:#} = {}",
                fit_columns(&value, columns.saturating_sub(name.len() + 3))
            );
            push_lines(&mut text, "  ", DIM, wrap(&origins, columns.saturating_sub(2)));
            continue;
        }
        let fill = " ".repeat(values.saturating_sub(display_width(&value)));
        let _ = writeln!(text, "{KIND}{}{KIND:#}  {value}{fill}  {DIM}{origins}{DIM:#}", pad_columns(name, names));
    }
    if shown.disabled {
        text.push_str("\nJIKIME_MEMORY_DISABLED is set: hooks do nothing.\n");
    }
    render_problems(&mut text, &shown.problems, columns);
    text
}

fn render_check(checked: &CheckedConfig<'_>, columns: usize) -> String {
    let mut text = String::new();
    for file in &checked.files {
        let state = match (file.exists, file.problems.is_empty()) {
            (false, true) => "missing, which is fine".to_owned(),
            (true, true) => format!("{GOOD}fine{GOOD:#}"),
            (_, false) => "has problems".to_owned(),
        };
        let _ = writeln!(text, "{}'s file  {}  {state}", file.of, clean_for_terminal(&file.path.to_string_lossy()));
        render_problems(&mut text, file.problems, columns);
    }
    render_problems(&mut text, checked.problems, columns);
    text
}

fn render_problems(text: &mut String, problems: &[impl AsRef<str>], columns: usize) {
    for problem in problems {
        for (at, line) in wrap(&clean_for_terminal(problem.as_ref()), columns.saturating_sub(2)).iter().enumerate() {
            let _ = writeln!(text, "{}{line}", if at == 0 { "- " } else { "  " });
        }
    }
}

fn render_paths(files: &[CheckedFile<'_>]) -> String {
    let line = |file: &CheckedFile<'_>| {
        let missing = if file.exists { "" } else { "  (missing)" };
        format!("{:<8} {}{missing}\n", file.of, clean_for_terminal(&file.path.to_string_lossy()))
    };
    files.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::add_trusted_path;

    #[test]
    fn trusting_a_project_keeps_the_rest_of_the_file() {
        let text = "# mine\nbrief = \"off\"\n";
        let once = add_trusted_path(text, "/a").unwrap();
        assert_eq!(once, format!("{text}trusted = [\"/a\"]\n"));
        let twice = add_trusted_path(&once, "/b \"c\"").unwrap();
        assert_eq!(twice, format!("{text}trusted = [\"/a\", '/b \"c\"']\n"));
        assert_eq!(add_trusted_path(&twice, "/a").unwrap(), twice);
        assert!(add_trusted_path("trusted = 3", "/a").is_err() && add_trusted_path("no", "/a").is_err());
    }
}
