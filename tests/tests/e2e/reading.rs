//! Commands for reading, for scripts and for people.

use harness::{Sandbox, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

const LOG: &str = "# 2026-01-28

<!-- session 5e551011-aaaa +09:00 -->
- [10:30:15] **User Prompt**: 결제 웹훅이 두 번 처리되는 문제를 고쳐줘
- [10:31:02] **Tool Usage**: Files modified: src/billing/webhook.rs
- [10:31:40] **Error**: Exit code 3

## Decision

- Acknowledge after the commit. <!-- {\"id\":\"9c2d4e6f\",\"at\":\"2026-01-28T10:36:00+09:00\",\"session\":\"5e551011-aaaa\"} -->
";

const OLDER: &str = "# 2026-01-27

<!-- session 7c0ffee1-bbbb +09:00 -->
- [15:02:09] **User Prompt**: Where do we keep the tokens?
";

fn sandbox_with_memories() -> Sandbox {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory/2026-01-28.md", LOG);
    sandbox.write(".jikime/memory/2026-01-27.md", OLDER);
    sandbox
}

fn answer(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    sandbox.run_cli(arguments.iter().chain(&["--json"])).assert_success().json()
}

#[test]
fn json_of_days_and_sessions_is_stable() {
    let sandbox = sandbox_with_memories();
    let decision = json!({
        "id": "9c2d4e6f",
        "type": "decision",
        "date": "2026-01-28 10:36:00",
        "session_id": "5e551011-aaaa",
        "path": ".jikime/memory/2026-01-28.md",
        "start_line": 10,
        "end_line": 10,
        "content": "Acknowledge after the commit.",
    });
    assert_eq!(answer(&sandbox, &["list", "--type", "decision"]), json!([decision]));
    assert_eq!(
        answer(&sandbox, &["timeline", "--days", "1"]),
        json!([{
            "date": "2026-01-28",
            "memories": 4,
            "sessions": [{
                "id": "5e551011-aaaa",
                "title": "결제 웹훅이 두 번 처리되는 문제를 고쳐줘",
                "from": "2026-01-28T10:30:15+09:00",
                "to": "2026-01-28T10:36:00+09:00",
                "prompts": 1,
                "errors": 1,
                "memories": 4,
                "files": ["src/billing/webhook.rs"],
            }],
            "noted": [decision],
        }])
    );
    assert_eq!(
        answer(&sandbox, &["sessions", "-n", "1"]),
        json!([{
            "id": "5e551011-aaaa",
            "title": "결제 웹훅이 두 번 처리되는 문제를 고쳐줘",
            "started_at": "2026-01-28T10:30:15+09:00",
            "ended_at": "2026-01-28T10:31:40+09:00",
            "duration": 85,
            "prompts": 1,
            "tools": 1,
            "errors": 1,
            "memories": 4,
            "files": ["src/billing/webhook.rs"],
            "summary": null,
        }])
    );
}

#[test]
fn stats_show_growth_size_and_most_opened() {
    let sandbox = sandbox_with_memories();
    for _ in 0..2 {
        sandbox.run_cli(["show", "9c2d"]).assert_success();
    }
    let stats = answer(&sandbox, &["stats"]);
    assert_eq!((&stats["memories"], &stats["sessions"]), (&json!(5), &json!(2)), "{stats:#}");
    assert_eq!(stats["growth"]["months"], json!([{ "month": "2026-01", "memories": 5 }]));
    assert_eq!(
        (&stats["recalled"][0]["times"], &stats["recalled"][0]["memory"]["id"]),
        (&json!(2), &json!("9c2d4e6f"))
    );
    assert_eq!(stats["storage"]["markdown"], json!(LOG.len() + OLDER.len()));
    let text = sandbox.run_cli(["stats"]).assert_success().stdout.clone();
    for part in ["5, of 2 sessions", "2026-01", "2×", "Acknowledge after the commit.", "Markdown"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn memory_is_shown_with_its_attributes() {
    let sandbox = sandbox_with_memories();
    sandbox.run_cli(["pin", "9c2d"]).assert_success();
    let shown = answer(&sandbox, &["show", "9c2d"]);
    assert_eq!((&shown["id"], &shown["pinned"]), (&json!("9c2d4e6f"), &json!(true)), "{shown:#}");
    assert!(sandbox.run_cli(["show", "9c2d"]).assert_success().stdout.contains("\npinned\n"));
    assert_eq!(answer(&sandbox, &["show", "2026-01-27.md"]).get("id"), None);
}

#[test]
fn stats_of_some_memories_count_those() {
    let sandbox = sandbox_with_memories();
    sandbox.run_cli(["show", "9c2d"]).assert_success();
    let stats = answer(&sandbox, &["stats", "--session", "5e55", "--type", "decision,error"]);
    assert_eq!((&stats["memories"], &stats["sessions"]), (&json!(2), &json!(1)), "{stats:#}");
    assert_eq!(stats["types"], json!([{ "type": "error", "count": 1 }, { "type": "decision", "count": 1 }]));
    assert_eq!(stats["growth"]["months"], json!([{ "month": "2026-01", "memories": 2 }]));
    assert_eq!(stats["recalled"][0]["memory"]["id"], "9c2d4e6f");
    assert_eq!(stats.get("storage"), None);
    assert_eq!(answer(&sandbox, &["stats", "--type", "error"])["recalled"], json!([]));
    let told = |arguments: &[&str]| sandbox.run_cli(arguments).assert_success().stdout.clone();
    assert!(told(&["stats", "--until", "2026-01-27"]).starts_with("Memories  1, of 1 session"));
    assert_eq!(told(&["stats", "--since", "1h"]), "No memories match.\n");
    assert!(told(&["sessions", "--type", "error"]).contains("5e551011"));
    assert!(!told(&["sessions", "--session", "7c0f"]).contains("5e551011"));
}

#[rstest]
#[case::type_(&["--type", "error"], 1)]
#[case::types(&["--type", "error,user_prompt", "--type", "decision"], 4)]
#[case::types_of_a_session(&["--type", "decision,error", "--session", "5e55", "-n", "1"], 1)]
#[case::day(&["--since", "2026-01-28"], 4)]
#[case::until(&["--until", "2026-01-27"], 1)]
#[case::month(&["--since", "2026-01", "--until", "2026-01"], 5)]
#[case::time(&["--since", "2026-01-28 10:31", "--until", "2026-01-28T10:31:59"], 2)]
#[case::ago(&["--since", "1h"], 0)]
#[case::session(&["--session", "5e55"], 4)]
#[case::log(&["--path", "2026-01-27.md"], 1)]
#[case::file(&["--path", "src/billing/webhook.rs"], 1)]
#[case::limit(&["-n", "2"], 2)]
fn lists_are_narrowed(#[case] options: &[&str], #[case] expected: usize) {
    let sandbox = sandbox_with_memories();
    let arguments: Vec<&str> = ["list"].iter().chain(options).copied().collect();
    assert_eq!(answer(&sandbox, &arguments).as_array().unwrap().len(), expected);
}

#[rstest]
#[case::no_time(&["list", "--since", "last week"], 2, "or an age such as")]
#[case::backwards(&["timeline", "--since", "2026-02", "--until", "2026-01"], 1, "later than")]
#[case::no_type(&["list", "--type", "idea"], 2, "the types are user_prompt")]
#[case::no_path(&["sessions", "--path", ""], 1, "path is empty")]
#[case::ambiguous(&["list", "--session", ""], 1, "give more characters of the id")]
#[case::not_for_scripts(&["man", "--json"], 1, "cannot print JSON")]
fn invalid_arguments_are_reported(#[case] arguments: &[&str], #[case] code: i32, #[case] said: &str) {
    let sandbox = sandbox_with_memories();
    let outcome = sandbox.run_cli(arguments);
    outcome.assert_code(code).assert_no_stdout();
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

#[test]
fn cut_list_reports_the_rest() {
    let sandbox = sandbox_with_memories();
    let told = |arguments: &[&str]| sandbox.run_cli(arguments).assert_success().stdout.clone();
    let cut = told(&["list", "-n", "2"]);
    assert!(cut.contains("3 more: jikime-memory list -n 5 shows all"), "{cut}");
    let cut = told(&["list", "-n", "1", "--type", "user_prompt,decision"]);
    assert!(cut.contains("2 more: jikime-memory list -n 3"), "{cut}");
    let cut = told(&["list", "-n", "1", "--path", "webhook.rs"]);
    assert!(!cut.contains("more:"), "{cut}");
    assert!(!told(&["list", "-n", "5"]).contains("more:"));
    assert!(told(&["sessions", "-n", "1"]).contains("1 more: jikime-memory sessions -n 2"));
    assert!(!told(&["sessions"]).contains("more:"));
}

#[test]
fn nothing_found_is_no_error_and_says_so() {
    let sandbox = sandbox_with_memories();
    for arguments in
        [&["list", "--type", "convention"][..], &["timeline", "--since", "1h"], &["sessions", "--since", "1h"]]
    {
        let outcome = sandbox.run_cli(arguments);
        assert!(outcome.assert_success().stdout.starts_with("No"), "{outcome:?}");
        assert_eq!(answer(&sandbox, arguments), json!([]));
    }
}

#[test]
fn settings_show_their_origin() {
    let mut sandbox = sandbox!();
    sandbox.set_variable("JIKIME_RECALL", "on");
    let paths = answer(&sandbox, &["config", "path"]);
    let user = paths[0]["path"].as_str().unwrap().to_owned();
    assert!(user.starts_with(sandbox.home().to_str().unwrap()), "{user}");
    std::fs::create_dir_all(std::path::Path::new(&user).parent().unwrap()).unwrap();
    std::fs::write(&user, "brief = \"off\"\nexclude = [\"secrets/**\"]\n").unwrap();
    sandbox.write(".jikime/memory.toml", "exclude = [\"vendor/**\"]\nbrief_size = 900\n");
    sandbox.run_cli(["config", "check"]).assert_success().assert_no_stderr();

    let shown = answer(&sandbox, &["config", "show"]);
    let of = |name: &str| {
        let setting = shown["settings"].as_array().unwrap().iter().find(|setting| setting["name"] == name).unwrap();
        let from: Vec<&str> =
            setting["origins"].as_array().unwrap().iter().map(|origin| origin["from"].as_str().unwrap()).collect();
        (setting["value"].clone(), from.join(", "))
    };
    assert_eq!(of("brief"), (json!("off"), "user".into()));
    assert_eq!(of("brief_size"), (json!(900), "project".into()));
    assert_eq!(of("recall"), (json!("on"), "environment".into()));
    assert_eq!(of("exclude"), (json!(["secrets/**", "vendor/**"]), "user, project".into()));
    assert_eq!(of("capture"), (json!(true), "default".into()));
    assert!(!sandbox.store().exists(), "looking at settings makes no memory");
}

#[test]
fn wrong_settings_name_file_and_reason() {
    let sandbox = sandbox!();
    sandbox.write(".jikime/memory.toml", "embedding_provider = \"openai\"\ncaptur = true\n");
    let outcome = sandbox.run_cli(["config", "check"]);
    outcome.assert_code(1);
    for part in [
        "memory.toml: line 1: a project cannot set embedding_provider",
        "line 2: unknown setting captur",
        "user's file",
    ] {
        assert!(outcome.stdout.replace("\n  ", " ").contains(part), "{part} in {}", outcome.stdout);
    }
    assert!(outcome.stderr.contains("2 problems have to be fixed"), "{}", outcome.stderr);
    let checked = sandbox.run_cli(["config", "check", "--json"]);
    assert_eq!(checked.assert_code(1).json()["ok"], false);

    sandbox.write(".jikime/memory.toml", "exclude = [[\n");
    let outcome = sandbox.run_cli(["config", "check"]);
    assert!(outcome.assert_code(1).stdout.contains("line 1"), "{}", outcome.stdout);
    let shown = sandbox.run_cli(["config", "show"]).assert_success().stdout.clone();
    assert!(shown.contains("off until the problems below are fixed"), "{shown}");
}
