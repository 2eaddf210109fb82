//! Members of a team share memories through a server on a real PostgreSQL, each with a home and a project of their own. Skipped where
//! PostgreSQL is not installed.

use std::collections::BTreeSet;
use std::thread;

use harness::environment::is_long;
use harness::{HttpAnswer, HttpServer, Postgres, Sandbox, TeamServer, report_skip, sandbox};
use schema::log::{TeamAction, TeamNote, render_shared, shared_id};
use schema::model::memory::{Memory, MemoryAttributes, MemoryType};
use schema::model::moment::Moment;
use serde_json::{Value, json};

/// The program with the server. Installed programs do not have it.
const PROGRAM: &str = env!("CARGO_BIN_EXE_jikime-memory-under-test");

/// A server with a project and its admin.
struct Team {
    // Dropped first.
    server: TeamServer,
    postgres: Postgres,
    admin: String,
}

impl Team {
    fn start() -> Option<Self> {
        let Some(postgres) = Postgres::start() else {
            report_skip("PostgreSQL is not installed, so the server of a team is not tested");
            return None;
        };
        let admin = TeamServer::create_project(PROGRAM, &postgres, "atlas", "minji");
        let server = TeamServer::start(PROGRAM, &postgres);
        Some(Self { server, postgres, admin })
    }

    /// Invites a member and returns the token.
    #[track_caller]
    fn invite(&self, name: &str, role: &str) -> String {
        let invited = self.ask(&self.admin, "POST", "members", &json!({"name": name, "role": role, "days": 30}));
        text(&invited["token"]).to_owned()
    }

    /// Sends a request that must succeed.
    #[track_caller]
    fn ask(&self, token: &str, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.server.ask(token, method, path, body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        json_of(&answer)
    }

    /// Pushes lines and returns why each was refused.
    #[track_caller]
    fn push(&self, token: &str, lines: &[String]) -> Vec<String> {
        let pushed = self.ask(token, "POST", "push", &json!({"lines": lines}));
        pushed["refused"].as_array().unwrap().iter().map(|refused| text(&refused["why"]).to_owned()).collect()
    }

    /// A machine of a member, connected to the server.
    #[track_caller]
    fn machine(&self, name: &str, token: &str) -> Sandbox {
        let mut sandbox = sandbox!();
        sandbox.run_cli(["team", "init", "--author", name]).assert_success();
        sandbox.set_variable("JIKIME_TEAM_TOKEN", token);
        sandbox.run_cli(["team", "connect", &self.server.url()]).assert_success();
        sandbox
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The JSON of an answer, whose body may come in chunks.
#[track_caller]
fn json_of(answer: &HttpAnswer) -> Value {
    let from = answer.body.find(['{', '[']).unwrap_or_else(|| panic!("no JSON: {}", answer.body));
    let mut values = serde_json::Deserializer::from_str(&answer.body[from..]).into_iter();
    values.next().and_then(Result::ok).unwrap_or_else(|| panic!("half an answer: {}", answer.body))
}

#[track_caller]
fn sync(sandbox: &Sandbox) -> Value {
    sandbox.run_cli(["team", "sync", "--json"]).assert_success().json()
}

/// Saves a memory and shares it. Returns the id of the shared one.
#[track_caller]
fn share(sandbox: &Sandbox, words: &str) -> String {
    let saved = sandbox.run_cli(["save", "decision", words, "--json"]).assert_success().json();
    text(&sandbox.run_cli(["share", text(&saved["id"]), "--json"]).assert_success().json()["id"]).to_owned()
}

/// The texts and states of all shared memories.
#[track_caller]
fn shared(sandbox: &Sandbox) -> Vec<(String, String)> {
    let listed = sandbox.run_cli(["team", "--json"]).assert_success().json();
    let pair = |item: &Value| (text(&item["content"]).to_owned(), text(&item["state"]).to_owned());
    listed.as_array().unwrap().iter().map(pair).collect()
}

fn brief(sandbox: &Sandbox) -> String {
    let event = sandbox.event("SessionStart.startup").to_string();
    sandbox.run_hook("memory-load", &event).assert_success().stdout.clone()
}

/// A line that shares a decision.
fn entry(words: &str) -> String {
    let at = Moment::from_unix(1_790_000_000, Some(0)).unwrap();
    let id = shared_id(MemoryType::Decision, &at, words);
    let memory = Memory {
        id,
        session_id: String::new(),
        kind: MemoryType::Decision,
        content: words.to_owned(),
        at,
        attributes: MemoryAttributes::default(),
    };
    render_shared(&memory).trim_end().to_owned()
}

fn note_about(words: &str, act: TeamAction) -> String {
    let at = Moment::from_unix(1_790_000_000, Some(0)).unwrap();
    let about = shared_id(MemoryType::Decision, &at, words);
    TeamNote { about, act, at }.render().trim_end().to_owned()
}

#[test]
fn an_approved_decision_is_in_the_briefs_of_all_members() {
    let Some(team) = Team::start() else { return };
    let (jun, yuna) = (team.invite("jun", "approver"), team.invite("yuna", "reader"));
    let minji = team.machine("minji", &team.admin);
    let (jun, yuna) = (team.machine("jun", &jun), team.machine("yuna", &yuna));
    let words = "세션은 Redis에 저장한다, because two servers share them.";
    let id = share(&minji, words);
    assert_eq!(sync(&minji)["sent"], 1);
    assert_eq!(sync(&minji), json!({"sent": 0, "received": 0, "refused": []}));

    sync(&jun);
    assert_eq!(shared(&jun), [(words.to_owned(), "proposed".to_owned())]);
    assert!(!brief(&jun).contains("Redis"), "a proposal is in no brief of others");
    jun.run_cli(["approve", &id]).assert_success();
    assert_eq!(sync(&jun)["sent"], 1);

    for other in [&minji, &yuna] {
        sync(other);
        assert_eq!(shared(other), [(words.to_owned(), "approved".to_owned())]);
        assert!(brief(other).contains("Redis"), "{}", brief(other));
    }
    // Without the server everything is still there.
    drop(team);
    let refused = yuna.run_cli(["team", "sync"]);
    assert!(!refused.status.success() && refused.stderr.contains("cannot reach"), "{refused:#?}");
    assert_eq!(shared(&yuna).len(), 1);
}

/// A host that can start no program asks a server of MCP that runs elsewhere in the member's name.
#[test]
fn a_host_elsewhere_uses_the_memory_of_the_team_over_http() {
    const TOKEN: &str = "a-token-of-the-tests-only";
    let Some(team) = Team::start() else { return };
    let minji = team.machine("minji", &team.admin);
    let mut jun = team.machine("jun", &team.invite("jun", "writer"));
    share(&minji, "Sessions are stored in Redis, because two servers share them.");
    sync(&minji);
    sync(&jun);
    jun.set_variable("JIKIME_HTTP_TOKEN", TOKEN);
    jun.set_variable("JIKIME_TEAM_SHARE_BY_MODEL", "true");
    let server = HttpServer::start(&jun, &[]);
    let ask = |tool: &str, arguments: Value| {
        let answer = server.ask(TOKEN, "tools/call", json!({"name": tool, "arguments": arguments})).message();
        answer["result"].clone()
    };
    let found = ask("memory_search", json!({"query": "where are sessions stored?"}));
    assert!(found.to_string().contains("in Redis"), "{found:#}");
    let learned = "Redis drops sessions without a password change.";
    let saved = ask("memory_save", json!({"type": "learning", "content": learned, "share": true}));
    assert!(saved.to_string().contains("proposed to the team"), "{saved:#}");
    sync(&jun);
    sync(&minji);
    assert!(shared(&minji).contains(&(learned.to_owned(), "proposed".to_owned())), "{:?}", shared(&minji));
}

#[test]
fn forgetting_removes_a_text_from_all_machines_and_the_server() {
    let Some(team) = Team::start() else { return };
    let jun = team.invite("jun", "writer");
    let (minji, jun) = (team.machine("minji", &team.admin), team.machine("jun", &jun));
    let words = "The staging password is on the blue note.";
    let id = share(&minji, words);
    sync(&minji);
    sync(&jun);
    assert_eq!(shared(&jun).len(), 1);
    minji.run_cli(["forget", "--id", &id, "--yes"]).assert_success();
    sync(&minji);
    sync(&jun);
    assert_eq!(shared(&jun), []);
    sync(&minji);
    for machine in [&minji, &jun] {
        let file = machine.read(".jikime/memory/team/minji.md");
        assert!(!file.contains("blue note"), "{file}");
    }
    let stored = team.postgres.query("postgres", "SELECT line FROM jikime.record").unwrap();
    assert!(!stored.contains("blue note"), "{stored}");
    let about = team.postgres.query("postgres", "SELECT about FROM jikime.audit").unwrap();
    assert!(!about.contains("blue note"), "{about}");
    assert_eq!(team.push(&team.admin, &[entry("another text")]), Vec::<String>::new());
    assert_eq!(team.push(&team.admin, &[note_about("another text", TeamAction::Forget)]), Vec::<String>::new());
    let late = team.invite("late", "writer");
    assert_eq!(team.push(&late, &[entry("another text")]), ["the team forgot it"]);
    let late = team.machine("late", &late);
    sync(&late);
    assert_eq!(shared(&late), []);
}

#[test]
fn members_can_do_only_what_their_role_allows() {
    let Some(team) = Team::start() else { return };
    let (writer, reader) = (team.invite("jun", "writer"), team.invite("yuna", "reader"));
    assert_eq!(team.push(&team.admin, &[entry("We use tabs.")]), Vec::<String>::new());
    let only_approver = ["only an approver may approve"];
    assert_eq!(team.push(&writer, &[note_about("We use tabs.", TeamAction::Approve)]), only_approver);
    let other_day = entry("We use tabs.").replace(r#""at":"#, r#""metadata":{"expires":"2020-01-01"},"at":"#);
    assert_eq!(team.push(&writer, &[entry("We use tabs.")]), ["somebody else shares it"]);
    assert_eq!(team.push(&writer, &[other_day]).len(), 1);
    for act in [TeamAction::Retire, TeamAction::Forget] {
        let refused = team.push(&writer, &[note_about("We use tabs.", act)]);
        assert_eq!(refused, ["only its author or an approver may do that"]);
    }
    let unknown = "the server does not know the memory that it is about";
    assert_eq!(team.push(&team.admin, &[note_about("never shared", TeamAction::Approve)]), [unknown]);
    assert_eq!(team.server.ask(&reader, "POST", "push", &json!({"lines": [entry("x y z")]})).status, 403);
    let invitation = json!({"name": "mallory", "role": "admin", "days": 30});
    assert_eq!(team.server.ask(&writer, "POST", "members", &invitation).status, 403);
    assert_eq!(team.server.ask(&writer, "GET", "audit", &Value::Null).status, 403);
    for token in ["", "jkm_0", "' OR true --"] {
        assert_eq!(team.server.ask(token, "GET", "pull", &Value::Null).status, 401, "{token}");
    }
    team.ask(&team.admin, "DELETE", "members/jun", &Value::Null);
    assert_eq!(team.server.ask(&writer, "GET", "pull", &Value::Null).status, 401);
    let sql = "UPDATE jikime.member SET expires_at = now() - interval '1 minute' WHERE name = 'yuna'";
    team.postgres.query("postgres", sql).unwrap();
    assert_eq!(team.server.ask(&reader, "GET", "pull", &Value::Null).status, 401);
    assert_eq!(team.server.ask(&team.admin, "DELETE", "members/minji", &Value::Null).status, 422, "the last admin");
    let acts: Vec<String> = team
        .ask(&team.admin, "GET", "audit", &Value::Null)
        .as_array()
        .unwrap()
        .iter()
        .map(|line| text(&line["act"]).to_owned())
        .collect();
    assert_eq!(acts, ["revoke", "share", "invite as reader", "invite as writer", "create"]);
}

#[test]
fn lines_that_no_file_may_have_are_refused() {
    let Some(team) = Team::start() else { return };
    let key = "AKIAIOSFODNN7EXAMPLQ";
    let cases = [
        ("a heading\nand more".to_owned(), "it is more than one line"),
        ("people wrote this".to_owned(), "it is not a record"),
        (entry("x").replace("**: x", "**: y"), "it is not a record"),
        (entry(&format!("the key is {key}")), "it has a secret"),
        (entry("ask minji.kim@example.com"), "it has an e-mail"),
        (entry(&"long ".repeat(40_000)), "it is not a record"),
        (entry("a spelling").replace("spelling", "&#115;pelling"), "it is not a record as"),
        (note_about("x", TeamAction::Retire).replace(r#""act""#, r#""text":"hidden","act""#), "it is not a record as"),
    ];
    for (line, why) in cases {
        let refused = team.push(&team.admin, std::slice::from_ref(&line));
        let [refused] = &refused[..] else { panic!("{} was taken", line.chars().take(80).collect::<String>()) };
        assert!(refused.starts_with(why), "{refused}, and not {why}");
    }
    let sql = "'; DROP TABLE jikime.record; --";
    assert_eq!(team.push(&team.admin, &[entry(sql)]), Vec::<String>::new());
    let invitation = json!({"name": sql, "role": sql, "days": 30});
    assert_eq!(team.server.ask(&team.admin, "POST", "members", &invitation).status, 422);
    let pulled = team.ask(&team.admin, "GET", "pull?after=1&chain=%27;DROP", &Value::Null);
    assert_eq!(pulled["records"].as_array().unwrap().len(), 1);
}

#[test]
fn row_security_shows_nothing_of_other_projects() {
    let Some(team) = Team::start() else { return };
    let other = TeamServer::create_project(PROGRAM, &team.postgres, "borealis", "eve");
    assert_eq!(team.push(&team.admin, &[entry("of atlas")]), Vec::<String>::new());
    assert_eq!(team.push(&other, &[entry("of borealis")]), Vec::<String>::new());
    let pulled = team.ask(&other, "GET", "pull", &Value::Null).to_string();
    assert!(pulled.contains("of borealis") && !pulled.contains("of atlas"), "{pulled}");
    let members = team.ask(&other, "GET", "members", &Value::Null).to_string();
    assert!(members.contains("eve") && !members.contains("minji"), "{members}");
    let query = |role: &str, sql: &str| team.postgres.query(role, sql);
    for role in ["jikime_app", "jikime_owner"] {
        for table in ["project", "member", "record", "audit"] {
            let all = format!("SELECT count(*) FROM jikime.{table}");
            let number = if table == "project" { "id" } else { "project" };
            let of_first = query("postgres", &format!("{all} WHERE {number} = 1")).unwrap();
            let seen = query(role, &format!("SET jikime.project = '1'; {all}")).unwrap();
            // The owner finds projects by their names.
            if (role, table) != ("jikime_owner", "project") {
                assert_eq!(query(role, &all).unwrap(), "0", "{role} sees {table} without a project");
                assert_eq!(seen, of_first, "{role} sees {table} of another project");
            }
            assert_ne!(of_first, "0");
        }
        let insert = "SET jikime.project = '1'; INSERT INTO jikime.record (project, seq, author, key, chain, memory, line) \
                      VALUES (2, 9, 'minji', 'k', 'c', 'm', 'l')";
        assert!(query(role, insert).unwrap_err().contains("row-level security"), "{role} writes to another project");
    }
    for sql in [
        "DELETE FROM jikime.record",
        "UPDATE jikime.record SET author = 'eve'",
        "ALTER TABLE jikime.record DISABLE ROW LEVEL SECURITY",
        "SET ROLE jikime_owner",
        "DROP SCHEMA jikime CASCADE",
    ] {
        let refused = query("jikime_app", &format!("SET jikime.project = '1'; {sql}"));
        let why = refused.expect_err(sql);
        assert!(why.contains("permission denied") || why.contains("must be owner"), "{sql}: {why}");
    }
}

#[test]
fn server_refuses_a_role_that_row_security_does_not_bind() {
    let Some(team) = Team::start() else { return };
    for role in ["jikime_owner", "postgres"] {
        let started = std::process::Command::new(PROGRAM)
            .args(["team", "serve", "--http", "127.0.0.1:0"])
            .env("JIKIME_TEAM_DATABASE", team.postgres.address(role))
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&started.stderr).into_owned();
        assert!(!started.status.success() && told.contains("connect as jikime_app"), "{role}: {told}");
    }
}

#[test]
fn a_server_restored_from_an_old_backup_gets_everything_back() {
    let Some(team) = Team::start() else { return };
    let jun = team.invite("jun", "writer");
    let (minji, jun) = (team.machine("minji", &team.admin), team.machine("jun", &jun));
    for number in 0..3 {
        share(&minji, &format!("decision number {number} of minji"));
        share(&jun, &format!("decision number {number} of jun"));
        sync(&minji);
        sync(&jun);
    }
    sync(&minji);
    assert_eq!((shared(&minji).len(), shared(&jun).len()), (6, 6));
    let backup = "DELETE FROM jikime.record WHERE seq > 2; UPDATE jikime.project SET last_seq = 2, last_chain = \
                  (SELECT chain FROM jikime.record WHERE seq = 2)";
    team.postgres.query("postgres", backup).unwrap();
    // New records take the numbers that were given before.
    share(&jun, "decided after the restoration");
    assert_eq!(sync(&jun)["sent"], 3);
    assert_eq!(sync(&minji)["sent"], 2);
    sync(&jun);
    assert_eq!((shared(&minji).len(), shared(&jun).len()), (7, 7));
    let lines = minji.read(".jikime/memory/team/minji.md").lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(lines, 3, "nothing is there twice");
    let count =
        team.postgres.query("postgres", "SELECT count(*), count(DISTINCT seq), max(seq) FROM jikime.record").unwrap();
    assert_eq!(count, "7|7|7");
}

#[test]
fn writers_and_a_reader_at_once_lose_nothing() {
    // The long form takes about ten minutes.
    let (writers, each) = if is_long() { (50, 2_000) } else { (8, 40) };
    let Some(team) = Team::start() else { return };
    let tokens: Vec<String> = (0..writers).map(|number| team.invite(&format!("w{number}"), "writer")).collect();
    let mut read = Vec::new();
    thread::scope(|scope| {
        let running: Vec<_> = tokens
            .iter()
            .enumerate()
            .map(|(writer, token)| {
                let team = &team;
                scope.spawn(move || {
                    for number in 0..each {
                        let line = entry(&format!("writer {writer} decided {number}"));
                        // Each line is sent twice, as after a lost answer.
                        assert_eq!(team.push(token, &[line.clone(), line]), Vec::<String>::new());
                    }
                })
            })
            .collect();
        let (mut after, mut chain) = (0, String::new());
        loop {
            let is_done = running.iter().all(thread::ScopedJoinHandle::is_finished);
            let pulled = team.ask(&team.admin, "GET", &format!("pull?after={after}&chain={chain}"), &Value::Null);
            let records = pulled["records"].as_array().unwrap();
            if let Some(last) = records.last() {
                (after, chain) = (last["seq"].as_i64().unwrap(), text(&last["chain"]).to_owned());
            }
            read.extend(records.iter().map(|record| text(&record["line"]).to_owned()));
            if is_done && records.is_empty() {
                break;
            }
        }
    });
    assert_eq!(read.len(), writers * each);
    assert_eq!(read.iter().collect::<BTreeSet<_>>().len(), writers * each);
}
