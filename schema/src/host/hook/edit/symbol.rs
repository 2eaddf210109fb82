//! Finds the function, type or heading around a line, if the lines before it clearly show it.

use crate::model::word_list::WordList;

/// The longest title, in characters.
const LONGEST_TITLE: usize = 80;

/// How many lines before a change are read.
const READ_LINES: usize = 2_000;

/// Words that begin a definition, in languages where definitions begin with a word.
static DEFINING: WordList = WordList::words(
    "class def defmodule defp defn enum extension fn fun func function impl interface macro_rules! mixin module \
     namespace object proc protocol record struct sub trait union",
);

/// Words that may precede those.
static BEFORE: WordList = WordList::words(
    "abstract async case const data declare default export extern final inline internal local open override partial \
     private protected pub public readonly sealed static suspend unsafe virtual",
);

/// Returns the title of what encloses a line with this indentation, given the lines before it.
pub(super) fn enclosing(before: &[&str], indented: usize, is_prose: bool) -> Option<String> {
    let lines = before.iter().rev().take(READ_LINES);
    if is_prose {
        return lines
            .into_iter()
            .find(|line| line.starts_with('#') && line.trim_start_matches('#').starts_with(' '))
            .map(|line| title(line));
    }
    let mut least = indented;
    for line in lines {
        if line.trim().is_empty() {
            continue;
        }
        let own = indent(line);
        // A definition encloses lines with more indentation. In C and similar languages the body may have any indentation.
        if own < least && is_definition(line) || own == 0 && indented > 0 && is_plain_function(line) {
            return Some(title(line));
        }
        if own < least && !line.trim_start().starts_with(['{', '}', ')', ']', '#']) {
            least = own;
        }
        if least == 0 && !line.trim_start().starts_with(['{', '}', ')', ']', '@', '#', '/']) {
            // Nothing encloses an unindented line.
            break;
        }
    }
    None
}

/// Returns the indentation of a line.
pub(super) fn indent(line: &str) -> usize {
    line.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

/// Whether a line begins a function, a type or the like.
pub(super) fn is_definition(line: &str) -> bool {
    let mut words =
        line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!')).filter(|word| !word.is_empty());
    let Some(first) = words.by_ref().find(|word| !BEFORE.contains(word) && *word != "crate" && *word != "super") else {
        return false;
    };
    if DEFINING.contains(first) {
        return words.next().is_some();
    }
    defines_without_word(line)
}

/// Whether the last word of the text before a name defines it: "pub fn", "func (s *Server)".
pub(crate) fn defines_next(before: &str) -> bool {
    let before = before.trim();
    let is_method = before.ends_with(')') && before.starts_with("func (");
    let mut words = before.split_whitespace().rev();
    let is_defined = words.next().is_some_and(|word| DEFINING.contains(word));
    is_method || is_defined && words.all(|word| BEFORE.contains(word) || DEFINING.contains(word))
}

/// Whether a line begins a definition without a word that says so.
pub(crate) fn defines_without_word(line: &str) -> bool {
    is_plain_function(line) || is_arrow(line.trim_start()) || is_table(line.trim_start())
}

/// Recognises `int main(void)`, `public static void main(String[] args) {`, `void Foo::bar() const {`, `run(): void {`.
fn is_plain_function(line: &str) -> bool {
    static STATEMENTS: WordList =
        WordList::words("catch elif else for foreach if lock match return switch until using when while with");
    let bare = line.trim();
    let Some((head, rest)) = bare.split_once('(') else { return false };
    // An indented line that ends with a bracket is mostly a call.
    let is_outer = || indent(line) == 0 || head.split(' ').next().is_some_and(|word| BEFORE.contains(word));
    let opens = bare.ends_with('{') || bare.ends_with(')') && !bare.ends_with(");") && is_outer();
    let is_call = rest.ends_with("=> {") || rest.contains("function(") || rest.starts_with(['"', '\'']);
    let name = head.rsplit([' ', '*', '&']).next().unwrap_or_default();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | '~' | '.' | '#'));
    let begins = head.split_whitespace().next().unwrap_or_default();
    opens
        && !is_call
        && is_name
        && !STATEMENTS.contains(begins)
        && !head.contains(['=', '"', '\'', '[', '.'])
        && !["if", "for", "while"].contains(&name)
}

/// Recognises `const load = async (id) => {`, `export const f = function (`.
fn is_arrow(line: &str) -> bool {
    let Some((head, rest)) = line.split_once('=') else { return false };
    let declares = ["const ", "let ", "var ", "export "].iter().any(|word| head.starts_with(word));
    declares
        && (rest.contains("=>") || rest.trim_start().starts_with("function") || rest.trim_start().starts_with("async"))
}

/// Recognises `create table x (`, `[package]`.
fn is_table(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    ["create table ", "create function ", "create view ", "create or replace ", "alter table "]
        .iter()
        .any(|start| lower.starts_with(start))
        || line.starts_with('[') && line.trim_end().ends_with(']') && !line.contains(',') && line.len() < LONGEST_TITLE
}

/// Shortens a line to a title, without the text after the name.
fn title(line: &str) -> String {
    let bare = line.trim().trim_end_matches(['{', ':', '(', ' ']);
    let bare = match bare.starts_with('#') || bare.starts_with('[') {
        true => bare,
        false => bare.split(['(', '{', '=']).next().unwrap_or(bare),
    };
    bare.trim().chars().take(LONGEST_TITLE).collect()
}
