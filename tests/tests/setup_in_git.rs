//! Setting up where git has a say: in linked worktrees, and in clones in which somebody else committed the set-up.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::{Outcome, Sandbox, run_to_end, sandbox};
use serde_json::Value;

/// A repository with a linked worktree beside it, as git lays both out.
fn with_worktree() -> (Sandbox, PathBuf) {
    let sandbox = sandbox!().installed();
    let linked = sandbox.root().join("linked");
    let git_dir = sandbox.project().join(".git/worktrees/linked");
    fs::create_dir_all(&git_dir).unwrap();
    fs::create_dir_all(linked.join("src")).unwrap();
    fs::write(git_dir.join("commondir"), "../..\n").unwrap();
    fs::write(git_dir.join("HEAD"), "ref: refs/heads/feature\n").unwrap();
    fs::write(linked.join(".git"), format!("gitdir: {}\n", git_dir.display())).unwrap();
    (sandbox, linked)
}

fn run_in(sandbox: &Sandbox, folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = sandbox.memory_command();
    command.current_dir(folder).args(arguments);
    run_to_end(command, "", Duration::from_secs(60))
}

/// Everything that lies directly in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_linked_worktree_gets_files_of_its_own_and_shares_the_memory() {
    let (sandbox, linked) = with_worktree();
    let done = run_in(&sandbox, &linked.join("src"), &["init", "--yes"]);
    assert!(done.success().stdout.contains("that of the main worktree"), "{}", done.stdout);
    assert_eq!(names(&linked), [".claude", ".git", ".mcp.json", "CLAUDE.md", "src"]);
    assert_eq!(names(&sandbox.project()), [".git", ".jikime"], "the main worktree has nothing of hosts");
    run_in(&sandbox, &linked, &["save", "decision", "Worktrees share what is remembered."]).success();
    assert!(sandbox.logs().contains("Worktrees share") && !linked.join(".jikime").exists());

    let examined = run_in(&sandbox, &linked, &["doctor"]);
    assert!(examined.success().stdout.contains("those of this worktree"), "{}", examined.stdout);
    let examined = sandbox.run_cli(["doctor", "--json"]).code(1).json();
    assert!(examined.to_string().contains("no host starts the server here"), "{examined:#}");

    // Each worktree is set up and taken back by itself.
    sandbox.run_cli(["init", "--yes"]).success();
    run_in(&sandbox, &linked, &["uninstall", "--yes"]).success();
    assert_eq!(names(&linked), [".git", "src"]);
    sandbox.run_cli(["doctor"]).success();
    sandbox.run_cli(["uninstall", "--yes"]).success();
    assert_eq!(names(&sandbox.project()), [".git", ".jikime"]);
    assert!(!sandbox.store().join("setup.json").exists());
}

#[test]
fn an_empty_memory_stays_as_long_as_another_worktree_is_set_up_for_it() {
    let (sandbox, linked) = with_worktree();
    run_in(&sandbox, &linked, &["init", "--yes"]).success();
    sandbox.run_cli(["init", "--yes"]).success();
    sandbox.run_cli(["uninstall", "--yes"]).success();
    assert!(sandbox.store().join("setup.json").exists());
    run_in(&sandbox, &linked, &["uninstall", "--yes"]).success();
    assert_eq!((names(&linked), names(&sandbox.project())), (vec![".git".into(), "src".into()], vec![".git".into()]));
}

#[test]
fn a_host_that_names_the_open_folder_is_told_the_main_worktree() {
    let (sandbox, linked) = with_worktree();
    let committed = r#"{ "mcpServers": { "jikime-memory": { "command": "jikime-memory", "args": ["serve", "--project", "${workspaceFolder}"] } } }"#;
    fs::create_dir(linked.join(".cursor")).unwrap();
    fs::write(linked.join(".cursor/mcp.json"), committed).unwrap();
    let examined = run_in(&sandbox, &linked, &["doctor"]);
    assert!(examined.code(1).stdout.contains("a memory of its own"), "{}", examined.stdout);
    let done = run_in(&sandbox, &linked, &["init", "--host", "cursor", "--host", "vscode", "--yes"]);
    assert!(done.success().stderr.contains("good on this machine only"), "{}", done.stderr);
    let main = sandbox.project().to_string_lossy().into_owned();
    for (file, key) in [(".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")] {
        let text: Value = serde_json::from_str(&fs::read_to_string(linked.join(file)).unwrap()).unwrap();
        assert_eq!(text[key]["jikime-memory"]["args"][2], *main, "{text:#}");
    }
    run_in(&sandbox, &linked, &["doctor"]).success();
    assert!(!linked.join(".jikime").exists());
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]).args(arguments);
    let done = run_to_end(
        {
            command.current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
            command
        },
        "",
        Duration::from_secs(60),
    );
    done.success();
}

/// A clone in which somebody else committed what `init` writes.
fn clone_with_a_set_up() -> Sandbox {
    let sandbox = sandbox!().installed();
    sandbox.write("CLAUDE.md", "# Rules\n\nBe kind.\n");
    sandbox.run_cli(["init", "--yes"]).success();
    fs::remove_dir_all(sandbox.project().join(".jikime")).unwrap();
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    git(&sandbox.project(), &["init", "-q"]);
    git(&sandbox.project(), &["add", "."]);
    git(&sandbox.project(), &["commit", "-q", "-m", "set up"]);
    sandbox
}

#[test]
fn what_somebody_else_committed_is_taken_out_and_no_tracked_file_is_deleted() {
    let sandbox = clone_with_a_set_up();
    let shown = sandbox.run_cli(["uninstall", "--dry-run"]);
    for part in [".mcp.json was not set up here", "told by what it says; git tracks the file, so it stays"] {
        assert!(shown.success().stderr.contains(part), "{part} is not in {}", shown.stderr);
    }
    let report = sandbox.run_cli(["uninstall", "--yes", "--json"]).success().json();
    let changes: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["change"].as_str().unwrap()).collect();
    assert_eq!((changes, report["notes"].as_array().map(Vec::len)), (vec!["changed"; 3], Some(3)), "{report:#}");
    assert_eq!(sandbox.read("CLAUDE.md"), "# Rules\n\nBe kind.\n");
    for file in [".mcp.json", ".claude/settings.json"] {
        assert_eq!(sandbox.read(file).trim(), "{}", "{file}");
    }

    // What git does not know, and holds nothing but ours, goes.
    let sandbox = clone_with_a_set_up();
    git(&sandbox.project(), &["rm", "-q", "--cached", ".mcp.json"]);
    sandbox.run_cli(["uninstall", "--yes"]).success();
    assert!(!sandbox.project().join(".mcp.json").exists() && sandbox.project().join(".claude/settings.json").exists());
}

#[test]
fn a_clone_that_is_set_up_already_changes_nothing_when_it_is_set_up() {
    let sandbox = clone_with_a_set_up();
    let done = sandbox.run_cli(["init", "--yes"]);
    assert!(done.success().stdout.contains("Everything is set up already"), "{}", done.stdout);
    sandbox.run_cli(["doctor"]).success();
    sandbox.run_cli(["uninstall", "--yes"]).success();
    assert_eq!(names(&sandbox.project()), [".claude", ".git", ".mcp.json", "CLAUDE.md"]);
}
