//! Replaces what identifies people and machines: e-mail addresses, phone numbers, home directories, and the names of the user and the host.
//!
//! A placeholder such as `[e-mail 3f2a]` is the same wherever the same address occurs in a store, so that a reader can tell people apart.
//! It is a hash with a secret key, because a plain hash of so short a text could be guessed.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;
use sha2::{Digest as _, Sha256};

use crate::files::environment;
use crate::files::project::home_dir;
use crate::files::store_file::SecretKey;
use crate::model::memory::to_hex;
use crate::model::word_list::WordList;

/// The shortest name of a user or a host that is replaced, in characters. Shorter ones are parts of too many texts.
const SHORTEST_NAME: usize = 3;

/// Names that many machines have, words of code, and words of placeholders.
static COMMON_NAMES: WordList = WordList::words(
    "admin administrator agent app build claude debian default desktop dev docker git guest home host jikime laptop localhost mac \
     macbook mail max min node phone public root runner server test ubuntu user vagrant",
);

/// The phone numbers are those with a country code, those of Korea and Japan in parts, their mobile numbers, and those of North America.
const PATTERN: &str = r"(?x)
    (?<mail> [A-Za-z0-9] [A-Za-z0-9._%+-]* @ (?: [A-Za-z0-9] [A-Za-z0-9-]* \. )+ [A-Za-z]{2,24} )
    | (?<home> /(?:home|Users|(?:mnt/)?[a-z]/Users)/ [^/\\\s:;,'\x22`<>()\[\]{}]+ | [A-Za-z]:[\\/]+Users[\\/]+ [^/\\\s:;,'\x22`<>()\[\]{}]+ )
    | (?<phone> \+[1-9][0-9]{0,2} (?: [\x20.-]? \(? [0-9]{1,4} \)? ) (?: [\x20.-]? [0-9]{2,4} ){2,4}
        | 0[0-9]{1,3} [\x20.-] [0-9]{3,4} [\x20.-] [0-9]{4} | 0(?:1[016789]|[789]0)[0-9]{8} | \( 0[0-9]{1,3} \) \x20? [0-9]{3,4} - [0-9]{4}
        | \( [0-9]{3} \) \x20? [0-9]{3} - [0-9]{4} | [0-9]{3} ([.-]) [0-9]{3} [.-] [0-9]{4} )";

/// Replaces what identifies people and machines, with the key of a store.
#[derive(Debug, Clone)]
pub struct Anonymiser {
    key: SecretKey,
    /// Names in lower case, each with what it is.
    names: Vec<(String, &'static str)>,
}

impl Anonymiser {
    pub fn new(key: SecretKey) -> Self {
        Self { key, names: own_names() }
    }

    /// Returns a text with placeholders. Applying it again changes nothing.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        found.sort_by_key(|(range, _)| range.start);
        let (mut replaced, mut end) = (String::with_capacity(text.len()), 0);
        for (range, placeholder) in found {
            replaced.push_str(&text[end..range.start]);
            replaced.push_str(&placeholder);
            end = range.end;
        }
        Cow::Owned(replaced + &text[end..])
    }

    /// Names what a text contains of this.
    pub fn kinds_in(&self, text: &str) -> Vec<&'static str> {
        let found = self.find(text);
        let kind = |placeholder: &str| match placeholder.split(' ').next() {
            Some("[e-mail") => "an e-mail address",
            Some("[phone") => "a phone number",
            Some("[user") => "your name on this machine",
            Some("[host") => "the name of this machine",
            _ => "a home directory",
        };
        let mut kinds: Vec<&str> = found.iter().map(|(_, placeholder)| kind(placeholder)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns the places of everything that is replaced, each with its placeholder.
    fn find(&self, text: &str) -> Vec<(Range<usize>, String)> {
        static COMPILED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(PATTERN).expect("the tests compile the pattern"));
        let mut found = Vec::new();
        for groups in COMPILED.captures_iter(text) {
            let Some(range) = groups.get(0).map(|all| all.range()) else { continue };
            let said = &text[range.clone()];
            let placeholder = if groups.name("mail").is_some() {
                is_address(said).then(|| self.placeholder("e-mail", &said.to_lowercase()))
            } else if groups.name("home").is_some() {
                // `src/home/page.rs` is no home directory.
                let before = text[..range.start].chars().next_back();
                let is_root = before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-' | '~' | '}'));
                is_root.then(|| "~".to_owned())
            } else {
                let digits: String = said.chars().filter(char::is_ascii_digit).collect();
                let is_number = is_apart(text, &range, &['-', '.', '_', '+']);
                ((8..=15).contains(&digits.len()) && is_number).then(|| self.placeholder("phone", &digits))
            };
            found.extend(placeholder.map(|placeholder| (range, placeholder)));
        }
        self.add_names(text, &mut found);
        found
    }

    /// Adds the places of names outside those that were found already.
    fn add_names(&self, text: &str, found: &mut Vec<(Range<usize>, String)>) {
        let lower = text.to_ascii_lowercase();
        for (name, what) in &self.names {
            for (start, _) in lower.match_indices(name.as_str()) {
                let range = start..start + name.len();
                let is_new = found.iter().all(|(other, _)| other.end <= range.start || range.end <= other.start);
                if is_new && is_apart(text, &range, &['_']) {
                    found.push((range, self.placeholder(what, name)));
                }
            }
        }
    }

    fn placeholder(&self, what: &str, said: &str) -> String {
        let hash = Sha256::new().chain_update(self.key).chain_update(said.as_bytes()).finalize();
        format!("[{what} {}]", to_hex(&hash[..2]))
    }
}

/// Whether a text of the form of an e-mail address is one, and not the user of a repository, a file such as `logo@2x.png`, a label of Kotlin
/// or a unit of systemd.
fn is_address(said: &str) -> bool {
    static NO_USERS: WordList = WordList::words("git return super this");
    static ENDINGS: WordList = WordList::words(
        "alpha beta css finish gif jpeg jpg js json mount path png rc service slice socket svg target timer ts webp",
    );
    let (user, domain) = said.split_once('@').unwrap_or_default();
    let ending = domain.rsplit('.').next().unwrap_or_default().to_lowercase();
    !NO_USERS.contains(user) && !ENDINGS.contains(&ending)
}

/// Whether no ASCII letter, digit or one of `joints` is on either side. A letter of another script may be: particles follow names in Korean.
fn is_apart(text: &str, range: &Range<usize>, joints: &[char]) -> bool {
    let joins = |next: char| next.is_ascii_alphanumeric() || joints.contains(&next);
    // A full stop or a colon after it ends a sentence or a part.
    let mut after = text[range.end..].chars();
    let is_joined_after = match after.next() {
        Some(end @ ('.' | ':')) if joints.contains(&end) => {
            after.next().is_some_and(|next| next.is_ascii_alphanumeric())
        }
        next => next.is_some_and(joins),
    };
    !is_joined_after && !text[..range.start].chars().next_back().is_some_and(|before| before != ':' && joins(before))
}

/// Returns the names of the user and of the host. A short or common one identifies nobody.
fn own_names() -> Vec<(String, &'static str)> {
    let users = ["USER", "LOGNAME", "USERNAME"].into_iter().filter_map(environment::text);
    let home = home_dir().and_then(|home| Some(home.file_name()?.to_str()?.to_owned()));
    let users = users.chain(home).map(|name| (name, "user"));
    let host = host_name().map(|name| (name.split('.').next().unwrap_or_default().to_owned(), "host"));
    let names = users.chain(host).map(|(name, what)| (name.to_ascii_lowercase(), what));
    let is_telling = |name: &str| name.chars().count() >= SHORTEST_NAME && !COMMON_NAMES.contains(name);
    let mut names: Vec<_> = names.filter(|(name, _)| is_telling(name)).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(unix)]
fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn host_name() -> Option<String> {
    environment::text("COMPUTERNAME")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn anonymiser() -> Anonymiser {
        let names = vec![("deep-thought".to_owned(), "host"), ("haeun".to_owned(), "user")];
        Anonymiser { key: [7; 16], names }
    }

    /// Returns the text with hashes as `*`.
    fn applied(text: &str) -> String {
        let applied = anonymiser().apply(text).into_owned();
        assert_eq!(anonymiser().apply(&applied), applied, "it is applied again");
        Regex::new(r"\[(e-mail|phone|user|host) [0-9a-f]{4}\]").unwrap().replace_all(&applied, "[$1 *]").into_owned()
    }

    #[rstest]
    #[case("write to Kim.Lee+x@example.co.kr, please", "write to [e-mail *], please")]
    #[case("담당자 lee@example.com에게 보내세요", "담당자 [e-mail *]에게 보내세요")]
    #[case("call 010-1234-5678 or 01012345678", "call [phone *] or [phone *]")]
    #[case("+82 10-1234-5678; +1 (415) 555-2671.", "[phone *]; [phone *].")]
    #[case("tel: (415) 555-2671, 415-555-2671", "tel: [phone *], [phone *]")]
    #[case("02-123-4567, 03-1234-5678, phone=010 1234 5678", "[phone *], [phone *], phone=[phone *]")]
    #[case("(02) 1234-5678/09012345678", "[phone *]/[phone *]")]
    #[case("open /home/haeun/app/src/main.rs:12", "open ~/app/src/main.rs:12")]
    #[case(r"C:\Users\lee\app and C:\\Users\\lee\\app", r"~\app and ~\\app")]
    #[case("/Users/lee and /mnt/c/Users/lee/x", "~ and ~/x")]
    #[case("Haeun이 deep-thought.local에서 고쳤다", "[user *]이 [host *].local에서 고쳤다")]
    #[case("branch haeun/fix-login, haeunx, my_haeun", "branch [user *]/fix-login, haeunx, my_haeun")]
    fn names_and_addresses_become_placeholders(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(applied(text), expected);
    }

    #[rstest]
    #[case("2026-01-28T10:30:15+09:00, 192.168.100.200, v1.22.333-4444")]
    #[case("git@github.com:acme/app.git, react@18.2.0, @scope/package, a@b")]
    #[case("id 0198c9a2-1234-5678-9012-345678901234, port 10.0.0.1:8080, 1234567890")]
    #[case("/home/, /usr/home, home/haeuns, src/home/x.rs, GET /api/Users/list")]
    #[case("assets/logo@2x.png, this@MainActivity.finish(), getty@tty1.service, 0101010101")]
    #[case("lines +120 -340, bytes 4096 8192, 100-200-3000x")]
    fn other_texts_stay(#[case] text: &str) {
        assert_eq!(applied(text), text);
    }

    #[test]
    fn kinds_are_named_once() {
        let kinds = anonymiser().kinds_in("a@example.com, b@example.com: /home/haeun, haeun on deep-thought");
        let expected =
            ["a home directory", "an e-mail address", "the name of this machine", "your name on this machine"];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn placeholder_depends_on_text_and_key() {
        let of = |key, text: &str| Anonymiser { key: [key; 16], names: Vec::new() }.apply(text).into_owned();
        assert_eq!(of(1, "Kim@example.com"), of(1, "kim@example.com"));
        assert_ne!(of(1, "kim@example.com"), of(1, "lee@example.com"));
        assert_ne!(of(1, "kim@example.com"), of(2, "kim@example.com"));
    }
}
