//! Finds the definition that a name in a file begins, without a parser: a line with the name, and the lines below it that are indented more.
//! Compares exact bytes, because white space can carry meaning.

use memchr::memmem::Finder;
use sha2::{Digest as _, Sha256};

use crate::host::hook::{defines_next, defines_without_word};
use crate::model::code_anchor::{CodeSymbol, HASH_DIGITS};
use crate::model::memory::to_hex;
use crate::model::word_list::WordList;

/// The most lines of a block. Of a longer one, only these count.
const LONGEST_BLOCK: usize = 60;

/// The most places of a name that are compared.
const MOST_PLACES: usize = 64;

/// Words that begin a declaration which is no function or type.
static DECLARING: WordList = WordList::words("#define const define final let mut mutable static type typedef val var");

/// How a line has a name, the clearest definition last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NameUse {
    Mentioned,
    /// `name = 3`, `name: 3`
    Assigned,
    /// `void name() {`
    Written,
    /// `fn name`, `const name`
    Declared,
}

/// Returns the hash of bytes.
pub(super) fn hash_bytes(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes)[..HASH_DIGITS / 2])
}

/// A name in a file.
pub(super) struct FoundName {
    pub(super) how: NameUse,
    pub(super) symbol: CodeSymbol,
    /// Whether no other line defines the name.
    pub(super) is_only: bool,
}

/// Returns the clearest definition of a name, the first of several, or else its first mention.
pub(super) fn find_symbol(text: &[u8], name: &str) -> Option<FoundName> {
    let lines = Lines::new(text);
    let places = lines.places(name);
    let &(index, how) = places.iter().rev().max_by_key(|(_, how)| *how)?;
    let is_only = places.iter().filter(|(_, other)| *other > NameUse::Mentioned).count() == 1;
    let symbol = CodeSymbol { name: name.to_owned(), line: index as u64 + 1, hash: hash_bytes(lines.block(index)) };
    Some(FoundName { how, symbol, is_only })
}

/// Returns the line, from 1, where the same lines are now.
pub(super) fn find_same_lines(text: &[u8], symbol: &CodeSymbol) -> Option<u64> {
    let lines = Lines::new(text);
    let is_same = |index: &usize| hash_bytes(lines.block(*index)) == symbol.hash;
    let mut found = lines.places(&symbol.name).into_iter().map(|(index, _)| index).filter(is_same);
    let first = found.next()?;
    // Of several places, prefers the old one.
    let at = [first].into_iter().chain(found).find(|index| *index as u64 + 1 == symbol.line).unwrap_or(first);
    Some(at as u64 + 1)
}

struct Lines<'t> {
    text: &'t [u8],
    /// The offset at which each line begins.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8]) -> Self {
        let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|newline| newline + 1));
        Self { text, starts: starts.filter(|start| *start < text.len()).collect() }
    }

    /// Returns a line with its end.
    fn line(&self, index: usize) -> &'t [u8] {
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[index]..end]
    }

    /// Returns the lines that have a name as a whole word, each once.
    fn places(&self, name: &str) -> Vec<(usize, NameUse)> {
        let finder = Finder::new(name.as_bytes());
        let mut places: Vec<(usize, NameUse)> = Vec::new();
        for at in finder.find_iter(self.text) {
            let index = self.starts.partition_point(|start| *start <= at) - 1;
            if !self.is_word(at, name.len()) || places.last().is_some_and(|(last, _)| *last == index) {
                continue;
            }
            let line = self.line(index);
            let (before, after) = line.split_at(at - self.starts[index]);
            let after = &after[name.len().min(after.len())..];
            let [line, before, after] = [line, before, after].map(String::from_utf8_lossy);
            places.push((index, name_use(&line, &before, &after)));
            if places.len() == MOST_PLACES {
                break;
            }
        }
        places
    }

    fn is_word(&self, at: usize, length: usize) -> bool {
        let continues = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
        !self.text[..at].last().is_some_and(continues) && !self.text[at + length..].first().is_some_and(continues)
    }

    /// Returns a line and the lines below it that belong to it.
    fn block(&self, first: usize) -> &'t [u8] {
        let indent = indent(self.line(first));
        let mut last = first;
        for index in (first + 1..self.starts.len()).take(LONGEST_BLOCK - 1) {
            let line = self.line(index);
            let trimmed = line.trim_ascii();
            if trimmed.is_empty() {
                continue;
            }
            if self::indent(line) > indent {
                last = index;
                continue;
            }
            let is_end = trimmed.starts_with(b"}") || trimmed == b"end" || trimmed == b"fi" || trimmed == b"done";
            let goes_on = [&b")"[..], b"]", b"{", b"where", b"->"].iter().any(|start| trimmed.starts_with(start));
            if self::indent(line) < indent || !is_end && !goes_on {
                break;
            }
            last = index;
            if is_end {
                break;
            }
        }
        let end = self.starts.get(last + 1).copied().unwrap_or(self.text.len());
        &self.text[self.starts[first]..end]
    }
}

fn indent(line: &[u8]) -> usize {
    line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).map(|byte| if *byte == b'\t' { 4 } else { 1 }).sum()
}

/// Returns how a line has the name between these two parts.
fn name_use(line: &str, before: &str, after: &str) -> NameUse {
    let is_comment = |start: &str| {
        let is_code = ["#define ", "#["].iter().any(|code| start.starts_with(code));
        !is_code && ["//", "/*", "*", "#", "--"].iter().any(|mark| start.starts_with(mark))
    };
    if is_comment(line.trim_start()) {
        return NameUse::Mentioned;
    }
    let before = before.replace("(crate)", "").replace("(super)", "");
    if defines_next(&before) {
        return NameUse::Declared;
    }
    let before = before.trim();
    if before.contains(['(', '=', '.', ',', '"', '\'', '/', '`']) {
        return NameUse::Mentioned;
    }
    if before.split_whitespace().any(|word| DECLARING.contains(word)) {
        return NameUse::Declared;
    }
    let after = after.trim_start();
    let is_assigned = before.is_empty()
        && (after.starts_with(':') && !after.starts_with("::") || after.starts_with('=') && !after.starts_with("=="));
    match is_assigned {
        true => NameUse::Assigned,
        false if defines_without_word(line) => NameUse::Written,
        false => NameUse::Mentioned,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const RUST: &str = "use auth::verify_token;\n\nimpl Auth {\n    pub(crate) fn verify_token(\n        &self,\n    ) -> bool {\n        \
                        self.key.is_some()\n    }\n\n    fn other() {\n        verify_token();\n    }\n}\n";
    const PYTHON: &str = "TIMEOUT = 5\n\ndef retry(n):\n    for _ in range(n):\n\n        send(TIMEOUT)\n\nretry(3)\n";

    #[rstest]
    #[case::method(
        RUST,
        "verify_token",
        NameUse::Declared,
        4,
        "    pub(crate) fn verify_token(\n        &self,\n    ) -> bool {\n        self.key.is_some()\n    }\n"
    )]
    #[case::field(RUST, "key", NameUse::Mentioned, 7, "        self.key.is_some()\n")]
    #[case::function(
        PYTHON,
        "retry",
        NameUse::Declared,
        3,
        "def retry(n):\n    for _ in range(n):\n\n        send(TIMEOUT)\n"
    )]
    #[case::constant(PYTHON, "TIMEOUT", NameUse::Assigned, 1, "TIMEOUT = 5\n")]
    #[case::key("[cache]\nttl: 5\n", "ttl", NameUse::Assigned, 2, "ttl: 5\n")]
    #[case::arrow(
        "a();\nexport const load = async (id) => {\n  get(id);\n};\nb();\n",
        "load",
        NameUse::Declared,
        2,
        "export const load = async (id) => {\n  get(id);\n};\n"
    )]
    #[case::comment_and_call_before(
        "# option(x) is old\nuse(\n    option(3)\n)\ndef option(n):\n    pass\n",
        "option",
        NameUse::Declared,
        5,
        "def option(n):\n    pass\n"
    )]
    #[case::declaration_after_a_value(
        "create_time=3\ndef create_time():\n    pass\n",
        "create_time",
        NameUse::Declared,
        2,
        "def create_time():\n    pass\n"
    )]
    #[case::method_in_go(
        "s.Start()\nfunc (s *Server) Start() {\n\trun()\n}\n",
        "Start",
        NameUse::Declared,
        2,
        "func (s *Server) Start() {\n\trun()\n}\n"
    )]
    #[case::method_in_typescript(
        "class A {\n  init() {\n    load(1)\n  }\n  async load(id) {\n    get(id)\n  }\n}\n",
        "load",
        NameUse::Written,
        5,
        "  async load(id) {\n    get(id)\n  }\n"
    )]
    #[case::last_line_without_end("x\nfn run() {}", "run", NameUse::Declared, 2, "fn run() {}")]
    fn block_of_a_name_is_its_definition(
        #[case] text: &str,
        #[case] name: &str,
        #[case] how: NameUse,
        #[case] line: u64,
        #[case] block: &str,
    ) {
        let hash = hash_bytes(block.as_bytes());
        let found = find_symbol(text.as_bytes(), name).unwrap();
        assert_eq!((found.how, found.symbol), (how, CodeSymbol { name: name.to_owned(), line, hash }));
    }

    #[rstest]
    #[case::part_of_a_word("fn verify_tokens() {}", "verify_token")]
    #[case::missing("fn a() {}", "b")]
    #[case::empty("", "b")]
    fn other_names_are_not_found(#[case] text: &str, #[case] name: &str) {
        assert!(find_symbol(text.as_bytes(), name).is_none());
    }

    #[rstest]
    #[case::above("\n", "", Some(5))]
    #[case::below("", "fn more() {}\n", Some(4))]
    #[case::within("", "", None)]
    fn same_lines_are_found_elsewhere(#[case] before: &str, #[case] after: &str, #[case] expected: Option<u64>) {
        let symbol = find_symbol(RUST.as_bytes(), "verify_token").unwrap().symbol;
        let text = if expected.is_none() { RUST.replace("is_some", "is_none") } else { RUST.to_owned() };
        assert_eq!(find_same_lines(format!("{before}{text}{after}").as_bytes(), &symbol), expected);
    }

    #[test]
    fn bytes_that_are_no_text_are_hashed() {
        let bytes = b"\xff\xfe\0fn run() {\n\tx\xff;\n}\n\0\0".as_slice();
        let symbol = find_symbol(bytes, "run").unwrap().symbol;
        assert_eq!(find_same_lines(&[b"\n", bytes].concat(), &symbol), Some(2));
    }
}
