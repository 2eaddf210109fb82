//! Removes private parts and secrets from text, and detects excluded files, before anything is stored.

use std::borrow::Cow;
use std::path::Path;

use serde_json::{Map, Value};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use crate::privacy::anonymiser::Anonymiser;
use crate::privacy::exclude::ExcludeList;
use crate::privacy::private_tags::strip_private;
use crate::privacy::redaction::{RedactedText, Redactor};

/// The rules for what is not stored. The default applies to all projects and costs nothing to create.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    redactor: Redactor,
    exclude: ExcludeList,
    anonymiser: Option<Anonymiser>,
}

impl Sanitizer {
    /// Creates a sanitizer with a project's settings: patterns of additional secrets, and globs of excluded files.
    ///
    /// Each invalid setting becomes a message for people, and the sanitizer works without it.
    pub fn new(redact: &[String], exclude: &[String]) -> (Self, Vec<String>) {
        let (redactor, patterns) = Redactor::new(redact);
        let (exclude, globs) = ExcludeList::new(exclude);
        (Self { redactor, exclude, anonymiser: None }, [patterns, globs].concat())
    }

    /// Also replaces what identifies people and machines in all texts that are cleaned.
    pub fn anonymise(&mut self, anonymiser: Anonymiser) {
        self.anonymiser = Some(anonymiser);
    }

    /// Returns a text in NFC without its private parts and secrets.
    pub fn clean<'t>(&self, text: &'t str) -> RedactedText<'t> {
        let redacted = match strip_private_composed(text) {
            Cow::Borrowed(open) => self.redactor.redact(open),
            Cow::Owned(open) => into_owned_text(self.redactor.redact(&open)),
        };
        self.anonymised(redacted)
    }

    fn anonymised<'t>(&self, redacted: RedactedText<'t>) -> RedactedText<'t> {
        let Some(anonymiser) = &self.anonymiser else { return redacted };
        match anonymiser.apply(&redacted.text) {
            Cow::Borrowed(_) => redacted,
            Cow::Owned(text) => RedactedText { text: Cow::Owned(text), count: redacted.count },
        }
    }

    /// Returns a text without its secrets, otherwise unchanged.
    pub fn redact<'t>(&self, text: &'t str) -> RedactedText<'t> {
        self.redactor.redact(text)
    }

    /// Removes private parts and secrets from the names and values of an object. Also returns the number of secrets.
    pub fn clean_fields(&self, fields: Map<String, Value>) -> (Map<String, Value>, usize) {
        let mut count = 0;
        (self.clean_map(fields, &mut count), count)
    }

    /// Whether a file is excluded. A relative path is below `directory`.
    pub fn excludes(&self, path: &str, directory: &Path, project: &Path) -> bool {
        self.exclude.excludes_path(path, directory, project)
    }

    /// Whether a command line names an excluded file. `words` are its words as a shell reads them.
    pub fn excludes_command(&self, line: &str, words: &[String], directory: &Path, project: &Path) -> bool {
        self.exclude.excludes_command(line, words, directory, project)
    }

    /// Whether a text names an excluded file.
    pub fn excludes_text(&self, text: &str, directory: &Path, project: &Path) -> bool {
        self.exclude.excludes_text(text, directory, project)
    }

    fn clean_map(&self, fields: Map<String, Value>, count: &mut usize) -> Map<String, Value> {
        let clean = |(name, value): (String, Value)| {
            let value = self.clean_value(&name, value, count);
            let name = self.clean(&name);
            *count += name.count;
            (name.text.into_owned(), value)
        };
        fields.into_iter().map(clean).collect()
    }

    fn clean_value(&self, name: &str, value: Value, count: &mut usize) -> Value {
        match value {
            Value::String(text) => {
                let open = strip_private_composed(&text);
                let redacted = self.anonymised(self.redactor.redact_named(name, &open));
                *count += redacted.count;
                Value::String(redacted.text.into_owned())
            }
            Value::Number(number) => {
                let digits = number.to_string();
                let redacted = self.redactor.redact_named(name, &digits);
                *count += redacted.count;
                if redacted.count > 0 { Value::String(redacted.text.into_owned()) } else { Value::Number(number) }
            }
            Value::Array(items) => items.into_iter().map(|item| self.clean_value(name, item, count)).collect(),
            Value::Object(fields) => Value::Object(self.clean_map(fields, count)),
            Value::Null | Value::Bool(_) => value,
        }
    }
}

/// Removes the private parts of a text and composes it. A secret's name in decomposed Hangul would not be recognized.
fn strip_private_composed(text: &str) -> Cow<'_, str> {
    // Composed before the tags are removed, because the text after a tag may end its name only in composed form.
    match compose(text) {
        Cow::Borrowed(text) => strip_private(text),
        Cow::Owned(text) => Cow::Owned(compose(&strip_private(&text)).into_owned()),
    }
}

fn compose(text: &str) -> Cow<'_, str> {
    if is_nfc(text) { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

fn into_owned_text(redacted: RedactedText<'_>) -> RedactedText<'static> {
    RedactedText { text: Cow::Owned(redacted.text.into_owned()), count: redacted.count }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn clean_text_stays_clean_after_composition() {
        let sanitizer = Sanitizer::default();
        let once = sanitizer.clean("a <private>b</private> c <privatee\u{301}>d").text.into_owned();
        assert_eq!((sanitizer.clean(&once).text.as_ref(), once.as_str()), (once.as_str(), "a c "));
    }

    #[test]
    fn nested_field_names_and_values_are_cleaned() {
        let token = format!("gh{}_{}", "p", "A1b2".repeat(9));
        let fields = json!({
            "context": "SPEC-001", "password": "hunter2", "tries": 3, "pin_password": 86_420_975,
            token.clone(): true, "list": [{"비밀번호": "hunter2"}, token, "<private>x</private>y"],
        });
        let fields = serde_json::from_value(fields).unwrap();
        let (cleaned, count) = Sanitizer::default().clean_fields(fields);
        let expected = json!({
            "context": "SPEC-001", "password": "[redacted: password]", "tries": 3,
            "pin_password": "[redacted: password]", "[redacted: github token]": true,
            "list": [{"비밀번호": "[redacted: password]"}, "[redacted: github token]", "y"],
        });
        assert_eq!((Value::Object(cleaned), count), (expected, 5));
    }

    #[test]
    fn decomposed_hangul_name_is_recognized() {
        let decomposed: String = "비밀번호: hunter2".nfd().collect();
        assert_eq!(Sanitizer::default().clean(&decomposed).text, "비밀번호: [redacted: password]");
    }

    #[test]
    fn invalid_settings_are_reported_and_the_others_work() {
        let (sanitizer, errors) = Sanitizer::new(&["(".into(), "Falcon".into()], &["a**b".into(), "*.pem".into()]);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert_eq!(sanitizer.clean("Falcon flies").text, "[redacted: custom] flies");
        assert!(sanitizer.excludes("a.pem", Path::new("/p"), Path::new("/p")));
    }
}
