//! Builds or copies the programs under test. A copy is safe from concurrent builds.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harness::environment;
use harness::{Binaries, copy_program};
use serde_json::Value;

/// Builds the programs if necessary, and copies them.
pub(super) fn build_programs(folder: &Path) -> Result<Binaries, String> {
    let cargo = environment::variable("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.current_dir(env!("CARGO_MANIFEST_DIR"));
    build.args(["build", "--message-format", "json", "--bin", "jikime-memory-under-test"]);
    build.args(["--bin", "jikime-hook-under-test"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let output = build.stderr(Stdio::inherit()).output().map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err("cannot build the programs under test".to_owned());
    }
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let place = |name: &str| {
        let made =
            messages.iter().find(|message| message["target"]["name"] == name && message["executable"].is_string());
        let path = made.and_then(|message| message["executable"].as_str());
        path.map(PathBuf::from).ok_or_else(|| format!("cargo does not report the path of {name}"))
    };
    copy_programs(&place("jikime-memory-under-test")?, &place("jikime-hook-under-test")?, folder)
}

pub(super) fn copy_programs(memory: &Path, hook: &Path, folder: &Path) -> Result<Binaries, String> {
    let copy = |path: &Path, name: &str| {
        let copy = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        copy_program(path, &copy).map_err(|error| format!("cannot copy {}: {error}", path.display()))?;
        Ok::<PathBuf, String>(copy)
    };
    Ok(Binaries { memory: copy(memory, "jikime-memory")?, hook: copy(hook, "jikime-hook")? })
}
