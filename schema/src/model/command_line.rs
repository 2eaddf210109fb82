//! Distinguishes command lines that change something from those that only read.
//!
//! Unknown programs count as read-only, because a missing line is a smaller mistake than a memory full of noise. A script that is called by
//! its path is unknown too, but counts as changing: nobody runs one just to look.

mod main_commands;
mod programs;
mod split;

use std::ops::RangeInclusive;

pub(crate) use main_commands::{MainCommand, is_answer, main_commands, succeeded};
use programs::{
    ALIASES, CHANGING, CHANGING_WITH, CONSTRUCTS, EXTENSIONS, INTERPRETERS, KEYWORDS, PRINT_ONLY_OPTIONS,
    READ_ONLY_WITH, SHELLS, VALUED, WRAPPERS,
};
use split::SimpleCommand;

use crate::model::word_list::WordList;

/// The maximum nesting of commands (`bash -c "bash -c …"`) that is followed.
const DEPTH: usize = 6;

/// Whether a shell command line changes something, judging by its words.
pub(crate) fn changes_something(line: &str) -> bool {
    is_changing_line(line, DEPTH)
}

/// Returns the words of a command line as a shell reads them, including those of nested commands and redirections.
pub(crate) fn shell_words(line: &str) -> Vec<String> {
    let split = |line: &str| {
        split::split_commands(line).into_iter().flat_map(|simple| simple.words.into_iter().chain(simple.files))
    };
    let mut words: Vec<String> = split(line).collect();
    let mut nested = 0;
    // A word with blanks may itself be a command, as in `bash -c "…"`. Each level of nesting removes quotes, so this ends.
    while let Some(word) = words.get(nested).filter(|_| nested < MAX_WORDS) {
        if word.contains(['\'', '"', '\\']) && word.contains(char::is_whitespace) {
            let inner: Vec<String> = split(word).filter(|inner| inner != word).collect();
            words.extend(inner);
        }
        nested += 1;
    }
    words
}

/// The number of words after which nested commands are no longer searched.
const MAX_WORDS: usize = 256;

/// Returns the paths that a command line removes from git: `git rm src/ble.rs`. Plain `rm` mostly deletes logs and scratch files.
pub(crate) fn removed_from_git(line: &str) -> Vec<String> {
    let paths_of = |arguments: Vec<String>| {
        if arguments.iter().any(|option| matches!(option.as_str(), "--cached" | "--dry-run" | "-n")) {
            return Vec::new();
        }
        let is_path = |word: &&String| !word.starts_with('-') && !word.contains(['*', '?', '$']);
        let plain = |path: &String| path.trim_start_matches("./").trim_end_matches('/').replace('\\', "/");
        arguments.iter().filter(is_path).map(plain).collect()
    };
    git_calls(line, "rm").flat_map(paths_of).collect()
}

/// Returns the commits that a command line reverts, as they are named: `4be19c2`, `HEAD`. `HEAD` may be a commit of somebody else or of
/// another branch, if the line does anything else before.
pub(crate) fn reverted_commits(line: &str) -> Vec<String> {
    let words: Vec<String> = git_calls(line, "revert").flatten().collect();
    let has = |option: &str| words.iter().any(|word| word == option);
    if has("--abort") {
        return Vec::new();
    }
    let is_only_tried = has("-n") || has("--no-commit");
    let begins =
        split::split_commands(line).first().is_some_and(|first| first.words.iter().take(2).eq(["git", "revert"]));
    let is_commit = |word: &String| word == "HEAD" && begins && !is_only_tried || is_commit_hash(word);
    words.into_iter().filter(is_commit).collect()
}

/// Returns the commits that a command line applies again.
pub(crate) fn picked_commits(line: &str) -> Vec<String> {
    git_calls(line, "cherry-pick").flatten().filter(|word| is_commit_hash(word)).collect()
}

/// Whether a command line changes the branch or gets commits of others.
pub(crate) fn moves_head(line: &str) -> bool {
    ["switch", "checkout", "pull", "merge", "rebase", "reset"].iter().any(|call| git_calls(line, call).next().is_some())
}

/// Returns the hash of the commit that a command line makes, which git prints: `[main 4be19c2] Fix the parser`, or a line of `git log
/// --oneline`.
pub(crate) fn made_commit<'o>(line: &str, output: &'o str) -> Option<&'o str> {
    git_calls(line, "commit").next()?;
    let of_line = |line: &'o str| {
        let (first, _) = line.split_once(' ')?;
        let bracket = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let named = bracket.and_then(|(branch, _)| branch.rsplit(' ').next());
        named.or(Some(first)).filter(|hash| is_commit_hash(hash))
    };
    output.lines().find_map(of_line)
}

/// Whether a word may be the hash of a commit, perhaps a short one.
fn is_commit_hash(word: &str) -> bool {
    const LENGTHS: RangeInclusive<usize> = 7..=40;
    let is_hex = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hex && LENGTHS.contains(&word.len()) && word.contains(|c: char| c.is_ascii_digit())
}

/// Returns the arguments of each call of a subcommand of git in a command line.
fn git_calls<'l>(line: &'l str, subcommand: &'l str) -> impl Iterator<Item = Vec<String>> + 'l {
    let arguments = move |simple: SimpleCommand| {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        let ("git", arguments) = effective_program(&words)? else { return None };
        let is_called = subcommands("git", arguments).first() == Some(&subcommand);
        let at = arguments.iter().position(|word| *word == subcommand).filter(|_| is_called)?;
        Some(arguments[at + 1..].iter().map(|word| (*word).to_owned()).collect())
    };
    split::split_commands(line).into_iter().filter_map(arguments)
}

fn is_changing_line(line: &str, depth: usize) -> bool {
    split::split_commands(line).iter().any(|simple| {
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        simple.writes || is_changing_command(&words, depth)
    })
}

fn is_changing_command(words: &[&str], depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let Some((word, arguments)) = effective_program(words) else { return false };
    let name = program_name(word);
    if CONSTRUCTS.contains(&&*name) || only_prints(arguments) {
        return false;
    }
    match &*name {
        "eval" => is_changing_line(&arguments.join(" "), depth),
        "ssh" => is_changing_line(&skip_options(arguments, "-i,-l,-o,-p,-F,-J", 1).join(" "), depth),
        "find" => {
            let exec = arguments.iter().position(|word| matches!(*word, "-exec" | "-execdir" | "-ok" | "-okdir"));
            arguments.contains(&"-delete") || exec.is_some_and(|at| is_changing_command(&arguments[at + 1..], depth))
        }
        "git" => is_changing_git_call(arguments),
        "sed" | "gsed" => {
            has_short_option(arguments, 'i', "efl") || arguments.iter().any(|word| word.starts_with("--in-place"))
        }
        "tar" => arguments.first().is_some_and(|modes| modes.contains(['c', 'x', 'r', 'u'])),
        "curl" => {
            ['o', 'O'].into_iter().any(|letter| has_short_option(arguments, letter, "HdXuA"))
                || is_changing_by_table("curl", arguments)
        }
        shell if SHELLS.contains(&shell) => is_changing_shell_call(arguments, depth),
        interpreter if INTERPRETERS.contains(&interpreter) => {
            !is_read_only(interpreter, arguments)
                && (is_changing_by_table(interpreter, arguments)
                    || is_changing_interpreter_call(interpreter, arguments, depth))
        }
        known if is_known(known) => is_changing_by_table(known, arguments),
        _ => is_script(word),
    }
}

/// Returns the program that a simple command runs in the end, and its arguments.
fn effective_program<'w>(mut words: &'w [&'w str]) -> Option<(&'w str, &'w [&'w str])> {
    loop {
        let (first, rest) = words.split_first()?;
        let name = program_name(first);
        if KEYWORDS.contains(first) || is_assignment(first) {
            words = rest;
        } else if first.starts_with('$') && rest.first() == Some(&"=") {
            words = &rest[1..];
        } else if let Some(wrapper) = WRAPPERS.value(&name) {
            // `command -v x` only prints where the program is.
            if name == "command" && rest.first().is_some_and(|option| option.eq_ignore_ascii_case("-v")) {
                return None;
            }
            let (operands, valued) = wrapper.split_once(' ').unwrap_or((wrapper, ""));
            words = skip_options(rest, valued, operands.parse().unwrap_or(0));
        } else {
            return Some((first, rest));
        }
    }
}

/// Skips options, with the values of those in the list `valued`, assignments and `operands` operands.
fn skip_options<'w>(mut words: &'w [&'w str], valued: &str, mut operands: usize) -> &'w [&'w str] {
    while let Some((first, rest)) = words.split_first() {
        words = match first {
            &"--" if operands == 0 => return rest,
            option if option.starts_with('-') && option.len() > 1 => {
                rest.get(usize::from(lists(valued, option))..).unwrap_or_default()
            }
            word if is_assignment(word) => rest,
            _ if operands > 0 => {
                operands -= 1;
                rest
            }
            _ => return words,
        };
    }
    words
}

/// Whether a word is `NAME=value`, or `$env:NAME=value` in PowerShell.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name.trim_end_matches('+'));
    name.is_some_and(|name| {
        let name = name.trim_start_matches("$env:").trim_start_matches('$');
        !name.is_empty() && name.chars().all(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '[' | ']'))
    })
}

/// Returns the name of a program in the tables: in lower case, without directory, extension and version.
fn program_name(word: &str) -> String {
    let name = word.trim_start_matches('{').rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    let name = EXTENSIONS.iter().find_map(|extension| name.strip_suffix(extension)).unwrap_or(&name);
    let plain = name.trim_end_matches(|next: char| next.is_ascii_digit() || matches!(next, '.' | '-'));
    let has_versions = matches!(plain, "python" | "pip" | "gcc" | "g++" | "clang" | "clang++");
    let name = if has_versions { plain } else { name };
    ALIASES.value(name).unwrap_or(name).to_owned()
}

fn only_prints(arguments: &[&str]) -> bool {
    arguments.iter().any(|argument| PRINT_ONLY_OPTIONS.contains(argument))
        || matches!(arguments, ["--version" | "help", ..] | ["version" | "-V"])
}

fn is_known(name: &str) -> bool {
    CHANGING.contains(name) || CHANGING_WITH.value(name).is_some()
}

/// Whether a word is one of a list with commas.
fn lists(list: &str, word: &str) -> bool {
    list.split(',').any(|listed| listed == word)
}

fn is_changing_by_table(name: &str, arguments: &[&str]) -> bool {
    let changes = CHANGING.contains(name)
        || CHANGING_WITH.value(name).is_some_and(|patterns| any_pattern_matches(patterns, name, arguments));
    changes && !is_read_only(name, arguments)
}

fn is_read_only(name: &str, arguments: &[&str]) -> bool {
    READ_ONLY_WITH.value(name).is_some_and(|patterns| any_pattern_matches(patterns, name, arguments))
}

fn any_pattern_matches(patterns: &str, name: &str, arguments: &[&str]) -> bool {
    let subcommands = subcommands(name, arguments);
    patterns.split(',').any(|pattern| pattern_matches(pattern, arguments, &subcommands))
}

/// Whether the arguments begin with the words of a pattern. Options of the pattern may be anywhere in the arguments.
fn pattern_matches(pattern: &str, arguments: &[&str], subcommands: &[&str]) -> bool {
    let (pattern, is_all) = pattern.strip_suffix('$').map_or((pattern, false), |pattern| (pattern, true));
    let (options, words): (Vec<&str>, Vec<&str>) =
        pattern.split(' ').filter(|word| !word.is_empty()).partition(|word| word.starts_with('-'));
    let is_rest_fine = !is_all || subcommands.len() == words.len() && (options.is_empty() || arguments.len() == 1);
    is_rest_fine && subcommands.starts_with(&words) && options.iter().all(|option| arguments.contains(option))
}

/// Returns the arguments without options and their values.
fn subcommands<'a>(name: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let valued = VALUED.value(name);
    let mut words = arguments.iter();
    let mut found = Vec::new();
    while let Some(word) = words.next() {
        if valued.is_some_and(|valued| lists(valued, word)) {
            words.next();
        } else if !word.starts_with(['-', '+']) {
            found.push(*word);
        }
    }
    found
}

/// Whether one of the short options contains a letter, as in `-i`, `-Ei` or `-i.bak`. The rest of an option after a letter in `valued` is a
/// value.
fn has_short_option(arguments: &[&str], letter: char, valued: &str) -> bool {
    arguments.iter().enumerate().any(|(at, option)| {
        let is_short = option.starts_with('-') && !option.starts_with("--");
        let goes_nowhere = arguments.get(at + 1) == Some(&"/dev/null");
        let mut letters = option.chars().skip(1).take_while(|next| !valued.contains(*next));
        is_short && !goes_nowhere && letters.any(|next| next == letter)
    })
}

fn is_changing_shell_call(arguments: &[&str], depth: usize) -> bool {
    let runs_text = |option: &&str| {
        let is_short = option.starts_with('-') && !option.starts_with("--") && option.ends_with('c');
        is_short || option.eq_ignore_ascii_case("-command") || option.eq_ignore_ascii_case("/c")
    };
    match arguments.iter().position(runs_text) {
        Some(at) => is_changing_line(&arguments[at + 1..].join(" "), depth),
        None => !arguments.contains(&"-n") && arguments.iter().any(|argument| !argument.starts_with('-')),
    }
}

fn is_changing_interpreter_call(interpreter: &str, arguments: &[&str], depth: usize) -> bool {
    if matches!(interpreter, "perl" | "ruby") && has_short_option(arguments, 'i', "eEmMIxr") {
        return true;
    }
    let Some(at) = arguments.iter().position(|argument| !argument.starts_with('-') || *argument == "-m") else {
        return false;
    };
    let (options, rest) = arguments.split_at(at);
    let runs_text = |option: &&str| {
        option.starts_with("--eval")
            || matches!(*option, "-c" | "-p" | "-r" | "-l" | "--check")
            || option.ends_with(['e', 'E'])
    };
    match rest {
        _ if options.iter().any(runs_text) => false,
        ["-m", module @ ..] => is_changing_command(module, depth),
        [script, arguments @ ..] if program_name(script) == "manage.py" => is_changing_by_table("manage.py", arguments),
        _ => true,
    }
}

/// Whether a word names a program inside the project or a script file. Installed programs that no table knows count as read-only.
fn is_script(word: &str) -> bool {
    let word = word.trim_start_matches('{');
    // `\ls` runs `ls` without an alias of that name.
    let word = word.strip_prefix('\\').unwrap_or(word);
    let Some((folder, _)) = word.rsplit_once(['/', '\\']) else {
        return [".sh", ".cmd", ".bat", ".ps1"].iter().any(|ending| word.ends_with(ending));
    };
    let is_installed = folder.starts_with(['/', '~', '$']) && (folder.ends_with("bin") || folder.contains("/bin/"));
    !is_installed
}

/// Whether a git call changes something. Some subcommands list or change things depending on the arguments that follow.
fn is_changing_git_call(arguments: &[&str]) -> bool {
    static LISTS: WordList = WordList::words(
        "-l --list -n -r -a -v -vv --contains --no-contains --merged --no-merged --points-at --sort --format \
         --show-current --all --remotes",
    );
    static EDITS: WordList = WordList::words("-d -D -m -M -c -C -f -u --delete --move --copy --force");
    static EDITS_ALWAYS: WordList = WordList::words("--set-upstream-to --unset-upstream --edit-description");
    static GETS: WordList = WordList::words("-l --list --get --get-all --get-regexp --get-urlmatch --get-color");
    static SETS: WordList = WordList::words("--unset --unset-all --add --replace-all --remove-section -e --edit");
    let words = subcommands("git", arguments);
    let options = || arguments.iter().map(|argument| argument.split('=').next().unwrap_or(argument));
    let has = |list: &WordList| options().any(|option| list.contains(option));
    match words.first() {
        Some(&("branch" | "tag")) => {
            has(&EDITS) && !options().any(|option| option == "--list")
                || has(&EDITS_ALWAYS)
                || words.len() > 1 && !has(&LISTS)
        }
        Some(&"config") => has(&SETS) || !has(&GETS) && words.len() > 2 && !matches!(words[1], "get" | "list"),
        _ => is_changing_by_table("git", arguments),
    }
}

#[cfg(test)]
mod tests;
