//! Files of settings that cannot be read or written, and stores that their owner locked: what is said, and what stays as it was.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use harness::{Sandbox, sandbox};
use rstest::rstest;
use serde_json::Value;

fn installed() -> Sandbox {
    sandbox!().installed()
}

/// What lies in the project beside git's folder.
fn names(sandbox: &Sandbox) -> Vec<String> {
    let items = fs::read_dir(sandbox.project()).unwrap();
    let names = items.map(|item| item.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != ".git").collect();
    names.sort();
    names
}

#[rstest]
#[case::pipe("a pipe or device")]
#[case::device("leads out of the project")]
#[case::folder("a folder, not a file")]
fn what_is_no_file_is_refused_at_once(#[case] said: &str) {
    let sandbox = installed();
    let place = sandbox.project().join(".mcp.json");
    match said {
        "a pipe or device" => assert!(Command::new("mkfifo").arg(&place).status().unwrap().success()),
        "leads out of the project" => symlink("/dev/zero", &place).unwrap(),
        _ => fs::create_dir(&place).unwrap(),
    }
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.code(1).stderr.contains(said) && refused.stderr.contains(".mcp.json"), "{refused:#?}");
    assert_eq!(names(&sandbox), [".mcp.json"]);
    sandbox.run_cli(["doctor"]).code(1);
    sandbox.run_cli(["init", "--list-hosts"]).success();
    let left = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(left.code(1).stderr.contains("it is left as it is"), "{left:#?}");
}

#[test]
fn a_key_that_stands_there_twice_is_refused_with_its_place() {
    let sandbox = installed();
    let text = "{\n  \"mcpServers\": {},\n  \"mcpServers\": { \"x\": { \"command\": \"x\" } }\n}\n";
    sandbox.write(".mcp.json", text);
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.code(1).stderr.contains(".mcp.json: line 3, column 3: \"mcpServers\""), "{refused:#?}");
    assert_eq!((sandbox.read(".mcp.json").as_str(), names(&sandbox)), (text, vec![".mcp.json".to_owned()]));
}

#[test]
fn a_set_up_that_fails_leaves_nothing_behind() {
    let sandbox = installed();
    // A folder of this name lets nobody write the file beside it, whoever may do everything.
    sandbox.write(".claude/settings.json", "{}\n");
    fs::create_dir(sandbox.project().join(".claude/.settings.json.jikime-new")).unwrap();
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.code(1).stderr.contains("nothing was changed"), "{refused:#?}");
    assert_eq!(names(&sandbox), [".claude"]);
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    // A store that was there stays.
    sandbox.run_cli(["save", "decision", "It stays."]).success();
    sandbox.run_cli(["init", "--yes"]).code(1);
    assert!(sandbox.logs().contains("It stays.") && !sandbox.store().join("setup.json").exists());
}

#[test]
fn a_file_that_its_host_cannot_read_is_named_when_everything_is_taken_back() {
    let sandbox = installed();
    sandbox.write(".vscode/mcp.json", "{\n  \"servers\": {\n");
    sandbox.run_cli(["init", "--yes"]).success();
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.success().stderr.contains(".vscode/mcp.json: line "), "{}", done.stderr);
    assert_eq!(sandbox.read(".vscode/mcp.json"), "{\n  \"servers\": {\n");
}

#[test]
fn a_link_to_nothing_is_left_and_everything_else_is_taken_back() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).success();
    symlink("gone.md", sandbox.project().join("AGENTS.md")).unwrap();
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.success().stderr.contains("a link to what does not exist; it is left as it is"), "{done:#?}");
    assert_eq!(names(&sandbox), ["AGENTS.md"]);

    // Where something of ours may be left, the status says so.
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).success();
    let whole = sandbox.read(".mcp.json");
    sandbox.write(".mcp.json", format!("{whole}}}"));
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.code(1).stderr.contains("something of ours may be left"), "{done:#?}");
    assert_eq!(names(&sandbox), [".jikime", ".mcp.json"]);
    sandbox.write(".mcp.json", whole);
    sandbox.run_cli(["uninstall", "--yes"]).success();
    assert_eq!(names(&sandbox), [""; 0]);
}

/// What `doctor` finds, with its fixes.
fn found(sandbox: &Sandbox) -> String {
    let report = sandbox.run_cli(["doctor", "--json"]).code(1).json();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["verdict"] == "finding");
    let told = |check: &Value| format!("{}: {} → {}\n", check["about"], check["what"], check["fix"]).replace('"', "");
    checks.map(told).collect()
}

#[test]
fn the_doctor_says_how_to_mend_settings_and_modes() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).success();
    sandbox.write(".jikime/memory.toml", "brief = \"on\"\nredact = [ 'x'\ncapture = true\n");
    let told = found(&sandbox);
    assert!(told.contains("memory.toml: line 3, column 1: ") && told.contains("config check looks again"), "{told}");
    sandbox.write(".jikime/memory.toml", "breif = \"off\"\n");
    let told = found(&sandbox);
    assert!(told.contains("no setting breif; there is ") && told.contains("→ change what is named"), "{told}");
    fs::remove_file(sandbox.project().join(".jikime/memory.toml")).unwrap();

    let set_mode =
        |path: std::path::PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(sandbox.store(), 0o500);
    let told = found(&sandbox);
    assert!(told.contains("cannot be written or read (mode 500) → chmod 700 /"), "{told}");
    set_mode(sandbox.store(), 0o700);
    set_mode(sandbox.store().join("memory.db"), 0o000);
    let told = found(&sandbox);
    assert!(told.contains("memory.db (mode 000) → chmod 600 /"), "{told}");
    set_mode(sandbox.store().join("memory.db"), 0o600);
    sandbox.run_cli(["doctor"]).success();
    sandbox.write(".jikime/memory/latin.md", b"caf\xe9\n");
    let told = found(&sandbox);
    assert!(told.contains("latin.md") && told.contains("→ save the file as UTF-8"), "{told}");
}
