//! Commands as people expect them: short names, guesses that are reported, and errors that say the next step.

use std::fs;

use harness::{Sandbox, fixtures_dir, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

fn save(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    sandbox.run_cli(["save", "--json"].iter().chain(arguments)).assert_success().json()
}

fn id_of(saved: &Value) -> String {
    saved["id"].as_str().expect("a saved memory has an id").to_owned()
}

/// A token that redaction recognises.
fn token() -> String {
    format!("ghp_{}", "aB3dE5fG7h".repeat(4).get(..36).expect("36 letters"))
}

fn listed(sandbox: &Sandbox) -> Value {
    sandbox.run_cli(["list", "--json", "-n", "100"]).assert_success().json()
}

#[test]
fn text_is_edited_and_everything_else_stays() {
    let sandbox = sandbox!();
    let saved = save(&sandbox, &["decision", "Cache tokens for five minutes", "--tag", "auth"]);
    let prompt = sandbox.event("UserPromptSubmit").to_string();
    sandbox.run_hook("memory-prompt-save", &prompt).assert_success();
    let before = listed(&sandbox);
    for memory in before.as_array().unwrap() {
        let id = memory["id"].as_str().unwrap();
        let text = format!("New text\n\n- with a list, and {}", token());
        let done = sandbox.run_cli(["edit", &id[..8], "--text", &text, "--json"]).assert_success().json();
        assert_eq!((&done["id"], &done["redactions"]), (&memory["id"], &json!(1)), "{done:#}");
    }
    let without_text = |list: &Value| -> Vec<Value> {
        let memories = list.as_array().unwrap().iter().cloned();
        let plain = |mut memory: Value| {
            for field in ["content", "start_line", "end_line"] {
                memory[field] = Value::Null;
            }
            memory
        };
        let mut plain: Vec<Value> = memories.map(plain).collect();
        // Memories of the same second have no fixed order.
        plain.sort_by_key(|memory| memory["id"].to_string());
        plain
    };
    let after = listed(&sandbox);
    assert_eq!(without_text(&after), without_text(&before));
    for memory in after.as_array().unwrap() {
        assert!(
            memory["content"].as_str().unwrap().starts_with("New text\n\n- with a list, and [redacted"),
            "{memory:#}"
        );
    }
    assert!(!sandbox.logs().contains(&token()));
    let found = sandbox.run_cli(["search", "--json", "--tag", "auth", "list"]).assert_success().json();
    assert_eq!(found["results"][0]["id"], saved["id"], "{found:#}");
    // Nothing else knows the ids, so a rebuild must find them in Markdown.
    sandbox.run_cli(["index", "--full"]).assert_success();
    assert_eq!(without_text(&listed(&sandbox)), without_text(&after));
}

#[rstest]
#[case::same(&["--text", "Cache tokens"], 0, "has this text already")]
#[case::empty(&["--text", " "], 1, "deletes the memory")]
#[case::private(&["--text", "<private>all of it</private>"], 1, "<private>")]
#[case::no_terminal(&[], 1, "--text")]
fn edit_refuses_what_it_cannot_store(#[case] arguments: &[&str], #[case] code: i32, #[case] expected: &str) {
    let sandbox = sandbox!();
    let id = id_of(&save(&sandbox, &["decision", "Cache tokens"]));
    let logs = sandbox.logs();
    let outcome = sandbox.run_cli(["edit", &id].iter().chain(arguments));
    outcome.assert_code(code);
    assert!(format!("{}{}", outcome.stdout, outcome.stderr).contains(expected), "{outcome:#?}");
    assert_eq!(sandbox.logs(), logs);
}

#[cfg(unix)]
#[test]
fn editor_that_was_too_slow_loses_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut sandbox = sandbox!();
    let id = id_of(&save(&sandbox, &["decision", "Cache tokens for five minutes"]));
    let program = sandbox.memory_command().get_program().to_string_lossy().into_owned();
    let editor = sandbox.root().join("editor");
    let write_editor = |script: &str| {
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let drafts = sandbox.root();
    sandbox.set_variable("EDITOR", &editor).set_variable("TMPDIR", drafts);
    write_editor("sed -i.bak 's/five/ten/' \"$1\" && rm \"$1.bak\"");
    let mut terminal = sandbox.terminal((80, 24), &["edit", &id]);
    terminal.wait_for("Changed");
    assert!(terminal.end().success() && sandbox.logs().contains("ten minutes"));

    write_editor(&format!("'{program}' edit {id} --text 'Meanwhile' >/dev/null && echo Late > \"$1\""));
    let mut terminal = sandbox.terminal((80, 24), &["edit", &id]);
    terminal.wait_for("changed or deleted");
    assert_eq!(terminal.end().code(), Some(1));
    assert!(sandbox.logs().contains("Meanwhile") && !sandbox.logs().contains("Late"), "{}", sandbox.logs());
    let folders = fs::read_dir(sandbox.root()).unwrap().map(|item| item.unwrap().path());
    let folders: Vec<_> = folders.filter(|path| path.to_string_lossy().contains("/jikime-memory-edit-")).collect();
    let drafts = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|item| item.unwrap().path());
    let texts: Vec<_> = drafts.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!((folders.len(), texts), (1, vec!["Late\n".to_owned()]));
}

#[test]
fn settings_are_set_in_files_with_their_comments() {
    let mut sandbox = sandbox!();
    let config = "# ours\nbrief = \"on\" # always\n";
    sandbox.write(".jikime/memory.toml", config);
    let said = sandbox.run_cli(["config", "set", "brief_size", "500"]).assert_success().stdout.clone();
    assert!(said.contains("memory.toml"), "{said}");
    sandbox.run_cli(["config", "set", "brief", "off"]).assert_success();
    assert_eq!(sandbox.read(".jikime/memory.toml"), "# ours\nbrief = \"off\" # always\nbrief_size = 500\n");
    sandbox.run_cli(["config", "unset", "brief_size"]).assert_success();
    assert_eq!(sandbox.read(".jikime/memory.toml"), "# ours\nbrief = \"off\" # always\n");

    let refused = sandbox.run_cli(["config", "set", "gc_older_than", "1d"]);
    assert!(refused.assert_code(1).stderr.contains("--user"), "{}", refused.stderr);
    let refused = sandbox.run_cli(["config", "set", "brief", "sometimes"]);
    assert!(refused.assert_code(1).stderr.contains("\"compact-only\""), "{}", refused.stderr);
    assert_eq!(sandbox.read(".jikime/memory.toml"), "# ours\nbrief = \"off\" # always\n");

    sandbox.run_cli(["config", "set", "gc_older_than", "180d", "--user"]).assert_success();
    let shown = sandbox.run_cli(["config", "show", "--json"]).assert_success().json();
    let setting =
        |name: &str| shown["settings"].as_array().unwrap().iter().find(|of| of["name"] == name).unwrap().clone();
    assert_eq!((&setting("gc_older_than")["value"], &setting("brief")["value"]), (&json!("180d"), &json!("off")));
    sandbox.set_variable("JIKIME_BRIEF", "on");
    let said = sandbox.run_cli(["config", "set", "brief", "off"]).assert_success().stdout.clone();
    assert!(said.contains("the variable JIKIME_BRIEF"), "{said}");
}

#[test]
fn missing_type_is_guessed_and_reported() {
    let sandbox = sandbox!();
    let saved = save(&sandbox, &["We", "decided", "to", "cache", "JWT", "tokens", "in", "Redis"]);
    assert_eq!((&saved["type"], &saved["guessed"]), (&json!("decision"), &json!(true)), "{saved:#}");
    let said = sandbox.run_cli(["save", "TODO: rename the cron job"]).assert_success().stdout.clone();
    assert!(said.contains("The type is guessed: task."), "{said}");
    let said =
        sandbox.run_cli(["save", "learning", &format!("the key is {}", token())]).assert_success().stdout.clone();
    assert!(said.contains("1 secret was removed"), "{said}");
    let saved = save(&sandbox, &["--type", "Error Fix", "error pages were cached"]);
    assert_eq!((&saved["type"], &saved["guessed"]), (&json!("error_fix"), &json!(false)), "{saved:#}");
    for (arguments, expected) in
        [(&["decison", "Use Redis"][..], "use decision, or quote"), (&["decision"], "the text is missing")]
    {
        let refused = sandbox.run_cli(["save"].iter().chain(arguments));
        assert!(refused.assert_code(1).stderr.contains(expected), "{}", refused.stderr);
    }
}

#[cfg(unix)]
#[test]
fn missing_type_is_asked_for_on_a_terminal() {
    let sandbox = sandbox!();
    for (keys, expected) in [("\r", "decision"), ("9\rpreference\r", "preference"), ("2\r", "learning")] {
        let text = format!("We decided on number {}", expected.len());
        let mut terminal = sandbox.terminal((80, 24), &["save", &text]);
        terminal.wait_for("A number or a type [decision]:").press(keys).wait_for("saved to");
        assert!(terminal.end().success());
        assert_eq!(listed(&sandbox)[0]["type"], expected);
    }
}

#[test]
fn forget_takes_words_and_ids() {
    let sandbox = sandbox!();
    let id = id_of(&save(&sandbox, &["decision", "Falcon flies at dawn"]));
    save(&sandbox, &["decision", "It stays"]);
    let meant = |arguments: &[&str]| {
        let outcome = sandbox.run_cli(["rm", "--dry-run", "--json"].iter().chain(arguments));
        outcome.assert_success().json()["memories"].as_u64().unwrap()
    };
    for (arguments, count) in
        [(&["falcon"][..], 1), (&["falcon", "flies"], 1), (&["flies", "falcon"], 0), (&[&id[..8]], 1), (&[&id], 1)]
    {
        assert_eq!(meant(arguments), count, "{arguments:?}");
    }
    let refused = sandbox.run_cli(["forget", "0123abcd", "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("no memory with the id"), "{}", refused.stderr);
    // The beginning of an id in a text is ambiguous.
    save(&sandbox, &["learning", &format!("The text mentions {}", &id[..3])]);
    let refused = sandbox.run_cli(["forget", &id[..3], "--yes"]);
    assert!(refused.assert_code(1).stderr.contains("--query"), "{}", refused.stderr);
    sandbox.run_cli(["rm", "falcon flies", "--yes"]).assert_success();
    assert!(!sandbox.logs().contains("Falcon") && sandbox.logs().contains("It stays"));
}

#[test]
fn show_knows_names_days_and_sessions() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/2026-11-22.md", "# 2026-11-22\n\nOnly prose.\n");
    sandbox.write(".jikime/memory/MEMORY.md", "# Memory\n\nLong-term prose.\n");
    let id = id_of(&save(&sandbox, &["decision", "Falcon flies"]));
    let prompt = sandbox.event("UserPromptSubmit");
    sandbox.run_hook("memory-prompt-save", &prompt.to_string()).assert_success();
    for (what, expected) in [
        ("MEMORY", "Long-term prose."),
        ("memory", "Long-term prose."),
        ("2026-11-22", "Only prose."),
        ("today", "Falcon flies"),
        (&id[..5], "Falcon flies"),
    ] {
        let shown = sandbox.run_cli(["show", what]).assert_success().stdout.clone();
        assert!(shown.contains(expected), "{what}: {shown}");
    }
    let session = prompt["session_id"].as_str().unwrap();
    let refused = sandbox.run_cli(["show", &session[..8]]);
    assert!(refused.assert_code(1).stderr.contains("list --session"), "{}", refused.stderr);
    let refused = sandbox.run_cli(["show", "zz"]);
    assert!(refused.assert_code(1).stderr.contains("give at least 4 characters"), "{}", refused.stderr);
    let refused = sandbox.run_cli(["show", "2026-11-23"]);
    assert!(refused.assert_code(1).stderr.contains("no memories of 2026-11-23"), "{}", refused.stderr);
}

#[rstest]
#[case("ls", "list")]
#[case("status", "stats")]
fn commands_have_short_names(#[case] short: &str, #[case] long: &str) {
    let sandbox = sandbox!();
    save(&sandbox, &["decision", "Falcon flies"]);
    let told = |name: &str| sandbox.run_cli([name, "--type", "decision", "--json"]).assert_success().json();
    assert_eq!(told(short), told(long));
}

#[rstest]
#[case::go("go", "the Go version")]
#[case::earlier("v7", "7")]
fn store_of_an_earlier_version_is_migrated(#[case] name: &str, #[case] from: &str) {
    let sandbox = sandbox!();
    let missing = sandbox.run_cli(["migrate"]);
    assert!(missing.assert_code(1).stderr.contains("has no memory yet"), "{}", missing.stderr);
    fs::create_dir_all(sandbox.store()).unwrap();
    for item in fs::read_dir(fixtures_dir().join("stores").join(name)).unwrap().map(Result::unwrap) {
        if item.path().is_file() {
            fs::copy(item.path(), sandbox.store().join(item.file_name())).unwrap();
        }
    }
    let done = sandbox.run_cli(["migrate", "--json"]).assert_success().json();
    assert_eq!(done["from"], from, "{done:#}");
    assert!(done["memories"].as_u64().unwrap() > 0 && done["to"] != done["from"], "{done:#}");
    let said = sandbox.run_cli(["migrate"]).assert_success().stdout.clone();
    assert!(said.contains("nothing to do"), "{said}");
}

#[test]
fn clean_up_says_its_settings() {
    let mut sandbox = sandbox!();
    save(&sandbox, &["learning", "new"]);
    let said = sandbox.run_cli(["gc"]).assert_success().stdout.clone();
    assert!(said.contains("gc_older_than = \"never\"") && said.contains("config set --user"), "{said}");
    sandbox.set_variable("JIKIME_GC_OLDER_THAN", "180d");
    let said = sandbox.run_cli(["gc", "--yes"]).assert_success().stdout.clone();
    assert!(said.contains("gc_older_than = \"180d\"") && said.contains("No memories match."), "{said}");
}

#[test]
fn store_outside_a_project_is_announced() {
    let sandbox = Sandbox::without_git(harness::binaries!());
    let folder = sandbox.root().join("elsewhere");
    fs::create_dir_all(&folder).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = sandbox.memory_command();
        command.current_dir(&folder).env_remove("JIKIME_PROJECT_DIR").env_remove("CLAUDE_PROJECT_DIR").args(arguments);
        harness::run_to_end(command, "", std::time::Duration::from_mins(1))
    };
    let first = run(&["save", "decision", "Falcon flies"]);
    assert!(first.assert_success().stderr.contains("is not in a project"), "{}", first.stderr);
    run(&["save", "decision", "It flies again"]).assert_success().assert_no_stderr();
}

#[test]
fn background_command_takes_a_project_and_a_session() {
    let sandbox = sandbox!();
    save(&sandbox, &["decision", "Falcon flies"]);
    let project = sandbox.project().to_string_lossy().into_owned();
    let mut command = sandbox.memory_command();
    command.current_dir(sandbox.root()).env_remove("JIKIME_PROJECT_DIR");
    command.args(["embed-backfill", "--project-dir", &project, "--session-id", "s"]);
    harness::run_to_end(command, "", std::time::Duration::from_mins(1)).assert_success().assert_no_stdout();
    let stats = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!(stats["embedding"]["coverage"], 1.0, "{stats:#}");
}

#[test]
fn help_lists_global_options_apart() {
    let sandbox = sandbox!();
    for command in ["list", "save", "config"] {
        let help = sandbox.run_cli([command, "--help"]).assert_success().stdout.clone();
        let (own, global) = help.split_once("Global options:").unwrap_or_else(|| panic!("{help}"));
        assert!(global.contains("--personal") && !own.contains("--personal"), "{help}");
    }
}

#[test]
fn people_and_machines_become_placeholders() {
    let mut sandbox = sandbox!();
    let text = "Kim (kim@example.com, 010-1234-5678) keeps the keys in /home/kim/keys";
    save(&sandbox, &["decision", text]);
    let is_anonymous =
        |text: &str| !text.contains("kim@") && !text.contains("1234-5678") && !text.contains("/home/kim");
    let exported = |sandbox: &Sandbox, format: &str| {
        sandbox.run_cli(["export", "--anonymise", "--format", format]).assert_success().stdout.clone()
    };
    for format in ["jsonl", "json", "md"] {
        let first = exported(&sandbox, format);
        assert!(first.contains("[e-mail ") && first.contains("~/keys") && is_anonymous(&first), "{first}");
        assert_eq!(exported(&sandbox, format), first);
    }
    assert!(sandbox.logs().contains(text), "an export changes nothing");

    sandbox.set_variable("JIKIME_ANONYMISE", "on");
    let mut event = sandbox.event("UserPromptSubmit");
    event["prompt"] = json!("ask lee@example.com where /home/kim/old went, or call 010-9876-5432");
    sandbox.run_hook("memory-prompt-save", &event.to_string()).assert_success();
    let log = sandbox.logs();
    assert!(log.contains("where ~/old went") && !log.contains("lee@") && !log.contains("9876-5432"), "{log}");
}
