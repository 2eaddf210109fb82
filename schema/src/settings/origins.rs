//! Where each setting comes from, and what is wrong with each file: for people who ask, not for programs that obey.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml::de::DeValue as Value;

use super::catalogue::{KEYS, Key};
use super::value::switch;
use super::{Layers, Loaded, Settings, Writer, combine, is_absent, is_set, parse, read, user_file};
use crate::layout::Layout;
use crate::screen::Screen;

/// The host's own switch for people who want no record of their prompts.
pub(super) const NO_HISTORY: &str = "CLAUDE_CODE_SKIP_PROMPT_HISTORY";

/// Who set a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    User(PathBuf),
    Project(PathBuf),
    Environment(&'static str),
    /// Something that may forbid capture could not be understood.
    Doubt,
}

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub name: &'static str,
    /// `null` where the default is not one value.
    pub value: Json,
    pub default: Json,
    /// All that have a part in it, the last one first in rank; lists add up.
    pub origins: Vec<Origin>,
    /// The variable that sets it.
    pub variable: Option<&'static str>,
}

/// One of the two files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub is_there: bool,
    pub problems: Vec<String>,
}

/// All settings with where they come from.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    pub settings: Vec<Setting>,
    /// `None` where no directory for settings is known.
    pub user: Option<SettingsFile>,
    pub project: SettingsFile,
    /// What is wrong with variables, and what follows from all problems.
    pub problems: Vec<String>,
    /// Whether hooks do nothing at all.
    pub is_disabled: bool,
}

/// Tells where each setting of a project comes from, as this process sees them.
pub fn explain(layout: &Layout) -> Explained {
    explain_with(user_file().as_deref(), &layout.settings(), |name| std::env::var(name).ok())
}

pub(super) fn explain_with(
    user: Option<&Path>,
    project: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Explained {
    let files = user.map(|path| (path, Writer::User)).into_iter().chain([(project, Writer::Project)]);
    let texts: Vec<(&Path, Writer, String)> =
        files.filter_map(|(path, writer)| Some((path, writer, read(path).ok()?))).collect();
    let tables: Vec<_> =
        texts.iter().filter_map(|(path, writer, text)| Some((*path, *writer, parse(text).ok()?))).collect();
    let loaded = combine(user, project, &variable);
    let explain_key = |key: &Key| {
        let mut setting = Setting::default_of(key);
        for (path, writer, table) in &tables {
            let Some(value) = table.get(key.name).map(toml::Spanned::as_ref) else { continue };
            let is_refused = key.of_the_user && *writer == Writer::Project;
            if !is_refused && is_understood(key, value) {
                let path = path.to_path_buf();
                let origin = if *writer == Writer::User { Origin::User(path) } else { Origin::Project(path) };
                setting.take(value, origin);
            }
        }
        if let Some((name, text)) = key.variable.and_then(|name| Some((name, variable(name)?))) {
            let value = Value::String(text.as_str().into());
            if !text.is_empty() && is_understood(key, &value) {
                setting.take(&value, Origin::Environment(name));
            }
        }
        if key.name == "capture" {
            setting.settle(&loaded, is_set(&variable, NO_HISTORY));
        }
        setting
    };
    let checked_user = user.map(|path| check(path, Writer::User));
    let checked_project = check(project, Writer::Project);
    let told =
        |problem: &String| checked_user.iter().chain([&checked_project]).any(|file| file.problems.contains(problem));
    Explained {
        settings: KEYS.iter().map(explain_key).collect(),
        problems: loaded.problems.iter().filter(|problem| !told(problem)).cloned().collect(),
        user: checked_user,
        project: checked_project,
        is_disabled: loaded.settings.disabled,
    }
}

impl Setting {
    fn default_of(key: &Key) -> Self {
        let default = serde_json::from_str(key.default.trim_matches('`')).unwrap_or(Json::Null);
        Self { name: key.name, value: default.clone(), default, origins: vec![Origin::Default], variable: key.variable }
    }

    fn take(&mut self, value: &Value<'_>, origin: Origin) {
        let value = json(value);
        // A project turns capture off, and not on again when its user does not want it.
        let is_on = |value: &Json| value == &Json::Bool(true);
        if self.name == "capture" && matches!(origin, Origin::Project(_)) && is_on(&value) && !is_on(&self.value) {
            return;
        }
        match (&mut self.value, value) {
            (Json::Array(so_far), Json::Array(more)) => {
                so_far.extend(more);
                self.origins.retain(|origin| *origin != Origin::Default);
                self.origins.push(origin);
            }
            (so_far, value) => {
                *so_far = if self.name == "capture" { switched(value) } else { value };
                self.origins = vec![origin];
            }
        }
    }

    /// Brings capture in step with what is in force.
    fn settle(&mut self, loaded: &Loaded, is_unwanted: bool) {
        if loaded.settings.capture || self.value == Json::Bool(false) {
            return;
        }
        self.value = Json::Bool(false);
        self.origins = vec![if is_unwanted { Origin::Environment(NO_HISTORY) } else { Origin::Doubt }];
    }
}

/// A switch as it is meant: variables say it in words.
fn switched(value: Json) -> Json {
    let text = value.as_str().map(str::to_owned);
    text.and_then(|text| switch(&Value::String(text.into()))).map_or(value, Json::Bool)
}

fn is_understood(key: &Key, value: &Value<'_>) -> bool {
    Settings::default().set(key.name, value).is_some()
}

fn check(path: &Path, writer: Writer) -> SettingsFile {
    let mut layers = Layers::default();
    layers.add_file(path, writer);
    let Layers { settings, mut problems, .. } = layers;
    problems.extend(Screen::new(&settings.redact, &settings.exclude).1.iter().map(ToString::to_string));
    let is_there = !read(path).is_err_and(|error| is_absent(&error));
    SettingsFile { path: path.to_owned(), is_there, problems }
}

fn json(value: &Value<'_>) -> Json {
    match value {
        Value::String(text) => Json::from(text.as_ref()),
        Value::Boolean(on) => Json::Bool(*on),
        Value::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).map_or(Json::Null, Json::from),
        Value::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        Value::Array(items) => items.iter().map(|item| json(item.as_ref())).collect(),
        Value::Datetime(at) => Json::from(at.to_string()),
        Value::Table(_) => Json::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(user: &str, project: &str, variables: &[(&str, &str)]) -> Explained {
        let directory = tempfile::tempdir().unwrap();
        let [user, project] = [("user.toml", user), ("project.toml", project)].map(|(name, text)| {
            let path = directory.path().join(name);
            if !text.is_empty() {
                std::fs::write(&path, text).unwrap();
            }
            path
        });
        explain_with(Some(&user), &project, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// Name, value and origins of what is not a default, and of these also what is told of each file.
    fn told(explained: &Explained) -> Vec<String> {
        let origin = |origin: &Origin| match origin {
            Origin::Default => "default",
            Origin::User(_) => "user",
            Origin::Project(_) => "project",
            Origin::Environment(name) => name,
            Origin::Doubt => "doubt",
        };
        let changed = explained.settings.iter().filter(|setting| setting.origins != [Origin::Default]);
        changed
            .map(|setting| {
                let origins: Vec<&str> = setting.origins.iter().map(origin).collect();
                format!("{} {} {}", setting.name, setting.value, origins.join("+"))
            })
            .collect()
    }

    #[test]
    fn without_any_setting_all_are_defaults() {
        let explained = explained("", "", &[]);
        assert_eq!(told(&explained), Vec::<String>::new());
        assert!(!explained.project.is_there && explained.problems.is_empty());
        let value = |name: &str| explained.settings.iter().find(|setting| setting.name == name).unwrap().value.clone();
        assert_eq!((value("capture"), value("brief_size"), value("brief")), (true.into(), 2_000.into(), "on".into()));
    }

    #[test]
    fn each_value_names_who_set_it() {
        let user = "brief = \"off\"\nexclude = [\"a\"]\nbrief_size = 500\nembedding_provider = \"none\"";
        let project = "brief = \"on\"\nexclude = [\"b\"]\nembedding_provider = \"openai\"\nbrief_size = 9";
        let explained = explained(user, project, &[("JIKIME_RECALL", "on"), ("JIKIME_BRIEF", "sometimes")]);
        assert_eq!(
            told(&explained),
            [
                "brief \"on\" project",
                "brief_size 500 user",
                "recall \"on\" JIKIME_RECALL",
                "exclude [\"a\",\"b\"] user+project",
                "embedding_provider \"none\" user",
            ]
        );
        assert_eq!(explained.user.unwrap().problems, Vec::<String>::new());
        assert_eq!(explained.project.problems.len(), 2, "{:?}", explained.project.problems);
        assert!(explained.problems[0].contains("JIKIME_BRIEF"), "{:?}", explained.problems);
    }

    #[test]
    fn capture_tells_why_it_is_off() {
        for (user, project, variables, expected) in [
            ("capture = false", "capture = true", &[][..], "capture false user"),
            ("", "capture = false", &[], "capture false project"),
            ("capture = false", "", &[("JIKIME_CAPTURE", "on")], "capture true JIKIME_CAPTURE"),
            ("", "", &[("JIKIME_CAPTURE", "off")], "capture false JIKIME_CAPTURE"),
            ("", "", &[(NO_HISTORY, "1")], "capture false CLAUDE_CODE_SKIP_PROMPT_HISTORY"),
            ("", "exclude = 3", &[], "capture false doubt"),
            ("", "what is this", &[], "capture false doubt"),
        ] {
            assert_eq!(told(&explained(user, project, variables)), [expected], "{user} {project} {variables:?}");
        }
    }
}
