//! With the setting `other_projects`, searches reach the user's other memories; without it, nothing of one project is in another.

use std::fs;
use std::path::{Path, PathBuf};

use harness::{Era, Sandbox, sandbox};
use serde_json::{Value, json};

const ON: (&str, &str) = ("JIKIME_OTHER_PROJECTS", "on");

/// A second project beside that of the sandbox.
fn other_project(sandbox: &Sandbox) -> PathBuf {
    let other = sandbox.root().join("billing");
    fs::create_dir_all(other.join(".git")).unwrap();
    other
}

fn save_in(sandbox: &Sandbox, arguments: &[&str], kind: &str, text: &str) -> String {
    let saved = sandbox.run_cli(arguments.iter().chain(&["save", kind, text, "--json"]));
    saved.assert_success().json()["id"].as_str().unwrap().to_owned()
}

fn register(sandbox: &Sandbox, project: &Path) {
    let project = project.to_str().unwrap();
    sandbox.run_cli(["--project", project, "init", "--yes", "--host", "cursor"]).assert_success();
}

fn projects(found: &Value) -> Vec<String> {
    let name =
        |found: &Value| Path::new(found["project"].as_str().unwrap()).file_name().unwrap().to_str().map(str::to_owned);
    found.as_array().unwrap().iter().filter_map(name).collect()
}

#[test]
fn all_registered_projects_are_searched() {
    let mut sandbox = sandbox!().installed();
    let other = other_project(&sandbox);
    let other_path = other.to_str().unwrap().to_owned();
    save_in(&sandbox, &[], "decision", "Webhooks are retried five times");
    save_in(&sandbox, &["--project", &other_path], "decision", "Invoices and webhooks have idempotency keys");
    let refused = sandbox.run_cli(["search", "webhooks", "--all-projects"]);
    refused.assert_code(1);
    assert!(refused.stderr.contains("config set --user other_projects on"), "{}", refused.stderr);

    sandbox.set_variable(ON.0, ON.1);
    let search = |sandbox: &Sandbox| {
        projects(&sandbox.run_cli(["search", "webhooks", "--all-projects", "--json"]).assert_success().json())
    };
    assert_eq!(search(&sandbox), ["project"], "the other one is not registered yet");
    register(&sandbox, &other);
    register(&sandbox, &other);
    let mut found = search(&sandbox);
    found.sort();
    assert_eq!(found, ["billing", "project"]);
    let text =
        sandbox.run_cli(["search", "idempotency keys of invoices", "--all-projects"]).assert_success().stdout.clone();
    assert!(text.starts_with("billing  ") && text.contains("Invoices and webhooks"), "{text}");

    // A registry may name anything.
    let registry = sandbox.home().join(".local/share/jikime-memory/projects");
    let registry = if cfg!(windows) { sandbox.home().join("AppData/Local/jikime-memory/projects") } else { registry };
    let before = fs::read_to_string(&registry).unwrap();
    assert_eq!(before.lines().count(), 1, "{before}");
    fs::write(&registry, format!("{before}/nowhere\nrelative\n\n{before}\u{0}\n")).unwrap();
    assert_eq!(search(&sandbox).len(), 2);
    fs::remove_dir_all(other.join(".jikime")).unwrap();
    assert_eq!(search(&sandbox), ["project"]);
}

#[test]
fn project_can_forbid_being_read() {
    let mut sandbox = sandbox!().installed();
    let other = other_project(&sandbox);
    save_in(&sandbox, &["--project", other.to_str().unwrap()], "decision", "Webhooks have idempotency keys");
    save_in(&sandbox, &["--personal"], "preference", "Answer in short sentences");
    sandbox.set_variable(ON.0, ON.1);
    register(&sandbox, &other);
    sandbox.set_variable(ON.0, "");
    let user = sandbox.home().join(if cfg!(windows) { "AppData/Roaming" } else { ".config" }).join("jikime-memory");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("memory.toml"), "other_projects = \"on\"\n").unwrap();
    let search = |sandbox: &Sandbox| {
        projects(&sandbox.run_cli(["search", "webhooks", "--all-projects", "--json"]).assert_success().json())
    };
    assert_eq!(search(&sandbox), ["billing"]);
    fs::write(other.join(".jikime/memory.toml"), "other_projects = \"off\"\n").unwrap();
    assert_eq!(search(&sandbox), Vec::<String>::new());
    // A project cannot turn it on.
    fs::write(user.join("memory.toml"), "").unwrap();
    sandbox.write(".jikime/memory.toml", "other_projects = \"on\"\n");
    sandbox.run_cli(["search", "webhooks", "--all-projects"]).assert_code(1);
}

#[test]
fn personal_preferences_reach_searches_and_briefs() {
    let mut sandbox = sandbox!();
    save_in(&sandbox, &[], "decision", "Error messages of the API have codes");
    let wish = save_in(&sandbox, &["--personal"], "preference", "Error messages are one short sentence without blame");
    save_in(&sandbox, &["--personal"], "decision", "Error messages of the private blog are in Korean");
    let question = json!({ "query": "how should error messages be written?" });
    let start = sandbox.event("SessionStart.startup").to_string();
    let personal = |sandbox: &Sandbox| -> Vec<Value> {
        let mut client = sandbox.serve(Era::Modern);
        let found = client.call("memory_search", question.clone()).unwrap().expect_success().clone();
        let is_personal =
            |hit: &&Value| hit["flags"].as_array().is_some_and(|flags| flags.contains(&json!("personal")));
        found["results"].as_array().unwrap().iter().filter(is_personal).cloned().collect()
    };
    let brief = |sandbox: &Sandbox| sandbox.run_hook("memory-load", &start).assert_success().stdout.clone();
    assert_eq!(personal(&sandbox), Vec::<Value>::new());
    assert!(!brief(&sandbox).contains("without blame"));

    sandbox.set_variable(ON.0, ON.1);
    let found = personal(&sandbox);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(wish.starts_with(found[0]["id"].as_str().unwrap()), "{found:#?}");
    let mut client = sandbox.serve(Era::Modern);
    let opened = client.call("memory_get", json!({ "id": found[0]["id"] })).unwrap().expect_success().clone();
    assert!(opened["content"].as_str().unwrap().contains("without blame"), "{opened:#}");
    drop(client);
    let brief = brief(&sandbox);
    assert!(brief.contains("In all your projects:") && brief.contains("without blame"), "{brief}");
    assert!(!brief.contains("private blog"), "{brief}");
}

#[test]
fn memory_is_copied_into_the_personal_memory() {
    let sandbox = sandbox!();
    let id = save_in(&sandbox, &[], "learning", "git bisect run needs a script that exits with 125 to skip");
    let copy = || sandbox.run_cli(["promote", &id, "--to-personal"]).assert_success().stdout.clone();
    assert!(copy().contains("is in your personal memory"));
    assert!(copy().contains("was in your personal memory already"));
    let found = sandbox.run_cli(["--personal", "search", "git bisect", "--tag", "general", "--json"]);
    assert_eq!(found.assert_success().json()["count"], 1, "{}", found.stdout);
    assert!(sandbox.logs().contains("git bisect run"), "the original stays");
}
