//! The parts of a rule: the triggers of a secret, its form, and the label of its placeholder.

use std::ops::Range;
use std::sync::OnceLock;

use regex_lite::Regex;

use super::assignments::find_assigned;
use super::cursor::TriggerSite;
use super::values::{self, NameFamily};

/// A kind of secret and the way to find it.
pub(super) struct SecretRule {
    /// The label in the placeholder.
    pub(super) kind: &'static str,
    /// Literals of at least two bytes. Each secret of this kind contains one of them or follows one.
    pub(super) triggers: &'static [&'static str],
    /// Whether triggers are matched case-sensitively.
    pub(super) exact: bool,
    search: RuleSearch,
}

enum RuleSearch {
    /// A pattern that starts at the trigger. Its first group, or the whole match, is the secret.
    Pattern { pattern: &'static str, regex: OnceLock<Regex>, boundary: TokenBoundary },
    /// A function that returns the span of the secret.
    Function(fn(&TriggerSite<'_>) -> Option<Range<usize>>),
    /// The trigger is a name, and the secret is the value that is assigned to it.
    Name(NameFamily),
}

/// The characters that must not precede a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenBoundary {
    /// No restriction.
    No,
    /// ASCII letters and digits, so that a trigger does not match inside a word.
    Word,
    /// Characters of base64url. Prevents repeated attempts within a long run.
    Base64Url,
    /// Characters of base64, so that a short trigger does not match inside an encoded image.
    Base64,
}

impl SecretRule {
    /// A token that starts with its trigger, at the start of a word.
    pub(super) const fn token(kind: &'static str, triggers: &'static [&'static str], pattern: &'static str) -> Self {
        Self::pattern(kind, triggers, pattern, TokenBoundary::Word, true)
    }

    /// A secret after a trigger, in any case and at any place.
    pub(super) const fn after_trigger(
        kind: &'static str,
        triggers: &'static [&'static str],
        pattern: &'static str,
    ) -> Self {
        Self::pattern(kind, triggers, pattern, TokenBoundary::No, false)
    }

    pub(super) const fn pattern(
        kind: &'static str,
        triggers: &'static [&'static str],
        pattern: &'static str,
        boundary: TokenBoundary,
        exact: bool,
    ) -> Self {
        Self { kind, triggers, exact, search: RuleSearch::Pattern { pattern, regex: OnceLock::new(), boundary } }
    }

    pub(super) const fn function(
        kind: &'static str,
        triggers: &'static [&'static str],
        function: fn(&TriggerSite<'_>) -> Option<Range<usize>>,
    ) -> Self {
        Self { kind, triggers, exact: false, search: RuleSearch::Function(function) }
    }

    /// A value that is recognized by its name.
    pub(super) const fn by_name(kind: &'static str, triggers: &'static [&'static str], family: NameFamily) -> Self {
        Self { kind, triggers, exact: false, search: RuleSearch::Name(family) }
    }

    /// Whether the triggers are names of values and not parts of values.
    pub(super) fn is_by_name(&self) -> bool {
        matches!(self.search, RuleSearch::Name(_))
    }

    /// Returns the secret that a trigger reveals. It never starts before the trigger.
    pub(super) fn secret_at(&self, site: &TriggerSite<'_>) -> Option<Range<usize>> {
        match &self.search {
            RuleSearch::Function(function) => function(site),
            RuleSearch::Name(family) => find_assigned(site, *family),
            RuleSearch::Pattern { pattern, regex, boundary } => {
                if !boundary.allows(&site.text.as_bytes()[..site.at]) {
                    return None;
                }
                let regex = regex.get_or_init(|| compile_rule(pattern));
                let captures = regex.captures(&site.text[site.at..])?;
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                // A run of only lower-case letters, or of `x`, just looks like the start of a token.
                let is_secret = values::is_mixed_base64(secret.as_str()) && !secret.as_str().ends_with("EXAMPLE");
                is_secret.then(|| site.at + secret.start()..site.at + secret.end())
            }
        }
    }
}

fn compile_rule(pattern: &str) -> Regex {
    // With an anchor, the search ends where the pattern fails, instead of continuing through the text.
    Regex::new(&format!(r"\A(?:{pattern})")).expect("a test compiles the pattern of every rule")
}

impl TokenBoundary {
    fn allows(self, before: &[u8]) -> bool {
        let Some(last) = before.last() else { return true };
        let is_refused = match self {
            Self::No => false,
            Self::Word => last.is_ascii_alphanumeric(),
            Self::Base64Url => last.is_ascii_alphanumeric() || matches!(last, b'-' | b'_'),
            Self::Base64 => last.is_ascii_alphanumeric() || matches!(last, b'+' | b'/'),
        };
        !is_refused || ends_in_escape(before)
    }
}

/// Whether the letter before a token ends an escape, such as `\n` in quoted text or `%3D` in a URL.
fn ends_in_escape(before: &[u8]) -> bool {
    match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::rules::RULES;
    use super::*;

    #[test]
    fn patterns_compile_and_triggers_are_long_enough() {
        for rule in &RULES {
            if let RuleSearch::Pattern { pattern, .. } = &rule.search {
                compile_rule(pattern);
            }
            assert!(rule.triggers.iter().all(|trigger| trigger.len() >= 2), "{}", rule.kind);
            assert!(rule.kind.len() <= super::super::find::MAX_KIND_LENGTH, "{}", rule.kind);
        }
    }
}
