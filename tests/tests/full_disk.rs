//! A store on a disk that is read-only or full: what is there is read, and who wants to write is told why not.
//!
//! The disks are mounted for one process only, which takes a mount namespace of its own; where that is not allowed these tests
//! say so and end.

#![cfg(target_os = "linux")]
#![expect(clippy::print_stderr, reason = "who runs the tests is told what was not tested")]

use std::process::Command;
use std::time::Duration;

use harness::{Era, McpClient, Outcome, Sandbox, run_to_end, sandbox};
use serde_json::json;

const KEPT: &str = "Webhooks are acknowledged after the commit.";

/// What is done to the store, named `$STORE`, before the program starts.
const READ_ONLY: &str = "mount --bind \"$STORE\" \"$STORE\" && mount -o remount,bind,ro \"$STORE\"";
const FULL: &str = "cp -a \"$STORE\" \"$STORE.saved\" && mount -t tmpfs -o size=1m none \"$STORE\" && \
     cp -a \"$STORE.saved/.\" \"$STORE/\" && (cat /dev/zero > \"$STORE/filling\" || true) 2>/dev/null && \
     rm -r \"$STORE.saved\"";

/// A program as it is, but with another disk under the store.
fn on(disk: &str, sandbox: &Sandbox, program: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &format!("{disk} && exec \"$@\""), "sh"]);
    command.arg(program.get_program()).args(program.get_args()).current_dir(sandbox.project()).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("STORE", sandbox.store());
    command
}

fn run(disk: &str, sandbox: &Sandbox, mut program: Command, arguments: &[&str], input: &str) -> Outcome {
    program.args(arguments);
    run_to_end(on(disk, sandbox, &program), input, Duration::from_secs(60))
}

fn serve(disk: &str, sandbox: &Sandbox) -> McpClient {
    let mut program = sandbox.memory_command();
    program.arg("serve");
    McpClient::start(on(disk, sandbox, &program), Era::Modern)
}

/// A store with one memory, or nothing where disks cannot be mounted.
fn store() -> Option<Sandbox> {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", KEPT]).success();
    for disk in [READ_ONLY, FULL] {
        let tried = on(disk, &sandbox, &Command::new("true")).output();
        if !tried.as_ref().is_ok_and(|tried| tried.status.success()) {
            eprintln!("skipped: no disk can be mounted here: {tried:?}");
            return None;
        }
    }
    Some(sandbox)
}

#[test]
fn a_read_only_store_is_read_and_says_why_it_is_not_written() {
    let Some(sandbox) = store() else { return };
    let found = run(READ_ONLY, &sandbox, sandbox.memory_command(), &["search", "webhooks commit"], "");
    assert!(found.success().stdout.contains(KEPT), "{found:?}");
    assert!(found.stderr.contains("read-only: it cannot be written: Read-only file system"), "{found:?}");
    let refused = run(READ_ONLY, &sandbox, sandbox.memory_command(), &["save", "decision", "new"], "");
    assert!(refused.code(1).stderr.contains("Read-only file system"), "{refused:?}");
    let event = sandbox.event("UserPromptSubmit").to_string();
    let hook = run(READ_ONLY, &sandbox, sandbox.hook_command("memory-prompt-save"), &[], &event);
    hook.success().printed_nothing().complained_of_nothing();

    let mut client = serve(READ_ONLY, &sandbox);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let opened = client.call("memory_get", json!({ "id": found.expect_success()["results"][0]["id"] })).unwrap();
    assert_eq!(opened.expect_success()["content"], KEPT);
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "new" })).unwrap();
    assert!(refused.expect_failure().contains("the store is read-only"), "{}", refused.text);
    client.call("memory_reindex", json!({ "full": true })).unwrap().expect_success();
    let problems = client.call("memory_stats", json!({})).unwrap().expect_success()["problems"].to_string();
    assert!(problems.contains("Read-only file system"), "{problems}");
    drop(client);
    let stats = sandbox.run_cli(["stats", "--json"]).success().json();
    assert_eq!((&stats["memories"], &stats["problems"]), (&json!(1), &json!([])), "{stats:#}");
}

#[test]
fn a_store_on_a_full_disk_is_read_and_says_that_the_disk_is_full() {
    let Some(sandbox) = store() else { return };
    let says = |text: &str| text.contains("no space is left") || text.contains("No space left on device");
    let found = run(FULL, &sandbox, sandbox.memory_command(), &["search", "webhooks commit"], "");
    assert!(found.success().stdout.contains(KEPT), "{found:?}");
    assert!(says(&found.stderr), "{found:?}");
    let refused = run(FULL, &sandbox, sandbox.memory_command(), &["save", "decision", "new"], "");
    assert!(says(&refused.code(1).stderr), "{refused:?}");
    let event = sandbox.event("UserPromptSubmit").to_string();
    let hook = run(FULL, &sandbox, sandbox.hook_command("memory-prompt-save"), &[], &event);
    hook.success().printed_nothing().complained_of_nothing();

    let mut client = serve(FULL, &sandbox);
    let found = client.call("memory_search", json!({ "query": "webhooks commit" })).unwrap();
    assert_eq!(found.expect_success()["results"][0]["snippet"], KEPT);
    let refused = client.call("memory_save", json!({ "type": "decision", "content": "new" })).unwrap();
    assert!(says(refused.expect_failure()), "{}", refused.text);
    let problems = client.call("memory_stats", json!({})).unwrap().expect_success()["problems"].to_string();
    assert!(says(&problems), "{problems}");
}
