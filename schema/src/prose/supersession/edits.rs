//! What the edits of a turn take out of use: a dependency, or the value of a setting.

use super::Statement;
use crate::model::tool_usage;
use crate::model::word_list::WordList;

/// Words before the path of a module.
static IMPORTS: WordList = WordList::words("#include @import from import require use using");

/// Parts of a path that name no dependency.
static NO_NAMES: WordList = WordList::words(
    "app com const core crate git github http https internal lib node org self src static std super type types",
);

/// The shortest name.
const SHORTEST: usize = 3;

/// A line of code that sets something or names a dependency.
#[derive(Debug, PartialEq)]
enum Line<'l> {
    Dependency(&'l str),
    Setting { key: &'l str, value: &'l str },
}

/// Returns statements that give up what the edits in a `tool_usage` text remove: "no longer automerge", "tick rate from 30 to 20". What
/// another line of the edits still has is not removed.
pub fn changes_of_edits(text: &str) -> Vec<Statement> {
    let files: Vec<&str> = tool_usage::files(text).collect();
    let mut file = files.first().copied().unwrap_or_default();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for line in text.lines() {
        match line.split_at_checked(2) {
            Some(("- ", code)) => removed.extend(Line::parse(code, file)),
            Some(("+ ", code)) => added.push((code, Line::parse(code, file))),
            _ => {
                let title = line.split(" @ ").next().unwrap_or_default();
                file = files.iter().copied().find(|known| *known == title).unwrap_or(file);
            }
        }
    }
    let is_still_there = |name: &str| added.iter().any(|(code, _)| code.to_lowercase().contains(name));
    let statement = |line: &Line<'_>| match line {
        Line::Setting { key, value } if value.parse::<f64>().is_ok() => {
            let new = added.iter().find_map(|(_, line)| match line {
                Some(Line::Setting { key: same, value }) if same == key => Some(*value),
                _ => None,
            });
            new.filter(|new| new != value).map(|new| format!("{} changed from {value} to {new}", words(key).join(" ")))
        }
        Line::Setting { value: name, .. } | Line::Dependency(name) => {
            let name = words(name).into_iter().find(|word| word.len() >= SHORTEST && !NO_NAMES.contains(word))?;
            (!is_still_there(&name)).then(|| format!("no longer {name}"))
        }
    };
    removed.iter().filter_map(statement).map(|text| Statement::of(&text)).collect()
}

impl<'l> Line<'l> {
    fn parse(code: &'l str, file: &str) -> Option<Self> {
        static SETTINGS: WordList = WordList::words("conf env gradle ini json mod properties toml txt yaml yml");
        let code = code.trim().trim_end_matches([',', ';']);
        let first = code.split([' ', '(']).next().unwrap_or_default();
        if IMPORTS.contains(first) || code.contains("require(") {
            let path = code.split(['"', '\'', '<', '>']).nth(1).or_else(|| code.split_whitespace().nth(1));
            return path.map(Line::Dependency);
        }
        let ending = file.rsplit('.').next().unwrap_or_default();
        if !SETTINGS.contains(ending) {
            return None;
        }
        let (key, value) = code.split_once([':', '='])?;
        let plain = |text: &'l str| text.trim().trim_matches(['"', '\'']);
        let (key, value) = (plain(key), plain(value));
        let is_version = value
            .trim_start_matches(['^', '~', '>', '=', '<', 'v', ' ', '{'])
            .starts_with(|c: char| c.is_ascii_digit())
            && value.contains('.')
            || value.starts_with("{ version");
        let is_one_word = !value.is_empty() && !value.contains(' ');
        if is_version { Some(Line::Dependency(key)) } else { is_one_word.then_some(Line::Setting { key, value }) }
    }
}

/// Returns the words of an identifier or a path in lower case: `tickRate`, `dwb_core::Planner`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for c in name.chars() {
        if c.is_alphanumeric() {
            if words.is_empty() || !previous.is_alphanumeric() || previous.is_lowercase() && c.is_uppercase() {
                words.push(String::new());
            }
            words.last_mut().expect("a word was begun").extend(c.to_lowercase());
        }
        previous = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::Strictness;
    use super::*;

    fn replaces(file: &str, edit: &str, older: &str) -> bool {
        let text = format!("Files modified: {file}\n{edit}");
        changes_of_edits(&text).iter().any(|newer| newer.replaces(&Statement::of(older), Strictness::Strict))
    }

    #[rstest]
    #[case::dependency(
        "Cargo.toml",
        "- automerge = \"0.6\"\n+ uhlc = \"0.8\"",
        "automerge. full history is a feature for us"
    )]
    #[case::import(
        "ui.tsx",
        "- import * as T from '@radix-ui/react-toggle'\n+ import s from './a.css'",
        "I'd take Radix."
    )]
    #[case::value(
        "nav2.yaml",
        "- plugin: \"dwb_core::DWBPlanner\"\n+ plugin: \"mppi::Controller\"",
        "제어기는 DWB 그대로 둡시다"
    )]
    #[case::number("server.json", "- \"tickRate\": 30,\n+ \"tickRate\": 20,", "The tick rate is still 30.")]
    fn edit_replaces_what_it_removes(#[case] file: &str, #[case] edit: &str, #[case] older: &str) {
        assert!(replaces(file, edit, older));
    }

    #[rstest]
    #[case::version("Cargo.toml", "- serde = \"1.0.1\"\n+ serde = \"1.0.2\"", "We parse with serde")]
    #[case::moved(
        "a.ts",
        "- import { create } from 'zustand'\n+ import { create, type S } from 'zustand'",
        "zustand it is"
    )]
    #[case::another_number("server.json", "- \"tickRate\": 30,\n+ \"tickRate\": 20,", "Bans last 30 days")]
    #[case::code("a.rs", "- let delay = DAY;\n+ let delay = 2 * DAY;", "Retry after a delay of a day")]
    fn edit_leaves_the_rest(#[case] file: &str, #[case] edit: &str, #[case] older: &str) {
        assert!(!replaces(file, edit, older));
    }
}
