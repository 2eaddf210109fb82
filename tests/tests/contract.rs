//! What the shape of the repository promises: who depends on whom, what lies at the top level, and what no file may name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

const OURS: [&str; 5] =
    ["jikime-memory", "jikime-hook", "jikime-memory-schema", "jikime-memory-tools", "jikime-memory-tests"];

#[rstest]
#[case::schema("jikime-memory-schema", &[], &["tokio", "rmcp", "clap", "reqwest", "rustls"])]
#[case::tools("jikime-memory-tools", &["jikime-memory-schema"], &["tokio", "rmcp", "clap", "reqwest", "rustls"])]
#[case::hooks_client("jikime-hook", &["jikime-memory-schema"], &["tokio", "rmcp", "clap", "reqwest", "rustls"])]
#[case::server("jikime-memory", &["jikime-memory-schema", "jikime-memory-tools"], &[])]
fn a_crate_knows_only_what_its_rule_allows(#[case] package: &str, #[case] knows: &[&str], #[case] never: &[&str]) {
    let tree = dependencies_of(package);
    let ours: BTreeSet<&str> = tree.iter().map(String::as_str).filter(|name| OURS.contains(name)).collect();
    assert_eq!(ours, knows.iter().copied().collect(), "what {package} knows of ours");
    let forbidden: Vec<_> = never.iter().filter(|name| tree.contains(**name)).collect();
    assert!(forbidden.is_empty(), "{package} depends on {forbidden:?}; see `cargo tree -p {package} -i NAME`");
}

#[test]
fn the_top_level_holds_only_what_is_named() {
    let allowed = [
        "CHANGELOG.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "docs",
        "hooks-client",
        "mcp.example.json",
        "schema",
        "server",
        "tests",
        "tools",
    ];
    let top: BTreeSet<String> = files().iter().filter_map(|path| Some(path.split('/').next()?.to_owned())).collect();
    let strays: Vec<_> =
        top.iter().filter(|name| !name.starts_with('.') && !allowed.contains(&name.as_str())).collect();
    assert!(strays.is_empty(), "{strays:?} should not lie at the top level");
    assert!(top.contains("Cargo.toml"), "the listing itself is wrong: {top:?}");
}

#[test]
fn modules_are_files_of_their_own_names() {
    let files = files();
    let found: Vec<_> = files.iter().filter(|path| path.rsplit('/').next() == Some("mod.rs")).collect();
    assert!(found.is_empty(), "{found:?}: name the file after its module");
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    // Written in pieces, so that this file does not name them either.
    let paths = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    let hosts = [
        concat!("registry.npm", "js.org"),
        concat!("static.crates", ".io"),
        concat!("index.crates", ".io"),
        concat!("files.python", "hosted.org"),
        concat!("deb.debian", ".org"),
    ];
    let mut found = Vec::new();
    for path in files() {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let named = paths.iter().find(|name| starts_a_path(line, name));
            if let Some(name) = named.or_else(|| hosts.iter().find(|host| line.contains(**host))) {
                found.push(format!("{path}:{} names {name}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[rstest]
#[case("cd /wo{}rk/main", true)]
#[case("\"/wo{}rk/main\"", true)]
#[case("file:///wo{}rk/main", true)]
#[case("docs/wo{}rk/notes", false)]
#[case("$HOME/wo{}rk/notes", false)]
#[case("~/wo{}rk/notes", false)]
fn only_an_absolute_path_counts_as_one_of_a_machine(#[case] line: &str, #[case] expected: bool) {
    assert_eq!(starts_a_path(&line.replace("{}", ""), concat!("/wo", "rk/")), expected, "{line}");
}

/// Whether `line` holds `path` from the root on, and not as the end of a longer path.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || "._-~}>".contains(character))
    })
}

#[test]
fn the_example_configuration_starts_the_server() {
    let path = root().join("mcp.example.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let example: Value = serde_json::from_str(&text).expect("mcp.example.json is JSON");
    let servers = example["mcpServers"].as_object().expect("mcp.example.json has an object mcpServers");
    let commands: Vec<_> = servers.values().filter_map(|server| server["command"].as_str()).collect();
    assert_eq!(commands, ["jikime-memory"], "{example}");
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests live one level below the top")
}

/// The names of all packages that `package` is built from, itself left out.
fn dependencies_of(package: &str) -> BTreeSet<String> {
    let arguments = ["--offline", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(root()).args(["tree", "--package", package]).args(arguments);
    let lines = output_of(tree);
    let names: BTreeSet<String> = lines.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
    assert!(names.contains(package), "the tree of {package} does not begin with it: {lines}");
    names.into_iter().filter(|name| name != package && !name.is_empty()).collect()
}

/// The files of the repository with `/` in their paths: what git tracks or, where there is no checkout, what is there.
fn files() -> Vec<String> {
    if !root().join(".git").exists() {
        return walk(root());
    }
    let mut list = Command::new("git");
    // In a container, the checkout often belongs to another user than the one who runs the tests.
    list.current_dir(root()).args(["-c", "safe.directory=*", "ls-files", "-z"]);
    let tracked = output_of(list);
    // What is deleted and not committed yet is still listed.
    tracked.split_terminator('\0').filter(|path| root().join(path).exists()).map(str::to_owned).collect()
}

fn walk(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let (inner, plain): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
        folders.extend(inner.into_iter().filter(|path| path != &root().join("target")));
        files.extend(plain.iter().map(|path| relative(path)));
    }
    files
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(root()).expect("the walk stays below the top");
    path.to_string_lossy().replace('\\', "/")
}

fn output_of(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names of packages and files are UTF-8")
}
