//! The supply chain: no `unsafe` in our code, and a bill of materials. `.ci/deny` checks licences, banned crates and
//! sources.

use std::fs;
use std::process::Command;

use harness::{files_below, report_skip, repository_root};
use serde_json::Value;

/// Packages of the lock file, each as its lines.
fn locked() -> Vec<String> {
    let lock = fs::read_to_string(repository_root().join("Cargo.lock")).unwrap();
    let packages: Vec<String> = lock.split("[[package]]\n").skip(1).map(str::to_owned).collect();
    assert!(packages.len() > 100, "the listing itself is wrong: {}", packages.len());
    packages
}

#[test]
fn our_crates_forbid_unsafe_and_share_lints() {
    let workspace = fs::read_to_string(repository_root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("\nunsafe_code = \"forbid\"\n"), "{workspace}");
    for member in ["schema", "tools", "server", "hooks-client", "tests"] {
        let folder = repository_root().join(member);
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
fn bill_of_materials_matches_the_lock_file() {
    let Ok(output) = Command::new("python3").current_dir(repository_root()).arg(".ci/sbom").output() else {
        return report_skip("there is no python3 here");
    };
    let complaint = String::from_utf8_lossy(&output.stderr);
    if complaint.contains("No module named 'tomllib'") {
        return report_skip("python3 is older than 3.11");
    }
    assert!(output.status.success(), "{complaint}");
    let bill: Value = serde_json::from_slice(&output.stdout).unwrap();
    let components = bill["components"].as_array().unwrap();
    assert_eq!((&bill["bomFormat"], components.len()), (&"CycloneDX".into(), locked().len()));
    let serde = components.iter().find(|component| component["name"] == "serde").unwrap();
    assert!(serde["purl"].as_str().unwrap().starts_with("pkg:cargo/serde@1."), "{serde}");
    assert_eq!(serde["hashes"][0]["content"].as_str().map(str::len), Some(64));
}
