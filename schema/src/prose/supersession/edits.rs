//! Finds dependencies and values of settings that the edits of a turn remove.

use std::collections::HashSet;

use super::Statement;
use super::given_up::{GivenUp, Scope};
use crate::model::command_line::removed_from_git;
use crate::model::tool_usage::{self, EditedLine};
use crate::model::word_list::WordList;
use crate::prose::terms::terms;

/// Words before the path of a module.
static IMPORTS: WordList = WordList::words("#include @import from import require use using");

/// Files that list dependencies with their versions.
static MANIFESTS: WordList = WordList::words(
    "build.gradle build.gradle.kts cargo.toml composer.json gemfile package.json pubspec.yaml pyproject.toml requirements.txt",
);

/// Endings of files with settings, and of files without code.
static SETTINGS: WordList = WordList::words("conf env gradle ini json properties toml yaml yml");
static PROSE: WordList = WordList::words("adoc md mdx rst txt");

/// Parts of a path that name nothing by themselves.
static NO_NAMES: WordList =
    WordList::words("app client com core github http https lib node org plugin sdk src std types ui www");

/// Values that say nothing about what is used.
static NO_VALUES: WordList = WordList::words("debug error false info no none null off on true warn yes");

/// The shortest name, in bytes.
const SHORTEST_NAME: usize = 3;

/// A line of code that names a dependency or sets something.
#[derive(Debug, PartialEq)]
enum CodeLine<'l> {
    /// A dependency with its version, in a file that lists them.
    Dependency(&'l str),
    Import(&'l str),
    Setting {
        key: &'l str,
        value: &'l str,
    },
}

/// Returns statements that give up what the edits in a `tool_usage` text remove: "no longer automerge", "tick rate changed from 30 to 20".
///
/// `asked` is the prompt that caused the edits. Except for dependencies, it must name a part of what is removed or added, because an import
/// may leave one file of many.
pub fn changes_of_edits(text: &str, asked: &str) -> Vec<Statement> {
    let (mut removed, mut added, mut added_text) = (Vec::new(), Vec::new(), String::new());
    for EditedLine { file, is_added, code } in tool_usage::edited_lines(text) {
        if is_added {
            added.extend(CodeLine::parse(code, file));
            added_text.push_str(&code.to_lowercase());
        } else {
            removed.extend(CodeLine::parse(code, file));
        }
    }
    let asked = asked.to_lowercase();
    // Two letters are a part of too many words.
    let is_distinctive = |word: &str| word.len() >= SHORTEST_NAME || word.starts_with(|c: char| c.is_ascii_digit());
    let is_named = |name: &str| words(name).iter().any(|word| is_distinctive(word) && asked.contains(word.as_str()));
    let no_longer = |name: &str| -> Option<String> {
        let names: Vec<String> = words(name).into_iter().filter(|word| !NO_NAMES.contains(word)).collect();
        let is_gone = names.iter().any(|word| word.len() >= SHORTEST_NAME) && !added_text.contains(&names[0]);
        is_gone.then(|| format!("no longer {}", names.join(" ")))
    };
    let statement = |line: &CodeLine<'_>| match line {
        CodeLine::Dependency(name) => no_longer(package(name)),
        CodeLine::Import(path) => no_longer(package(path)).filter(|_| is_named(path)),
        CodeLine::Setting { key, value } => {
            let new = added.iter().find_map(|line| match line {
                CodeLine::Setting { key: same, value } if same == key => Some(*value),
                _ => None,
            });
            if !is_named(key) && !is_named(value) && !new.is_some_and(is_named) {
                return None;
            }
            match new.filter(|_| value.parse::<f64>().is_ok()) {
                Some(new) if new != *value => Some(format!("{} changed from {value} to {new}", words(key).join(" "))),
                Some(_) => None,
                None => no_longer(package(value)),
            }
        }
    };
    let statement_of = |text: String| {
        let mut statement = Statement::of(&text);
        // A dependency has the name of an ordinary word.
        statement.given_up.iter_mut().for_each(|given_up| given_up.scope = Scope::All);
        statement
    };
    removed.iter().filter_map(statement).map(statement_of).collect()
}

/// Returns a statement that gives up choices of the names of files that the commands of a `tool_usage` text remove from git: `pdf` after
/// `git rm report/pdf.py`. Files that were only moved are not meant, nor tests and stories of a component.
pub fn names_of_removed_files(text: &str) -> Option<Statement> {
    let stem = |path: String| {
        let file = path.rsplit('/').next().unwrap_or(&path).trim_start_matches('.');
        let (stem, ending) = file.split_once('.')?;
        let is_lock = words(stem).iter().any(|word| matches!(word.as_str(), "lock" | "test" | "tests"));
        let is_plain = !is_lock && !ending.contains('.') && !matches!(ending, "lock" | "log");
        is_plain.then(|| (stem.to_owned(), file.to_lowercase()))
    };
    let removed: Vec<(String, String)> =
        tool_usage::commands(text).flat_map(removed_from_git).filter_map(stem).collect();
    if removed.is_empty() {
        return None;
    }
    let is_code = |line: &&str| !line.starts_with("- ") && !line.starts_with("Commands: ");
    let added: HashSet<String> = text.lines().filter(is_code).flat_map(words).collect();
    let is_name = |name: &String| name.len() >= SHORTEST_NAME && !NO_NAMES.contains(name) && !added.contains(name);
    let given_up = |names: Vec<String>, scope: Scope| {
        (!names.is_empty()).then(|| GivenUp { terms: names.clone(), names, ..GivenUp::nothing(scope) })
    };
    let names: Vec<String> = removed.iter().flat_map(|(stem, _)| words(stem)).filter(is_name).collect();
    let chosen = terms(&names.join(" "));
    // A name of several words stands for the file, whatever is said of it.
    let whole = removed.iter().filter(|(stem, _)| words(stem).len() > 1 && words(stem).iter().any(is_name));
    let whole = whole.flat_map(|(stem, file)| [stem.to_lowercase(), file.clone()]);
    let whole = whole.filter_map(|name| given_up(vec![name], Scope::All));
    let given_up: Vec<GivenUp> = whole.chain(given_up(chosen, Scope::Chosen)).collect();
    (!given_up.is_empty()).then(|| Statement { given_up, ..Statement::of("") })
}

impl<'l> CodeLine<'l> {
    fn parse(code: &'l str, file: &str) -> Option<Self> {
        let name = file.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
        let ending = name.rsplit('.').next().unwrap_or_default();
        let code = code.trim().trim_end_matches([',', ';']);
        let first = code.split([' ', '(']).next().unwrap_or_default();
        if !PROSE.contains(ending) && (IMPORTS.contains(first) || code.contains("require(")) {
            let path = code.split(['"', '\'', '<', '>']).nth(1).or_else(|| code.split_whitespace().nth(1))?;
            let is_internal = path.starts_with(['.', '/'])
                || ["crate::", "super::", "self::"].iter().any(|own| path.starts_with(own));
            return (!is_internal).then_some(Self::Import(path));
        }
        let (key, value) = code.split_once([':', '='])?;
        let plain = |text: &'l str| text.trim().trim_matches(['"', '\'']);
        let (key, value) = (plain(key), plain(value));
        let is_version = value.contains(|c: char| c.is_ascii_digit()) && value.contains('.') || value.starts_with("{ ");
        if MANIFESTS.contains(&name) && is_version {
            return Some(Self::Dependency(key));
        }
        let is_plain = !value.is_empty()
            && !value.contains(' ')
            && !value.contains("://")
            && !NO_VALUES.contains(&value.to_lowercase());
        (SETTINGS.contains(ending) && is_plain).then_some(Self::Setting { key, value })
    }
}

/// Returns the part of a path that names the package: `dwb_core` of `dwb_core::Planner`, `@radix-ui` of `@radix-ui/react-toggle`.
fn package(path: &str) -> &str {
    let end = path.find("::").or_else(|| path.find('/')).unwrap_or(path.len());
    &path[..end]
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

    fn replaces(file: &str, edit: &str, asked: &str, older: &str) -> bool {
        let text = format!("Files modified: {file}\n{edit}");
        changes_of_edits(&text, asked).iter().any(|newer| newer.replaces(&Statement::of(older), Strictness::Strict))
    }

    #[rstest]
    #[case::file("git rm src/session/redisStore.ts", "Use Redis for the sessions", true)]
    #[case::identifier(
        "git rm gw/StaleOrderCanceller.java",
        "Orders that wait are cancelled by `StaleOrderCanceller`",
        true
    )]
    #[case::inflected("git rm src/postgresStore.ts", "Use Postgres for the sessions", true)]
    #[case::file_name("git rm deploy_ftp.sh", "upload it with deploy_ftp.sh", true)]
    #[case::lock("git rm yarn.lock", "Use Yarn for the workspaces", false)]
    #[case::lock_of_pnpm("git rm pnpm-lock.yaml", "Use pnpm for the workspaces", false)]
    #[case::story("git rm src/AppHeader.stories.tsx", "The title is drawn by `AppHeader`", false)]
    #[case::log("rm -f /tmp/redis.log", "Use Redis for the sessions", false)]
    #[case::other_choice("git rm report/pdf.py", "Reports are sent by mail", false)]
    #[case::kept_in_git("git rm --cached redis.conf", "Sessions go into Redis", false)]
    fn removed_files_give_up_choices(#[case] command: &str, #[case] older: &str, #[case] expected: bool) {
        let newer = names_of_removed_files(&format!("Commands: {command}"));
        let replaces = newer.is_some_and(|newer| newer.replaces(&Statement::of(older), Strictness::Strict));
        assert_eq!(replaces, expected);
    }

    #[rstest]
    #[case::dependency(
        "Cargo.toml",
        "- automerge = \"0.6\"\n+ uhlc = \"0.8\"",
        "forget the crdt",
        "automerge. full history is a feature"
    )]
    #[case::import(
        "ui.tsx",
        "- import * as T from '@radix-ui/react-toggle'\n+ import s from './a.css'",
        "throw the toggle group out again",
        "I'd take Radix."
    )]
    #[case::value(
        "nav2.yaml",
        "- plugin: \"dwb_core::DWBPlanner\"\n+ plugin: \"mppi::Controller\"",
        "그럼 mppi로 갈아탑시다",
        "제어기는 DWB 그대로 둡시다"
    )]
    #[case::number(
        "server.json",
        "- \"tickRate\": 30,\n+ \"tickRate\": 20,",
        "down to 20hz after all",
        "The tick rate is still 30."
    )]
    fn edit_replaces_what_it_removes(#[case] file: &str, #[case] edit: &str, #[case] asked: &str, #[case] older: &str) {
        assert!(replaces(file, edit, asked, older));
    }

    #[rstest]
    #[case::version("Cargo.toml", "- serde = \"1.0.1\"\n+ serde = \"1.0.2\"", "bump serde", "We parse with serde")]
    #[case::part(
        "package.json",
        "- \"react-query\": \"^4.0\"\n+ \"swr\": \"^2.0\"",
        "swr instead",
        "React is the framework"
    )]
    #[case::unnamed("a.py", "- import json\n+ import orjson", "faster logs please, change it", "Logs are JSON lines")]
    #[case::internal(
        "a.rs",
        "- use crate::auth::Session;\n+ use crate::user::User;",
        "move the auth session",
        "auth needs two factors"
    )]
    #[case::table(
        "package.json",
        "- \"scripts\": {\n+ \"tasks\": {",
        "rename it, change the scripts",
        "scripts are in bash"
    )]
    #[case::switch("a.yaml", "- enabled: true\n+ enabled: false", "change enabled", "it is true")]
    #[case::moved(
        "a.ts",
        "- import { create } from 'zustand'\n+ import { create, type S } from 'zustand'",
        "type the zustand store",
        "zustand it is"
    )]
    #[case::another_number(
        "server.json",
        "- \"tickRate\": 30,\n+ \"tickRate\": 20,",
        "20 ticks now",
        "Bans last 30 days"
    )]
    #[case::code(
        "a.rs",
        "- let delay = DAY;\n+ let delay = 2 * DAY;",
        "change the delay",
        "Retry after a delay of a day"
    )]
    fn edit_leaves_the_rest(#[case] file: &str, #[case] edit: &str, #[case] asked: &str, #[case] older: &str) {
        assert!(!replaces(file, edit, asked, older));
    }
}
