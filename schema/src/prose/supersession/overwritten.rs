//! Values that a later edit overwrites. If `MAX_NIGHTS = 3` becomes `MAX_NIGHTS = 2`, what was said about three nights no longer holds.

use super::given_up::{GivenUp, Scope};
use super::{Statement, is_plain};
use crate::model::tool_usage::{EditedLine, edited_lines};
use crate::prose::sentences::sentences;
use crate::prose::terms::{quantities, tokens};

/// The shortest name, in bytes.
const SHORTEST_NAME: usize = 3;

/// How much larger a number of prose is than one of code, if the line of code has this word: `interval-ms`.
const SCALES: [(&str, f64); 9] = [
    ("", 1.0),
    ("ms", 0.001),
    ("milli", 0.001),
    ("min", 60.0),
    ("hour", 3_600.0),
    ("day", 86_400.0),
    ("kb", 1_000.0),
    ("mb", 1_000_000.0),
    ("gb", 1_000_000_000.0),
];

/// The lines that the edits of a turn remove and add.
#[derive(Debug)]
pub struct TurnEdits<'t> {
    removed: Vec<EditedLine<'t>>,
    added: Vec<EditedLine<'t>>,
}

impl<'t> TurnEdits<'t> {
    /// Parses a `tool_usage` text.
    pub fn of(text: &'t str) -> Self {
        let (added, removed) = edited_lines(text).partition(|line| line.is_added);
        Self { removed, added }
    }

    /// Returns a statement that gives up the numbers and names in the texts of an earlier turn that stand for lines which that turn added
    /// and to which this one gives another value. It holds for these texts only.
    pub fn overwrites<'s>(&self, earlier: &Self, said: impl Iterator<Item = &'s str>) -> Option<Statement> {
        let is_overwritten = |line: &&EditedLine<'_>| {
            let mut of_file = earlier.added.iter().filter(|added| added.file == line.file);
            let is_known = !line.code.is_empty() && of_file.any(|added| added.code.contains(line.code));
            is_known && (self.new_number(line).is_some() || self.has_new_value(line))
        };
        let lines: Vec<&EditedLine<'_>> = self.removed.iter().filter(is_overwritten).collect();
        if lines.is_empty() {
            return None;
        }
        let added: String = self.added.iter().map(|line| line.code.to_lowercase() + "\n").collect();
        let kept = numbers(&added);
        let gone: Vec<(f64, &str)> =
            lines.iter().flat_map(|line| numbers(line.code).into_iter().map(|number| (number, line.code))).collect();
        let gone: Vec<(f64, &str)> = gone.into_iter().filter(|(number, _)| !kept.contains(number)).collect();
        let removed: String = lines.iter().map(|line| line.code.to_lowercase() + "\n").collect();
        let is_gone = |name: &str| name.len() >= SHORTEST_NAME && removed.contains(name) && !added.contains(name);
        let said: Vec<_> = said.flat_map(tokens).collect();
        let of_code = quantities(&said)
            .into_iter()
            .filter(|(said, _)| gone.iter().any(|(number, line)| scale(*said, *number, line).is_some()));
        let names: Vec<String> =
            said.iter().filter(|token| token.is_name && is_gone(&token.text)).map(|token| token.text.clone()).collect();
        let given_up = GivenUp {
            terms: names.clone(),
            names,
            quantities: of_code.collect(),
            scope: Scope::Chosen,
            subject: Vec::new(),
        };
        (!given_up.is_nothing()).then(|| Statement { given_up: vec![given_up], ..Statement::of("") })
    }

    /// Returns the sentences of the prompt that name a number which these edits set, each with the number that it replaces: "two nights in a
    /// row" instead of three.
    pub fn restated(&self, asked: &str) -> Vec<Statement> {
        let changes: Vec<(f64, f64, &str)> = self
            .removed
            .iter()
            .filter_map(|line| self.new_number(line).map(|(old, new)| (old, new, line.code)))
            .collect();
        if changes.is_empty() {
            return Vec::new();
        }
        let restating = |sentence: &str| -> Option<Statement> {
            let mut statement = Statement::of(sentence);
            let old = |(said, unit): &(f64, String)| {
                changes.iter().find_map(|(old, new, line)| Some((old * scale(*said, *new, line)?, unit.clone())))
            };
            let quantities: Vec<_> = statement.quantities.iter().filter_map(old).collect();
            let given_up = GivenUp {
                terms: Vec::new(),
                names: Vec::new(),
                quantities,
                scope: Scope::Restated,
                subject: Vec::new(),
            };
            statement.given_up.push(given_up);
            statement.given_up.retain(|given_up| !given_up.is_nothing());
            (!statement.given_up.is_empty()).then_some(statement)
        };
        sentences(asked).into_iter().filter(|sentence| is_plain(sentence)).filter_map(restating).collect()
    }

    /// Whether a removed setting has another plain value now.
    fn has_new_value(&self, removed: &EditedLine<'_>) -> bool {
        let Some((key, old)) = setting(removed.code) else { return false };
        let settings = self.added.iter().filter(|line| line.file == removed.file).filter_map(|line| setting(line.code));
        settings.into_iter().any(|(same, new)| same == key && new != old)
    }

    /// Returns the only number of a removed line, and the number that the line has now.
    fn new_number(&self, removed: &EditedLine<'_>) -> Option<(f64, f64)> {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        let form = |code: &str| -> String { code.split(is_number).collect() };
        let [old] = numbers(removed.code)[..] else { return None };
        let wanted = form(removed.code);
        let line = self.added.iter().find(|line| line.file == removed.file && form(line.code) == wanted)?;
        let [new] = numbers(line.code)[..] else { return None };
        (new != old).then_some((old, new))
    }
}

/// Returns how much larger a number of prose is than one of a line of code, if they may mean the same.
fn scale(said: f64, number: f64, line: &str) -> Option<f64> {
    let line = line.to_lowercase();
    let is_same = |scale: f64| number != 0.0 && (said - number * scale).abs() <= f64::EPSILON * said.abs();
    SCALES.into_iter().find(|(unit, scale)| line.contains(unit) && is_same(*scale)).map(|(_, scale)| scale)
}

/// Returns the key and the value of a setting, if the value is one plain word. Other settings may follow it.
fn setting(code: &str) -> Option<(&str, &str)> {
    let (key, value) = code.split_once(['=', ':'])?;
    let value = value.split([',', ';']).next()?.trim().trim_matches(['"', '\'']);
    let is_plain = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_plain.then_some((key.trim(), value))
}

/// Returns the numbers of code, but not those within names and versions, such as `u16` and `1.2.3`.
fn numbers(code: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let mut previous = ' ';
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let is_start = c.is_ascii_digit() && !previous.is_alphanumeric() && !matches!(previous, '_' | '.');
        let length = if is_start { number_length(rest) } else { c.len_utf8() };
        if is_start {
            found.extend(rest[..length].replace('_', "").parse::<f64>().ok());
        }
        previous = rest[..length].chars().next_back().unwrap_or(' ');
        rest = &rest[length..];
    }
    found
}

/// Returns the length in bytes of the number at the start of a text. A full stop at its end is not counted.
fn number_length(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(text.len());
    text[..end].trim_end_matches(['.', '_']).len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::Strictness;
    use super::*;

    fn of_edit(file: &str, edit: &str) -> String {
        format!("Files modified: {file}\n{edit}")
    }

    fn is_overwritten(earlier: &str, later: &str, said: &str) -> bool {
        let (earlier, later) = (of_edit("a.py", earlier), of_edit("a.py", later));
        let newer = TurnEdits::of(&later).overwrites(&TurnEdits::of(&earlier), std::iter::once(said));
        newer.is_some_and(|newer| newer.replaces(&Statement::of(said), Strictness::Strict))
    }

    #[rstest]
    #[case::number("+ SEGMENT = 4", "- SEGMENT = 4\n+ SEGMENT = 6", "The segments of 4 seconds.", true)]
    #[case::other_unit("+ interval-ms: 60000", "- interval-ms: 60000\n+ interval-ms: 600000", "commit은 1분마다", true)]
    #[case::part_of_line("+ wait(300_000);", "- 300_000\n+ 500_000", "하루 30만 건까지만", true)]
    #[case::not_a_number("+ PAYDAY = 10", "- PAYDAY = 10\n+ PAYDAY = 'month_end'", "지급일은 10일로 바꿨습니다.", true)]
    #[case::name("+ CODEC = 'libsvtav1'", "- CODEC = 'libsvtav1'\n+ CODEC = 'libx264'", "Encoded with AV1.", true)]
    #[case::with_another_setting(
        "+ encoding='utf-8'",
        "- encoding='utf-8'\n+ encoding='cp949', errors='replace'",
        "파일 인코딩은 UTF-8로 내보내주세요",
        true
    )]
    #[case::refactored("+ TTL = 30", "- TTL = 30\n+ TTL = Number(env.TTL)", "Sessions end after 30 minutes.", false)]
    #[case::other_unit_of_the_same("+ TTL_MIN = 30", "- TTL_MIN = 30\n+ TTL_MS = 1_800_000", "세션 만료는 30분", false)]
    #[case::call("+ cache = Redis(URL)", "- cache = Redis(URL)\n+ cache = make()", "Use Redis for the cache", false)]
    #[case::same_digits("+ RETRIES = 3", "- RETRIES = 3\n+ RETRIES = 5", "Sessions expire after 3 days.", false)]
    #[case::still_there("+ a = 4", "- a = 4\n+ a = 6\n+ b = 4", "The segments of 4 seconds.", false)]
    #[case::another_number("+ a = 4", "- a = 4\n+ a = 6", "We keep 30 backups.", false)]
    #[case::another_line("+ a = 5", "- b = 4\n+ b = 6", "The segments of 4 seconds.", false)]
    fn overwritten_line_ends_what_was_said(
        #[case] earlier: &str,
        #[case] later: &str,
        #[case] said: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(is_overwritten(earlier, later, said), expected);
    }

    #[rstest]
    #[case::count("- MAX = 3\n+ MAX = 2", "two nights in a row for everybody", "three nights in a row, not four", true)]
    #[case::korean(
        "- MAX = 8\n+ MAX = 5",
        "오프라인 보관 권수는 5권으로 최종 결정됐습니다",
        "오프라인 보관은 8권으로 줄이고요",
        true
    )]
    #[case::only_the_number(
        "- 8443\n+ 9643",
        "Final port for the config page is 9643.",
        "The config page moves to 8443",
        true
    )]
    #[case::about_something_else("- MAX = 3\n+ MAX = 2", "two nights in a row", "Retry three times", false)]
    #[case::one_off("- MAX = 3\n+ MAX = 2", "only for tonight two nights in a row", "three nights in a row", false)]
    #[case::not_named("- MAX = 3\n+ MAX = 2", "fix the nights", "three nights in a row", false)]
    fn number_in_a_prompt_replaces_the_one_in_the_code(
        #[case] edit: &str,
        #[case] asked: &str,
        #[case] older: &str,
        #[case] expected: bool,
    ) {
        let text = of_edit("a.py", edit);
        let newer = TurnEdits::of(&text).restated(asked);
        assert_eq!(newer.iter().any(|newer| newer.replaces(&Statement::of(older), Strictness::Strict)), expected);
    }

    #[rstest]
    #[case("let limit: u16 = 30_000;", &[30_000.0])]
    #[case("timeout: 1.5s, v2 = \"1.2.3\"", &[1.5])]
    #[case("x264 10f", &[10.0])]
    fn numbers_of_code_are_found(#[case] code: &str, #[case] expected: &[f64]) {
        assert_eq!(numbers(code), expected);
    }
}
