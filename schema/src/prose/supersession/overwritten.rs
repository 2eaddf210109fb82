//! Values that a later edit overwrites. If `MAX_NIGHTS = 3` becomes `MAX_NIGHTS = 2`, what was said about three nights no longer holds.

use std::collections::HashSet;

use super::given_up::{GivenUp, Scope};
use super::{Statement, is_plain};
use crate::model::tool_usage::{EditedLine, edited_lines, is_test_file};
use crate::prose::sentences::sentences;
use crate::prose::terms::{CLOCK, ProseToken, quantities, terms, tokens};

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
        // Numbers of tests are examples.
        let (added, removed) =
            edited_lines(text).filter(|line| !is_test_file(line.file)).partition(|line| line.is_added);
        Self { removed, added }
    }

    /// Returns a statement that gives up the numbers and names in the texts of an earlier turn that stand for lines which that turn added
    /// and to which this one gives another value. It holds for these texts only.
    pub fn overwrites<'s>(&self, earlier: &Self, said: impl Iterator<Item = &'s str>) -> Option<Statement> {
        let is_overwritten = |line: &&EditedLine<'_>| {
            let mut of_file = earlier.added.iter().filter(|added| added.file == line.file);
            !line.code.is_empty() && of_file.any(|added| added.code.contains(line.code))
        };
        let lines: Vec<&EditedLine<'_>> = self.removed.iter().filter(is_overwritten).collect();
        if lines.is_empty() {
            return None;
        }
        let has_new_value = |line: &&EditedLine<'_>| self.new_numbers(line).is_some() || self.has_new_value(line);
        let (changed, others): (Vec<&EditedLine<'_>>, Vec<&EditedLine<'_>>) =
            lines.into_iter().partition(has_new_value);
        let added = lower_lines(self.added.iter());
        let gone = gone_numbers(&changed, &added);
        let (changed, others) = (lower_lines(changed.into_iter()), lower_lines(others.into_iter()));
        let is_gone = |name: &str| {
            // "Ctrl+Shift+M" is a value. A function or a class may only have another place.
            let is_removed = changed.contains(name) || name.contains('+') && others.contains(name);
            name.len() >= SHORTEST_NAME && is_removed && !added.contains(name)
        };
        let said: Vec<_> = said.flat_map(tokens).collect();
        let names: Vec<String> =
            said.iter().filter(|token| token.is_name && is_gone(&token.text)).map(|token| token.text.clone()).collect();
        let quantities = quantities(&said).into_iter().filter(|said| is_among(&gone, said)).collect();
        Statement::giving_up(GivenUp { terms: names.clone(), names, quantities, ..GivenUp::nothing(Scope::Chosen) })
    }

    /// Whether these edits remove everything that an earlier turn added, and write something else instead.
    pub fn rewrites(&self, earlier: &Self) -> bool {
        let is_gone = |added: &EditedLine<'_>| {
            self.removed.iter().filter(|removed| removed.file == added.file).any(|removed| {
                let (old, new) = (added.code, removed.code);
                let (shorter, longer) = if old.len() < new.len() { (old, new) } else { (new, old) };
                shorter.len() * 2 >= longer.len() && longer.contains(shorter)
            })
        };
        if earlier.added.is_empty() || !earlier.added.iter().all(is_gone) {
            return false;
        }
        // A renamed, moved or extended line still says most of the same.
        let (old, new) = (code_words(&earlier.added), code_words(&self.added));
        old.intersection(&new).count() * 2 < old.len()
    }

    /// Returns a statement that gives up the numbers with which a prompt describes what these edits change: "the limit is 200 ms now". It holds
    /// for this prompt only.
    pub fn changes_described(&self, asked: &str) -> Option<Statement> {
        let removed: Vec<&EditedLine<'_>> = self.removed.iter().collect();
        let gone = gone_numbers(&removed, &lower_lines(self.added.iter()));
        if gone.is_empty() {
            return None;
        }
        let set = self.added.iter().flat_map(|line| numbers(line.code).into_iter().map(|number| (number, line.code)));
        let set: Vec<(f64, &str)> = set.collect();
        let of_sentence = |sentence: &str| quantities(&tokens(sentence));
        let described =
            sentences(asked).into_iter().map(of_sentence).filter(|said| !said.iter().any(|said| is_among(&set, said)));
        let quantities = described.flatten().filter(|said| is_among(&gone, said)).collect();
        Statement::giving_up(GivenUp { quantities, ..GivenUp::nothing(Scope::Chosen) })
    }

    /// Returns the sentences of the prompt that name a number which these edits set, each with the number that it replaces: "two nights in a
    /// row" instead of three.
    pub fn restated(&self, asked: &str) -> Vec<Statement> {
        let changes: Vec<(f64, f64, &str)> = self.removed.iter().filter_map(|line| self.only_change(line)).collect();
        if changes.is_empty() {
            return Vec::new();
        }
        let terms = terms(asked);
        let named = quantities(&tokens(asked));
        let restating = |sentence: &str| -> Option<Statement> {
            let all = tokens(sentence);
            let replaced = |(at, token): (usize, &ProseToken)| {
                let new = token.quantity()?;
                let before = |(old, number, line): &(f64, f64, &str)| Some(old * scale(&new, *number, line)?);
                let old = changes.iter().find_map(before)?;
                // "iOS 17" replaces "iOS 16".
                let name = at.checked_sub(1).map(|before| &all[before]).filter(|before| before.is_name);
                Some(((old, new.1), name.map(|name| name.text.clone())))
            };
            let (numbers, names): (Vec<_>, Vec<_>) = all.iter().enumerate().filter_map(replaced).unzip();
            // "72로 두면 깜빡여요. 90에 맞춰주세요" says what goes.
            let names_old = numbers.iter().any(|(old, _)| named.iter().any(|(number, _)| number == old));
            let scope = if names_old { Scope::Chosen } else { Scope::Restated };
            let names = names.into_iter().flatten().collect();
            let given_up = GivenUp { names, quantities: numbers, ..GivenUp::nothing(scope) };
            let statement = Statement { terms: terms.clone(), given_up: vec![given_up], ..Statement::of(sentence) };
            (!statement.given_up[0].is_nothing()).then_some(statement)
        };
        sentences(asked).into_iter().filter(|sentence| is_plain(sentence)).filter_map(restating).collect()
    }

    /// Whether a removed setting has another plain value now.
    fn has_new_value(&self, removed: &EditedLine<'_>) -> bool {
        let Some((key, old)) = setting(removed.code) else { return false };
        let settings = self.added.iter().filter(|line| line.file == removed.file).filter_map(|line| setting(line.code));
        settings.into_iter().any(|(same, new)| same == key && new != old)
    }

    /// Returns the number that a removed line has no longer, the one in its place, and the line, if no other number of it changed.
    fn only_change<'l>(&self, removed: &EditedLine<'l>) -> Option<(f64, f64, &'l str)> {
        let changes = self.new_numbers(removed)?;
        let (old, new) = changes[0];
        changes.iter().all(|change| *change == (old, new)).then_some((old, new, removed.code))
    }

    /// Returns the numbers of a removed line that changed, if nothing else of it did.
    fn new_numbers(&self, removed: &EditedLine<'_>) -> Option<Vec<(f64, f64)>> {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        let form = |code: &str| -> String { code.split(is_number).collect() };
        let (old, wanted) = (numbers(removed.code), form(removed.code));
        let line = self.added.iter().find(|line| line.file == removed.file && form(line.code) == wanted)?;
        let new = numbers(line.code);
        let is_as_long = old.len() == new.len();
        let changed: Vec<(f64, f64)> = old.into_iter().zip(new).filter(|(old, new)| old != new).collect();
        (is_as_long && !changed.is_empty()).then_some(changed)
    }
}

/// Returns the words and numbers of lines of code.
fn code_words<'l>(lines: &'l [EditedLine<'_>]) -> HashSet<&'l str> {
    let words = lines.iter().flat_map(|line| line.code.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns lines in lower case.
fn lower_lines<'l>(lines: impl Iterator<Item = &'l EditedLine<'l>>) -> String {
    lines.map(|line| line.code.to_lowercase() + "\n").collect()
}

/// Returns the numbers of removed lines that the added code has not, with their lines.
fn gone_numbers<'l>(removed: &[&EditedLine<'l>], added: &str) -> Vec<(f64, &'l str)> {
    let kept = numbers(added);
    let of_line = |line: &&EditedLine<'l>| numbers(line.code).into_iter().map(|number| (number, line.code)).collect();
    removed.iter().flat_map::<Vec<_>, _>(of_line).filter(|(number, _)| !kept.contains(number)).collect()
}

/// Whether a number of prose may mean one of the numbers of code, which have their lines.
fn is_among(of_code: &[(f64, &str)], said: &(f64, String)) -> bool {
    of_code.iter().any(|(number, line)| scale(said, *number, line).is_some())
}

/// Returns how much larger a number of prose is than one of a line of code, if they may mean the same.
fn scale((said, unit): &(f64, String), number: f64, line: &str) -> Option<f64> {
    let line = line.to_lowercase();
    let is_same = |scale: f64| number != 0.0 && (said - number * scale).abs() <= f64::EPSILON * said.abs();
    let of_unit = match unit.as_str() {
        "percent" if number < 1.0 => Some(100.0),
        // "23시" of "0 30 23 * * *"
        CLOCK if line.contains('*') || line.contains("time") || line.contains("hour") => Some(60.0),
        // Many times are in milliseconds without saying so.
        "second" if number >= 100.0 => Some(0.001),
        _ => None,
    };
    let of_line = SCALES.into_iter().filter(|(unit, _)| line.contains(unit)).map(|(_, scale)| scale);
    of_line.chain(of_unit).find(|scale| is_same(*scale))
}

/// Returns the key and the value of a setting, if the value is one plain word. Other settings may follow it.
fn setting(code: &str) -> Option<(&str, &str)> {
    let (key, value) = code.split_once(['=', ':'])?;
    let value = value.split([',', ';']).next()?.trim().trim_matches(['"', '\'']);
    let is_plain = !value.is_empty() && value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_plain.then_some((key.trim(), value))
}

/// Returns the numbers of code, but not those within names and versions, such as `u16` and `1.2.3`. Options such as `-z15` and versions such
/// as `.v17` have one.
fn numbers(code: &str) -> Vec<f64> {
    let mut found = Vec::new();
    let (mut before, mut previous) = (' ', ' ');
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let is_option = previous.is_ascii_alphabetic() && before == '-' || previous == 'v' && before == '.';
        let is_start =
            c.is_ascii_digit() && (is_option || !previous.is_alphanumeric() && !matches!(previous, '_' | '.'));
        let length = if is_start { number_length(rest) } else { c.len_utf8() };
        if is_start {
            found.extend(rest[..length].replace('_', "").parse::<f64>().ok());
        }
        before = previous;
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
    #[case::of_a_list(
        "+ R = [(1080, 24), (720, 24)]",
        "- 24), (720, 24\n+ 21), (720, 21",
        "HEVC at CRF 24 gives 95.1.",
        true
    )]
    #[case::option("+ tile -Z6 -z15 a.json", "- -z15\n+ -z14", "one file, zoom 6 to 15", true)]
    #[case::clock(
        "+ cron = \"0 30 23 * * *\"",
        "- 0 30 23 * * *\n+ 0 10 0 * * *",
        "마감 배치는 23시 30분에 돌려요",
        true
    )]
    #[case::percent("+ return 1 - 0.1 * days", "- 1 - 0.1 * days\n+ 1 - 0.05 * days", "하루에 10%씩 깎고", true)]
    #[case::milliseconds("+ BALANCED, 20_000", "- 20_000\n+ 10_000", "주기는 20초로 하고", true)]
    #[case::value(
        "+ Some(\"CmdOrCtrl+Shift+M\")",
        "- CmdOrCtrl+Shift+M\n+ CmdOrCtrl+Alt+N",
        "단축키 기본값은 Ctrl+Shift+M으로 해주세요.",
        true
    )]
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
    #[case::call_beside_a_number(
        "+ cache = Redis(URL)\n+ TTL = 3",
        "- cache = Redis(URL)\n- TTL = 3\n+ cache = make()\n+ TTL = 5",
        "Use Redis for the cache",
        false
    )]
    #[case::call("+ cache = Redis(URL)", "- cache = Redis(URL)\n+ cache = make()", "Use Redis for the cache", false)]
    #[case::same_digits("+ RETRIES = 3", "- RETRIES = 3\n+ RETRIES = 5", "Sessions expire after 3 days.", false)]
    #[case::clock_of_a_count("+ workers = 2", "- workers = 2\n+ workers = 4", "새벽 2시에 시작해야 합니다", false)]
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
    #[case::other_approach(
        "+ <VirtualRows rows={orders} />",
        "- <VirtualRows rows={orders} />\n+ <Pager size={50} />",
        true
    )]
    #[case::renamed("+ fn load_rows(path: &Path)", "- fn load_rows(path: &Path)\n+ fn read_rows(path: &Path)", false)]
    #[case::only_a_part(
        "+ <VirtualRows rows={orders} />\n+ <Footer sums={sums} />",
        "- <VirtualRows rows={orders} />\n+ <Pager size={50} />",
        false
    )]
    #[case::only_a_word("+ limit(page, 100, user.plan)", "- 100\n+ max", false)]
    #[case::nothing_added("- retry()", "- retry()\n+ wait()", false)]
    fn edits_rewrite_a_turn(#[case] earlier: &str, #[case] later: &str, #[case] expected: bool) {
        let (earlier, later) = (of_edit("a.py", earlier), of_edit("a.py", later));
        assert_eq!(TurnEdits::of(&later).rewrites(&TurnEdits::of(&earlier)), expected);
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
    #[case::with_its_name("- .iOS(.v16)\n+ .iOS(.v17)", "Raise the floor to iOS 17.", "Minimum stays at iOS 16.", true)]
    #[case::with_the_old_one(
        "- hz: 72\n+ hz: 90",
        "72로 두면 깜빡여요. 90에 맞춰주세요.",
        "목표 프레임은 72로 두고",
        true
    )]
    #[case::from_another_sentence(
        "- pass(x, 35)\n+ pass(x, 45)",
        "심사위원이 스핀들 대역까지 보라네요. 상한을 45로 올리고 다시 전처리해요.",
        "전처리 대역은 0.5에서 35Hz로 하죠.",
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
