//! Values that are secret because of the name they are given: `password=…`, `"api_key": "…"`, `--token …`, `비밀번호: …`.
//!
//! Reads the name, the separator and the value; whether the value looks like a secret is decided in `values`.

use std::ops::Range;

use super::cursor::Cursor;
use super::mentions;
use super::names::{LONGEST_AFFIX, Name, is_name};
use super::rule::Site;
use super::values::{self, Family, Form, Value};
use super::words::{self, CONSTRUCTORS};

pub(super) fn password(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Password)
}

pub(super) fn secret(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Secret)
}

pub(super) fn token(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Token)
}

pub(super) fn key(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Key)
}

/// A name that holds other things more often than secrets: only a random value is one.
pub(super) fn weak(site: &Site<'_>) -> Option<Range<usize>> {
    assigned(site, Family::Weak)
}

fn assigned(site: &Site<'_>, family: Family) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(site.text, site.behind());
    let name = Name::read(site, &mut cursor)?;
    // `did:key:z6Mk…` and `…:secret:name` are names of parts.
    let is_part = site.text[..name.start].ends_with(':') && cursor.rest().starts_with(':');
    if family == Family::Key && !name.is_owned_key(site) || is_part {
        return None;
    }
    let behind = cursor.clone();
    let separated = separated(site, &name, family, &mut cursor);
    separated.or_else(|| mentions::value(site, &name, family, behind))
}

/// The value behind a sign, such as `=`.
fn separated(site: &Site<'_>, name: &Name<'_>, family: Family, cursor: &mut Cursor<'_>) -> Option<Range<usize>> {
    let closers = cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '*' | ']' | '\\' | ')'));
    let blanks = cursor.skip_blanks();
    skip_remark(cursor);
    let separator = match Separator::read(site, name, closers, blanks, cursor) {
        Some(separator) => separator,
        None if closers.is_empty() && blanks > 0 && name.is_flag => Separator::Blank,
        None if closers.is_empty() && blanks > 0 && name.is_set(site) => {
            if name.is_command(site) {
                Separator::Blank
            } else {
                Separator::Place
            }
        }
        None if family == Family::Password && blanks > 0 && !name.is_short && cursor.peek() == Some('\'') => {
            Separator::Blank
        }
        None if family == Family::Password && is_alone(site, name, closers, cursor) => Separator::LineBreak,
        None => return None,
    };
    let spaced = cursor.skip_blanks() + blanks > 0;
    if separator == Separator::Colon {
        skip_declared_type(cursor);
    } else if separator == Separator::Equals {
        skip_constructor(cursor);
    }
    // Behind the brackets of a function stands its body.
    if matches!(separator, Separator::Equals | Separator::Colon)
        && !closers.contains(')')
        && let Some(below) = Below::read(site, name, cursor)
    {
        return below.secret(site, family);
    }
    let literal = quoted_value(cursor);
    let quoted = literal.is_some();
    let span = literal.unwrap_or_else(|| bare_value(cursor, PREVIEW));
    let form = form(site, name, &separator, spaced, &span);
    let behind = &site.text[span.end..];
    if matches!(separator, Separator::Tag | Separator::Content)
        && !(behind.starts_with("</") || behind.starts_with("]]"))
    {
        return None;
    }
    // `$self->password` is read to the `-`, because a bare value ends at `>`.
    if !quoted && site.text[span.clone()].ends_with('-') && behind.starts_with('>') {
        return None;
    }
    let value = Value { text: site.text[span.clone()].trim(), quoted, form, plural: name.plural };
    if separator == Separator::Compared && !quoted
        || separator == Separator::Word && !values::is_striking(value.text, family)
    {
        return None;
    }
    let whole = || if quoted { span.clone() } else { bare_value(cursor, LONGEST_VALUE) };
    values::is_secret(&value, family).then(whole)
}

/// Moves past what a name has in brackets: `Secret Access Key [None]:`, `password (staging):`.
fn skip_remark(cursor: &mut Cursor<'_>) {
    let mut ahead = cursor.clone();
    if ahead.eat("[") || ahead.eat("(") {
        ahead.take(LONGEST_AFFIX, |character| !matches!(character, ']' | ')' | '"' | '\'' | '\n'));
        if (ahead.eat("]") || ahead.eat(")")) && ahead.rest().starts_with(':') {
            *cursor = ahead;
        }
    }
}

/// Whether a name is all that stands on its line.
fn is_alone(site: &Site<'_>, name: &Name<'_>, closers: &str, cursor: &mut Cursor<'_>) -> bool {
    let before = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '#']);
    closers.is_empty()
        && name.prefix.trim_start_matches('-').is_empty()
        && (before.is_empty() || before.ends_with('\n'))
        && (cursor.eat("\r\n") || cursor.eat("\n"))
}

/// A value on the lines below its name: a block of YAML, or an expression that goes on.
struct Below {
    span: Range<usize>,
    is_string: bool,
    is_indented: bool,
}

impl Below {
    fn read(site: &Site<'_>, name: &Name<'_>, cursor: &Cursor<'_>) -> Option<Self> {
        let mut cursor = cursor.clone();
        let is_block = cursor.eat("|") || cursor.eat(">");
        cursor.take(3, |character| is_block && matches!(character, '-' | '+' | '0'..='9') || character == '\\');
        cursor.skip_blanks();
        if !(cursor.eat("\r\n") || cursor.eat("\n")) {
            return None;
        }
        let indent = cursor.take(LONGEST_INDENT, |character| matches!(character, ' ' | '\t')).len();
        if let Some(span) = quoted_value(&cursor) {
            return Some(Self { span, is_string: true, is_indented: true });
        }
        let line = Cursor::last_line(&site.text[..name.start]);
        let outer = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
        let start = cursor.at();
        let mut end = start + Cursor::first_line(cursor.rest()).trim_end().len();
        // A value that is wrapped goes on for as long as lines are indented and hold no blanks.
        while is_block && end - start < LONGEST_VALUE {
            let rest = site.text[end..].strip_prefix('\n').unwrap_or_default();
            let next = Cursor::first_line(rest).trim_end();
            let is_more = next.len() > indent && next.as_bytes()[..indent].iter().all(|byte| *byte == b' ');
            if !is_more || next.trim_start().contains(char::is_whitespace) {
                break;
            }
            end += 1 + next.len();
        }
        let is_indented = indent > outer;
        let is_below = is_indented || !is_block && line.trim().is_empty();
        (is_below && end > start).then_some(Self { span: start..end, is_string: is_block, is_indented })
    }

    fn secret(self, site: &Site<'_>, family: Family) -> Option<Range<usize>> {
        let text = Cursor::first_line(&site.text[self.span.clone()]);
        let form = if self.is_string { Form::Line } else { Form::Sentence };
        let is_entry = text.ends_with(':') || !self.is_string && text.contains(char::is_whitespace);
        let value = Value { text, quoted: self.is_string, form, plural: false };
        let is_clear = self.is_indented || values::is_striking(text, family);
        (is_clear && !is_entry && values::is_secret(&value, family)).then_some(self.span)
    }
}

const LONGEST_INDENT: usize = 64;

/// What stands between a name and its value.
#[derive(PartialEq, Eq)]
enum Separator {
    Equals,
    /// `password == "hunter2"`; without quotes an expression follows.
    Compared,
    Colon,
    /// `--password hunter2`, `ENV PASSWORD hunter2`, `PASSWORD 'hunter2'` of SQL
    Blank,
    /// `password`, and `hunter2` on the next line
    LineBreak,
    /// `<password>hunter2</password>`
    Tag,
    /// `<entry key="password">hunter2</entry>`
    Content,
    /// `name="password" value="hunter2"`
    Pair,
    /// `define('PASSWORD', 'hunter2')`, `setPassword("hunter2")`, `| password | hunter2 |`, `pass: hunter2`
    Place,
    /// `ann pass: hunter22`, which may be the first pass of something
    Word,
}

impl Separator {
    fn read(site: &Site<'_>, name: &Name<'_>, closers: &str, blanks: usize, cursor: &mut Cursor<'_>) -> Option<Self> {
        let is_quoted = closers.contains(['"', '\'', '`']);
        let before = &site.text[..name.start];
        if Self::is_pair(blanks > 0 || is_quoted, cursor) {
            return Some(Self::Pair);
        }
        let separator = if ["===", "==", "!==", "!="].iter().any(|sign| cursor.eat(sign)) {
            Self::Compared
        } else if ["=>", "=", ":=", "?=", "＝", "%3D", "%3d"].iter().any(|sign| cursor.eat(sign)) {
            Self::Equals
        } else if cursor.eat(":") || cursor.eat("：") {
            // The colon of `Type::name` separates no value.
            if cursor.peek() == Some(':') {
                return None;
            }
            match name.is_short {
                true if before.trim_end_matches([' ', '\t']).ends_with(char::is_alphanumeric) => Self::Word,
                true => Self::Place,
                false => Self::Colon,
            }
        } else if cursor.peek() == Some('>') || before.ends_with('<') {
            let is_element = closers.is_empty();
            return Self::is_tag(cursor).then_some(if is_element { Self::Tag } else { Self::Content });
        } else if is_quoted && (is_argument(before) || closers.contains("]'")) && cursor.eat(",")
            || cursor.peek() == Some('|') && is_row(before) && cursor.eat("|")
            || is_quoted && [".type(", ".fill(", ".send_keys(", ".sendKeys("].iter().any(|input| cursor.eat(input))
        {
            Self::Place
        } else if closers.is_empty() && !name.is_asked && !name.is_short && cursor.eat("(") {
            return matches!(cursor.peek(), Some('"' | '\'' | '`')).then_some(Self::Place);
        } else {
            return None;
        };
        // Markdown closes its emphasis behind the colon: `**Password:** hunter2`.
        if cursor.rest().starts_with("** ") {
            cursor.eat("**");
        }
        Some(separator)
    }

    /// Moves past the end of a tag, which may have attributes.
    fn is_tag(cursor: &mut Cursor<'_>) -> bool {
        cursor.take(LONGEST_AFFIX, |character| !matches!(character, '>' | '<' | '\n'));
        let is_tag = cursor.eat(">");
        let mut ahead = cursor.clone();
        ahead.take(LONGEST_AFFIX, char::is_whitespace);
        if ahead.eat("<![CDATA[") || ahead.eat_ignoring_case("<value>") {
            *cursor = ahead;
        }
        is_tag
    }

    /// Moves past `value=`, which may stand on the next line or behind another attribute.
    fn is_pair(mut is_apart: bool, cursor: &mut Cursor<'_>) -> bool {
        let mut ahead = cursor.clone();
        let is_filler =
            |character: char| character.is_whitespace() || matches!(character, ',' | '"' | '\'' | '\\' | '{');
        for _ in 0..2 {
            is_apart |= !ahead.take(LONGEST_AFFIX, is_filler).is_empty();
            let attribute = ahead.take(16, |character| character.is_ascii_alphabetic());
            ahead.take(4, |character| matches!(character, '"' | '\'' | '\\' | ' '));
            if !is_apart || attribute.is_empty() || !(ahead.eat(":") || ahead.eat("=")) {
                return false;
            }
            if attribute.to_ascii_lowercase().ends_with("value") || attribute == "default" {
                *cursor = ahead;
                return true;
            }
            ahead.skip_blanks();
            ahead.take(LONGEST_AFFIX, |character| character.is_ascii_alphanumeric() || matches!(character, '"' | '\''));
        }
        false
    }
}

/// Whether a cell of a table in Markdown ends here.
fn is_row(before: &str) -> bool {
    Cursor::last_line(before).trim_start().starts_with('|')
}

/// Whether the string that begins here is the first argument of a call: `define('PASSWORD', 'hunter2')`.
fn is_argument(before: &str) -> bool {
    let callee = before.trim_end_matches(['"', '\'', '`', '\\']).strip_suffix('(');
    callee.is_some_and(|callee| callee.ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Moves from `String::from("…")` to its literal.
fn skip_constructor(cursor: &mut Cursor<'_>) {
    let mut ahead = cursor.clone();
    let path = ahead.take(LONGEST_AFFIX, |character| character.is_ascii_alphanumeric() || "_:.".contains(character));
    let callee = path.rsplit([':', '.']).next().unwrap_or_default();
    if words::has(CONSTRUCTORS, callee) && ahead.eat("(") && quoted_value(&ahead).is_some() {
        *cursor = ahead;
    }
}

/// Moves from `password: &str = "…"` to its literal.
fn skip_declared_type(cursor: &mut Cursor<'_>) {
    let mut ahead = cursor.clone();
    ahead.take(48, |character| character.is_ascii_alphanumeric() || "_<>&'[] .?|*".contains(character));
    if ahead.eat("=") {
        ahead.skip_blanks();
        if quoted_value(&ahead).is_some() {
            *cursor = ahead;
        }
    }
}

/// The inside of the string literal that stands here, which may itself stand in an escaped string.
pub(super) fn quoted_value(cursor: &Cursor<'_>) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    let mut prefixed = cursor.clone();
    prefixed.take(2, |character| matches!(character, 'b' | 'r' | 'u' | 'f' | '@'));
    if matches!(prefixed.peek(), Some('"' | '\'')) {
        cursor = prefixed;
    }
    let escape = cursor.take(3, |character| character == '\\');
    let quote = cursor.peek().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    cursor.take(1, |character| character == quote);
    let fence = ["\"\"", "''"].into_iter().find(|rest| rest.starts_with(quote) && cursor.rest().starts_with(rest));
    if let Some(inside) = fence.and_then(|fence| fenced_value(&cursor, quote, fence)) {
        return Some(inside);
    }
    let start = cursor.at();
    let mut escaped = false;
    for (index, character) in cursor.rest().char_indices().take(LONGEST_VALUE) {
        match character {
            '\n' => return None,
            _ if character == quote && (!escaped || !escape.is_empty()) => {
                let inside = start..start + index;
                let closing = &cursor.rest()[..index];
                return Some(if closing.ends_with(escape) { inside.start..inside.end - escape.len() } else { inside });
            }
            _ => escaped = character == '\\' && !escaped,
        }
    }
    None
}

/// The inside of `"""…"""`, whose first quote was read, without the space around it.
fn fenced_value(cursor: &Cursor<'_>, quote: char, fence: &str) -> Option<Range<usize>> {
    let mut cursor = cursor.clone();
    cursor.eat(fence);
    let reach = cursor.rest().floor_char_boundary(LONGEST_VALUE);
    let inside = &cursor.rest()[..reach];
    let end = inside.match_indices(quote).find(|(at, _)| inside[at + 1..].starts_with(fence))?.0;
    let start = cursor.at() + inside[..end].len() - inside[..end].trim_start().len();
    Some(start..start + inside[..end].trim().len())
}

/// Longer values are cut here; a password has long ended, and what a longer token leaves behind is no token.
pub(super) const LONGEST_VALUE: usize = 4096;

/// How much of a bare value is looked at to decide. A text of names without end would otherwise be read 4,096 times.
pub(super) const PREVIEW: usize = 256;

/// A value without quotes: to the next space, without the punctuation of the text around it.
pub(super) fn bare_value(cursor: &Cursor<'_>, limit: usize) -> Range<usize> {
    let mut cursor = cursor.clone();
    cursor.take(3, |character| matches!(character, '"' | '\'' | '`' | '\\'));
    let start = cursor.at();
    let run = cursor.take(limit, |character| {
        !character.is_whitespace()
            && !matches!(character, '"' | '\'' | '`' | '<' | '>' | '。' | '、' | '」')
            && !is_cjk(character)
    });
    let mut end = run.len();
    let mut open = 0_u32;
    for (index, character) in run.char_indices() {
        let rest = &run[index + character.len_utf8()..];
        let ends = match character {
            '(' | '[' | '{' => {
                open += 1;
                false
            }
            ')' | ']' | '}' if open > 0 => {
                open -= 1;
                false
            }
            ')' | ']' | '}' => true,
            '&' | ';' | ',' | '|' => begins_assignment(rest),
            // A literal `\n` or `\"` belongs to the string around this text.
            '\\' => rest.is_empty() || rest.starts_with(['n', 'r', 't', '\\']),
            _ => false,
        };
        if ends {
            end = index;
            break;
        }
    }
    let value = run[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '|', '*', '…', '。']);
    // A mask of stars, and a password that ends in `!`, are not punctuation.
    let value = if value.is_empty() { &run[..end] } else { value };
    let kept = run[..end].len() - value.len();
    let bangs = run[value.len()..value.len() + kept].bytes().take_while(|byte| matches!(byte, b'!' | b'*')).count();
    start..start + value.len() + bangs
}

fn begins_assignment(text: &str) -> bool {
    let name = text.bytes().take(LONGEST_AFFIX).take_while(|byte| is_name(char::from(*byte)) || *byte == b' ').count();
    text.is_empty() || name > 0 && matches!(text.as_bytes().get(name), Some(b'=' | b':'))
}

/// Whether a character is one of Korean, Japanese or Chinese, in which a sentence goes on behind a value without a blank.
pub(super) fn is_cjk(character: char) -> bool {
    matches!(character, '가'..='힣' | 'ㄱ'..='ㆎ' | 'ぁ'..='ヿ' | '一'..='鿿' | '，' | '）')
}

/// How the assignment is written, which says how much a plain word is worth.
fn form(site: &Site<'_>, name: &Name<'_>, separator: &Separator, spaced: bool, span: &Range<usize>) -> Form {
    let before = site.text[..name.start].chars().next_back();
    let line_start = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '"']).chars().next_back();
    let next = site.text[span.end..].chars().next();
    let ends_line = matches!(next, None | Some('\n' | '\r' | '\\'));
    match separator {
        Separator::Blank if name.is_upper && !name.is_flag => Form::Shell,
        Separator::Blank => Form::Flag,
        Separator::Tag => Form::Shell,
        Separator::LineBreak | Separator::Place | Separator::Word | Separator::Content => Form::Sentence,
        Separator::Equals if name.is_flag && !spaced => Form::Shell,
        Separator::Equals if !spaced && (name.is_upper || matches!(before, Some('?' | '&' | ';'))) => Form::Shell,
        Separator::Equals if !spaced && matches!(next, None | Some(' ' | '\n' | '\r' | '&' | ';')) => Form::Line,
        Separator::Pair if ends_line => Form::Line,
        _ if ends_line && matches!(line_start, None | Some('\n')) && !name.prefix.contains('(') => Form::Line,
        _ => Form::Code,
    }
}
