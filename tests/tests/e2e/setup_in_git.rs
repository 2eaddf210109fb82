//! Setup in linked worktrees, and in clones with a committed setup.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::{ProgramOutput, Sandbox, run_to_end, sandbox};
use serde_json::Value;

/// A repository with a linked worktree, as git creates them.
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

fn run_in(sandbox: &Sandbox, folder: &Path, arguments: &[&str]) -> ProgramOutput {
    let mut command = sandbox.memory_command();
    command.current_dir(folder).args(arguments);
    run_to_end(command, "", Duration::from_mins(1))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn linked_worktree_shares_the_store() {
    let (sandbox, linked) = with_worktree();
    let done = run_in(&sandbox, &linked.join("src"), &["init", "--yes"]);
    assert!(done.assert_success().stdout.contains("the memory of the main worktree"), "{}", done.stdout);
    assert_eq!(names(&linked), [".claude", ".git", ".mcp.json", "CLAUDE.md", "src"]);
    assert_eq!(names(&sandbox.project()), [".git", ".jikime"], "the main worktree has nothing of hosts");
    run_in(&sandbox, &linked, &["save", "decision", "Worktrees share what is remembered."]).assert_success();
    assert!(sandbox.logs().contains("Worktrees share") && !linked.join(".jikime").exists());

    let examined = run_in(&sandbox, &linked, &["doctor"]);
    assert!(examined.assert_success().stdout.contains("host files are read from this worktree"), "{}", examined.stdout);
    let examined = sandbox.run_cli(["doctor", "--json"]).assert_code(1).json();
    assert!(examined.to_string().contains("no host is set up to start the server here"), "{examined:#}");

    // Each worktree is set up and removed separately.
    sandbox.run_cli(["init", "--yes"]).assert_success();
    run_in(&sandbox, &linked, &["uninstall", "--yes"]).assert_success();
    assert_eq!(names(&linked), [".git", "src"]);
    sandbox.run_cli(["doctor"]).assert_success();
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(names(&sandbox.project()), [".git", ".jikime"]);
    assert!(!sandbox.store().join("setup.json").exists());
}

#[test]
fn empty_store_stays_while_another_worktree_uses_it() {
    let (sandbox, linked) = with_worktree();
    run_in(&sandbox, &linked, &["init", "--yes"]).assert_success();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert!(sandbox.store().join("setup.json").exists());
    run_in(&sandbox, &linked, &["uninstall", "--yes"]).assert_success();
    assert_eq!((names(&linked), names(&sandbox.project())), (vec![".git".into(), "src".into()], vec![".git".into()]));
}

#[test]
fn open_folder_maps_to_the_main_worktree() {
    let (sandbox, linked) = with_worktree();
    let committed = r#"{ "mcpServers": { "jikime-memory": { "command": "jikime-memory", "args": ["serve", "--project", "${workspaceFolder}"] } } }"#;
    fs::create_dir(linked.join(".cursor")).unwrap();
    fs::write(linked.join(".cursor/mcp.json"), committed).unwrap();
    let examined = run_in(&sandbox, &linked, &["doctor"]);
    assert!(examined.assert_code(1).stdout.contains("its own memory"), "{}", examined.stdout);
    let done = run_in(&sandbox, &linked, &["init", "--host", "cursor", "--host", "vscode", "--yes"]);
    assert!(done.assert_success().stderr.contains("works only on this machine"), "{}", done.stderr);
    let main = sandbox.project().to_string_lossy().into_owned();
    for (file, key) in [(".cursor/mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")] {
        let text: Value = serde_json::from_str(&fs::read_to_string(linked.join(file)).unwrap()).unwrap();
        assert_eq!(text[key]["jikime-memory"]["args"][2], *main, "{text:#}");
    }
    run_in(&sandbox, &linked, &["doctor"]).assert_success();
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
        Duration::from_mins(1),
    );
    done.assert_success();
}

/// A clone in which another person committed the output of `init`.
fn clone_with_a_set_up() -> Sandbox {
    let sandbox = sandbox!().installed();
    sandbox.write("CLAUDE.md", "# Rules\n\nBe kind.\n");
    sandbox.run_cli(["init", "--yes"]).assert_success();
    fs::remove_dir_all(sandbox.project().join(".jikime")).unwrap();
    fs::remove_dir_all(sandbox.project().join(".git")).unwrap();
    git(&sandbox.project(), &["init", "-q"]);
    git(&sandbox.project(), &["add", "."]);
    git(&sandbox.project(), &["commit", "-q", "-m", "set up"]);
    sandbox
}

#[test]
fn removal_cleans_but_keeps_tracked_files() {
    let sandbox = clone_with_a_set_up();
    let shown = sandbox.run_cli(["uninstall", "--dry-run"]);
    for part in [".mcp.json has no setup record here", "recognised by their text; git tracks the file, so it stays"] {
        assert!(shown.assert_success().stderr.contains(part), "{part} is not in {}", shown.stderr);
    }
    let report = sandbox.run_cli(["uninstall", "--yes", "--json"]).assert_success().json();
    let changes: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["change"].as_str().unwrap()).collect();
    assert_eq!((changes, report["notes"].as_array().map(Vec::len)), (vec!["changed"; 3], Some(3)), "{report:#}");
    assert_eq!(sandbox.read("CLAUDE.md"), "# Rules\n\nBe kind.\n");
    for file in [".mcp.json", ".claude/settings.json"] {
        assert_eq!(sandbox.read(file).trim(), "{}", "{file}");
    }

    // Untracked files with only our entries are deleted.
    let sandbox = clone_with_a_set_up();
    git(&sandbox.project(), &["rm", "-q", "--cached", ".mcp.json"]);
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert!(!sandbox.project().join(".mcp.json").exists() && sandbox.project().join(".claude/settings.json").exists());
}

#[test]
fn setup_of_a_configured_clone_changes_nothing() {
    let sandbox = clone_with_a_set_up();
    let done = sandbox.run_cli(["init", "--yes"]);
    assert!(done.assert_success().stdout.contains("Everything is set up already"), "{}", done.stdout);
    sandbox.run_cli(["doctor"]).assert_success();
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(names(&sandbox.project()), [".claude", ".git", ".mcp.json", "CLAUDE.md"]);
}
