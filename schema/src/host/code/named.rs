//! Finds the paths and the names of code in a text of prose.

/// The most paths and names of a text that are looked up.
const MOST_NAMED: usize = 12;

/// The shortest name in code, and the longest span in backticks, in bytes.
const SHORTEST_NAME: usize = 3;
const LONGEST_SPAN: usize = 80;

/// Characters that end a sentence or a part of it.
const ENDS: [char; 6] = ['.', ',', ';', ':', '!', '?'];

/// The paths and names in a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NamedCode {
    /// As written, with `/`. Some of them may be no paths.
    pub(super) paths: Vec<String>,
    pub(super) names: Vec<CodeName>,
}

/// A name that looks like one in code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeName {
    pub(super) text: String,
    pub(super) form: NameForm,
}

/// How surely a name is one in code, the surest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameForm {
    /// Any word, directly before the file that may define it: "retry in src/http.rs". Only a single definition counts.
    Word,
    /// `verifyToken`. Only a definition counts.
    Capitals,
    /// `` `verify` ``, `verify()`, `verify_token`
    Marked,
}

impl NamedCode {
    pub(super) fn in_text(text: &str) -> Self {
        let mut named = Self::default();
        for (index, span) in text.split('`').enumerate() {
            if index % 2 == 1 && span.len() <= LONGEST_SPAN && !span.trim().contains(char::is_whitespace) {
                named.add_name(name_in_code(span.trim()), NameForm::Marked);
            }
            let words: Vec<&str> = span.split(|c: char| c.is_whitespace() || is_boundary(c)).collect();
            for word in &words {
                named.add_word(word);
            }
            for place in words.windows(3).filter(|place| place[1] == "in" && is_like_path(without_place(place[2]))) {
                named.add_name(name_in_code(place[0]), NameForm::Word);
            }
        }
        named
    }

    fn add_word(&mut self, word: &str) {
        // Korean and Japanese particles follow without a space.
        let ascii = word.find(|c: char| !c.is_ascii()).map(|end| &word[..end]);
        for word in [Some(word), ascii].into_iter().flatten() {
            // A hidden file begins with a dot.
            let plain = without_place(word.trim_end_matches(ENDS));
            if is_like_path(plain) {
                self.add_path(plain);
            }
        }
        let word = ascii.unwrap_or(word).trim_matches(ENDS);
        if let Some(called) = word.strip_suffix("()") {
            self.add_name(name_in_code(called), NameForm::Marked);
        } else if !word.contains('/') {
            let name = name_in_code(word);
            let is_snake = |name: &str| name.trim_matches('_').contains('_') || name.starts_with("__");
            if name.is_some_and(is_snake) {
                self.add_name(name, NameForm::Marked);
            } else if name.is_some_and(is_camel) {
                self.add_name(name, NameForm::Capitals);
            }
        }
    }

    fn add_path(&mut self, path: &str) {
        let path = path.replace('\\', "/");
        let path = path.trim_start_matches("./");
        if self.paths.len() < MOST_NAMED && !self.paths.iter().any(|known| known == path) {
            self.paths.push(path.to_owned());
        }
    }

    fn add_name(&mut self, name: Option<&str>, form: NameForm) {
        let Some(text) = name.filter(|name| name.len() >= SHORTEST_NAME) else { return };
        if let Some(known) = self.names.iter_mut().find(|known| known.text == text) {
            known.form = known.form.max(form);
        } else if self.names.len() < MOST_NAMED {
            self.names.push(CodeName { text: text.to_owned(), form });
        }
    }
}

/// Whether a character ends a word. Brackets of a call do not.
fn is_boundary(c: char) -> bool {
    matches!(c, '"' | '\'' | '[' | ']' | '{' | '}' | '<' | '>' | '|' | ',' | ';' | '“' | '”' | '‘' | '’' | '「' | '」')
}

/// Returns a path without a line number behind it and without brackets around it.
fn without_place(word: &str) -> &str {
    let word = word.trim_start_matches('(').trim_end_matches(')');
    let is_place = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let mut path = word;
    while let Some((before, _)) = path.rsplit_once(':').filter(|(_, rest)| is_place(rest)) {
        path = before;
    }
    path
}

/// Whether a word may be a path: it has a folder or an ending, and is no address.
fn is_like_path(word: &str) -> bool {
    let has_ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && (1..=10).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    let is_odd = |c: char| matches!(c, '(' | ')' | '=' | '$' | '*' | '?');
    (has_ending || word.contains(['/', '\\'])) && !word.contains("://") && !word.contains(is_odd)
}

/// Returns the last name of `Auth::verify_token`, `auth.verify` or `verify(x)`.
fn name_in_code(span: &str) -> Option<&str> {
    let span = span.split('(').next().unwrap_or(span).trim_end_matches(['!', ';', ',']);
    let last = span.rsplit([':', '.', '#']).next().unwrap_or(span);
    let is_start = |c: char| c.is_alphabetic() || matches!(c, '_' | '$');
    let is_name = last.starts_with(is_start) && last.chars().all(|c| is_start(c) || c.is_numeric());
    is_name.then_some(last)
}

/// Whether a name has a capital after a small letter, such as `verifyToken`, or a word after several capitals, such as `HTTPError`.
fn is_camel(name: &str) -> bool {
    let is = |at: usize, check: fn(&u8) -> bool| name.as_bytes().get(at).is_some_and(check);
    let small = |at| is(at, u8::is_ascii_lowercase);
    let capital = |at| is(at, u8::is_ascii_uppercase);
    let ends_capitals = |at: usize| capital(at + 1) && small(at + 2) && small(at + 3);
    (0..name.len()).any(|at| small(at) && capital(at + 1) || capital(at) && ends_capitals(at))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::path_and_name("Keep `verify_token` in src/auth.rs free of I/O.", &["src/auth.rs", "I/O"], &["verify_token!"])]
    #[case::place("See src/auth.rs:42 and (web/app.ts:7:3).", &["src/auth.rs", "web/app.ts"], &[])]
    #[case::method("`Auth::verify()` and auth.check() retry; parse_config too", &[], &["verify!", "check!", "parse_config!"])]
    #[case::word("HTTPError and retry in src/http.rs stay", &["src/http.rs"], &["HTTPError", "retry?"])]
    #[case::korean("설정은 config.toml에서 읽고 verifyToken을 부른다", &["config.toml"], &["verifyToken"])]
    #[case::korean_path("설정은 문서/설정.toml 파일에 있다.", &["문서/설정.toml"], &[])]
    #[case::hidden("See .github/workflows/ci.yml.", &[".github/workflows/ci.yml"], &[])]
    #[case::windows("It is in .\\src\\auth.rs", &["src/auth.rs"], &[])]
    #[case::command("Run `cargo test --lib` first", &[], &[])]
    #[case::address("https://example.com/a.rs says so", &[], &[])]
    #[case::prose("We cache tokens in Redis, for five minutes.", &[], &[])]
    fn paths_and_names_are_found(#[case] text: &str, #[case] paths: &[&str], #[case] names: &[&str]) {
        let NamedCode { paths: found, names: code } = NamedCode::in_text(text);
        let code: Vec<String> = code.into_iter().map(|name| name.text + ["?", "", "!"][name.form as usize]).collect();
        assert_eq!(found, paths);
        assert_eq!(code, names);
    }
}
