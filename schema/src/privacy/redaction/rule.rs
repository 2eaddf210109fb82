//! What a rule is: what gives a secret away, what shape it has, and how it is called when it is gone.

use std::ops::Range;
use std::sync::OnceLock;

use regex_lite::Regex;

use super::values;

/// One kind of secret and how it is found.
pub(super) struct SecretRule {
    /// What the placeholder says.
    pub(super) kind: &'static str,
    /// Literals of two bytes or more, one of which stands at or before every secret of this kind.
    pub(super) triggers: &'static [&'static str],
    /// Whether the case of a trigger matters.
    pub(super) exact: bool,
    /// Whether its triggers are names of values rather than parts of them.
    pub(super) names: bool,
    search: RuleSearch,
}

/// A trigger in its text: where a rule starts to look.
pub(super) struct TriggerSite<'t> {
    /// The stretch of text that a match must stay in.
    pub(super) text: &'t str,
    /// All that stands before the trigger, in front of the stretch too. Tells what is meant; nothing of it is a match.
    pub(super) context: &'t str,
    /// The byte offset of the trigger in the stretch.
    pub(super) at: usize,
    /// The trigger as the rule spells it.
    pub(super) trigger: &'static str,
}

impl TriggerSite<'_> {
    /// The byte offset behind the trigger.
    pub(super) fn trigger_end(&self) -> usize {
        self.at + self.trigger.len()
    }
}

enum RuleSearch {
    /// A pattern from the trigger on; its first group, or all of it, is the secret.
    Pattern { pattern: &'static str, regex: OnceLock<Regex>, stands_alone: TokenBoundary },
    /// A function that answers the span of the secret.
    Function(fn(&TriggerSite<'_>) -> Option<Range<usize>>),
}

/// What may stand before a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenBoundary {
    /// Anything.
    No,
    /// No ASCII letter or digit, so that a trigger in the middle of a word is none.
    Word,
    /// Nothing of which a token in an address could consist. Needed where a long run may turn out not to match.
    Base64Url,
    /// Nothing of which base64 could consist, so that a short trigger inside of an image is none.
    Base64,
}

impl SecretRule {
    /// A token that begins with its trigger, at the start of a word.
    pub(super) const fn token(kind: &'static str, triggers: &'static [&'static str], pattern: &'static str) -> Self {
        Self::pattern(kind, triggers, pattern, TokenBoundary::Word, true)
    }

    /// A secret somewhere behind a trigger that may stand anywhere, in any case.
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
        stands_alone: TokenBoundary,
        exact: bool,
    ) -> Self {
        Self {
            kind,
            triggers,
            exact,
            names: false,
            search: RuleSearch::Pattern { pattern, regex: OnceLock::new(), stands_alone },
        }
    }

    pub(super) const fn function(
        kind: &'static str,
        triggers: &'static [&'static str],
        function: fn(&TriggerSite<'_>) -> Option<Range<usize>>,
    ) -> Self {
        Self { kind, triggers, exact: false, names: false, search: RuleSearch::Function(function) }
    }

    /// Values by their name.
    pub(super) const fn by_name(
        kind: &'static str,
        triggers: &'static [&'static str],
        function: fn(&TriggerSite<'_>) -> Option<Range<usize>>,
    ) -> Self {
        let mut rule = Self::function(kind, triggers, function);
        rule.names = true;
        rule
    }

    /// The secret that this trigger gives away, never starting before it.
    pub(super) fn secret_at(&self, site: &TriggerSite<'_>) -> Option<Range<usize>> {
        match &self.search {
            RuleSearch::Function(function) => function(site),
            RuleSearch::Pattern { pattern, regex, stands_alone } => {
                if !stands_alone.allows(&site.text.as_bytes()[..site.at]) {
                    return None;
                }
                let regex = regex.get_or_init(|| compile_rule(pattern));
                let captures = regex.captures(&site.text[site.at..])?;
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                // A run of lower case letters alone is a name that only begins like a token, or a row of `x`.
                let is_secret = values::is_mixed_base64(secret.as_str()) && !secret.as_str().ends_with("EXAMPLE");
                is_secret.then(|| site.at + secret.start()..site.at + secret.end())
            }
        }
    }
}

fn compile_rule(pattern: &str) -> Regex {
    // Anchored, a search ends where the pattern stops to fit, instead of running through the rest of the text.
    Regex::new(&format!(r"\A(?:{pattern})")).expect("a test compiles the pattern of every rule")
}

impl TokenBoundary {
    fn allows(self, before: &[u8]) -> bool {
        let Some(last) = before.last() else { return true };
        match self {
            Self::No => true,
            Self::Word => !last.is_ascii_alphanumeric() || ends_in_escape(before),
            Self::Base64Url => !(last.is_ascii_alphanumeric() || matches!(last, b'-' | b'_')) || ends_in_escape(before),
            Self::Base64 => !(last.is_ascii_alphanumeric() || matches!(last, b'+' | b'/')) || ends_in_escape(before),
        }
    }
}

/// Whether the letter before a token is the end of `\n` in quoted text or of `%3D` in an address.
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
    fn every_pattern_compiles_and_every_trigger_is_long_enough_to_be_looked_up() {
        for rule in &RULES {
            if let RuleSearch::Pattern { pattern, .. } = &rule.search {
                compile_rule(pattern);
            }
            assert!(rule.triggers.iter().all(|trigger| trigger.len() >= 2), "{}", rule.kind);
            assert!(rule.kind.len() <= super::super::find::MAX_KIND_LENGTH, "{}", rule.kind);
        }
    }
}
