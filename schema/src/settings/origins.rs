//! Explains the origin of each setting and the problems of each file, for people. Nothing depends on the result.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use toml::de::DeValue as Value;

use super::catalogue::{KEYS, SettingKey};
use super::load::{AcceptedValue, NO_HISTORY, SettingsLayers, SettingsOwner, combine, is_absent, is_set, read_file};
use super::user_file;
use super::value::{SettingOrigin, parse_switch};
use crate::files::environment;
use crate::files::layout::Layout;
use crate::privacy::sanitizer::Sanitizer;

/// The effective value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub name: &'static str,
    /// `null` if the default is not a single value.
    pub value: Json,
    pub default: Json,
    /// The sources of the value: several for lists, which are combined.
    pub origins: Vec<SettingOrigin>,
    /// The environment variable that sets it.
    pub variable: Option<&'static str>,
}

/// A settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    pub exists: bool,
    pub problems: Vec<String>,
}

/// All settings and their origins.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedSettings {
    pub settings: Vec<Setting>,
    /// `None` if no directory for settings is known.
    pub user: Option<SettingsFile>,
    pub project: SettingsFile,
    /// Problems of variables, and the consequences of all problems.
    pub problems: Vec<String>,
    /// Whether hooks do nothing at all.
    pub is_disabled: bool,
}

/// Explains the settings of a project, including the environment of this process.
pub fn explain(layout: &Layout) -> ExplainedSettings {
    explain_from(user_file().as_deref(), &layout.settings_file(), environment::text)
}

pub(super) fn explain_from(
    user: Option<&Path>,
    project: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> ExplainedSettings {
    let loaded = combine(user, project, &variable);
    let explain_key = |key: &SettingKey| {
        let mut setting = Setting::from_key(key);
        loaded.accepted.iter().filter(|value| value.name == key.name).for_each(|value| setting.apply(value));
        match key.name {
            "capture" => setting.apply_loaded(loaded.settings.capture, is_set(&variable, NO_HISTORY)),
            "other_projects" => setting.apply_loaded(loaded.settings.other_projects, false),
            _ => {}
        }
        setting
    };
    let checked_user = user.map(|path| check_file(path, SettingsOwner::User));
    let checked_project = check_file(project, SettingsOwner::Project);
    let is_reported =
        |problem: &String| checked_user.iter().chain([&checked_project]).any(|file| file.problems.contains(problem));
    ExplainedSettings {
        settings: KEYS.iter().map(explain_key).collect(),
        problems: loaded.problems.iter().filter(|problem| !is_reported(problem)).cloned().collect(),
        user: checked_user,
        project: checked_project,
        is_disabled: loaded.settings.disabled,
    }
}

impl Setting {
    fn from_key(key: &SettingKey) -> Self {
        let default = serde_json::from_str(key.default.trim_matches('`')).unwrap_or(Json::Null);
        Self {
            name: key.name,
            value: default.clone(),
            default,
            origins: vec![SettingOrigin::Default],
            variable: key.variable,
        }
    }

    fn apply(&mut self, accepted: &AcceptedValue) {
        let AcceptedValue { value, origin, .. } = accepted.clone();
        match (&mut self.value, value) {
            (Json::Array(so_far), Json::Array(more)) => {
                so_far.extend(more);
                self.origins.retain(|origin| *origin != SettingOrigin::Default);
                self.origins.push(origin);
            }
            (so_far, value) => {
                *so_far = if matches!(self.name, "capture" | "other_projects") { switch_to_bool(value) } else { value };
                self.origins = vec![origin];
            }
        }
    }

    /// Turns a switch off if the loaded settings do.
    fn apply_loaded(&mut self, is_on: bool, is_unwanted: bool) {
        if !is_on && self.value == Json::Bool(true) {
            self.value = Json::Bool(false);
            self.origins =
                vec![if is_unwanted { SettingOrigin::Environment(NO_HISTORY) } else { SettingOrigin::Fallback }];
        }
    }
}

/// Converts the words that variables use for a switch.
fn switch_to_bool(value: Json) -> Json {
    let text = value.as_str().map(str::to_owned);
    text.and_then(|text| parse_switch(&Value::String(text.into()))).map_or(value, Json::Bool)
}

fn check_file(path: &Path, owner: SettingsOwner) -> SettingsFile {
    let mut layers = SettingsLayers::default();
    layers.add_file(path, owner);
    let SettingsLayers { settings, mut problems, .. } = layers;
    problems.extend(Sanitizer::new(&settings.redact, &settings.exclude).1);
    let is_there = !read_file(path).is_err_and(|error| is_absent(&error));
    SettingsFile { path: path.to_owned(), exists: is_there, problems }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(user: &str, project: &str, variables: &[(&str, &str)]) -> ExplainedSettings {
        let directory = tempfile::tempdir().unwrap();
        let [user, project] = [("user.toml", user), ("project.toml", project)].map(|(name, text)| {
            let path = directory.path().join(name);
            if !text.is_empty() {
                std::fs::write(&path, text).unwrap();
            }
            path
        });
        explain_from(Some(&user), &project, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// Returns name, value and origins of each setting that differs from its default.
    fn describe(explained: &ExplainedSettings) -> Vec<String> {
        let origin = |origin: &SettingOrigin| match origin {
            SettingOrigin::Default => "default",
            SettingOrigin::User(_) => "user",
            SettingOrigin::Project(_) => "project",
            SettingOrigin::Environment(name) => name,
            SettingOrigin::Fallback => "doubt",
        };
        let changed = explained.settings.iter().filter(|setting| setting.origins != [SettingOrigin::Default]);
        changed
            .map(|setting| {
                let origins: Vec<&str> = setting.origins.iter().map(origin).collect();
                format!("{} {} {}", setting.name, setting.value, origins.join("+"))
            })
            .collect()
    }

    #[test]
    fn without_any_setting_all_values_are_defaults() {
        let explained = explained("", "", &[]);
        assert_eq!(describe(&explained), Vec::<String>::new());
        assert!(!explained.project.exists && explained.problems.is_empty());
        let value = |name: &str| explained.settings.iter().find(|setting| setting.name == name).unwrap().value.clone();
        assert_eq!((value("capture"), value("brief_size"), value("brief")), (true.into(), 4_000.into(), "on".into()));
    }

    #[test]
    fn each_value_names_its_origin() {
        let user = "brief = \"off\"\nexclude = [\"a\"]\nbrief_size = 500\nembedding_provider = \"none\"";
        let project = "brief = \"on\"\nexclude = [\"b\"]\nembedding_provider = \"openai\"\nbrief_size = 9";
        let explained = explained(user, project, &[("JIKIME_RECALL", "on"), ("JIKIME_BRIEF", "sometimes")]);
        assert_eq!(
            describe(&explained),
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
    fn value_that_a_project_may_not_set_is_not_explained() {
        for (user, project, variables, expected) in [
            ("anonymise = true", "anonymise = false", &[][..], "anonymise true user"),
            ("anonymise = false", "anonymise = true", &[], "anonymise true project"),
            ("edits = \"names\"", "edits = \"full\"", &[], "edits \"names\" user"),
            ("other_projects = true", "other_projects = true", &[], "other_projects true user"),
            ("", "other_projects = false", &[("JIKIME_OTHER_PROJECTS", "on")], "other_projects false project"),
            ("", "", &[("JIKIME_OTHER_PROJECTS", "on")], "other_projects true JIKIME_OTHER_PROJECTS"),
        ] {
            assert_eq!(describe(&explained(user, project, variables)), [expected], "{user} {project} {variables:?}");
        }
    }

    #[test]
    fn invalid_ban_stops_recording_and_other_projects() {
        let unclear = explained("other_projects = true", "exclude = 3", &[]);
        assert_eq!(describe(&unclear), ["capture false doubt", "other_projects false doubt"]);
        let unclear = explained("", "other_projects = false", &[("JIKIME_OTHER_PROJECTS", "maybe")]);
        assert_eq!(describe(&unclear), ["capture false doubt", "other_projects false project"]);
    }

    #[test]
    fn capture_explains_why_it_is_off() {
        for (user, project, variables, expected) in [
            ("capture = false", "capture = true", &[][..], "capture false user"),
            ("", "capture = false", &[], "capture false project"),
            ("capture = false", "", &[("JIKIME_CAPTURE", "on")], "capture true JIKIME_CAPTURE"),
            ("", "", &[("JIKIME_CAPTURE", "off")], "capture false JIKIME_CAPTURE"),
            ("", "", &[(NO_HISTORY, "1")], "capture false CLAUDE_CODE_SKIP_PROMPT_HISTORY"),
            ("", "exclude = 3", &[], "capture false doubt"),
            ("", "what is this", &[], "capture false doubt"),
        ] {
            assert_eq!(describe(&explained(user, project, variables)), [expected], "{user} {project} {variables:?}");
        }
    }
}
