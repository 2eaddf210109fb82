//! Rules for the repository: dependencies between crates, files at the top level, and forbidden names.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::repository_root;
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
    assert!(strays.is_empty(), "{strays:?} should not be at the top level");
    assert!(top.contains("Cargo.toml"), "the listing itself is wrong: {top:?}");
}

#[test]
fn modules_are_files_of_their_own_names() {
    let files = files();
    let found: Vec<_> = files.iter().filter(|path| path.rsplit('/').next() == Some("mod.rs")).collect();
    assert!(found.is_empty(), "{found:?}: name the file after its module");
}

#[test]
fn type_names_are_unique() {
    // One for each platform.
    let pairs = ["HookStream", "QueueListener", "SocketDirs"];
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files().into_iter().filter(|path| path.ends_with(".rs")) {
        let text = fs::read_to_string(repository_root().join(&path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        for name in text.lines().filter_map(declared_type) {
            places.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(places.contains_key("PreparedMemory"), "the listing itself is wrong");
    places.retain(|name, places| places.len() > 1 && !pairs.contains(&name.as_str()));
    assert!(places.is_empty(), "{places:#?}");
}

#[rstest]
#[case::public("pub struct Log<'a> {", Some("Log"))]
#[case::inside_a_module("    pub(super) enum Place {", Some("Place"))]
#[case::alias("type Names = Vec<String>;", Some("Names"))]
#[case::associated("    type Item = u8;", None)]
#[case::comment("// struct Log", None)]
fn declared_types_are_found(#[case] line: &str, #[case] expected: Option<&str>) {
    assert_eq!(declared_type(line), expected);
}

/// The type that a line declares. Aliases inside a block belong to a trait or to one function.
fn declared_type(line: &str) -> Option<&str> {
    let is_inner = line.starts_with(' ');
    let mut words = line.trim_start().split(' ').filter(|word| !word.starts_with("pub"));
    let is_type = match words.next()? {
        "struct" | "enum" | "trait" | "union" => true,
        keyword => keyword == "type" && !is_inner,
    };
    let name = words.next().filter(|_| is_type)?;
    name.split(|character: char| !character.is_alphanumeric()).next()
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    // Concatenated, so that this file does not match.
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
        let Ok(text) = fs::read_to_string(repository_root().join(&path)) else { continue };
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

/// Whether `line` has `path` at the root, not inside a longer path.
fn starts_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || "._-~}>".contains(character))
    })
}

#[test]
fn the_example_configuration_starts_the_server() {
    let path = repository_root().join("mcp.example.json");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let example: Value = serde_json::from_str(&text).expect("mcp.example.json is JSON");
    let servers = example["mcpServers"].as_object().expect("mcp.example.json has an object mcpServers");
    let commands: Vec<_> = servers.values().filter_map(|server| server["command"].as_str()).collect();
    assert_eq!(commands, ["jikime-memory"], "{example}");
}

#[rstest]
#[case::schema("schema/src")]
#[case::tools("tools/src")]
#[case::server("server/src")]
#[case::hooks_client("hooks-client/src")]
#[case::harness("tests/src")]
#[case::bench("tests/src/bin/bench")]
#[case::coding("tests/src/bin/coding")]
#[case::eval("tests/src/bin/eval")]
#[case::picture("tests/src/bin/picture")]
#[case::prove("tests/src/bin/prove")]
fn no_two_files_import_each_other(#[case] folder: &str) {
    let files = modules_in(folder);
    let imports = imports::imports(&files);
    assert!(imports.values().any(|imported| !imported.is_empty()), "{folder}: no file imports another: {imports:?}");
    let circles: Vec<String> = imports::circles(&files).iter().map(|circle| circle.join(" → ")).collect();
    assert!(circles.is_empty(), "{folder}: {circles:#?}");
}

#[rstest]
#[case::each_other(&[("a", "use crate::b::B;"), ("b", "use super::a;")], &["a → b → a"])]
#[case::one_way(&[("a", "use crate::b::B;"), ("b", "use std::fs;")], &[])]
#[case::group(&[("a", "use crate::{b::{self, B}, c};"), ("b", ""), ("c", "fn f() { crate::a::f() }")], &["a → c → a"])]
#[case::parent_and_child(&[("a", "mod b;\nfn f() { b::f(); }"), ("a/b", "use super::F;")], &["a → a/b → a"])]
#[case::passed_on(&[("a", "mod b;\nmod c;\npub use b::B;"), ("a/b", ""), ("a/c", "use super::B;")], &[])]
#[case::passed_on_and_used(&[("a", "mod b;\npub(crate) use b::B;\nfn f(b: B) {}"), ("a/b", "use super::f;")], &["a → a/b → a"])]
#[case::through_what_is_passed_on(
    &[("a", "mod b;\nmod c;\npub use b::B;\npub use c::C;"), ("a/b", "use super::C;"), ("a/c", "use crate::a::B;")],
    &["a/b → a/c → a/b"]
)]
#[case::tests_do_not_count(
    &[("a", "use crate::b::B;"), ("b", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n#[cfg(test)]\nuse crate::a;")],
    &[]
)]
#[case::files_of_tests_do_not_count(&[("a", "#[cfg(test)]\nmod tests;"), ("a/tests", "use super::b;"), ("b", "")], &[])]
#[case::module_within_a_file(&[("a", "mod unix { use super::f; use super::super::b::B; }"), ("b", "use crate::a;")], &["a → b → a"])]
#[case::words_do_not_count(&[("a", "use crate::b;"), ("b", "// crate::a\nconst C: char = '\"'; const S: &str = r#\"crate::a::A\"#;")], &[])]
fn circles_are_found(#[case] files: &[(&str, &str)], #[case] expected: &[&str]) {
    let mut modules: BTreeMap<String, String> =
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    modules.insert(String::new(), "mod a;\nmod b;\nmod c;".to_owned());
    let circles: Vec<String> = imports::circles(&modules).iter().map(|circle| circle.join(" → ")).collect();
    assert_eq!(circles, expected);
}

/// The text of each module of a crate, by its path below the root.
fn modules_in(folder: &str) -> BTreeMap<String, String> {
    let tracked = files();
    let names = tracked.iter().filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs"));
    let names = names.filter(|name| !name.starts_with("bin/"));
    let modules: BTreeMap<String, String> = names
        .map(|name| {
            let path = repository_root().join(folder).join(format!("{name}.rs"));
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let is_root = name == "lib" || name == "main" && !path.with_file_name("lib.rs").exists();
            (if is_root { String::new() } else { name.to_owned() }, text)
        })
        .collect();
    assert!(modules.contains_key(""), "{folder} holds no crate: {:?}", modules.keys());
    modules
}

/// All packages that `package` is built from, without itself.
fn dependencies_of(package: &str) -> BTreeSet<String> {
    let arguments = ["--offline", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let mut tree = Command::new(env!("CARGO"));
    tree.current_dir(repository_root()).args(["tree", "--package", package]).args(arguments);
    let lines = output_of(tree);
    let names: BTreeSet<String> = lines.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
    assert!(names.contains(package), "the tree of {package} does not begin with it: {lines}");
    names.into_iter().filter(|name| name != package && !name.is_empty()).collect()
}

/// Repository files with `/` as the separator: those that git tracks, or all files if there is no checkout.
fn files() -> Vec<String> {
    if !repository_root().join(".git").exists() {
        return walk(repository_root());
    }
    let mut list = Command::new("git");
    // In a container the checkout often belongs to another user.
    list.current_dir(repository_root()).args(["-c", "safe.directory=*", "ls-files", "-z"]);
    let tracked = output_of(list);
    // Git still lists uncommitted deletions.
    tracked.split_terminator('\0').filter(|path| repository_root().join(path).exists()).map(str::to_owned).collect()
}

fn walk(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let (inner, plain): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
        folders.extend(inner.into_iter().filter(|path| path != &repository_root().join("target")));
        files.extend(plain.iter().map(|path| relative(path)));
    }
    files
}

fn relative(path: &Path) -> String {
    let path = path.strip_prefix(repository_root()).expect("the walk stays below the top");
    path.to_string_lossy().replace('\\', "/")
}

fn output_of(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names of packages and files are UTF-8")
}
