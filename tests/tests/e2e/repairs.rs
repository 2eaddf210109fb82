//! Programs that run from a cache, move, or start through a script of npm; and what `doctor --fix` repairs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use harness::{Binaries, Sandbox, sandbox};
use serde_json::{Value, json};

const SYSTEM: &str = "/usr/bin:/bin";

/// A sandbox that starts the programs in `folder`, which is not on `PATH`.
fn running_in(folder: &str) -> Sandbox {
    let mut sandbox = sandbox!();
    let place = sandbox.root().join(folder);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    let binaries = harness::binaries!().copy_to(&place);
    sandbox.set_binaries(binaries).set_variable("PATH", SYSTEM);
    sandbox
}

fn programs_in(folder: &Path) -> Binaries {
    Binaries { memory: folder.join("jikime-memory"), hook: folder.join("jikime-hook") }
}

/// The programs that host files of the project start: the server's and those of all hooks.
fn started(sandbox: &Sandbox) -> (PathBuf, Vec<PathBuf>) {
    let parse = |path: &str| -> Value { serde_json::from_str(&sandbox.read(path)).unwrap() };
    let command = |value: &Value| PathBuf::from(value["command"].as_str().unwrap());
    let hooks = parse(".claude/settings.json");
    let groups = hooks["hooks"].as_object().unwrap().values();
    let mut programs: Vec<PathBuf> = groups.map(|groups| command(&groups[0]["hooks"][0])).collect();
    programs.dedup();
    (command(&parse(".mcp.json")["mcpServers"]["jikime-memory"]), programs)
}

fn write_script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The findings that `doctor --fix` repairs, and the number of all.
fn repairable(sandbox: &Sandbox) -> (Vec<String>, u64) {
    let report = sandbox.run_cli(["doctor", "--json"]).json();
    let checks = report["checks"].as_array().unwrap().iter();
    let found = checks.filter_map(|check| check["repair"].as_str().map(str::to_owned)).collect();
    (found, report["findings"].as_u64().unwrap())
}

#[test]
fn programs_in_a_cache_are_copied_first() {
    let mut sandbox = running_in("cache/_npx/1a2b/node_modules/jikime-memory-linux-x64/bin");
    let shims = sandbox.root().join("cache/_npx/1a2b/node_modules/.bin");
    for name in ["jikime-memory", "jikime-hook"] {
        write_script(&shims.join(name), "#!/usr/bin/env node\n");
    }
    sandbox.set_variable("PATH", format!("{}:{SYSTEM}", shims.display()));
    let own = sandbox.home().join(".local/share/jikime-memory/bin");
    let shown = sandbox.run_cli(["init", "--dry-run"]);
    assert!(shown.assert_success().stderr.contains("copied to ~/.local/share/jikime-memory/bin"), "{shown:?}");
    assert!(!own.exists());
    sandbox.run_cli(["init", "--yes"]).assert_success();
    assert_eq!(started(&sandbox), (own.join("jikime-memory"), vec![own.join("jikime-hook")]));
    let again = sandbox.run_cli(["init", "--yes"]);
    assert!(again.assert_success().stdout.contains("Everything is set up already"), "{}", again.stdout);

    fs::remove_dir_all(sandbox.root().join("cache")).unwrap();
    sandbox.set_binaries(programs_in(&own)).set_variable("PATH", SYSTEM);
    sandbox.run_cli(["doctor"]).assert_success();
    let kept = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(kept.assert_success().stderr.contains("stay for other projects"), "{}", kept.stderr);
    assert!(own.join("jikime-hook").exists());
    sandbox.run_cli(["uninstall", "--scope", "user", "--yes"]).assert_success();
    assert!(!own.parent().unwrap().exists());
}

#[test]
fn doctor_repairs_paths_of_moved_programs() {
    let mut sandbox = running_in("old");
    sandbox.write(".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    sandbox.run_cli(["init", "--yes"]).assert_success();
    assert_eq!(repairable(&sandbox), (vec![], 0));
    let (old, new) = (sandbox.root().join("old"), sandbox.root().join("new"));
    fs::rename(&old, &new).unwrap();
    sandbox.set_binaries(programs_in(&new));
    assert_eq!(repairable(&sandbox), (vec!["host-files".to_owned(); 2], 3));

    let before = started(&sandbox);
    let shown = sandbox.run_cli(["doctor", "--fix", "--dry-run"]);
    assert!(shown.assert_code(1).stdout.contains("Nothing was changed."), "{}", shown.stdout);
    sandbox.run_cli(["doctor", "--fix"]).assert_code(1);
    assert_eq!(started(&sandbox), before);
    let fixed = sandbox.run_cli(["doctor", "--fix", "--yes"]);
    assert!(fixed.assert_success().stdout.contains("Everything is fine."), "{}", fixed.stdout);
    assert_eq!(started(&sandbox), (new.join("jikime-memory"), vec![new.join("jikime-hook")]));
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(sandbox.read(".claude/settings.json"), "{\n  \"model\": \"x\"\n}\n");
    assert!(!sandbox.project().join(".mcp.json").exists());
}

#[test]
fn scripts_of_npm_give_way_to_native_programs() {
    let mut sandbox = sandbox!().installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    assert_eq!(started(&sandbox).0, Path::new("jikime-memory"));
    let native = sandbox.root().join("lib");
    fs::rename(sandbox.root().join("bin"), &native).unwrap();
    for name in ["jikime-memory", "jikime-hook"] {
        let start = format!("#!/bin/sh\n# node\nexec '{}' \"$@\"\n", native.join(name).display());
        write_script(&sandbox.root().join("bin").join(name), &start);
    }
    sandbox.set_binaries(programs_in(&native));
    let found = sandbox.run_cli(["doctor"]).assert_code(1).stdout.clone();
    assert!(found.contains("starts jikime-hook, which is a script that starts"), "{found}");
    sandbox.run_cli(["doctor", "--fix", "--yes"]).assert_success();
    assert_eq!(started(&sandbox), (native.join("jikime-memory"), vec![native.join("jikime-hook")]));
}

#[test]
fn doctor_repairs_the_store_and_the_setup_record() {
    let sandbox = sandbox!().installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["save", "decision", "Markdown is the truth."]).assert_success();
    let db = sandbox.store().join("index.db");
    let mut bytes = fs::read(&db).unwrap();
    bytes[4096..3 * 4096].fill(0xa5);
    fs::write(&db, bytes).unwrap();
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(sandbox.store().join(".gitignore")).unwrap();
    fs::remove_file(sandbox.project().join("CLAUDE.md")).unwrap();
    let fixed = sandbox.run_cli(["doctor", "--fix", "--yes"]).stdout.clone();
    for part in ["store readable and writable for you only", "missing files from the setup record", "rebuild rows"] {
        assert!(fixed.contains(part), "{part} is not in {fixed}");
    }
    assert_eq!(repairable(&sandbox).0, [""; 0]);
    assert_eq!(fs::metadata(sandbox.store()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(sandbox.store().join(".gitignore").exists());
    assert!(
        !sandbox.store().join("setup.json").exists() || !sandbox.read(".jikime/memory/setup.json").contains("CLAUDE")
    );
    let found = sandbox.run_cli(["search", "truth", "--json"]).assert_success().json();
    assert_eq!(found["results"][0]["type"], json!("decision"), "{found}");
}

#[test]
fn store_that_every_user_may_change_is_closed() {
    let sandbox = running_in("bin");
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["save", "decision", "Backups go to the object store."]).assert_success();
    let record = fs::read(sandbox.store().join("setup.json")).unwrap();
    let outer = sandbox.project().join(".jikime");
    for open in [&outer, &sandbox.store()] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let told = sandbox.run_cli(["doctor"]).assert_code(1).stdout.replace('\n', " ");
    assert!(told.contains("every user may change") && !told.contains("setup record"), "{told}");
    sandbox.run_cli(["doctor", "--fix", "--yes"]);
    for closed in [&outer, &sandbox.store()] {
        assert_eq!(fs::metadata(closed).unwrap().permissions().mode() & 0o002, 0, "{}", closed.display());
    }
    assert_eq!(fs::read(sandbox.store().join("setup.json")).unwrap(), record);
    assert!(sandbox.run_cli(["search", "backups"]).assert_success().stdout.contains("object store"));
}

#[test]
fn doctor_reports_a_missing_server_and_recording_that_is_off() {
    let sandbox = running_in("bin");
    sandbox.run_cli(["init", "--yes", "--host", "claude-code", "--host", "cursor"]).assert_success();
    let told = |sandbox: &Sandbox| sandbox.run_cli(["doctor", "--json"]).json()["checks"].to_string();
    let before = told(&sandbox);
    assert!(!before.contains("does not start the server") && !before.contains("recording is off"), "{before}");
    sandbox.write(".mcp.json", "{\"mcpServers\": {}}\n");
    sandbox.run_cli(["config", "set", "capture", "false"]).assert_success();
    let after = told(&sandbox);
    assert!(after.contains("Claude Code does not start the server") && after.contains("recording is off"), "{after}");
}
