//! Finds secrets in the columns of Markdown and CSV tables whose header names a secret.

use std::ops::Range;

use super::find::{PLACEHOLDER_START, Secret, find_by_rule};
use super::rules::RULES;
use super::triggers::trigger_matches;

/// Finds the secrets below headers such as `password`, in order.
pub(super) fn find_in_tables(text: &str) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let mut lines = text.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line.trim_end_matches(['\n', '\r'])))
    });
    let mut header = lines.next();
    while let Some((_, line)) = header {
        let mut next = lines.next();
        let table = next.and_then(|(_, below)| SecretTable::parse(line, below));
        while let (Some(table), Some((start, row))) = (&table, next) {
            let Some(cells) = table.cells(row) else { break };
            secrets.extend(table.find_secrets(row, start, &cells));
            next = lines.next();
        }
        header = next;
    }
    secrets
}

struct SecretTable<'t> {
    delimiter: u8,
    /// The number of cells in a row.
    width: usize,
    /// The columns whose header names a secret, with that header.
    columns: Vec<(usize, &'t str)>,
}

impl<'t> SecretTable<'t> {
    /// Parses a header and the line below it. Returns `None` unless they start a table with a column of secrets.
    fn parse(line: &'t str, below: &str) -> Option<Self> {
        let delimiter = *line.as_bytes().iter().find(|byte| matches!(byte, b'|' | b',' | b'\t' | b';'))?;
        if line.len() > MAX_HEADER_LENGTH || !below.as_bytes().contains(&delimiter) {
            return None;
        }
        let cells = split_cells(line, delimiter);
        if split_cells(below, delimiter).len() != cells.len() {
            return None;
        }
        let names: Vec<&str> = cells.iter().map(|cell| line[cell.clone()].trim_matches(is_cell_padding)).collect();
        let is_name = |name: &&str| {
            name.len() <= 40
                && (delimiter == b'|' || !name.is_empty())
                && name.split(' ').count() <= MAX_WORDS
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/'))
        };
        if !names.iter().all(is_name) || !trigger_matches(line).any(|(_, found)| RULES[found.rule].is_by_name()) {
            return None;
        }
        let is_secret =
            |(_, name): &(usize, &str)| !find_by_rule(&assignment_text(name, PROBE, delimiter).0).is_empty();
        let columns: Vec<(usize, &str)> = names.into_iter().enumerate().filter(is_secret).collect();
        (!columns.is_empty()).then_some(Self { delimiter, width: cells.len(), columns })
    }

    /// Returns the cells of a row, or `None` after the end of the table.
    fn cells(&self, row: &str) -> Option<Vec<Range<usize>>> {
        Some(split_cells(row, self.delimiter)).filter(|cells| cells.len() == self.width)
    }

    /// Returns the secrets of a row that starts at `offset`.
    fn find_secrets(&self, row: &str, offset: usize, cells: &[Range<usize>]) -> impl Iterator<Item = Secret> {
        self.columns.iter().filter_map(move |(column, name)| {
            let value = row[cells[*column].clone()].trim_matches(is_cell_padding);
            let start = offset + value.as_ptr() as usize - row.as_ptr() as usize;
            if value.contains(PLACEHOLDER_START) {
                return None;
            }
            let (text, begin) = assignment_text(name, value, self.delimiter);
            let found = find_by_rule(&text).into_iter().find(|secret| secret.span.start >= begin)?;
            // Only passwords can be plain words.
            if found.kind != "password" && !value.bytes().any(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let span = start..start + value.len();
            Some(Secret { span, ..found })
        })
    }
}

/// Returns a text that assigns the value to the name, and the offset of the value in it. A CSV cell contains only the value, but a Markdown
/// cell may contain a remark.
fn assignment_text(name: &str, value: &str, delimiter: u8) -> (String, usize) {
    let (before, after) =
        if delimiter == b'|' { (format!("| {name} | "), " |") } else { (format!("\"{name}\": \""), "\"") };
    (format!("{before}{value}{after}"), before.len())
}

fn is_cell_padding(character: char) -> bool {
    character.is_whitespace() || matches!(character, '"' | '\'' | '`' | '*')
}

/// Returns the cells of a line. Delimiters in double quotes do not count.
fn split_cells(line: &str, delimiter: u8) -> Vec<Range<usize>> {
    let (mut cells, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        is_quoted ^= byte == b'"';
        if byte == delimiter && !is_quoted {
            cells.push(start..at);
            start = at + 1;
        }
    }
    cells.push(start..line.len());
    cells
}

/// Enough for `Console login link`.
const MAX_WORDS: usize = 3;
const MAX_HEADER_LENGTH: usize = 512;
/// A value that counts as a secret under any secret name.
const PROBE: &str = "q8Zr2LkV0xYtB7nWc5Ja";
