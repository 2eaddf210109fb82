//! What the documents tell people to type works: every command in a block of `sh`, in its order, in a project of its own.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::{Sandbox, run_to_end, sandbox, skipped};

/// Beginnings of commands that are not run, each with its reason.
const NOT_RUN: [(&str, &str); 8] = [
    ("cargo ", "builds the project, which the project's own check does"),
    ("jikime-memory serve", "serves until its host ends; tests/http.rs and tests/server.rs start it"),
    ("jikime-memory browse", "needs a terminal; tests/browse.rs has one"),
    ("cd your-project", "is where the reader's project is; commands are run in one"),
    ("jikime-memory init", "asks before it writes; tests/setup.rs answers"),
    ("jikime-memory doctor", "finds that no host is set up, which its exit status says; tests/setup.rs has one"),
    ("claude ", "is another program"),
    ("npx ", "is another program"),
];

/// A log with the ids that the documents name.
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
        let commands = commands(&fs::read_to_string(root().join(&document)).unwrap());
        if commands.is_empty() {
            continue;
        }
        let sandbox = remembering();
        for command in commands {
            if NOT_RUN.iter().any(|(beginning, _)| command.starts_with(beginning)) {
                continue;
            }
            let outcome = run_to_end(shell(&sandbox, &command), "", Duration::from_secs(60));
            assert!(outcome.status.success(), "{} in {}: {outcome:#?}", command, document.display());
            run += 1;
        }
    }
    assert!(run >= 10, "{run} commands were found, which cannot be all");
}

/// Every command has an example in the reference, and the reference names every command.
#[test]
fn completions_and_manual_pages_name_every_command() {
    let sandbox = sandbox!();
    let reference = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let names: Vec<&str> =
        reference.lines().filter_map(|line| line.strip_prefix("## `jikime-memory ")?.strip_suffix('`')).collect();
    assert!(names.len() > 10, "{names:?}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = sandbox.run_cli(["completions", shell]).success().complained_of_nothing().stdout.clone();
        let missing: Vec<_> = names.iter().filter(|name| !script.contains(name.rsplit(' ').next().unwrap())).collect();
        assert!(missing.is_empty(), "{missing:?} in {shell}");
    }
    let folder = sandbox.root().join("man 1");
    sandbox.run_cli(["man", "--out", folder.to_str().unwrap()]).success();
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
    assert!(sandbox.run_cli(["man"]).success().stdout.contains(".TH jikime-memory 1"));
}

/// What bash offers for the last of these words, asked as bash asks: the script is read, and its function called.
fn completed(sandbox: &Sandbox, script: &Path, words: &[&str]) -> Vec<String> {
    const ASK: &str = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        function=$(complete -p "$1"); function=${function#* -F }; function=${function%% *}
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", ASK, "bash"]).arg(script).args(words).current_dir(sandbox.project());
    let outcome = run_to_end(bash, "", Duration::from_secs(60));
    outcome.success().complained_of_nothing();
    outcome.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_behind_the_first_word() {
    if !cfg!(unix) || Command::new("bash").arg("--version").output().is_err() {
        skipped("there is no bash");
        return;
    }
    let sandbox = sandbox!();
    let script = sandbox.root().join("completions.bash");
    fs::write(&script, &sandbox.run_cli(["completions", "bash"]).success().stdout).unwrap();
    for (words, expected) in [
        (&["jikime-memory", "pro"][..], &["promote"][..]),
        (&["jikime-memory", "import", "c"], &["claude-code"]),
        (&["jikime-memory", "import", "auto-memory", "--fr"], &["--from"]),
        (&["jikime-memory", "import", "claude-code", "--ag"], &["--again"]),
        (&["jikime-memory", "list", "--ty"], &["--type"]),
        (&["jikime-memory", "list", "--type", "d"], &["decision"]),
        (&["jikime-memory", "init", "--host", "c"], &["claude-code", "claude-desktop", "codex", "cursor"]),
        (&["jikime-memory", "config", "sh"], &["show"]),
    ] {
        assert_eq!(completed(&sandbox, &script, words), expected, "{words:?}");
    }
}

#[test]
fn blocks_are_read_as_people_read_them() {
    let text = "a\n```sh\n# first\nls -l   # what is there\ncat <<'E' \\\n  | wc\n\n```\n```json\nno\n```\n";
    assert_eq!(commands(text), ["ls -l   # what is there", "cat <<'E' \\\n  | wc"]);
}

/// The commands in blocks of `sh`: a line each, longer ones with `\` at the end of a line.
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

fn remembering() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/2026-01-28.md", LOG);
    sandbox.write(".jikime/memory/notes/api.md", "# API\n\nGET /v1/webhooks lists what is registered.\n");
    sandbox
}

/// A shell to which the program under test is `jikime-memory`.
fn shell(sandbox: &Sandbox, line: &str) -> Command {
    let program = sandbox.memory_command();
    let programs = sandbox.root().join("bin");
    fs::create_dir_all(&programs).unwrap();
    let link = programs.join("jikime-memory");
    if !link.exists() {
        std::os::unix::fs::symlink(program.get_program(), link).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("sh");
    shell.arg("-euc").arg(line).current_dir(sandbox.project()).env_clear();
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", format!("{}:{path}", programs.display()));
    shell
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|item| item.unwrap().path());
    let mut documents: Vec<PathBuf> =
        docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect();
    documents.push(root().join("README.md"));
    documents.sort();
    documents
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests live one level below the top")
}
