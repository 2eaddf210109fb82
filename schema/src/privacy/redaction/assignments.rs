//! Finds values whose name makes them secret: `password=…`, `"api_key": "…"`, `--token …`, `비밀번호: …`.
//!
//! This module parses the name, the separator and the value. `values` decides whether the value looks like a secret.

use std::ops::Range;

use super::cursor::{TextCursor, TriggerSite};
use super::literals::{MAX_VALUE_LENGTH, PREVIEW, bare_value, quoted_value};
use super::mentions;
use super::names::{MAX_AFFIX_LENGTH, ValueName};
use super::values::{self, AssignmentForm, CandidateValue, NameFamily};
use super::words::CONSTRUCTORS;

/// Finds the value of a name. After a name that usually names no secret, only a random value is one.
pub(super) fn find_assigned(site: &TriggerSite<'_>, family: NameFamily) -> Option<Range<usize>> {
    let mut cursor = TextCursor::new(site.text, site.trigger_end());
    let name = ValueName::read(site, &mut cursor)?;
    // In `did:key:z6Mk…` and `…:secret:name`, the name is one part of an identifier.
    let is_part = site.text[..name.start].ends_with(':') && cursor.rest().starts_with(':');
    if family == NameFamily::Key && !name.is_owned_key(site) || is_part {
        return None;
    }
    let behind = cursor.clone();
    let separated = find_after_separator(site, &name, family, &mut cursor);
    separated.or_else(|| mentions::find_mentioned(site, &name, family, behind))
}

/// Finds the value after a separator, such as `=`.
fn find_after_separator(
    site: &TriggerSite<'_>,
    name: &ValueName<'_>,
    family: NameFamily,
    cursor: &mut TextCursor<'_>,
) -> Option<Range<usize>> {
    let closers = cursor.take(4, |character| matches!(character, '"' | '\'' | '`' | '*' | ']' | '\\' | ')'));
    let blanks = cursor.skip_blanks();
    skip_remark(cursor);
    let separator = match Separator::read(site, name, closers, blanks, cursor) {
        Some(separator) => separator,
        None if closers.is_empty() && blanks > 0 && name.is_flag => Separator::Blank,
        None if closers.is_empty() && blanks > 0 && name.is_set_by_command(site) => {
            if name.is_command(site) {
                Separator::Blank
            } else {
                Separator::Place
            }
        }
        None if family == NameFamily::Password && blanks > 0 && !name.is_short && cursor.peek() == Some('\'') => {
            Separator::Blank
        }
        None if family == NameFamily::Password && is_alone_on_line(site, name, closers, cursor) => Separator::LineBreak,
        None => return None,
    };
    let spaced = cursor.skip_blanks() + blanks > 0;
    if separator == Separator::Colon {
        skip_declared_type(cursor);
    } else if separator == Separator::Equals {
        skip_constructor(cursor);
    }
    // After the parentheses of a function comes its body.
    if matches!(separator, Separator::Equals | Separator::Colon)
        && !closers.contains(')')
        && let Some(below) = ValueBelow::read(site, name, cursor)
    {
        return below.find_secret(site, family);
    }
    let literal = quoted_value(cursor);
    let quoted = literal.is_some();
    let span = literal.unwrap_or_else(|| bare_value(cursor, PREVIEW));
    let form = assignment_form(site, name, &separator, spaced, &span);
    let behind = &site.text[span.end..];
    if matches!(separator, Separator::Tag | Separator::Content)
        && !(behind.starts_with("</") || behind.starts_with("]]"))
    {
        return None;
    }
    // In `$self->password` the value would end at the `-`, because a bare value ends at `>`.
    if !quoted && site.text[span.clone()].ends_with('-') && behind.starts_with('>') {
        return None;
    }
    let value =
        CandidateValue { text: site.text[span.clone()].trim(), is_quoted: quoted, form, is_plural: name.is_plural };
    if separator == Separator::Compared && !quoted
        || separator == Separator::Word && !values::is_strikingly_secret(value.text, family)
    {
        return None;
    }
    let whole = || if quoted { span.clone() } else { bare_value(cursor, MAX_VALUE_LENGTH) };
    values::is_secret(&value, family).then(whole)
}

/// Skips brackets after a name, as in `Secret Access Key [None]:` and `password (staging):`.
fn skip_remark(cursor: &mut TextCursor<'_>) {
    let mut ahead = cursor.clone();
    if ahead.eat("[") || ahead.eat("(") {
        ahead.take(MAX_AFFIX_LENGTH, |character| !matches!(character, ']' | ')' | '"' | '\'' | '\n'));
        if (ahead.eat("]") || ahead.eat(")")) && ahead.rest().starts_with(':') {
            *cursor = ahead;
        }
    }
}

/// Whether nothing else is on the line of a name.
fn is_alone_on_line(site: &TriggerSite<'_>, name: &ValueName<'_>, closers: &str, cursor: &mut TextCursor<'_>) -> bool {
    let before = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '#']);
    closers.is_empty()
        && name.prefix.trim_start_matches('-').is_empty()
        && (before.is_empty() || before.ends_with('\n'))
        && (cursor.eat("\r\n") || cursor.eat("\n"))
}

/// A value on the lines below its name: a YAML block, or an expression that continues.
struct ValueBelow {
    span: Range<usize>,
    is_string: bool,
    is_indented: bool,
}

impl ValueBelow {
    fn read(site: &TriggerSite<'_>, name: &ValueName<'_>, cursor: &TextCursor<'_>) -> Option<Self> {
        let mut cursor = cursor.clone();
        let is_block = cursor.eat("|") || cursor.eat(">");
        cursor.take(3, |character| is_block && matches!(character, '-' | '+' | '0'..='9') || character == '\\');
        cursor.skip_blanks();
        if !(cursor.eat("\r\n") || cursor.eat("\n")) {
            return None;
        }
        let indent = cursor.take(MAX_INDENT, |character| matches!(character, ' ' | '\t')).len();
        if let Some(span) = quoted_value(&cursor) {
            return Some(Self { span, is_string: true, is_indented: true });
        }
        let line = TextCursor::last_line(&site.text[..name.start]);
        let outer = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
        let start = cursor.at();
        let mut end = start + TextCursor::first_line(cursor.rest()).trim_end().len();
        // A wrapped value continues while its lines are indented and contain no blanks.
        while is_block && end - start < MAX_VALUE_LENGTH {
            let rest = site.text[end..].strip_prefix('\n').unwrap_or_default();
            let next = TextCursor::first_line(rest).trim_end();
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

    fn find_secret(self, site: &TriggerSite<'_>, family: NameFamily) -> Option<Range<usize>> {
        let text = TextCursor::first_line(&site.text[self.span.clone()]);
        let form = if self.is_string { AssignmentForm::OwnLine } else { AssignmentForm::Sentence };
        let is_entry = text.ends_with(':') || !self.is_string && text.contains(char::is_whitespace);
        let value = CandidateValue { text, is_quoted: self.is_string, form, is_plural: false };
        let is_clear = self.is_indented || values::is_strikingly_secret(text, family);
        (is_clear && !is_entry && values::is_secret(&value, family)).then_some(self.span)
    }
}

/// In bytes.
const MAX_INDENT: usize = 64;

/// The separator between a name and its value.
#[derive(PartialEq, Eq)]
enum Separator {
    Equals,
    /// `password == "hunter2"`. Without quotes the right side is an expression.
    Compared,
    Colon,
    /// `--password hunter2`, `ENV PASSWORD hunter2`, `PASSWORD 'hunter2'` in SQL
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
    /// `ann pass: hunter22`, where `pass` may mean a first pass
    Word,
}

impl Separator {
    fn read(
        site: &TriggerSite<'_>,
        name: &ValueName<'_>,
        closers: &str,
        blanks: usize,
        cursor: &mut TextCursor<'_>,
    ) -> Option<Self> {
        let is_quoted = closers.contains(['"', '\'', '`']);
        let before = &site.text[..name.start];
        if Self::skip_value_attribute(blanks > 0 || is_quoted, cursor) {
            return Some(Self::Pair);
        }
        let separator = if ["===", "==", "!==", "!="].iter().any(|sign| cursor.eat(sign)) {
            Self::Compared
        } else if ["=>", "=", ":=", "?=", "＝", "%3D", "%3d"].iter().any(|sign| cursor.eat(sign)) {
            Self::Equals
        } else if cursor.eat(":") || cursor.eat("：") {
            // The colons of `Type::name` do not separate a value.
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
            return Self::skip_tag_end(cursor).then_some(if is_element { Self::Tag } else { Self::Content });
        } else if is_quoted && (is_argument(before) || closers.contains("]'")) && cursor.eat(",")
            || cursor.peek() == Some('|') && is_table_row(before) && cursor.eat("|")
            || is_quoted && [".type(", ".fill(", ".send_keys(", ".sendKeys("].iter().any(|input| cursor.eat(input))
        {
            Self::Place
        } else if closers.is_empty() && !name.is_lookup && !name.is_short && cursor.eat("(") {
            return matches!(cursor.peek(), Some('"' | '\'' | '`')).then_some(Self::Place);
        } else {
            return None;
        };
        // In Markdown, emphasis can end after the colon: `**Password:** hunter2`.
        if cursor.rest().starts_with("** ") {
            cursor.eat("**");
        }
        Some(separator)
    }

    /// Moves past the end of a tag, which may have attributes; returns whether there was one.
    fn skip_tag_end(cursor: &mut TextCursor<'_>) -> bool {
        cursor.take(MAX_AFFIX_LENGTH, |character| !matches!(character, '>' | '<' | '\n'));
        let has_end = cursor.eat(">");
        let mut ahead = cursor.clone();
        ahead.take(MAX_AFFIX_LENGTH, char::is_whitespace);
        if ahead.eat("<![CDATA[") || ahead.eat_ignoring_case("<value>") {
            *cursor = ahead;
        }
        has_end
    }

    /// Moves past `value=`, which may be on the next line or after another attribute; returns whether there was one.
    fn skip_value_attribute(mut is_apart: bool, cursor: &mut TextCursor<'_>) -> bool {
        let mut ahead = cursor.clone();
        let is_filler =
            |character: char| character.is_whitespace() || matches!(character, ',' | '"' | '\'' | '\\' | '{');
        for _ in 0..2 {
            is_apart |= !ahead.take(MAX_AFFIX_LENGTH, is_filler).is_empty();
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
            ahead.take(MAX_AFFIX_LENGTH, |character| {
                character.is_ascii_alphanumeric() || matches!(character, '"' | '\'')
            });
        }
        false
    }
}

/// Whether the text before a name starts with a cell of a Markdown table.
fn is_table_row(before: &str) -> bool {
    TextCursor::last_line(before).trim_start().starts_with('|')
}

/// Whether a string is the first argument of a call, as in `define('PASSWORD', 'hunter2')`.
fn is_argument(before: &str) -> bool {
    let callee = before.trim_end_matches(['"', '\'', '`', '\\']).strip_suffix('(');
    callee.is_some_and(|callee| callee.ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Moves from `String::from("…")` to its literal.
fn skip_constructor(cursor: &mut TextCursor<'_>) {
    let mut ahead = cursor.clone();
    let path = ahead.take(MAX_AFFIX_LENGTH, |character| character.is_ascii_alphanumeric() || "_:.".contains(character));
    let callee = path.rsplit([':', '.']).next().unwrap_or_default();
    if CONSTRUCTORS.contains(callee) && ahead.eat("(") && quoted_value(&ahead).is_some() {
        *cursor = ahead;
    }
}

/// Moves from `password: &str = "…"` to its literal.
fn skip_declared_type(cursor: &mut TextCursor<'_>) {
    let mut ahead = cursor.clone();
    ahead.take(48, |character| character.is_ascii_alphanumeric() || "_<>&'[] .?|*".contains(character));
    if ahead.eat("=") {
        ahead.skip_blanks();
        if quoted_value(&ahead).is_some() {
            *cursor = ahead;
        }
    }
}

/// Returns the form of an assignment, which determines how likely a plain word is a secret.
fn assignment_form(
    site: &TriggerSite<'_>,
    name: &ValueName<'_>,
    separator: &Separator,
    spaced: bool,
    span: &Range<usize>,
) -> AssignmentForm {
    let before = site.text[..name.start].chars().next_back();
    let line_start = site.text[..name.start].trim_end_matches([' ', '\t', '-', '*', '"']).chars().next_back();
    let next = site.text[span.end..].chars().next();
    let ends_line = matches!(next, None | Some('\n' | '\r' | '\\'));
    match separator {
        Separator::Blank if name.is_upper && !name.is_flag => AssignmentForm::Shell,
        Separator::Blank => AssignmentForm::Flag,
        Separator::Tag => AssignmentForm::Shell,
        Separator::LineBreak | Separator::Place | Separator::Word | Separator::Content => AssignmentForm::Sentence,
        Separator::Equals if name.is_flag && !spaced => AssignmentForm::Shell,
        Separator::Equals if !spaced && (name.is_upper || matches!(before, Some('?' | '&' | ';'))) => {
            AssignmentForm::Shell
        }
        Separator::Equals if !spaced && matches!(next, None | Some(' ' | '\n' | '\r' | '&' | ';')) => {
            AssignmentForm::OwnLine
        }
        Separator::Pair if ends_line => AssignmentForm::OwnLine,
        _ if ends_line && matches!(line_start, None | Some('\n')) && !name.prefix.contains('(') => {
            AssignmentForm::OwnLine
        }
        _ => AssignmentForm::Code,
    }
}
