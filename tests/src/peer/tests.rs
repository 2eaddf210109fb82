//! Descriptions, and small fake servers.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

fn described(change: impl FnOnce(&mut Value)) -> Value {
    let mut description = json!({
        "name": "fake", "version": "1", "runtime": "npm", "package": "fake", "command": ["fake"],
        "save": { "tool": "save", "arguments": { "title": "@", "texts": ["%"], "limit": 3 } },
        "search": { "tool": "search", "arguments": { "query": "%" } },
    });
    change(&mut description);
    description
}

fn read(description: &Value) -> Result<PeerDescription, PeerError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fake.json");
    fs::write(&path, description.to_string()).unwrap();
    PeerDescription::named(&path.to_string_lossy())
}

/// Returns a server that answers each line of input with the next of these lines; an empty one is no answer.
#[cfg(unix)]
fn fake_server(answers: &[Value]) -> Peer {
    let answers = answers.iter().map(|answer| match answer {
        Value::Null => "read -r line".to_owned(),
        answer => format!("read -r line; echo '{answer}'"),
    });
    let script: Vec<String> = answers.chain(["cat >/dev/null".to_owned()]).collect();
    fake_program(&script.join("\n"))
}

/// Returns a server that is this script.
#[cfg(unix)]
fn fake_program(script: &str) -> Peer {
    let description = read(&described(|fields| fields["command"] = json!(["sh", "-c", script]))).unwrap();
    Peer::new(description, Path::new("/nowhere"))
}

/// The answers to initialize, to the notification, and to the request of the tools.
#[cfg(unix)]
fn greeting() -> [Value; 3] {
    [json!({ "id": 1, "result": {} }), Value::Null, json!({ "id": 2, "result": { "tools": [] } })]
}

#[test]
fn presets_are_valid() {
    let names = PeerDescription::names().unwrap();
    assert_eq!(names.first().map(String::as_str), Some("jikime-memory"));
    for name in names {
        let description = PeerDescription::named(&name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(description.name, name);
        for tool in [&description.save, &description.search] {
            assert!(tool.arguments.to_string().contains('%'), "{name}: {} does not get the text", tool.tool);
        }
    }
}

#[test]
fn invalid_description_names_the_reason() {
    let cases = [
        (described(|fields| drop(fields.as_object_mut().unwrap().remove("save"))), "missing field `save`"),
        (described(|fields| fields["runtime"] = "ruby".into()), "unknown variant `ruby`"),
        (described(|fields| fields["searching"] = "x".into()), "unknown field `searching`"),
        (described(|fields| fields["command"] = json!([])), "the command is empty"),
    ];
    for (description, reason) in cases {
        let error = read(&description).unwrap_err().to_string();
        assert!(error.contains("fake.json does not describe a server") && error.contains(reason), "{error}");
    }
    assert!(matches!(PeerDescription::named("no-such-peer"), Err(PeerError::Description { .. })));
}

#[test]
fn text_and_number_are_filled_in() {
    let description = read(&described(|_| ())).unwrap();
    let filled = description.save.filled("\"50 % @ home\"", 7);
    assert_eq!(filled, json!({ "title": "7", "texts": ["\"50 % @ home\""], "limit": 3 }));
}

#[test]
fn hook_gets_text_and_paths() {
    let hook = json!({ "command": ["{installed}/hook", "save"], "input": { "cwd": "{project}", "prompt": "%" } });
    let peer = Peer::new(read(&described(|fields| fields["hook"] = hook)).unwrap(), Path::new("bin"));
    let home = tempfile::tempdir().unwrap();
    let hook = peer.description.hook.as_ref().unwrap();
    let (command, input) = peer.hook(hook, home.path(), "why {home}?").unwrap();
    assert_eq!(command.get_program(), "bin/hook");
    let project = Peer::project(home.path()).to_string_lossy().into_owned();
    assert_eq!(input, json!({ "cwd": project, "prompt": "why {home}?" }));
}

#[cfg(unix)]
#[test]
fn answers_are_read_between_other_lines() {
    let [hello, nothing, tools] = greeting();
    let asked = json!({ "id": 3, "method": "roots/list" });
    let found = json!({ "id": 3, "result": { "content": [{ "type": "text", "text": "a" }, { "text": "b" }] } });
    let mut script = String::new();
    for (answer, after) in [(&hello, "loading"), (&nothing, "1"), (&tools, "[]")] {
        script += &format!("read -r line; echo '{answer}'; echo '{after}'\n");
    }
    let peer = fake_program(&format!("{script}read -r line; echo '{asked}'; printf '%s' '{found}'; sleep 0.02; echo"));
    let home = tempfile::tempdir().unwrap();
    let mut server = peer.start(home.path()).unwrap();
    assert_eq!(peer.search(&mut server, "x").unwrap().1, "a\nb");
    server.end().unwrap();
}

#[cfg(unix)]
#[test]
fn server_that_dies_at_its_start_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let died = fake_program("exit 3").start(home.path()).unwrap_err();
    assert!(matches!(&died, PeerError::Ended { method } if method == "initialize"), "{died}");
    let missing = Peer::new(read(&described(|_| ())).unwrap(), Path::new(".")).start(home.path()).unwrap_err();
    assert!(matches!(&missing, PeerError::Start { command, .. } if command.contains("fake")), "{missing}");
}

#[cfg(unix)]
#[test]
fn refused_call_leaves_the_server_usable() {
    let [hello, nothing, tools] = greeting();
    let full = json!({ "id": 3, "result": { "isError": true, "content": [{ "type": "text", "text": "disk full" }] } });
    let busy = json!({ "id": 4, "error": { "code": -32603, "message": "database is locked" } });
    let saved = json!({ "id": 5, "result": { "content": [] } });
    let peer = fake_server(&[hello, nothing, tools, full, busy, saved]);
    let home = tempfile::tempdir().unwrap();
    let mut server = peer.start(home.path()).unwrap();
    for reason in ["disk full", "database is locked"] {
        let refused = peer.save(&mut server, "x").unwrap_err();
        assert!(matches!(&refused, PeerError::Refused { answer, .. } if answer.contains(reason)), "{refused}");
    }
    peer.save(&mut server, "x").unwrap();
}

#[cfg(unix)]
#[test]
fn silent_server_is_given_up() {
    let peer = fake_server(&greeting());
    let home = tempfile::tempdir().unwrap();
    let mut server = peer.start(home.path()).unwrap();
    let limit = Duration::from_millis(50);
    server.set_limit(limit);
    let started = Instant::now();
    let slow = peer.save(&mut server, "x").unwrap_err();
    assert!(matches!(slow, PeerError::TooSlow { .. }), "{slow}");
    assert!(started.elapsed() >= limit);
}
