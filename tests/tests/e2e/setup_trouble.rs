//! Setup with unreadable or locked files and stores: clear messages, and unchanged files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use harness::{Sandbox, sandbox};
use rstest::rstest;
use serde_json::Value;

fn installed() -> Sandbox {
    sandbox!().installed()
}

/// Names in the project, without `.git`.
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
fn setup_refuses_special_files(#[case] said: &str) {
    let sandbox = installed();
    let place = sandbox.project().join(".mcp.json");
    match said {
        "a pipe or device" => assert!(Command::new("mkfifo").arg(&place).status().unwrap().success()),
        "leads out of the project" => symlink("/dev/zero", &place).unwrap(),
        _ => fs::create_dir(&place).unwrap(),
    }
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains(said) && refused.stderr.contains(".mcp.json"), "{refused:#?}");
    assert_eq!(names(&sandbox), [".mcp.json"]);
    sandbox.run_cli(["doctor"]).assert_code(1);
    sandbox.run_cli(["init", "--list-hosts"]).assert_success();
    let left = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(left.assert_code(1).stderr.contains("it was not changed"), "{left:#?}");
}

#[test]
fn duplicate_key_is_refused_with_its_position() {
    let sandbox = installed();
    let text = "{\n  \"mcpServers\": {},\n  \"mcpServers\": { \"x\": { \"command\": \"x\" } }\n}\n";
    sandbox.write(".mcp.json", text);
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains(".mcp.json: line 3, column 3: \"mcpServers\""), "{refused:#?}");
    assert_eq!((sandbox.read(".mcp.json").as_str(), names(&sandbox)), (text, vec![".mcp.json".to_owned()]));
}

#[test]
fn failed_setup_leaves_nothing_behind() {
    let sandbox = installed();
    // A folder of this name blocks the write of the file, even for the superuser.
    sandbox.write(".claude/settings.json", "{}\n");
    fs::create_dir(sandbox.project().join(".claude/.settings.json.jikime-new")).unwrap();
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("nothing was changed"), "{refused:#?}");
    assert_eq!(names(&sandbox), [".claude"]);
    assert_eq!(sandbox.read(".claude/settings.json"), "{}\n");
    // An existing store stays.
    sandbox.run_cli(["save", "decision", "It stays."]).assert_success();
    sandbox.run_cli(["init", "--yes"]).assert_code(1);
    assert!(sandbox.logs().contains("It stays.") && !sandbox.store().join("setup.json").exists());
}

#[test]
fn removal_names_unreadable_host_files() {
    let sandbox = installed();
    sandbox.write(".vscode/mcp.json", "{\n  \"servers\": {\n");
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.assert_success().stderr.contains(".vscode/mcp.json: line "), "{}", done.stderr);
    assert_eq!(sandbox.read(".vscode/mcp.json"), "{\n  \"servers\": {\n");
}

#[test]
fn removal_skips_dangling_links() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    symlink("gone.md", sandbox.project().join("AGENTS.md")).unwrap();
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.assert_success().stderr.contains("a link to a missing file; it was not changed"), "{done:#?}");
    assert_eq!(names(&sandbox), ["AGENTS.md"]);

    // The exit status shows that parts of the setup may remain.
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let whole = sandbox.read(".mcp.json");
    sandbox.write(".mcp.json", format!("{whole}}}"));
    let done = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(done.assert_code(1).stderr.contains("parts of the setup may remain"), "{done:#?}");
    assert_eq!(names(&sandbox), [".jikime", ".mcp.json"]);
    sandbox.write(".mcp.json", whole);
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(names(&sandbox), [""; 0]);
}

/// Findings of `doctor` with their fixes.
fn found(sandbox: &Sandbox) -> String {
    let report = sandbox.run_cli(["doctor", "--json"]).assert_code(1).json();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["verdict"] == "finding");
    let told = |check: &Value| format!("{}: {} → {}\n", check["about"], check["what"], check["fix"]).replace('"', "");
    checks.map(told).collect()
}

#[test]
fn doctor_suggests_fixes_for_settings_and_modes() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.write(".jikime/memory.toml", "brief = \"on\"\nredact = [ 'x'\ncapture = true\n");
    let told = found(&sandbox);
    assert!(
        told.contains("memory.toml: line 3, column 1: ") && told.contains("then run jikime-memory config check"),
        "{told}"
    );
    sandbox.write(".jikime/memory.toml", "breif = \"off\"\n");
    let told = found(&sandbox);
    assert!(
        told.contains("unknown setting breif; the settings are ") && told.contains("→ fix or delete the setting"),
        "{told}"
    );
    fs::remove_file(sandbox.project().join(".jikime/memory.toml")).unwrap();

    let set_mode =
        |path: std::path::PathBuf, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(sandbox.store(), 0o500);
    let told = found(&sandbox);
    assert!(told.contains("(mode 500) → chmod 700 /"), "{told}");
    set_mode(sandbox.store(), 0o700);
    set_mode(sandbox.store().join("memory.db"), 0o000);
    let told = found(&sandbox);
    assert!(told.contains("memory.db (mode 000) → chmod 600 /"), "{told}");
    set_mode(sandbox.store().join("memory.db"), 0o600);
    sandbox.run_cli(["doctor"]).assert_success();
    sandbox.write(".jikime/memory/latin.md", b"caf\xe9\n");
    let told = found(&sandbox);
    assert!(told.contains("latin.md") && told.contains("→ save the file as UTF-8"), "{told}");
}
