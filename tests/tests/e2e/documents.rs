//! Runs all commands in `sh` blocks of the documents, in order, each document in its own project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::environment;
use harness::{Sandbox, report_skip, repository_root, run_to_end, sandbox};

/// Prefixes of commands that are not run, with the reason.
const NOT_RUN: [(&str, &str); 21] = [
    ("cargo ", "builds the project, which the project's own check does"),
    ("jikime-memory serve", "serves until its host ends; tests/http.rs and tests/server.rs start it"),
    ("jikime-memory view", "serves until its page is closed; tests/page.rs starts it"),
    ("jikime-memory browse", "needs a terminal; tests/browse.rs has one"),
    ("cd your-project", "is where the reader's project is; commands are run in one"),
    ("jikime-memory init", "asks before it writes; tests/setup.rs answers"),
    ("jikime-memory doctor", "finds that no host is set up, which its exit status says; tests/setup.rs has one"),
    ("jikime-memory approve", "needs a memory of another member; tests/team.rs has one"),
    ("export JIKIME_TEAM", "names a database; tests/team_server.rs has one"),
    ("jikime-memory team create", "needs a database; tests/team_server.rs has one"),
    ("jikime-memory team serve", "serves until a signal; tests/team_server.rs starts it"),
    ("jikime-memory team connect", "needs a server; tests/team_server.rs has one"),
    ("jikime-memory team sync", "needs a server; tests/team_server.rs has one"),
    ("jikime-memory team invite", "needs a server; tests/team_server.rs has one"),
    ("git ", "is another program"),
    ("claude ", "is another program"),
    ("npx ", "is another program"),
    ("npm ", "installs a published package; .ci/packages installs those of this build"),
    ("uv ", "installs a published package; .ci/packages installs those of this build"),
    ("tests/peers/install", "installs published packages; tests/peers.rs describes our server instead"),
    ("curl ", "installs a published package; .ci/packages installs those of this build"),
];

/// A log with the ids used in the documents.
const LOG: &str = "# 2026-01-28

<!-- session 5e551011 +09:00 -->
- [10:30:15] **User Prompt**: Why do we use Redis for tokens?
- [10:31:02] **Tool Usage**: Files modified: src/billing/webhook.rs

## Decision

- Cache JWT tokens in Redis. <!-- {\"id\":\"4f368b8b\",\"at\":\"2026-01-28T10:32:10+09:00\"} -->
- Acknowledge webhooks after the commit. <!-- {\"id\":\"9c2d4e6f\",\"at\":\"2026-01-28T10:33:10+09:00\"} -->
";

#[test]
fn every_command_in_the_documents_works() {
    let mut run = 0;
    for document in documents() {
        let commands = commands(&fs::read_to_string(repository_root().join(&document)).unwrap());
        if commands.is_empty() {
            continue;
        }
        let sandbox = sandbox_with_memories();
        for command in commands {
            if NOT_RUN.iter().any(|(beginning, _)| command.starts_with(beginning)) {
                continue;
            }
            let outcome = run_to_end(shell(&sandbox, &command), "", Duration::from_mins(1));
            assert!(outcome.status.success(), "{} in {}: {outcome:#?}", command, document.display());
            run += 1;
        }
    }
    assert!(run >= 10, "{run} commands were found, which cannot be all");
}

/// Each command has an example in the reference, and the reference lists all commands.
#[test]
fn completions_and_manual_pages_name_every_command() {
    let sandbox = sandbox!();
    let reference = fs::read_to_string(repository_root().join("docs/reference/commands.md")).unwrap();
    let names: Vec<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("## `jikime-memory ")?.strip_suffix('`')).collect();
    assert!(names.len() > 10, "{names:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox.run_cli(["completions", shell]).assert_success().assert_no_stderr().stdout.clone();
        let missing: Vec<_> = names.iter().filter(|name| !script.contains(name.rsplit(' ').next().unwrap())).collect();
        assert!(missing.is_empty(), "{missing:?} in {shell}");
    }
    let folder = sandbox.root().join("man 1");
    sandbox.run_cli(["man", "--out", folder.to_str().unwrap()]).assert_success();
    for name in names {
        let page = folder.join(format!("jikime-memory-{}.1", name.replace(' ', "-")));
        let page = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(page.contains(".TH"), "{page}");
    }
    let page = fs::read_to_string(folder.join("jikime-memory-list.1")).unwrap();
    for part in
        ["[\\fB\\-\\-project\\fR \\fIDIR\\fR]", "[\\fB\\-n\\fR|\\fB\\-\\-limit\\fR \\fIN\\fR]", "[\\fB\\-\\-json\\fR]"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(sandbox.run_cli(["man"]).assert_success().stdout.contains(".TH jikime-memory 1"));
}

/// Bash's completions of the last word, through the script's function.
fn bash_completions(sandbox: &Sandbox, script: &Path, words: &[&str]) -> Vec<String> {
    const ASK: &str = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        function=$(complete -p "$1"); function=${function#* -F }; function=${function%% *}
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ASK, "bash"]).arg(script).args(words).current_dir(sandbox.project());
    let outcome = run_to_end(bash, "", Duration::from_mins(1));
    outcome.assert_success().assert_no_stderr();
    outcome.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_later_words() {
    if !cfg!(unix) || Command::new("bash").arg("--version").output().is_err() {
        report_skip("no bash");
        return;
    }
    let sandbox = sandbox!();
    let script = sandbox.root().join("completions.bash");
    fs::write(&script, &sandbox.run_cli(["completions", "bash"]).assert_success().stdout).unwrap();
    for (words, expected) in [
        (&["jikime-memory", "pro"][..], &["promote"][..]),
        (&["jikime-memory", "import", "claude-c"], &["claude-code"]),
        (&["jikime-memory", "import", "auto-memory", "--fr"], &["--from"]),
        (&["jikime-memory", "import", "claude-code", "--ag"], &["--again"]),
        (&["jikime-memory", "list", "--ty"], &["--type"]),
        (&["jikime-memory", "list", "--type", "d"], &["decision"]),
        (&["jikime-memory", "init", "--host", "c"], &["claude-code", "claude-desktop", "codex", "cursor"]),
        (&["jikime-memory", "config", "sh"], &["show"]),
    ] {
        assert_eq!(bash_completions(&sandbox, &script, words), expected, "{words:?}");
    }
}

/// The most words of the documents for users, without README.md, references and blocks of code.
const MAX_WORDS: usize = 8_100;

#[test]
fn documents_for_users_are_short() {
    let names = ["setup", "usage", "privacy", "troubleshooting", "concepts", "team", "team-server"];
    let counts = names.map(|name| {
        let text = fs::read_to_string(repository_root().join(format!("docs/{name}.md"))).unwrap();
        let outside_blocks = text.split("```").step_by(2);
        outside_blocks.flat_map(str::split_whitespace).count()
    });
    let sum: usize = counts.iter().sum();
    assert!((1_000..=MAX_WORDS).contains(&sum), "{sum} words: {:?}", names.iter().zip(counts).collect::<Vec<_>>());
}

#[test]
fn blocks_are_read_as_people_read_them() {
    let text = "a\n```sh\n# first\nls -l   # what is there\ncat <<'E' \\\n  | wc\n\n```\n```json\nno\n```\n";
    assert_eq!(commands(text), ["ls -l   # what is there", "cat <<'E' \\\n  | wc"]);
}

/// The commands in `sh` blocks, one per line; `\` continues a line.
fn commands(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_inside = false;
    let mut goes_on = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_inside = !is_inside && line == "```sh";
        } else if is_inside && goes_on {
            commands.last_mut().unwrap().push_str(&format!("\n{line}"));
            goes_on = line.ends_with('\\');
        } else if is_inside && !line.trim().is_empty() && !line.starts_with('#') {
            commands.push(line.to_owned());
            goes_on = line.ends_with('\\');
        }
    }
    commands
}

fn sandbox_with_memories() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/2026-01-28.md", LOG);
    sandbox.write(".jikime/memory/notes/api.md", "# API\n\nGET /v1/webhooks lists what is registered.\n");
    sandbox
}

/// A shell in which `jikime-memory` is the program under test.
fn shell(sandbox: &Sandbox, line: &str) -> Command {
    let program = sandbox.memory_command();
    let programs = sandbox.root().join("bin");
    fs::create_dir_all(&programs).unwrap();
    let link = programs.join("jikime-memory");
    if !link.exists() {
        std::os::unix::fs::symlink(program.get_program(), link).unwrap();
    }
    let path = environment::variable("PATH").unwrap().into_string().unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-euc").arg(line).current_dir(sandbox.project()).env_clear();
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", format!("{}:{path}", programs.display()));
    shell
}

fn documents() -> Vec<PathBuf> {
    let folders = ["docs", "docs/reference", "docs/dev"].map(|folder| repository_root().join(folder));
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|item| item.unwrap().path());
    let mut documents: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    documents.push(repository_root().join("README.md"));
    documents.sort();
    documents
}
