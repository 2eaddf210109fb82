//! `config`: every setting with where it comes from, what is wrong with the files, and where they are.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use schema::layout::Layout;
use schema::screen::Screen;
use schema::settings::{self, Explained, Origin, Setting, SettingsFile};
use serde::Serialize;
use serde_json::Value;
use toml_edit::{Array, DocumentMut};
use tools::error::ToolError;

use super::output::{DIM, GOOD, KIND, Printer};
use super::text::{fit, harmless, padded, width, wrapped};
use crate::exit;
use crate::setup::file::edit;

/// Columns of a line where lines have no end.
const LONGEST: usize = 160;

/// Columns below which where a value comes from stands on a line of its own.
const NARROW: usize = 60;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting, its value, and where it comes from
    Show,
    /// Check both files: what is not known, not understood, or not for a project to set; exits with 1 when there is any
    Check,
    /// Print where the files of the user and of the project are
    Path,
    /// Use the memory of a project although another user owns it or may change it
    Trust {
        /// The project [default: the one around the working directory]
        #[arg(value_name = "DIR")]
        path: Option<PathBuf>,
    },
}

#[derive(Debug, Serialize)]
struct Shown<'e> {
    settings: Vec<ShownSetting<'e>>,
    /// Whether `JIKIME_MEMORY_DISABLED` stops hooks altogether.
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
struct Checked<'e> {
    ok: bool,
    files: Vec<CheckedFile<'e>>,
    /// Of variables, and what follows from all problems.
    problems: &'e [String],
}

#[derive(Debug, Serialize)]
struct CheckedFile<'e> {
    of: &'static str,
    path: &'e Path,
    exists: bool,
    problems: &'e [String],
}

/// Does not need the project around the working directory if the command names another one.
pub(crate) fn config(
    project: anyhow::Result<PathBuf>,
    printer: &Printer,
    command: &ConfigCommand,
) -> anyhow::Result<()> {
    let project = match command {
        ConfigCommand::Trust { path: Some(path) } => path.clone(),
        _ => project?,
    };
    let layout = Layout::new(&project);
    let explained = settings::explain(&layout);
    match command {
        ConfigCommand::Show => {
            let shown = Shown::of(&explained, &settings::load(&layout).screen);
            printer.read(&shown, |columns| show(&shown, columns.unwrap_or(LONGEST)))
        }
        ConfigCommand::Check => {
            let checked = Checked::of(&explained);
            printer.read(&checked, |columns| check(&checked, columns.unwrap_or(LONGEST)))?;
            let count = problems(&explained).len();
            let text = format!("{count} {} to be mended", if count == 1 { "thing has" } else { "things have" });
            if checked.ok { Ok(()) } else { Err(ToolError::Invalid(text).into()) }
        }
        ConfigCommand::Path => {
            let checked = Checked::of(&explained);
            printer.read(&checked.files, |_| paths(&checked.files))
        }
        ConfigCommand::Trust { .. } => trust(&project),
    }
}

/// Adds a project to those that the user's file trusts.
fn trust(project: &Path) -> anyhow::Result<()> {
    let invalid = |text: String| ToolError::Invalid(text);
    let file = settings::user_file().ok_or_else(|| invalid("set HOME: your own settings are there".to_owned()))?;
    let path =
        project.canonicalize().map_err(|error| invalid(format!("cannot find {}: {error}", project.display())))?;
    let path = path.to_str().ok_or_else(|| invalid(format!("{} is not UTF-8", path.display())))?;
    edit(&file, |text| with_trusted(text, path).map_err(|why| invalid(format!("{}: {why}", file.display()))))?;
    exit::tell(&format!("{} is trusted: it is listed in {}", harmless(path), file.display()));
    Ok(())
}

/// The text of the user's file with one more path in its list.
fn with_trusted(text: &str, path: &str) -> Result<String, String> {
    let mut table: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    let listed = table.entry("trusted").or_insert_with(|| toml_edit::value(Array::new())).as_array_mut();
    let listed = listed.ok_or("trusted is not a list; make it one")?;
    if listed.iter().all(|known| known.as_str() != Some(path)) {
        listed.push(path);
    }
    Ok(table.to_string())
}

fn problems(explained: &Explained) -> Vec<&str> {
    let files = explained.user.iter().chain([&explained.project]);
    files.flat_map(|file| &file.problems).chain(&explained.problems).map(String::as_str).collect()
}

impl<'e> Shown<'e> {
    fn of(explained: &'e Explained, screen: &Screen) -> Self {
        Self {
            settings: explained.settings.iter().map(|setting| ShownSetting::of(setting, screen)).collect(),
            disabled: explained.is_disabled,
            problems: problems(explained),
        }
    }
}

impl<'e> ShownSetting<'e> {
    fn of(setting: &'e Setting, screen: &Screen) -> Self {
        let value = match &setting.value {
            // An address may carry a password.
            Value::String(text) => Value::from(screen.clean(text).text.into_owned()),
            value => value.clone(),
        };
        let origins = setting.origins.iter().map(ShownOrigin::of).collect();
        Self { name: setting.name, value, default: &setting.default, origins, variable: setting.variable }
    }
}

impl ShownOrigin {
    fn of(origin: &Origin) -> Self {
        let (from, place) = match origin {
            Origin::Default => ("default", None),
            Origin::User(path) => ("user", Some(path.display().to_string())),
            Origin::Project(path) => ("project", Some(path.display().to_string())),
            Origin::Environment(name) => ("environment", Some((*name).to_owned())),
            Origin::Doubt => ("doubt", None),
        };
        Self { from, place }
    }

    fn told(&self) -> String {
        match (self.from, &self.place) {
            ("default", _) => "default".to_owned(),
            ("doubt", _) => "off until the problems below are mended".to_owned(),
            ("environment", Some(name)) => format!("environment, {name}"),
            (from, place) => format!("{from}'s file, {}", harmless(place.as_deref().unwrap_or_default())),
        }
    }
}

impl<'e> Checked<'e> {
    fn of(explained: &'e Explained) -> Self {
        let file = |of: &'static str, file: &'e SettingsFile| CheckedFile {
            of,
            path: &file.path,
            exists: file.is_there,
            problems: &file.problems,
        };
        let user = explained.user.iter().map(|checked| file("user", checked));
        Self {
            ok: problems(explained).is_empty(),
            files: user.chain([file("project", &explained.project)]).collect(),
            problems: &explained.problems,
        }
    }
}

fn show(shown: &Shown<'_>, columns: usize) -> String {
    let mut text = String::new();
    let value = |setting: &ShownSetting<'_>| match &setting.value {
        Value::Null => "(the provider's)".to_owned(),
        value => harmless(&value.to_string()),
    };
    let names = shown.settings.iter().map(|setting| width(setting.name)).max().unwrap_or_default();
    let values = shown.settings.iter().map(|setting| width(&value(setting))).max().unwrap_or_default().min(24);
    for setting in &shown.settings {
        let (name, value) = (setting.name, value(setting));
        let origins = setting.origins.iter().map(ShownOrigin::told).collect::<Vec<_>>().join("; ");
        if columns < NARROW {
            let _ = writeln!(text, "{KIND}{name}{KIND:#} = {}", fit(&value, columns.saturating_sub(name.len() + 3)));
            for line in wrapped(&origins, columns.saturating_sub(2)) {
                let _ = writeln!(text, "  {DIM}{line}{DIM:#}");
            }
            continue;
        }
        let fill = " ".repeat(values.saturating_sub(width(&value)));
        let _ = writeln!(text, "{KIND}{}{KIND:#}  {value}{fill}  {DIM}{origins}{DIM:#}", padded(name, names));
    }
    if shown.disabled {
        text.push_str("\nJIKIME_MEMORY_DISABLED is set: hooks do nothing at all.\n");
    }
    list(&mut text, shown.problems.iter().copied(), columns);
    text
}

fn check(checked: &Checked<'_>, columns: usize) -> String {
    let mut text = String::new();
    for file in &checked.files {
        let state = match (file.exists, file.problems.is_empty()) {
            (false, true) => "not there, which is fine".to_owned(),
            (true, true) => format!("{GOOD}fine{GOOD:#}"),
            (_, false) => "to be mended".to_owned(),
        };
        let _ = writeln!(text, "{}'s file  {}  {state}", file.of, harmless(&file.path.to_string_lossy()));
        list(&mut text, file.problems.iter().map(String::as_str), columns);
    }
    list(&mut text, checked.problems.iter().map(String::as_str), columns);
    text
}

fn list<'p>(text: &mut String, problems: impl Iterator<Item = &'p str>, columns: usize) {
    for problem in problems {
        for (at, line) in wrapped(&harmless(problem), columns.saturating_sub(2)).iter().enumerate() {
            let _ = writeln!(text, "{}{line}", if at == 0 { "- " } else { "  " });
        }
    }
}

fn paths(files: &[CheckedFile<'_>]) -> String {
    let line = |file: &CheckedFile<'_>| {
        let missing = if file.exists { "" } else { "  (not there)" };
        format!("{:<8} {}{missing}\n", file.of, harmless(&file.path.to_string_lossy()))
    };
    files.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::with_trusted;

    #[test]
    fn trusting_a_project_keeps_the_rest_of_the_file() {
        let text = "# mine\nbrief = \"off\"\n";
        let once = with_trusted(text, "/a").unwrap();
        assert_eq!(once, format!("{text}trusted = [\"/a\"]\n"));
        let twice = with_trusted(&once, "/b \"c\"").unwrap();
        assert_eq!(twice, format!("{text}trusted = [\"/a\", '/b \"c\"']\n"));
        assert_eq!(with_trusted(&twice, "/a").unwrap(), twice);
        assert!(with_trusted("trusted = 3", "/a").is_err() && with_trusted("no", "/a").is_err());
    }
}
