//! Checks a setting before a command writes it to a file.

use toml::de::DeTable as Table;

use super::catalogue::{KEYS, KeyRule, SettingKey};
use super::load::{Settings, SettingsOwner, danger, looks_like_key, unknown_setting};
use crate::privacy::sanitizer::Sanitizer;

/// Checks that a settings file may have a setting. The error says what to do instead.
pub fn check_name(name: &str) -> Result<(), String> {
    find_key(name, SettingsOwner::User).map(drop)
}

/// Returns the value of a setting as TOML, from the words of a command line. Several words, and a word for a list, make a list.
pub fn toml_literal(name: &str, words: &[String], owner: SettingsOwner) -> Result<String, String> {
    let key = find_key(name, owner)?;
    let read = candidates(words).into_iter().find_map(|literal| Some((settings_with(key, &literal)?, literal)));
    let given = words.join(" ");
    let (settings, literal) =
        read.ok_or_else(|| format!("{name} must be {}, not {given:?}", key.values.replace('`', "")))?;
    // A glob or a pattern in a list may be invalid.
    match Sanitizer::new(&settings.redact, &settings.exclude).1.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(literal),
    }
}

fn find_key(name: &str, owner: SettingsOwner) -> Result<&'static SettingKey, String> {
    match KEYS.iter().find(|key| key.name == name) {
        Some(key) if key.rule == KeyRule::UserOnly && owner == SettingsOwner::Project => Err(format!(
            "a project cannot set {name}, because it could {}; --user sets it in your own file",
            danger(name)
        )),
        Some(key) => Ok(key),
        None if looks_like_key(name) => Err(format!(
            "{name} is not set in files: keys are read only from the environment, such as JIKIME_EMBEDDING_API_KEY"
        )),
        None => Err(unknown_setting(name)),
    }
}

/// What the words may mean, the most literal meaning first.
fn candidates(words: &[String]) -> Vec<String> {
    let quoted = |word: &String| serde_json::to_string(word).unwrap_or_default();
    let list = format!("[{}]", words.iter().map(quoted).collect::<Vec<_>>().join(", "));
    match words {
        [word] => vec![word.trim().to_owned(), quoted(word), list],
        _ => vec![list],
    }
}

/// Returns the defaults with a setting changed, if the literal is TOML, a single value and allowed.
fn settings_with(key: &SettingKey, literal: &str) -> Option<Settings> {
    let text = format!("value = {literal}");
    let table = Table::parse(&text).ok()?.into_inner();
    let value = table.get("value").filter(|_| table.len() == 1)?;
    let mut settings = Settings::default();
    settings.set(key.name, value.get_ref())?;
    Some(settings)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn each_setting_of_the_catalogue_has_a_value() {
        let literals = [
            "true",
            "30",
            "500",
            "0.5",
            "\"off\"",
            "\"30d\"",
            "\"1MB\"",
            "\"auto\"",
            "\"measured\"",
            "[\"a\"]",
            "[\"/a\"]",
        ];
        for key in &KEYS {
            assert!(literals.iter().any(|literal| settings_with(key, literal).is_some()), "{}", key.name);
        }
    }

    #[rstest]
    #[case::switch("capture", &["false"], "false")]
    #[case::word("brief", &["off"], "\"off\"")]
    #[case::quoted_word("brief", &["\"off\""], "\"off\"")]
    #[case::number("brief_size", &["500"], "500")]
    #[case::one_glob("exclude", &["secrets/**"], "[\"secrets/**\"]")]
    #[case::several_globs("exclude", &["a \"b\"", "c"], "[\"a \\\"b\\\"\", \"c\"]")]
    #[case::written_list("redact", &["['ACME-[0-9]{8}']"], "['ACME-[0-9]{8}']")]
    #[case::pattern("redact", &["ACME-[0-9]{8}"], "[\"ACME-[0-9]{8}\"]")]
    fn words_become_the_value_of_a_setting(#[case] name: &str, #[case] words: &[&str], #[case] expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(toml_literal(name, &words, SettingsOwner::Project).as_deref(), Ok(expected));
    }

    #[rstest]
    #[case::value(
        "brief",
        "sometimes",
        SettingsOwner::User,
        "brief must be \"on\", \"compact-only\" or \"off\", not \"sometimes\""
    )]
    #[case::number("brief_size", "9", SettingsOwner::User, "a number from 200 to 9000, not \"9\"")]
    #[case::two_lines("brief_size", "500\ncapture = false", SettingsOwner::User, "brief_size must be")]
    #[case::pattern("redact", "(", SettingsOwner::User, "(")]
    #[case::unknown("brif", "on", SettingsOwner::User, "unknown setting brif; the settings are capture, brief")]
    #[case::of_the_user("gc_older_than", "1d", SettingsOwner::Project, "could delete your memories; --user sets it")]
    #[case::where_data_goes("embedding_base_url", "http://x", SettingsOwner::Project, "send your memories to others")]
    #[case::a_secret("openai_api_key", "x", SettingsOwner::User, "only from the environment")]
    fn invalid_setting_says_what_to_do(
        #[case] name: &str,
        #[case] word: &str,
        #[case] owner: SettingsOwner,
        #[case] expected: &str,
    ) {
        let error = toml_literal(name, &[word.to_owned()], owner).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
