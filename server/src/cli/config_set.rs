//! `config set` and `config unset`: change one setting in a file and keep everything else, also comments.

use std::path::{Path, PathBuf};

use clap::Args;
use schema::files::layout::Layout;
use schema::settings::{self, SettingOrigin, SettingsOwner, check_name, toml_literal};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Value};
use tools::error::ToolError;

use super::output::Printer;
use super::terminal_text::clean_for_terminal;
use crate::setup::settings_file::edit_file;

#[derive(Debug, Args)]
pub(crate) struct SetArguments {
    /// The setting, such as brief_size
    key: String,
    /// The value; several values make a list. Put `--` before a value that begins with a hyphen
    #[arg(required = true, value_name = "VALUE")]
    values: Vec<String>,
    /// Change your own file, for all projects [default: the project's file]
    #[arg(long)]
    pub(super) user: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnsetArguments {
    /// The setting, such as brief_size
    key: String,
    /// Change your own file, for all projects [default: the project's file]
    #[arg(long)]
    pub(super) user: bool,
}

#[derive(Debug, Serialize)]
struct ChangedSetting<'c> {
    name: &'c str,
    path: &'c Path,
    /// `null` if it was removed.
    value: Option<&'c str>,
    /// Another source that overrides the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    overridden_by: Option<String>,
}

pub(super) fn set_setting(project: &Path, printer: &Printer, arguments: &SetArguments) -> anyhow::Result<()> {
    let owner = owner_of(arguments.user);
    let literal = toml_literal(&arguments.key, &arguments.values, owner).map_err(ToolError::Invalid)?;
    change(project, printer, owner, &arguments.key, Some(&literal))
}

pub(super) fn unset_setting(project: &Path, printer: &Printer, arguments: &UnsetArguments) -> anyhow::Result<()> {
    let owner = owner_of(arguments.user);
    // A forbidden setting in a project's file can be removed.
    check_name(&arguments.key).map_err(ToolError::Invalid)?;
    change(project, printer, owner, &arguments.key, None)
}

fn owner_of(is_user: bool) -> SettingsOwner {
    if is_user { SettingsOwner::User } else { SettingsOwner::Project }
}

fn change(
    project: &Path,
    printer: &Printer,
    owner: SettingsOwner,
    name: &str,
    literal: Option<&str>,
) -> anyhow::Result<()> {
    let layout = Layout::new(project);
    let (path, within) = match owner {
        SettingsOwner::User => (user_path()?, None),
        SettingsOwner::Project => (layout.settings_file(), Some(project)),
    };
    let place = clean_for_terminal(&path.to_string_lossy());
    // Unsetting creates no file.
    let has_changed = (literal.is_some() || path.exists()) && write_setting(&path, within, name, literal)?;
    let overridden_by = literal.and_then(|_| overriding_source(&layout, name, &path));
    let mut text = match literal {
        Some(literal) => format!("Set {name} = {literal} in {place}."),
        None if has_changed => format!("Removed {name} from {place}."),
        None => format!("{name} is not set in {place}."),
    };
    match overridden_by.as_deref() {
        Some(INVALID_SETTINGS) => text.push_str(
            " It has no effect yet: recording is off until you fix what `jikime-memory config check` reports.",
        ),
        Some(source) => text.push_str(&format!(" It has no effect here: {source} decides.")),
        None => {}
    }
    printer.print_sentence(&ChangedSetting { name, path: &path, value: literal, overridden_by }, &text)
}

/// The source of a setting while recording is off because of an error in the settings.
const INVALID_SETTINGS: &str = "an error that `jikime-memory config check` reports";

/// Writes a setting to the project's file. Returns the source that decides instead of it, if there is one.
pub(crate) fn write_project_setting(project: &Path, name: &str, literal: &str) -> Result<Option<String>, ToolError> {
    let layout = Layout::new(project);
    let path = layout.settings_file();
    write_setting(&path, Some(project), name, Some(literal))?;
    Ok(overriding_source(&layout, name, &path))
}

/// Writes a setting to the user's own file.
pub(super) fn write_user_setting(name: &str, literal: &str) -> Result<(), ToolError> {
    write_setting(&user_path()?, None, name, Some(literal)).map(drop)
}

/// Changes or removes a setting in a file. Returns whether the file changed.
fn write_setting(path: &Path, within: Option<&Path>, name: &str, literal: Option<&str>) -> Result<bool, ToolError> {
    let place = clean_for_terminal(&path.to_string_lossy());
    let mut has_changed = false;
    edit_file(path, within, |text| {
        let changed = changed_text(text, name, literal)
            .map_err(|why| ToolError::Invalid(format!("{place}: {why}; fix it first")))?;
        has_changed = changed != text;
        Ok(changed)
    })?;
    Ok(has_changed)
}

pub(super) fn user_path() -> Result<PathBuf, ToolError> {
    settings::user_file().ok_or_else(|| ToolError::Invalid("cannot find your settings; set HOME".to_owned()))
}

/// The text of a file with one changed setting. `None` removes it.
fn changed_text(text: &str, name: &str, literal: Option<&str>) -> Result<String, String> {
    let mut table: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| error.to_string().trim().replace('\n', " "))?;
    let Some(literal) = literal else {
        table.remove(name);
        return Ok(table.to_string());
    };
    let mut value: Value = literal.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    match table.get_mut(name) {
        Some(Item::Value(old)) => {
            // Keeps a comment behind the value.
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        _ => drop(table.insert(name, Item::Value(value))),
    }
    Ok(table.to_string())
}

/// The source that decides instead of the file at `path`, if it is another one.
fn overriding_source(layout: &Layout, name: &str, path: &Path) -> Option<String> {
    let explained = settings::explain(layout);
    let setting = explained.settings.iter().find(|setting| setting.name == name)?;
    let is_used = setting.origins.iter().any(|origin| match origin {
        SettingOrigin::User(used) | SettingOrigin::Project(used) => used == path,
        _ => false,
    });
    let source = setting.origins.first().filter(|_| !is_used)?;
    Some(match source {
        SettingOrigin::Default => "the default".to_owned(),
        SettingOrigin::User(path) | SettingOrigin::Project(path) => clean_for_terminal(&path.to_string_lossy()),
        SettingOrigin::Environment(name) => format!("the variable {name}"),
        SettingOrigin::Fallback => INVALID_SETTINGS.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::new_file("", Some("500"), "brief_size = 500\n")]
    #[case::new_key("# mine\nbrief = \"off\"\n", Some("500"), "# mine\nbrief = \"off\"\nbrief_size = 500\n")]
    #[case::changed(
        "# how long\nbrief_size = 300 # characters\n\n# lists\nexclude = []\n",
        Some("500"),
        "# how long\nbrief_size = 500 # characters\n\n# lists\nexclude = []\n"
    )]
    #[case::removed("brief = \"off\" # a\nbrief_size = 300\n", None, "brief = \"off\" # a\n")]
    #[case::was_not_there("brief = \"off\"\n", None, "brief = \"off\"\n")]
    fn one_setting_changes_and_the_rest_stays(#[case] text: &str, #[case] value: Option<&str>, #[case] expected: &str) {
        assert_eq!(changed_text(text, "brief_size", value).as_deref(), Ok(expected));
    }

    #[test]
    fn unreadable_file_is_not_changed() {
        assert!(changed_text("what is this", "brief_size", Some("500")).is_err());
    }
}
