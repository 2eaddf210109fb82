//! Setup, repeated setup and removal for each host, in settings files as different editors write them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;

use super::hook_entries::HookSet;
use super::host::{Host, ProgramCommands, SetupScope, SetupTarget};
use super::host_dirs::{HostDirs, ProjectDirs};
use super::json::JsonServerList;
use super::owned_part::{OwnedPart, ServerListFormat};
use super::plan::SetupContext;
use super::server_entry::ServerEntry;

const MCP: &str = include_str!("tests/files/mcp.json");
const CODEX: &str = include_str!("tests/files/codex.toml");
const VSCODE: &str = include_str!("tests/files/vscode.json");
const SETTINGS: &str = include_str!("tests/files/claude-settings.json");
const FLAT_HOOKS: &str = include_str!("tests/files/cursor-hooks.json");
const INSTRUCTIONS: &str = include_str!("tests/files/instructions.md");

/// A project with files.
struct SetupFixture {
    root: tempfile::TempDir,
    ground: SetupContext,
}

impl SetupFixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(&root.path().join(path), text);
        }
        let ground =
            SetupContext::new(SetupScope::Project, &HostDirs::default(), &ProjectDirs::for_project(root.path()))
                .unwrap();
        Self { root, ground }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn targets(&self, hosts: &[Host]) -> Vec<(Host, SetupTarget)> {
        let commands = ProgramCommands {
            memory: "jikime-memory".to_owned(),
            hooks: HookSet { program: "jikime-hook".to_owned(), has_file_recall: false },
        };
        let of = |host: &Host| {
            let targets = host.targets(SetupScope::Project, &HostDirs::default(), self.root.path(), &commands).unwrap();
            targets.into_iter().map(|target| (*host, target)).collect::<Vec<_>>()
        };
        hosts.iter().flat_map(of).collect()
    }

    /// Returns whether anything changed.
    fn set_up(&self, hosts: &[Host]) -> bool {
        let plan = self.ground.plan_setup(self.targets(hosts)).unwrap();
        let changes = !plan.is_empty();
        plan.carry_out().unwrap();
        changes
    }

    fn take_back(&self, hosts: &[Host]) {
        self.ground.plan_removal(self.targets(hosts)).unwrap().carry_out().unwrap();
    }

    /// All files outside the store.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let (mut found, mut pending) = (BTreeMap::new(), vec![self.root.path().to_owned()]);
        while let Some(folder) = pending.pop() {
            for item in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let name = item.path().strip_prefix(self.root.path()).unwrap().to_string_lossy().replace('\\', "/");
                if item.file_type().unwrap().is_dir() {
                    found.extend((name != ".jikime").then(|| (format!("{name}/"), Vec::new())));
                    pending.extend((name != ".jikime").then(|| item.path()));
                } else {
                    found.insert(name, fs::read(item.path()).unwrap());
                }
            }
        }
        found
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A text as different editors would save it.
fn encoding_variants(text: &str) -> Vec<String> {
    let tabs: String = text
        .split_inclusive('\n')
        .map(|line| {
            let rest = line.trim_start_matches(' ');
            format!("{}{rest}", "\t".repeat((line.len() - rest.len()).div_ceil(2)))
        })
        .collect();
    let returns = text.replace('\n', "\r\n");
    vec![
        text.to_owned(),
        text.trim_end().to_owned(),
        format!("\u{feff}{text}"),
        format!("\u{feff}{returns}"),
        returns.trim_end().to_owned(),
        tabs.replace('\n', "\r\n"),
        tabs,
        returns.replacen("\r\n", "\n", 2),
    ]
}

#[rstest]
#[case::claude_code(Host::ClaudeCode, &[(".mcp.json", MCP), (".claude/settings.json", SETTINGS), ("CLAUDE.md", INSTRUCTIONS)])]
#[case::claude_code_inner(Host::ClaudeCode, &[(".mcp.json", "{}\n"), (".claude/settings.json", "{\"hooks\": {}}"), (".claude/CLAUDE.md", "\n")])]
#[case::claude_code_user_file(Host::ClaudeCode, &[(".mcp.json", include_str!("tests/files/claude.json"))])]
#[case::one_line(Host::ClaudeCode, &[(".mcp.json", include_str!("tests/files/desktop.json"))])]
#[case::codex(Host::Codex, &[(".codex/config.toml", CODEX), ("AGENTS.md", INSTRUCTIONS)])]
#[case::codex_inline(Host::Codex, &[(".codex/config.toml", include_str!("tests/files/codex-inline.toml"))])]
#[case::codex_hooks(Host::Codex, &[(".codex/hooks.json", SETTINGS)])]
#[case::cursor(Host::Cursor, &[(".cursor/mcp.json", MCP)])]
#[case::cursor_hooks(Host::Cursor, &[(".cursor/hooks.json", FLAT_HOOKS)])]
#[case::cursor_without_hooks(Host::Cursor, &[(".cursor/hooks.json", "{\n  \"version\": 1,\n  \"hooks\": {}\n}\n")])]
#[case::vscode(Host::Vscode, &[(".vscode/mcp.json", VSCODE)])]
#[case::windsurf(Host::Windsurf, &[(".windsurf/hooks.json", FLAT_HOOKS)])]
#[case::gemini(Host::Gemini, &[(".gemini/settings.json", include_str!("tests/files/gemini.json")), ("GEMINI.md", "")])]
#[case::zed(Host::Zed, &[(".zed/settings.json", include_str!("tests/files/zed.json"))])]
#[case::nothing(Host::Zed, &[])]
#[case::empty_files(Host::ClaudeCode, &[(".mcp.json", ""), (".claude/settings.json", "  \n")])]
fn setup_is_removed_without_a_trace(#[case] host: Host, #[case] files: &[(&str, &str)]) {
    for form in 0..encoding_variants("").len() {
        let formed: Vec<(&str, String)> =
            files.iter().map(|(path, text)| (*path, encoding_variants(text).swap_remove(form))).collect();
        let formed: Vec<(&str, &str)> = formed.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let project = SetupFixture::new(&formed);
        let before = project.files();
        assert!(project.set_up(&[host]), "form {form}");
        let after = project.files();
        for (path, text) in &formed {
            let now = String::from_utf8(after[*path].clone()).unwrap();
            assert_lines_kept(text, &now);
        }
        assert!(!project.set_up(&[host]), "form {form}: set up twice is set up once");
        assert_eq!(project.files(), after);
        // Without the record, our entries are recognised by their text.
        let (same, hidden) = (project.files(), project.path(".jikime/memory/setup.json"));
        fs::rename(&hidden, project.path(".jikime/hidden")).unwrap();
        project.take_back(&[host]);
        let rest = project.files();
        assert!(rest.values().all(|bytes| !String::from_utf8_lossy(bytes).contains("jikime")), "{rest:?}");
        for (path, bytes) in &same {
            fs::create_dir_all(project.path(path).parent().unwrap()).unwrap();
            if !path.ends_with('/') {
                fs::write(project.path(path), bytes).unwrap();
            }
        }
        fs::rename(project.path(".jikime/hidden"), &hidden).unwrap();
        project.take_back(&[host]);
        assert_eq!(project.files(), before, "form {form}");
        assert!(!hidden.exists());
    }
}

/// Checks that every line of `before` is in `after` in the same order. A comma or an opening bracket may follow it.
fn assert_lines_kept(before: &str, after: &str) {
    let mut lines = after.split_inclusive('\n');
    for line in before.split_inclusive('\n').filter(|line| !line.trim().is_empty()) {
        let bare = |line: &str| line.trim_end().trim_end_matches(['}', ']', ',', ' ', '{']).to_owned();
        assert!(lines.any(|found| bare(found).starts_with(&bare(line))), "{line:?} was changed in\n{after}");
    }
    assert_eq!(before.starts_with('\u{feff}'), after.starts_with('\u{feff}'));
    if before.lines().count() > 3 && !before.replace("\r\n", "").contains('\n') {
        assert!(!after.replace("\r\n", "").contains('\n'), "{after:?}");
    }
}

#[test]
fn edits_by_others_stay() {
    let project =
        SetupFixture::new(&[(".mcp.json", MCP), (".claude/settings.json", SETTINGS), ("CLAUDE.md", INSTRUCTIONS)]);
    project.set_up(&[Host::ClaudeCode]);
    let edit = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(project.path(path)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(project.path(path), text.replacen(from, to, 1)).unwrap();
    };
    edit(".mcp.json", "\"postgres\"", "\"mysql\"");
    edit(".claude/settings.json", "opus", "haiku");
    edit("CLAUDE.md", "make check", "make test");
    project.take_back(&[Host::ClaudeCode]);
    let files = project.files();
    let text = |path: &str| String::from_utf8(files[path].clone()).unwrap();
    assert_eq!(text(".mcp.json"), MCP.replace("\"postgres\"", "\"mysql\""));
    assert_eq!(text(".claude/settings.json"), SETTINGS.replace("opus", "haiku"));
    assert_eq!(text("CLAUDE.md"), INSTRUCTIONS.replace("make check", "make test"));
}

#[test]
fn interrupted_setup_is_removed_or_completed() {
    for completes in [false, true] {
        let project = SetupFixture::new(&[(".mcp.json", MCP), (".claude/settings.json", SETTINGS)]);
        let before = project.files();
        project.set_up(&[Host::ClaudeCode]);
        // Simulates a kill after the first of three files; the record is already written.
        fs::write(project.path(".claude/settings.json"), SETTINGS).unwrap();
        fs::write(project.path(".claude/.settings.json.jikime-new"), "{").unwrap();
        fs::remove_file(project.path("CLAUDE.md")).unwrap();
        if completes {
            assert!(project.set_up(&[Host::ClaudeCode]));
            assert!(!project.set_up(&[Host::ClaudeCode]));
            assert!(!project.path(".claude/.settings.json.jikime-new").exists());
        } else {
            fs::remove_file(project.path(".claude/.settings.json.jikime-new")).unwrap();
        }
        project.take_back(&[Host::ClaudeCode]);
        assert_eq!(project.files(), before);
    }
}

#[test]
fn created_file_is_deleted_unless_edited_by_others() {
    let project = SetupFixture::new(&[]);
    project.set_up(&[Host::ClaudeCode, Host::Codex]);
    let text = fs::read_to_string(project.path(".mcp.json")).unwrap();
    let other = "\"other\": { \"command\": \"x\" },\n    \"jikime-memory\"";
    fs::write(project.path(".mcp.json"), text.replacen("\"jikime-memory\"", other, 1)).unwrap();
    // Even if a later setup wrote the file again.
    fs::write(project.path("AGENTS.md"), "<!-- jikime-memory:begin -->\nold\n<!-- jikime-memory:end -->\n# Theirs\n")
        .unwrap();
    assert!(project.set_up(&[Host::ClaudeCode, Host::Codex]));
    project.take_back(
        Host::all()
            .iter()
            .copied()
            .filter(|host| host.default_scope() == SetupScope::Project)
            .collect::<Vec<_>>()
            .as_slice(),
    );
    let files = project.files();
    assert_eq!(files.keys().collect::<Vec<_>>(), [".mcp.json", "AGENTS.md"]);
    assert_eq!(files["AGENTS.md"], b"# Theirs\n");
    let text = String::from_utf8(files[".mcp.json"].clone()).unwrap();
    assert!(text.contains("\"other\"") && !text.contains("jikime"), "{text}");
}

#[test]
fn instructions_stay_while_a_host_reads_them() {
    let project = SetupFixture::new(&[("AGENTS.md", INSTRUCTIONS)]);
    project.set_up(&[Host::Codex]);
    project.set_up(&[Host::Cursor]);
    project.take_back(&[Host::Codex]);
    assert!(fs::read_to_string(project.path("AGENTS.md")).unwrap().contains("memory_search"));
    assert!(!project.path(".codex").exists());
    project.take_back(&[Host::Cursor]);
    assert_eq!(project.files().keys().collect::<Vec<_>>(), ["AGENTS.md"]);
    assert_eq!(fs::read_to_string(project.path("AGENTS.md")).unwrap(), INSTRUCTIONS);
}

#[test]
fn older_entries_are_updated() {
    let old = r#"{ "mcpServers": {
  "memory": { "command": "/old/bin/jikime-memory", "args": ["mcp", "serve"], "env": { "JIKIME_LOG": "info" } },
  "double": { "command": "jikime-memory", "args": ["serve"] },
  "own": { "command": "jikime-memory", "args": ["serve", "--personal"] }
} }"#;
    let hooks = r#"{ "hooks": {
  "Stop": [
    { "hooks": [ { "type": "command", "command": "say done" }, { "type": "command", "command": "jikime-hook memory-complete", "timeout": 9 } ] }
  ],
  "Notification": [ { "hooks": [ { "type": "command", "command": "\"/old/jikime-hook\" memory-save" } ] } ]
} }"#;
    let project = SetupFixture::new(&[(".mcp.json", old), (".claude/settings.json", hooks)]);
    assert!(project.set_up(&[Host::ClaudeCode]));
    assert!(!project.set_up(&[Host::ClaudeCode]));
    let json = |path: &str| -> serde_json::Value { serde_json::from_slice(&project.files()[path]).unwrap() };
    let servers = json(".mcp.json")["mcpServers"].clone();
    let expected =
        serde_json::json!({ "command": "jikime-memory", "args": ["mcp", "serve"], "env": { "JIKIME_LOG": "info" } });
    assert_eq!(servers["memory"], expected);
    assert_eq!(servers.as_object().unwrap().keys().collect::<Vec<_>>(), ["memory", "own"]);
    let hooks = json(".claude/settings.json")["hooks"].clone();
    assert_eq!(hooks["Stop"].as_array().unwrap().len(), 2, "{hooks}");
    assert_eq!(hooks["Stop"][0]["hooks"], serde_json::json!([{ "type": "command", "command": "say done" }]));
    assert_eq!(hooks["Stop"][1]["hooks"][0]["args"], serde_json::json!(["memory-complete"]));
    // Older entries are removed too.
    project.take_back(&[Host::ClaudeCode]);
    let rest = json(".claude/settings.json");
    let said = serde_json::json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "say done" }] }], "Notification": [] });
    assert_eq!(rest["hooks"]["Stop"], said["Stop"], "{rest}");
    assert_eq!(json(".mcp.json")["mcpServers"].as_object().unwrap().keys().collect::<Vec<_>>(), ["own"]);
}

#[rstest]
#[case::brace(".mcp.json", "{\n  \"mcpServers\": {\n    \"x\": }\n}", "line 3, column 10")]
#[case::not_an_object(".mcp.json", "{\n  \"mcpServers\": []\n}", "line 2: \"mcpServers\" should be an object")]
#[case::a_list(".mcp.json", "[]", "line 1: it should be an object")]
#[case::hooks(".claude/settings.json", "{\n\n\"hooks\": {\"Stop\": {}}}", "line 3: \"Stop\" should be a list")]
#[case::cut(".claude/settings.json", "{\n  \"hooks\": {", "line 2")]
#[case::single_quotes(".mcp.json", "{'mcpServers': {}}", "line 1, column 2")]
#[case::twice(
    ".mcp.json",
    "{\n \"mcpServers\": {},\n /* or */ \"mcpServers\": {}\n}",
    "line 3, column 11: \"mcpServers\" is there twice"
)]
#[case::server_twice(
    ".mcp.json",
    "{\"mcpServers\": {\"a\": {},\n\"b\": {}, \"\\u0061\": {}}}",
    "line 2, column 10: \"a\" is there twice"
)]
#[case::event_twice(
    ".claude/settings.json",
    "{\"hooks\": {\"Stop\": [],\n  \"Stop\": []}}",
    "line 2, column 3: \"Stop\" is there twice"
)]
#[case::marker("CLAUDE.md", "\n<!-- jikime-memory:begin -->\n", "line 2: the markers")]
fn broken_file_is_reported_and_nothing_is_written(#[case] path: &str, #[case] text: &str, #[case] place: &str) {
    let project = SetupFixture::new(&[(path, text)]);
    let before = project.files();
    let error = project.ground.plan_setup(project.targets(&[Host::ClaudeCode])).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{path}: {place}")) && error.ends_with("nothing was written"), "{error}");
    assert_eq!(project.files(), before);
    assert!(!project.path(".jikime").exists());
}

#[rstest]
#[case("model = 'x'\n[mcp_servers\n", "line 2, column 13")]
#[case("mcp_servers = 3\n", "line 1: mcp_servers should be a table")]
fn broken_toml_is_reported_with_its_place(#[case] text: &str, #[case] place: &str) {
    let project = SetupFixture::new(&[(".codex/config.toml", text)]);
    let error = project.ground.plan_setup(project.targets(&[Host::Codex])).unwrap_err().to_string();
    assert!(error.contains(place), "{error}");
}

#[test]
fn personal_and_project_servers_coexist() {
    let shape = JsonServerList { key: "mcpServers", kind: None };
    let entry = |args: &[&str]| ServerEntry {
        command: "jikime-memory".to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
    };
    let [project, personal] = [entry(&["serve"]), entry(&["serve", "--personal"])]
        .map(|entry| OwnedPart::Server(ServerListFormat::Json(shape), entry));
    let both = personal.add_to(&project.add_to("{}").unwrap()).unwrap();
    insta::assert_snapshot!(both, @r#"
    {
      "mcpServers": {
        "jikime-memory": {
          "command": "jikime-memory",
          "args": ["serve"]
        },
        "jikime-memory-personal": {
          "command": "jikime-memory",
          "args": ["serve", "--personal"]
        }
      }
    }
    "#);
    assert_eq!(personal.remove_from(&both).unwrap().matches("jikime-memory\": {").count(), 1);
}
