//! `init`, `uninstall` and `doctor` with their own home directory and `PATH`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use harness::{ProgramOutput, Sandbox, repository_root};
use rstest::rstest;
use serde_json::{Value, json};

/// A sandbox with both programs installed.
fn installed() -> Sandbox {
    harness::sandbox!().installed()
}

/// All files and folders of the project and the home directory, except stores.
fn tree(sandbox: &Sandbox) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut pending) = (BTreeMap::new(), vec![sandbox.project(), sandbox.home()]);
    while let Some(folder) = pending.pop() {
        for item in fs::read_dir(folder).expect("a folder").map(|item| item.expect("an item of a folder")) {
            let path = item.path();
            if item.file_type().expect("its kind").is_dir() {
                // The personal memory of hosts without projects.
                let is_own = path.ends_with(".local") || path.ends_with("AppData/Local");
                found.extend((!is_own).then(|| (path.clone(), Vec::new())));
                pending.extend((!is_own).then_some(path));
            } else {
                found.insert(path.clone(), fs::read(path).expect("a file that can be read"));
            }
        }
    }
    found
}

fn json_of(path: impl AsRef<Path>) -> Value {
    let path = path.as_ref();
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", path.display()))
}

#[rstest]
#[case::claude_code("claude-code", "project", "project/.mcp.json")]
#[case::claude_code_user("claude-code", "user", "home/.claude.json")]
#[case::codex("codex", "project", "project/.codex/config.toml")]
#[case::codex_user("codex", "user", "home/.codex/config.toml")]
#[case::cursor("cursor", "project", "project/.cursor/mcp.json")]
#[case::cursor_user("cursor", "user", "home/.cursor/mcp.json")]
#[case::vscode("vscode", "project", "project/.vscode/mcp.json")]
#[case::gemini("gemini", "project", "project/.gemini/settings.json")]
#[case::gemini_user("gemini", "user", "home/.gemini/settings.json")]
#[case::zed("zed", "project", "project/.zed/settings.json")]
#[cfg_attr(
    target_os = "linux",
    case::desktop("claude-desktop", "user", "home/.config/Claude/claude_desktop_config.json")
)]
#[case::windsurf("windsurf", "user", "home/.codeium/windsurf/mcp_config.json")]
fn a_host_is_set_up_once_and_left_without_a_trace(#[case] host: &str, #[case] scope: &str, #[case] file: &str) {
    let sandbox = installed();
    sandbox.write("README.md", "# Project\n");
    let before = tree(&sandbox);
    let done = sandbox.run_cli(["init", "--host", host, "--scope", scope, "--yes"]);
    let said = done.assert_success().stdout.clone();
    assert!(said.contains("lists 6 tools"), "{said}");
    let text = fs::read_to_string(sandbox.root().join(file)).unwrap();
    assert!(text.contains("jikime-memory"), "{text}");
    // Hooks of hosts other than Claude Code always have the path.
    let text: String = text.lines().filter(|line| !line.contains("--host")).collect();
    let is_bare = !text.contains(&sandbox.root().join("bin").to_string_lossy().replace('\\', "\\\\"));
    assert_eq!(is_bare, scope == "project", "{text}");
    let after = tree(&sandbox);
    let again = sandbox.run_cli(["init", "--host", host, "--scope", scope, "--yes"]);
    assert!(again.assert_success().stdout.contains("Everything is set up already"), "{}", again.stdout);
    assert_eq!(without_stores(&tree(&sandbox)), without_stores(&after));
    sandbox.run_cli(["uninstall", "--host", host, "--scope", scope, "--yes"]).assert_success();
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn store_with_memories_stays_after_removal() {
    let sandbox = installed();
    let is_there = || {
        let mut pending = vec![sandbox.root().join("home")];
        while let Some(directory) = pending.pop() {
            let items = fs::read_dir(&directory).unwrap().map(|item| item.unwrap().path()).filter(|path| path.is_dir());
            pending.extend(items);
            if directory.ends_with(".jikime/memory") {
                return true;
            }
        }
        false
    };
    let set_up =
        || sandbox.run_cli(["init", "--host", "windsurf", "--scope", "user", "--yes"]).assert_success().stdout.clone();
    let take_back = || sandbox.run_cli(["uninstall", "--scope", "user", "--yes"]).assert_success().stdout.clone();
    assert!(set_up().contains("lists 6 tools") && is_there());
    sandbox.run_cli(["init", "--host", "cursor", "--scope", "user", "--yes"]).assert_success();
    sandbox.run_cli(["uninstall", "--host", "windsurf", "--yes"]).assert_success();
    assert!(is_there(), "another host serves it");
    take_back();
    assert!(!is_there());
    let before = tree(&sandbox);
    sandbox.run_cli(["init", "--host", "windsurf", "--yes"]).assert_success();
    sandbox.run_cli(["uninstall", "--host", "windsurf", "--yes"]).assert_success();
    assert_eq!(tree(&sandbox), before);
    assert!(!sandbox.home().join(".local/share/jikime-memory").exists());
    set_up();
    sandbox.run_cli(["save", "--personal", "preference", "Tabs, not spaces"]).assert_success();
    let refused = sandbox.run_cli(["uninstall", "--scope", "user", "--purge", "--yes"]);
    assert!(!refused.status.success() && refused.stderr.contains("remove one of them"), "{}", refused.stderr);
    take_back();
    assert!(is_there());
}

#[test]
fn program_started_by_path_need_not_be_on_path() {
    let mut sandbox = harness::sandbox!();
    let beside_each_other = harness::binaries!().copy_to(&sandbox.root().join("bin"));
    sandbox.set_binaries(beside_each_other).set_variable("PATH", "/usr/bin:/bin");
    let told = sandbox.run_cli(["init", "--yes"]).assert_success().stdout.clone();
    assert!(told.contains("lists 6 tools"), "{told}");
    let examined = sandbox.run_cli(["doctor"]);
    assert!(examined.stdout.contains("hosts start it by its path"), "{}", examined.stdout);
}

/// Ignores files that servers write themselves.
fn without_stores(tree: &BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_store = |path: &Path| path.components().any(|part| part.as_os_str() == ".jikime");
    tree.iter().filter(|(path, _)| !is_store(path)).map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

#[test]
fn memories_stay_unless_they_are_to_go() {
    let sandbox = installed();
    let before = tree(&sandbox);
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["save", "decision", "Backups go to the object store."]).assert_success();
    let said = sandbox.run_cli(["uninstall", "--yes"]);
    assert!(said.assert_success().stdout.contains("stay in"), "{}", said.stdout);
    assert!(sandbox.logs().contains("Backups go") && !sandbox.project().join(".mcp.json").exists());
    assert!(!sandbox.store().join("setup.json").exists());
    let notes =
        [sandbox.write(".jikime/memory/MEMORY.md", "mine\n"), sandbox.write(".jikime/memory/notes/a.md", "mine\n")];
    let warned = sandbox.run_cli(["uninstall", "--purge", "--dry-run"]).assert_success().stdout.replace('\n', " ");
    assert!(warned.contains("MEMORY.md and 1 note of yours") && notes.iter().all(|note| note.exists()), "{warned}");
    let report = sandbox.run_cli(["uninstall", "--purge", "--yes", "--json"]).assert_success().json();
    assert_eq!(report["memory"], "deleted");
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn nothing_is_written_without_a_yes() {
    let sandbox = installed();
    let before = tree(&sandbox);
    let refused = sandbox.run_cli(["init"]);
    assert!(refused.assert_code(1).stderr.contains("--yes"), "{}", refused.stderr);
    let summary = sandbox.run_cli(["init", "--dry-run"]).assert_success().stdout.clone();
    assert!(summary.lines().count() < 12 && summary.contains(".mcp.json") && !summary.contains("@@"), "{summary}");
    let shown = sandbox.run_cli(["init", "--dry-run", "--diff"]).assert_success().stdout.clone();
    for part in [".mcp.json (new)", "+    \"jikime-memory\": {", "CLAUDE.md (new)", "Nothing was written."] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
    let report = sandbox.run_cli(["init", "--dry-run", "--json"]).assert_success().json();
    let files: Vec<_> =
        report["files"].as_array().unwrap().iter().map(|file| file["change"].as_str().unwrap()).collect();
    assert_eq!(files, ["created"; 12]);
    assert_eq!(tree(&sandbox), before);
}

#[test]
fn keys_of_others_are_not_shown() {
    let sandbox = installed();
    let token = format!("ghp_{}", "aB3dE5fG7h".repeat(4).get(..36).unwrap());
    sandbox.write(
        ".mcp.json",
        format!("{{\n  \"mcpServers\": {{\n    \"g\": {{ \"env\": {{ \"TOKEN\": \"{token}\" }} }}\n  }}\n}}\n"),
    );
    let done = sandbox.run_cli(["init", "--yes", "--diff"]);
    assert!(done.assert_success().stdout.contains("[redacted"), "{}", done.stdout);
    assert!(!done.stdout.contains(&token) && sandbox.read(".mcp.json").contains(&token));
    assert!(!fs::read_to_string(sandbox.store().join("setup.json")).unwrap().contains(&token));
}

#[test]
fn one_unusable_file_prevents_all_changes() {
    let sandbox = installed();
    let settings = sandbox.write(".claude/settings.json", "{\n  \"model\": \"opus\",\n  \"hooks\": [\n}\n");
    let before = tree(&sandbox);
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("settings.json: line 4, column 1"), "{}", refused.stderr);
    assert_eq!(tree(&sandbox), before);

    fs::write(&settings, "{}\n").unwrap();
    let mut permissions = fs::metadata(&settings).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&settings, permissions).unwrap();
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("nothing was changed"), "{}", refused.stderr);
    assert!(!sandbox.project().join(".mcp.json").exists() && !sandbox.store().join("setup.json").exists());
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}\n");
}

#[cfg(unix)]
#[test]
fn setup_keeps_dotfile_links_and_refuses_outside_links() {
    use std::os::unix::fs::symlink;
    let sandbox = installed();
    let dotfiles = sandbox.home().join("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::write(dotfiles.join("claude.json"), "{ \"theme\": \"dark\" }\n").unwrap();
    symlink("dotfiles/claude.json", sandbox.home().join(".claude.json")).unwrap();
    sandbox.run_cli(["init", "--scope", "user", "--yes"]).assert_success();
    assert!(sandbox.home().join(".claude.json").is_symlink());
    assert_eq!(json_of(dotfiles.join("claude.json"))["mcpServers"]["jikime-memory"]["args"], json!(["serve"]));
    sandbox.run_cli(["uninstall", "--scope", "user", "--yes"]).assert_success();
    assert_eq!(fs::read_to_string(dotfiles.join("claude.json")).unwrap(), "{ \"theme\": \"dark\" }\n");

    symlink(dotfiles.join("claude.json"), sandbox.project().join(".mcp.json")).unwrap();
    let refused = sandbox.run_cli(["init", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("leads out of the project"), "{}", refused.stderr);
}

#[test]
fn missing_home_does_not_block_project_setup() {
    let mut sandbox = installed();
    for name in ["HOME", "USERPROFILE"] {
        sandbox.set_variable(name, sandbox.root().join("gone"));
    }
    let refused = sandbox.run_cli(["init", "--scope", "user", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("does not exist"), "{}", refused.stderr);
    sandbox.run_cli(["init", "--yes"]).assert_success();
}

#[test]
fn a_project_without_git_and_one_in_the_home_directory() {
    let sandbox = Sandbox::without_git(harness::binaries!()).installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let mut at_home = sandbox.memory_command();
    at_home.current_dir(sandbox.home()).args(["init", "--yes"]);
    let refused = harness::run_to_end(at_home, "", std::time::Duration::from_mins(1));
    assert!(refused.assert_code(1).stderr.contains("is the home directory"), "{}", refused.stderr);
    let mut at_home = sandbox.memory_command();
    at_home.current_dir(sandbox.home()).args(["init", "--scope", "user", "--host", "gemini", "--yes"]);
    harness::run_to_end(at_home, "", std::time::Duration::from_mins(1)).assert_success();
    assert!(sandbox.home().join(".gemini/GEMINI.md").exists() && !sandbox.home().join(".jikime").exists());
}

#[test]
fn hosts_are_listed_with_what_is_set_up() {
    let sandbox = installed();
    fs::create_dir(sandbox.home().join(".codex")).unwrap();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let hosts = sandbox.run_cli(["init", "--list-hosts", "--json"]).assert_success().json();
    let of = |name: &str| hosts.as_array().unwrap().iter().find(|host| host["host"] == name).cloned().unwrap();
    assert_eq!(hosts.as_array().unwrap().len(), 8);
    assert!(of("claude-code")["set_up"][0].as_str().unwrap().ends_with(".mcp.json"));
    assert!(of("codex")["found"].as_str().is_some() && of("codex")["set_up"] == json!([]));
    assert!(sandbox.run_cli(["init", "--list-hosts"]).assert_success().stdout.contains("Claude Code"));
}

/// The findings of `doctor` as `about: what`.
fn findings(outcome: &ProgramOutput) -> Vec<String> {
    let report = outcome.json();
    let checks = report["checks"].as_array().expect("a list").iter().filter(|check| check["verdict"] == "finding");
    let found: Vec<String> = checks
        .map(|check| {
            assert!(check["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{check}");
            let text = |key: &str| check[key].as_str().expect("a text").to_owned();
            format!("{}: {}", text("about"), text("what"))
        })
        .collect();
    assert_eq!(report["findings"], found.len());
    outcome.assert_code(i32::from(!found.is_empty()));
    found
}

#[test]
fn doctor_passes_only_after_setup() {
    let sandbox = installed();
    let before = findings(&sandbox.run_cli(["doctor", "--json"])).join("\n");
    for part in ["hosts: no host is set up", "hooks: no hooks", "store: this project has no memory yet"] {
        assert!(before.contains(part), "{part} is not in {before}");
    }
    assert!(!sandbox.store().exists(), "looking makes nothing");
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["save", "learning", "The doctor looks at rows too."]).assert_success();
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);
    let said = sandbox.run_cli(["doctor"]).assert_success().stdout.clone();
    for part in ["because it is the nearest", "jikime-hook", "integrity check", "lists 6 tools", "Everything is fine."]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

#[test]
fn doctor_accepts_global_setup() {
    let sandbox = installed();
    let in_home = |arguments: &[&str]| {
        let mut command = sandbox.memory_command();
        command.current_dir(sandbox.home()).args(arguments);
        harness::run_to_end(command, "", std::time::Duration::from_mins(1))
    };
    let before = findings(&in_home(&["doctor", "--personal", "--json"])).join("\n");
    assert!(before.contains("store: there is no personal memory yet"), "{before}");
    let told = in_home(&["init", "--host", "windsurf", "--yes"]).assert_success().stdout.clone();
    assert!(told.contains("`jikime-memory --personal list`"), "{told}");
    let note = "hooks of Windsurf record into each project; its tools search only your personal memory";
    let is_noted = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(note);
    assert!(is_noted(&told), "{told}");
    for arguments in [&["doctor"][..], &["--personal", "doctor"]] {
        let said = in_home(arguments);
        let said = &said.assert_success().stdout;
        assert!(said.contains("serve --personal` lists 6 tools") && is_noted(said), "{said}");
    }
    in_home(&["--personal", "list"]).assert_success();
    // In a project nothing is missing either, and nothing is created.
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);
    assert!(!sandbox.store().exists());
    in_home(&["uninstall", "--host", "windsurf", "--yes"]).assert_success();
    in_home(&["init", "--scope", "user", "--yes"]).assert_success();
    assert_eq!(findings(&in_home(&["doctor", "--json"])), [""; 0]);
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);
}

#[test]
fn a_host_without_hooks_is_no_finding() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--host", "zed", "--yes"]).assert_success();
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);
}

#[test]
fn doctor_checks_the_hooks_of_each_host() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--host", "gemini", "--host", "codex", "--yes"]).assert_success();
    let found = || findings(&sandbox.run_cli(["doctor", "--json"]));
    let untrusted = "hooks: Codex runs 0 of the 8 hooks in .codex/hooks.json, because you have not trusted the others";
    assert_eq!(found(), [untrusted]);

    let hooks = sandbox.project().canonicalize().unwrap().join(".codex/hooks.json");
    let state = |event: &str| {
        let key = format!("{}:{event}:0:0", hooks.display()).replace('\\', "\\\\");
        format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"sha256:00\"\n")
    };
    let events = [
        "session_start",
        "user_prompt_submit",
        "post_tool_use",
        "stop",
        "subagent_stop",
        "pre_compact",
        "post_compact",
        "session_end",
    ];
    fs::create_dir_all(sandbox.home().join(".codex")).unwrap();
    fs::write(sandbox.home().join(".codex/config.toml"), events.map(state).concat()).unwrap();
    assert_eq!(found(), [""; 0]);

    let file = sandbox.project().join(".gemini/settings.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"AfterAgent\"", "\"AfterAll\"")).unwrap();
    assert_eq!(found(), ["hooks: .gemini/settings.json has no hook for AfterAgent"]);
    sandbox.run_cli(["init", "--host", "gemini", "--yes"]).assert_success();
    assert_eq!(found(), [""; 0]);
}

#[test]
fn doctor_finds_duplicate_hooks() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let project = fs::read_to_string(sandbox.project().join(".claude/settings.json")).unwrap();
    fs::create_dir_all(sandbox.home().join(".claude")).unwrap();
    fs::write(sandbox.home().join(".claude/settings.json"), &project).unwrap();
    let found = findings(&sandbox.run_cli(["doctor", "--json"])).join("\n");
    assert!(found.contains("hooks: set up in .claude/settings.json and ~"), "{found}");
    sandbox.write(".claude/settings.local.json", &project);
    let fixes = sandbox.run_cli(["doctor"]).stdout.clone();
    assert!(
        fixes.contains("delete the hooks that call jikime-hook from .claude/settings.local.json by hand"),
        "{fixes}"
    );
    fs::remove_file(sandbox.project().join(".claude/settings.local.json")).unwrap();
    // Setup in a project skips hooks that the user has globally.
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    let done = sandbox.run_cli(["init", "--yes"]);
    assert!(done.assert_success().stderr.contains("the hooks are set up already by"), "{}", done.stderr);
    assert!(!sandbox.project().join(".claude/settings.json").exists());
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);

    let plugin = json!({ "enabledPlugins": { "jikime-memory@jikime": true } });
    fs::write(sandbox.home().join(".claude/settings.json"), plugin.to_string()).unwrap();
    assert_eq!(findings(&sandbox.run_cli(["doctor", "--json"])), [""; 0]);
    sandbox.write(".claude/settings.json", &project);
    let found = findings(&sandbox.run_cli(["doctor", "--json"])).join("\n");
    assert!(found.contains("hooks: set up in .claude/settings.json and the plugin"), "{found}");
}

#[test]
fn the_doctor_finds_what_is_damaged_gone_and_noted() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    sandbox.run_cli(["save", "decision", "Markdown is the truth."]).assert_success();
    let db = sandbox.store().join("index.db");
    let mut bytes = fs::read(&db).unwrap();
    let page = 4096;
    bytes[page..3 * page].fill(0xa5);
    fs::write(&db, bytes).unwrap();
    let now = "2999-01-01T00:00:00+00:00";
    fs::write(sandbox.store().join("hook.log"), format!("{now} no room\n")).unwrap();
    sandbox.write(
        ".mcp.json",
        r#"{ "mcpServers": { "jikime-memory": { "command": "/gone/jikime-memory", "args": ["serve"] } } }"#,
    );
    sandbox.write(".vscode/mcp.json", "{ \"servers\": { \"jikime-memory\": ");
    // Not our file, but its host cannot read it.
    sandbox.write(".zed/settings.json", "{");
    let found = findings(&sandbox.run_cli(["doctor", "--json"])).join("\n");
    for part in [
        "database: index.db",
        "hooks: 1 error in the last seven days; the newest is: 2999",
        "hosts: .mcp.json starts /gone/jikime-memory, which does not exist",
        "hosts: .vscode/mcp.json: line 1",
        "hosts: .zed/settings.json: line 1, column 1",
        "server: `/gone/jikime-memory serve`",
    ] {
        assert!(found.contains(part), "{part} is not in {found}");
    }
}

#[cfg(unix)]
#[test]
fn doctor_finds_open_permissions_and_old_hooks_client() {
    use std::os::unix::fs::PermissionsExt as _;
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    fs::set_permissions(sandbox.store(), fs::Permissions::from_mode(0o755)).unwrap();
    let hook = sandbox.root().join("bin/jikime-hook");
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, "#!/bin/sh\necho jikime-hook 0.0.1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let found = findings(&sandbox.run_cli(["doctor", "--json"])).join("\n");
    assert!(found.contains("permissions: other users can read"), "{found}");
    assert!(found.contains("jikime-hook: 0.0.1 at"), "{found}");
}

#[test]
fn the_plugin_and_the_documents_are_what_init_writes() {
    let sandbox = installed();
    sandbox.run_cli(["init", "--yes"]).assert_success();
    let root = repository_root();
    let hooks = json_of(sandbox.project().join(".claude/settings.json"))["hooks"].clone();
    assert_eq!(json_of(root.join("server/plugin/hooks/hooks.json"))["hooks"], hooks);
    let document = fs::read_to_string(root.join("docs/setup.md")).unwrap();
    let blocks = document.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<Value> = blocks.map(|block| serde_json::from_str(block).unwrap()).collect();
    assert_eq!(blocks.iter().find_map(|block| block.get("hooks")), Some(&hooks));
    let server = json_of(sandbox.project().join(".mcp.json"));
    assert_eq!(json_of(root.join("mcp.example.json")), server);
    assert_eq!(json_of(root.join("server/plugin/.mcp.json")), server);
    for path in ["server/plugin/.claude-plugin/plugin.json", "server/server.json"] {
        assert_eq!(json_of(root.join(path))["version"], env!("CARGO_PKG_VERSION"), "{path}");
    }
}

#[rstest]
#[case("claude-code", ".claude/commands/memory-search.md")]
#[case("gemini", ".gemini/commands/memory-search.toml")]
#[case("cursor", ".cursor/commands/memory-search.md")]
fn slash_commands_of_others_stay(#[case] host: &str, #[case] file: &str) {
    let sandbox = installed();
    let theirs = sandbox.write(file, "Their own command\n");
    let before = tree(&sandbox);
    sandbox.run_cli(["init", "--host", host, "--yes"]).assert_success();
    let folder = theirs.parent().expect("a folder").to_owned();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 9);
    let edited = folder.join(theirs.file_name().unwrap().to_string_lossy().replace("search", "tasks"));
    let text = fs::read_to_string(&edited).unwrap() + "and say please\n";
    fs::write(&edited, &text).unwrap();
    sandbox.run_cli(["init", "--host", host, "--yes"]).assert_success();
    sandbox.run_cli(["uninstall", "--yes"]).assert_success();
    assert_eq!(fs::read_to_string(&edited).unwrap(), text, "a person edited it");
    fs::remove_file(edited).unwrap();
    assert_eq!(tree(&sandbox), before);
}
