//! The table of rules: what gives a secret away, what shape it has, and how it is called when it is gone.
//!
//! Specific rules stand before general ones, because the first of two equal matches names the secret.

use std::ops::Range;
use std::sync::OnceLock;

use regex_lite::Regex;

use super::{assignments, credentials, private_keys};

/// One kind of secret and how it is found.
pub(super) struct Rule {
    /// What the placeholder says.
    pub(super) kind: &'static str,
    /// Literals of two bytes or more, one of which stands at or before every secret of this kind.
    pub(super) triggers: &'static [&'static str],
    /// Whether the case of a trigger matters.
    pub(super) exact: bool,
    search: Search,
}

/// A trigger in its text: where a rule starts to look.
pub(super) struct Site<'t> {
    /// The stretch of text that a match must stay in.
    pub(super) text: &'t str,
    /// The byte offset of the trigger in it.
    pub(super) at: usize,
    /// The trigger as the rule spells it.
    pub(super) trigger: &'static str,
}

impl Site<'_> {
    /// The byte offset behind the trigger.
    pub(super) fn behind(&self) -> usize {
        self.at + self.trigger.len()
    }
}

enum Search {
    /// A pattern from the trigger on; its first group, or all of it, is the secret.
    Pattern { pattern: &'static str, regex: OnceLock<Regex>, stands_alone: Alone },
    /// A function that answers the span of the secret.
    Function(fn(&Site<'_>) -> Option<Range<usize>>),
}

/// What may stand before a trigger.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alone {
    /// Anything.
    No,
    /// No ASCII letter or digit, so that a trigger in the middle of a word is none.
    Word,
    /// Nothing of which the secret itself could consist. Needed where a long run may turn out not to match.
    Base64,
}

impl Rule {
    /// A token that begins with its trigger, at the start of a word.
    const fn token(kind: &'static str, triggers: &'static [&'static str], pattern: &'static str) -> Self {
        Self::pattern(kind, triggers, pattern, Alone::Word, true)
    }

    /// A secret somewhere behind a trigger that may stand anywhere, in any case.
    const fn behind(kind: &'static str, triggers: &'static [&'static str], pattern: &'static str) -> Self {
        Self::pattern(kind, triggers, pattern, Alone::No, false)
    }

    const fn pattern(
        kind: &'static str,
        triggers: &'static [&'static str],
        pattern: &'static str,
        stands_alone: Alone,
        exact: bool,
    ) -> Self {
        Self { kind, triggers, exact, search: Search::Pattern { pattern, regex: OnceLock::new(), stands_alone } }
    }

    const fn function(
        kind: &'static str,
        triggers: &'static [&'static str],
        function: fn(&Site<'_>) -> Option<Range<usize>>,
    ) -> Self {
        Self { kind, triggers, exact: false, search: Search::Function(function) }
    }

    /// The secret that this trigger gives away, never starting before it.
    pub(super) fn secret_at(&self, site: &Site<'_>) -> Option<Range<usize>> {
        match &self.search {
            Search::Function(function) => function(site),
            Search::Pattern { pattern, regex, stands_alone } => {
                if !stands_alone.allows(&site.text.as_bytes()[..site.at]) {
                    return None;
                }
                let regex = regex.get_or_init(|| compile(pattern));
                let captures = regex.captures(&site.text[site.at..])?;
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                Some(site.at + secret.start()..site.at + secret.end())
            }
        }
    }
}

fn compile(pattern: &str) -> Regex {
    // Anchored, a search ends where the pattern stops to fit, instead of running through the rest of the text.
    Regex::new(&format!(r"\A(?:{pattern})")).expect("a test compiles the pattern of every rule")
}

impl Alone {
    fn allows(self, before: &[u8]) -> bool {
        let Some(last) = before.last() else { return true };
        match self {
            Self::No => true,
            Self::Word => !last.is_ascii_alphanumeric() || ends_in_escape(before),
            Self::Base64 => !(last.is_ascii_alphanumeric() || matches!(last, b'-' | b'_')) || ends_in_escape(before),
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

/// Every rule. Formats are those that the services document, or that their tokens are known to have; lengths are kept
/// a little tolerant, because a token of tomorrow is longer rather than shorter.
pub(super) static RULES: [Rule; 48] = [
    Rule::function("private key", &["-----BEGIN "], private_keys::block),
    Rule::token("private key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    Rule::token("aws access key", &["AKIA", "ASIA"], r"A[KS]IA[A-Z0-9]{16}\b"),
    Rule::behind(
        "aws secret key",
        &["secret_access_key", "secretaccesskey", "secret-access-key"],
        r#"(?i:secret[_-]?access[_-]?key)["'\\]{0,4}[ \t]{0,8}[:=]>?[ \t]{0,8}["'\\]{0,4}([A-Za-z0-9/+]{40})"#,
    ),
    Rule::token(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"gh[pousr]_[A-Za-z0-9_]{30,}(?:\.[\w-]{10,}){0,2}",
    ),
    Rule::token("github token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,}"),
    Rule::token(
        "gitlab token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glsoat-", "glft-"],
        r"gl[a-z]{2,4}-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,3}",
    ),
    Rule::token("anthropic key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{10,}"),
    Rule::token(
        "openai key",
        &["sk-"],
        r"sk-(?:(?:proj|svcacct|admin|None|or-v1)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{20,}[A-Za-z0-9_-]*)",
    ),
    Rule::token("google key", &["AIza"], r"AIza[A-Za-z0-9_-]{35,}"),
    Rule::token("google key", &["AQ."], r"AQ\.[A-Za-z0-9_-]{40,}"),
    Rule::token("google key", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    Rule::token("google token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{20,}"),
    Rule::token(
        "slack token",
        &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"],
        r"xox[a-eo-s](?:\.xox[a-z])?-[A-Za-z0-9%/+_-]{10,}",
    ),
    Rule::token("slack token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    Rule::behind(
        "slack webhook",
        &["hooks.slack.com/"],
        r"(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{10,})",
    ),
    Rule::token(
        "stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
    ),
    Rule::token("stripe key", &["whsec_"], r"whsec_[A-Za-z0-9+/]{16,}={0,2}"),
    Rule::token("npm token", &["npm_"], r"npm_[A-Za-z0-9]{30,}"),
    Rule::token("pypi token", &["pypi-"], r"pypi-(?:AgE[A-Za-z0-9_-]{13,}|[A-Za-z0-9_-]{40,})"),
    Rule::token("crates token", &["cio"], r"cio[A-Za-z0-9]{32}\b"),
    Rule::token("hugging face token", &["hf_"], r"hf_[A-Za-z0-9]{30,}"),
    Rule::token("sendgrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),
    Rule::function("twilio key", &["SK"], credentials::twilio),
    Rule::token("digitalocean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{32,}"),
    Rule::function("telegram token", &[":AA"], credentials::telegram),
    Rule::function("discord token", &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"], credentials::discord),
    Rule::behind("discord webhook", &["/webhooks/"], r"(?i:/webhooks)/[0-9]{15,22}/([A-Za-z0-9_-]{30,})"),
    Rule::behind(
        "azure key",
        &["accountkey=", "sharedaccesskey=", "account_key="],
        r"[A-Za-z_]{10,15}=([A-Za-z0-9+/]{40,}={0,2})",
    ),
    Rule::behind("azure key", &["sig="], r"(?i:sig)=([A-Za-z0-9%+/]{40,}={0,2})"),
    Rule::pattern(
        "jwt",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?",
        Alone::Base64,
        true,
    ),
    Rule::token("shopify token", &["shpat_", "shpss_", "shpca_", "shppa_"], r"shp[a-z]{2}_[0-9a-fA-F]{32}"),
    Rule::token("docker token", &["dckr_pat_", "dckr_oat_"], r"dckr_[op]at_[A-Za-z0-9_-]{20,}"),
    Rule::token("vault token", &["hvs.", "hvb."], r"hv[bs]\.[A-Za-z0-9_-]{24,}"),
    Rule::token("grafana token", &["glsa_", "glc_"], r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}"),
    Rule::token("groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{32,}"),
    Rule::token("xai key", &["xai-"], r"xai-[A-Za-z0-9]{40,}"),
    Rule::token("supabase key", &["sbp_", "sb_secret_"], r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    Rule::token("atlassian token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[A-Za-z0-9_=-]{20,}"),
    Rule::token("linear key", &["lin_api_"], r"lin_api_[A-Za-z0-9]{32,}"),
    Rule::function("authorization", &["authorization", "bearer "], credentials::authorization),
    Rule::function("password", &["://"], credentials::address),
    Rule::function("password", &["curl ", "sshpass "], credentials::command),
    Rule::function("private key", &["private_key", "privatekey", "private-key"], assignments::key),
    Rule::function(
        "password",
        &["password", "passwd", "passphrase", "pwd", "pass", "비밀번호", "비번", "암호", "패스워드"],
        assignments::password,
    ),
    Rule::function("secret", &["secret", "시크릿"], assignments::secret),
    Rule::function("token", &["token", "토큰"], assignments::token),
    Rule::function(
        "api key",
        &[
            "api_key",
            "apikey",
            "api-key",
            "api key",
            "access_key",
            "accesskey",
            "access-key",
            "encryption_key",
            "signing_key",
            "auth_key",
            "authkey",
            "master_key",
            "credential",
            "_auth",
            "\"auth\"",
        ],
        assignments::key,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_every_trigger_is_long_enough_to_be_looked_up() {
        for rule in &RULES {
            if let Search::Pattern { pattern, .. } = &rule.search {
                compile(pattern);
            }
            assert!(rule.triggers.iter().all(|trigger| trigger.len() >= 2), "{}", rule.kind);
            assert!(rule.kind.len() <= super::super::LONGEST_KIND, "{}", rule.kind);
        }
    }
}
