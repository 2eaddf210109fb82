//! Splits a shell command line into simple commands: words without quotes, and whether the output goes to a file.
//!
//! It parses only as much bash and PowerShell as is needed to find the programs, and accepts any text. Crates such as `shlex` only split
//! words: they cannot distinguish `a; b` from `"a; b"`, and do not support here-documents.

/// The maximum nesting of substitutions. Deeper ones are read as if they were not nested, which finds the same programs.
const DEPTH: usize = 16;

/// A program with its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<String>,
    /// Whether the output goes to a file, other than a device such as `/dev/null`.
    pub(super) writes: bool,
    /// The files that input and output are redirected to and from.
    pub(super) files: Vec<String>,
    pub(super) then: Then,
}

/// How a command is connected to what follows it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    #[default]
    End,
    Next,
    And,
    Or,
    Pipe,
    Background,
    /// It ran in a substitution.
    Substituted,
}

/// Returns the simple commands of a line. Commands in a substitution come before the command that contains it.
pub(super) fn split_commands(line: &str) -> Vec<SimpleCommand> {
    let mut splitter = CommandSplitter { rest: line, found: Vec::new(), here_documents: Vec::new(), depth: 0 };
    while !splitter.rest.is_empty() {
        splitter.read_commands(None);
    }
    splitter.found
}

struct CommandSplitter<'l> {
    rest: &'l str,
    found: Vec<SimpleCommand>,
    /// The terminators of the here-documents that start after the end of this line.
    here_documents: Vec<String>,
    depth: usize,
}

/// A command that is being read.
#[derive(Default)]
struct CommandBuilder {
    simple: SimpleCommand,
    /// The word that is being read. A quoted word may be empty.
    word: Option<String>,
    /// The kind of redirection whose target is the next word.
    redirection: Option<Redirection>,
}

#[derive(Clone, Copy)]
enum Redirection {
    Into,
    From,
    HereDocument,
}

impl CommandSplitter<'_> {
    /// Reads commands up to `end`, the character that closes a substitution, or to the end of the text.
    fn read_commands(&mut self, end: Option<char>) {
        let mut current = CommandBuilder::default();
        let mut open = 0;
        while let Some(next) = self.next_char() {
            match next {
                _ if Some(next) == end && open == 0 => break,
                '\\' if self.skip("\n") || self.skip("\r\n") => {}
                // Before a letter it is more likely part of a Windows path than an escape without effect.
                '\\' => self.read_escaped(&mut current, |next| {
                    !next.is_alphanumeric() && !matches!(next, '.' | '_' | '-' | '\\')
                }),
                '\'' => self.read_single_quoted(&mut current),
                '$' if self.skip("'") => self.ansi_quoted(&mut current),
                '$' if self.rest.starts_with('"') => {}
                '"' => self.read_double_quoted(&mut current),
                '$' if self.rest.starts_with("((") => self.skip_arithmetic(),
                '$' if self.skip("(") => self.read_nested(&mut current, ')'),
                // In PowerShell a backtick at the end of a line continues it.
                '`' if self.skip("\n") || self.skip("\r\n") => self.end_word(&mut current),
                '`' if end != Some('`') => self.read_nested(&mut current, '`'),
                '#' if current.word.is_none() => self.skip_to_line_end(),
                '(' if self.rest.starts_with('(') && current.is_empty() => self.skip_arithmetic(),
                '>' | '<' if current.is_test_expression() => current.push(next),
                '>' => self.redirect_output(&mut current),
                '<' => self.redirect_input(&mut current),
                '&' if self.rest.starts_with('>') => self.end_word(&mut current),
                '\n' => {
                    self.end_command(&mut current);
                    self.connect(next);
                    self.skip_here_documents();
                }
                '(' | ')' | ';' | '|' | '&' => {
                    open = if next == '(' { open + 1 } else { open - usize::from(next == ')' && open > 0) };
                    self.end_command(&mut current);
                    self.connect(next);
                }
                space if space.is_whitespace() => {
                    self.end_word(&mut current);
                    // The commands in a block of PowerShell or a shell are commands of their own.
                    if current.simple.words.last().is_some_and(|word| is_brace(word)) {
                        self.end_command(&mut current);
                    }
                }
                other => current.push(other),
            }
        }
        self.end_command(&mut current);
    }

    fn next_char(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn skip(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Skips everything up to and including `mark`, or all of it if there is no `mark`, and returns the skipped text before `mark`.
    fn skip_past(&mut self, mark: &str) -> &str {
        let (before, rest) = self.rest.split_once(mark).unwrap_or((self.rest, ""));
        self.rest = rest;
        before
    }

    fn skip_to_line_end(&mut self) {
        self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]);
    }

    /// Reads the character after a backslash if it is escaped, and the backslash otherwise.
    fn read_escaped(&mut self, current: &mut CommandBuilder, is_escaped: impl Fn(char) -> bool) {
        let escaped = self.rest.chars().next().filter(|next| is_escaped(*next)).and_then(|_| self.next_char());
        current.push(escaped.unwrap_or('\\'));
    }

    fn read_single_quoted(&mut self, current: &mut CommandBuilder) {
        let text = self.skip_past("'");
        current.word.get_or_insert_default().push_str(text);
    }

    /// Reads `$'…'`, in which characters may be written as numbers.
    fn ansi_quoted(&mut self, current: &mut CommandBuilder) {
        let word = current.word.get_or_insert_default();
        while let Some(next) = self.next_char() {
            match next {
                '\'' => return,
                '\\' => {
                    let (radix, most) = if self.skip("x") { (16, 2) } else { (8, 3) };
                    let digits = self.rest.chars().take(most).take_while(|next| next.is_digit(radix)).count();
                    let (code, rest) = self.rest.split_at(digits);
                    self.rest = rest;
                    let letter = u32::from_str_radix(code, radix).ok().and_then(char::from_u32);
                    word.extend(letter.or_else(|| self.next_char()));
                }
                other => word.push(other),
            }
        }
    }

    fn read_double_quoted(&mut self, current: &mut CommandBuilder) {
        current.word.get_or_insert_default();
        while let Some(next) = self.next_char() {
            match next {
                '"' => return,
                '\\' if self.skip("\n") => {}
                '\\' => self.read_escaped(current, |next| matches!(next, '"' | '$' | '`')),
                '$' if self.rest.starts_with("((") => self.skip_arithmetic(),
                '$' if self.skip("(") => self.read_nested(current, ')'),
                '`' => self.read_nested(current, '`'),
                other => current.push(other),
            }
        }
    }

    fn read_nested(&mut self, current: &mut CommandBuilder, end: char) {
        if self.depth < DEPTH {
            self.depth += 1;
            let outer = std::mem::take(&mut self.here_documents);
            self.read_commands(Some(end));
            self.here_documents = outer;
            self.depth -= 1;
        }
        // The output of a substitution is unknown; it is a word, or part of one.
        current.push('$');
    }

    /// Skips `((…))`, where `>` is a comparison.
    fn skip_arithmetic(&mut self) {
        self.skip_past("))");
    }

    fn redirect_output(&mut self, current: &mut CommandBuilder) {
        current.drop_descriptor();
        self.end_word(current);
        while self.skip(">") || self.skip("|") {}
        if self.skip("&") && self.rest.starts_with(|next: char| next.is_ascii_digit() || next == '-') {
            self.next_char();
        } else if !self.rest.starts_with('(') {
            current.redirection = Some(Redirection::Into);
        }
    }

    fn redirect_input(&mut self, current: &mut CommandBuilder) {
        current.drop_descriptor();
        self.end_word(current);
        if self.skip("<<") {
            current.redirection = Some(Redirection::From);
        } else if self.skip("<") {
            self.skip("-");
            current.redirection = Some(Redirection::HereDocument);
        } else if !self.rest.starts_with('(') {
            current.redirection = Some(Redirection::From);
        }
    }

    fn end_word(&mut self, current: &mut CommandBuilder) {
        let Some(word) = current.word.take() else { return };
        match current.redirection.take() {
            None => current.simple.words.push(word),
            Some(Redirection::Into) => {
                current.simple.writes |= is_real_file(&word);
                current.simple.files.push(word);
            }
            Some(Redirection::From) => current.simple.files.push(word),
            Some(Redirection::HereDocument) => self.here_documents.push(word),
        }
    }

    fn end_command(&mut self, current: &mut CommandBuilder) {
        self.end_word(current);
        let mut simple = std::mem::take(current).simple;
        simple.words.pop_if(|word| is_brace(word));
        if simple != SimpleCommand::default() {
            let then = if self.depth > 0 { Then::Substituted } else { Then::End };
            self.found.push(SimpleCommand { then, ..simple });
        }
    }

    /// Connects the last command to what follows an operator. Two characters may make one operator.
    fn connect(&mut self, operator: char) {
        let Some(last) = self.found.last_mut() else { return };
        last.then = match (last.then, operator) {
            (Then::Background, '&') => Then::And,
            (Then::Pipe, '|') => Then::Or,
            (Then::End, '&') => Then::Background,
            (Then::End, '|') => Then::Pipe,
            (Then::End, ';' | '\n') => Then::Next,
            (then, _) => then,
        };
    }

    fn skip_here_documents(&mut self) {
        for mark in std::mem::take(&mut self.here_documents) {
            while !self.rest.is_empty() && self.skip_past("\n").trim() != mark {}
        }
    }
}

impl CommandBuilder {
    fn push(&mut self, next: char) {
        self.word.get_or_insert_default().push(next);
    }

    fn is_empty(&self) -> bool {
        self.word.is_none() && self.simple.words.is_empty()
    }

    /// Whether this is `[[ … ]]`, where `>` is a comparison.
    fn is_test_expression(&self) -> bool {
        self.simple.words.iter().any(|word| word == "[[")
    }

    /// Drops the `2` of `2>` and the `*` of `*>` in PowerShell, which are not arguments.
    fn drop_descriptor(&mut self) {
        let is_descriptor =
            |word: &String| word == "*" || word.len() == 1 && word.starts_with(|c: char| c.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
        }
    }
}

fn is_brace(word: &str) -> bool {
    matches!(word, "{" | "}")
}

fn is_real_file(file: &str) -> bool {
    let device = file.starts_with("/dev/") || file.eq_ignore_ascii_case("nul") || file.eq_ignore_ascii_case("$null");
    !device && !file.is_empty()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::chained("a b; c&&d | e", &["a b", "c", "d", "e"])]
    #[case::quoted("a 'b; c' \"d | e\" f\\;g", &["a b; c d | e f;g"])]
    #[case::joined("a'b'\"c\"d", &["abcd"])]
    #[case::continued("a \\\nb", &["a b"])]
    #[case::continued_in_powershell("a `\n b", &["a b"])]
    #[case::comment("a # b; c\nd#e", &["a", "d#e"])]
    #[case::substitution("a \"x $(b \"c)\") y\" `d`", &["b c)", "d", "a x $ y $"])]
    #[case::subshell_in_substitution("a $( (b) ; c) d", &["b", "c", "a $ d"])]
    #[case::arithmetic("((a > b)); c $((d > 1)) $(e)", &["e", "c $"])]
    #[case::redirected("a 2>&1 >/dev/null <b 2> /dev/null", &["a"])]
    #[case::here_document("a <<'E' | b\nc; d\nE\ne", &["a", "b", "e"])]
    #[case::two_here_documents("a <<E <<-F\nc\nE\nd\n\tF\ne", &["a", "e"])]
    #[case::here_document_in_a_substitution("a \"$(b <<'E'\nit's; c\nE\n)\"; d", &["b", "a $", "d"])]
    #[case::here_string("a <<< b; c", &["a", "c"])]
    #[case::block("a { b }; f() { c; }", &["a", "b", "f", "c"])]
    #[case::windows("C:\\bin\\a.exe b", &["C:\\bin\\a.exe b"])]
    #[case::unclosed("a 'b; c", &["a b; c"])]
    fn line_is_split_into_simple_commands(#[case] line: &str, #[case] expected: &[&str]) {
        let found = split_commands(line);
        assert!(found.iter().all(|simple| !simple.writes), "{found:?}");
        assert_eq!(found.iter().map(|simple| simple.words.join(" ")).collect::<Vec<_>>(), expected);
    }

    #[rstest]
    #[case("a > b")]
    #[case("a >>b")]
    #[case("a &> b")]
    #[case("a >| b")]
    #[case("a >& b")]
    #[case("a 2> b")]
    #[case("> b")]
    #[case("cat > b <<'E'\nc\nE")]
    fn output_to_a_file_is_found(#[case] line: &str) {
        assert!(split_commands(line).iter().any(|simple| simple.writes));
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(line in r#"([ab \n;&|(){}<>'"`$\\#E2가]|<<E|\$\(|\(\(){0,80}"#) {
            split_commands(&line);
        }
    }

    #[test]
    fn endless_nesting_is_accepted() {
        for part in ["$(", "`", "\"$(", "\"`", "((", "$((", "<<E\n", "{ "] {
            split_commands(&part.repeat(20_000));
        }
    }
}
