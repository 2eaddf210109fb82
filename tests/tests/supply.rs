//! What the programs are built from: licences that go with ours, crates of the registry and of no other place, and no `unsafe` of ours.

#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::files_below;
use serde_json::Value;

/// Licences that ask for no more than to be named. A crate has to offer one of them, or all where it says so.
const LICENCES: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "BSL-1.0",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
];

/// What would bring in another TLS, a shared library of the system, or a runtime of its own.
const BANNED: [&str; 6] = ["openssl", "openssl-sys", "native-tls", "async-std", "pyo3", "wasmtime"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Everything that is built for this platform.
fn packages() -> Vec<Value> {
    let target = Command::new(env!("CARGO")).args(["-vV"]).output().unwrap();
    let target = String::from_utf8(target.stdout).unwrap();
    let host = target.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    let mut metadata = Command::new(env!("CARGO"));
    metadata.current_dir(root()).args(["metadata", "--offline", "--locked", "--format-version", "1"]);
    let output = metadata.args(["--filter-platform", &host]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Whether an expression of SPDX is met by the licences above.
fn is_met(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression.split(" AND ").all(|all| all.split(" OR ").any(|one| LICENCES.contains(&one.trim())))
}

#[test]
fn licences_are_met_as_they_are_written() {
    assert!(is_met("MIT OR Apache-2.0") && is_met("MIT/BSD-3-Clause") && is_met("(MIT OR GPL-3.0) AND Unicode-3.0"));
    assert!(!is_met("GPL-3.0") && !is_met("MIT AND GPL-3.0") && !is_met(""));
}

#[test]
fn every_crate_offers_a_licence_that_goes_with_ours() {
    let packages = packages();
    assert!(packages.len() > 100, "the listing itself is wrong: {}", packages.len());
    let licence = |package: &Value| package["license"].as_str().unwrap_or_default().to_owned();
    let others: Vec<String> = packages
        .iter()
        .filter(|package| !is_met(&licence(package)))
        .map(|package| format!("{}: {}", package["name"], licence(package)))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
}

/// The packages of the lock file, each as its lines.
fn locked() -> Vec<String> {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages: Vec<String> = lock.split("[[package]]\n").skip(1).map(str::to_owned).collect();
    assert!(packages.len() > 100, "the listing itself is wrong: {}", packages.len());
    packages
}

/// What a package of the lock file says of itself.
fn field<'p>(package: &'p str, name: &str) -> Option<&'p str> {
    let lines = package.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"'));
    lines.into_iter().next()
}

#[test]
fn every_crate_is_ours_or_of_the_registry_with_a_checksum_and_none_is_banned() {
    for package in locked() {
        let name = field(&package, "name").unwrap();
        let is_ours = name.starts_with("jikime-");
        let source = field(&package, "source");
        assert_eq!(source.is_none(), is_ours, "{name} comes from {source:?}");
        assert!(source.is_none_or(|source| source.starts_with("registry+")), "{name} comes from {source:?}");
        assert_eq!(field(&package, "checksum").is_none(), is_ours, "{name} has no checksum");
        assert!(!BANNED.contains(&name), "{name} is banned");
    }
}

#[test]
fn no_crate_of_ours_has_unsafe_code_and_each_keeps_to_the_common_lints() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("\nunsafe_code = \"forbid\"\n"), "{workspace}");
    for member in ["schema", "tools", "server", "hooks-client", "tests"] {
        let folder = root().join(member);
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("\n[lints]\nworkspace = true\n"), "{manifest}");
        for path in files_below(&folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
            let text = fs::read_to_string(&path).unwrap();
            let word = concat!("uns", "afe {");
            assert!(!text.lines().any(|line| line.contains(word)), "{}", path.display());
        }
    }
}

#[test]
fn the_bill_of_materials_names_every_crate_of_the_lock_file_with_its_checksum() {
    let Ok(output) = Command::new("python3").current_dir(root()).arg(".ci/sbom").output() else { return };
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("No module named 'tomllib'") {
        return;
    }
    assert!(output.status.success(), "{complaint}");
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    let components = bill["components"].as_array().unwrap();
    assert_eq!((&bill["bomFormat"], components.len()), (&"CycloneDX".into(), locked().len()));
    let serde = components.iter().find(|component| component["name"] == "serde").unwrap();
    assert!(serde["purl"].as_str().unwrap().starts_with("pkg:cargo/serde@1."), "{serde}");
    assert_eq!(serde["hashes"][0]["content"].as_str().map(str::len), Some(64));
}
