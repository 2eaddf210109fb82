//! The queue between hooks and servers: which server owns it, and that no event is lost or duplicated.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::Duration;

use harness::environment;
use harness::{Era, McpClient, Sandbox, eventually, sandbox};
use rstest::rstest;
use serde_json::{Value, json};

/// Time limit for a server to answer the queue, or to save queued events.
const SEEN: Duration = Duration::from_secs(20);

/// Concurrent hooks, and prompts of each. `JIKIME_LONG_TESTS` runs more.
const HOOKS: usize = 8;

fn prompts_each() -> usize {
    if environment::is_long() { 200 } else { 12 }
}

fn save(sandbox: &Sandbox, text: &str) {
    sandbox
        .run_hook("memory-prompt-save", &sandbox.prompt_event(text).to_string())
        .assert_success()
        .assert_no_stdout()
        .assert_no_stderr();
}

/// How often each prompt is in the store and in the logs.
fn kept(sandbox: &Sandbox) -> BTreeMap<String, (usize, usize)> {
    let listed = sandbox.run_cli(["list", "--json", "--limit", "10000"]).assert_success().json();
    let logs = sandbox.logs();
    let mut kept = BTreeMap::new();
    for memory in listed.as_array().expect("a list") {
        let text = memory["content"].as_str().expect("a text").to_owned();
        let in_logs = logs.lines().filter(|line| line.ends_with(&format!("**User Prompt**: {text}"))).count();
        kept.entry(text).or_insert((0, in_logs)).0 += 1;
    }
    kept
}

#[rstest]
#[case::without_a_server(0, false)]
#[case::with_a_server(1, false)]
#[case::with_servers(3, false)]
#[case::with_a_server_that_is_killed(1, true)]
#[case::with_servers_of_which_one_is_killed(2, true)]
fn every_event_is_kept_exactly_once(#[case] servers: usize, #[case] one_is_killed: bool) {
    let sandbox = sandbox!();
    let mut clients: Vec<McpClient> = (0..servers).map(|_| sandbox.serve(Era::Modern)).collect();
    let owner = (servers > 0).then(|| McpClient::owner_of(&mut clients));
    thread::scope(|scope| {
        for hook in 0..HOOKS {
            let sandbox = &sandbox;
            scope.spawn(move || {
                for n in 0..prompts_each() {
                    save(sandbox, &format!("prompt {n} of hook {hook}"));
                }
            });
        }
        if one_is_killed {
            eventually(SEEN, || sandbox.logs().lines().count() > HOOKS * prompts_each() / 3);
            clients.remove(owner.expect("a server that answers")).kill();
        }
    });
    // The next process that opens the store saves queued events.
    sandbox.run_cli(["index"]).assert_success();
    let kept = kept(&sandbox);
    assert_eq!(kept.len(), HOOKS * prompts_each());
    assert_eq!(kept.iter().filter(|(_, times)| **times != (1, 1)).collect::<Vec<_>>(), vec![]);
    let problems = sandbox.run_cli(["stats", "--json"]).assert_success().json();
    assert_eq!((&problems["problems"], &problems["queue"]), (&json!([]), &json!(0)));
}

#[test]
fn queue_has_one_owner_and_a_successor() {
    let sandbox = sandbox!();
    let mut clients: Vec<McpClient> = (0..3).map(|_| sandbox.serve(Era::Modern)).collect();
    while !clients.is_empty() {
        let owner = McpClient::owner_of(&mut clients);
        for (n, client) in clients.iter_mut().enumerate() {
            let expected = if n == owner { "this_server" } else { "another_server" };
            assert_eq!(client.queue_answered_by(), expected);
        }
        assert_eq!(sandbox.run_cli(["stats", "--json"]).assert_success().json()["queue_answered_by"], "another_server");
        clients.remove(owner).kill();
    }
    assert_eq!(sandbox.run_cli(["stats", "--json"]).assert_success().json()["queue_answered_by"], "nobody");
}

#[cfg(unix)]
mod unix {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::os::unix::fs::DirBuilderExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;

    fn served(sandbox: &Sandbox) -> (McpClient, PathBuf) {
        let client = sandbox.serve(Era::Modern);
        // The socket file exists shortly before the server listens.
        eventually(SEEN, || sandbox.socket().is_some_and(|socket| UnixStream::connect(socket).is_ok()));
        (client, sandbox.socket().expect("a socket that was there"))
    }

    /// The socket of a killed server.
    fn stale(sandbox: &Sandbox) -> PathBuf {
        let (client, socket) = served(sandbox);
        client.kill();
        assert!(socket.exists());
        socket
    }

    /// Replaces a server once: reads a hook's request, answers, and waits until the hook disconnects.
    fn stand_in(listener: &UnixListener, answer: &str) -> String {
        let (mut stream, _) = listener.accept().expect("a hook");
        let mut line = String::new();
        BufReader::new(stream.try_clone().expect("the same stream")).read_line(&mut line).expect("a request");
        let _ = stream.write_all(answer.as_bytes());
        let _ = stream.read(&mut [0]);
        line
    }

    #[test]
    fn a_hook_leaves_the_writing_to_the_server_that_has_done_it() {
        let sandbox = sandbox!();
        let path = stale(&sandbox);
        fs::remove_file(&path).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        let request = thread::scope(|scope| {
            let server = scope.spawn(|| stand_in(&listener, "{\"v\":1,\"captured\":true}\n"));
            save(&sandbox, "in other hands");
            server.join().unwrap()
        });
        assert_eq!(kept(&sandbox).len(), 0);
        drop(listener);
        let client = sandbox.serve(Era::Modern);
        eventually(SEEN, || UnixStream::connect(&path).is_ok());
        for _ in 0..2 {
            assert_eq!(answer(&path, request.as_bytes()), "{\"v\":1,\"captured\":true}\n");
        }
        assert_eq!(kept(&sandbox), BTreeMap::from([("in other hands".to_owned(), (1, 1))]));
        client.close();
    }

    #[test]
    fn a_prompt_brings_along_what_fits_it_once_in_a_session() {
        let mut sandbox = sandbox!();
        sandbox.set_variable("JIKIME_RECALL", "on");
        sandbox.run_cli(["save", "decision", "Cache JWT tokens in Redis with a TTL of five minutes"]).assert_success();
        sandbox.run_cli(["save", "learning", "Editors replace files instead of writing to them"]).assert_success();
        let ask = |text: &str| {
            sandbox
                .run_hook("memory-prompt-save", &sandbox.prompt_event(text).to_string())
                .assert_success()
                .stdout
                .clone()
        };
        assert_eq!(ask("why do we cache JWT tokens in Redis?"), "", "without a server");
        let (client, _) = served(&sandbox);
        let answer: Value = serde_json::from_str(&ask("where do we cache the JWT tokens, in Redis?")).unwrap();
        let output = &answer["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "UserPromptSubmit");
        let text = output["additionalContext"].as_str().unwrap();
        assert!(text.contains("Cache JWT tokens in Redis") && !text.contains("Editors"), "{text}");
        assert_eq!(ask("so we cache JWT tokens in Redis?"), "", "a second time");
        assert_eq!(ask("what is for lunch today?"), "", "with nothing that fits");
        assert_eq!(sandbox.logs().matches("**User Prompt**").count(), 4);
        client.close();
    }

    #[test]
    fn stale_socket_blocks_neither_hooks_nor_servers() {
        let sandbox = sandbox!();
        let socket = stale(&sandbox);
        save(&sandbox, "while nobody answers");
        let client = sandbox.serve(Era::Modern);
        eventually(SEEN, || UnixStream::connect(&socket).is_ok());
        save(&sandbox, "while somebody does");
        client.close();
        assert!(!socket.exists());
        assert_eq!(kept(&sandbox).len(), 2);
    }

    #[test]
    fn queue_moves_to_another_server_after_a_kill() {
        let sandbox = sandbox!();
        let (first, socket) = served(&sandbox);
        let second = sandbox.serve(Era::Modern);
        first.kill();
        eventually(SEEN, || UnixStream::connect(&socket).is_ok());
        save(&sandbox, "after the change");
        assert_eq!(kept(&sandbox).len(), 1);
        second.close();
    }

    #[test]
    fn deleted_socket_is_recreated() {
        let sandbox = sandbox!();
        let (client, socket) = served(&sandbox);
        fs::remove_file(&socket).unwrap();
        eventually(SEEN, || UnixStream::connect(&socket).is_ok());
        client.close();
    }

    #[rstest]
    #[case::says_nothing("")]
    #[case::talks_nonsense("GET / HTTP/1.1\n")]
    #[case::refuses("{\"v\":1,\"refused\":\"no\"}\n")]
    #[case::is_torn("{\"v\":1,\"captu")]
    #[case::never_ends(&"x".repeat(2_000_000))]
    fn an_answer_of_no_use_loses_nothing(#[case] answer: &str) {
        let sandbox = sandbox!();
        let path = stale(&sandbox);
        fs::remove_file(&path).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| stand_in(&listener, answer));
            save(&sandbox, "somebody listens");
        });
        assert_eq!(kept(&sandbox), BTreeMap::from([("somebody listens".to_owned(), (1, 1))]));
    }

    #[test]
    fn a_directory_that_others_may_enter_is_not_used() {
        let sandbox = sandbox!();
        let path = stale(&sandbox);
        let directory = path.parent().unwrap();
        fs::remove_dir_all(directory).unwrap();
        fs::DirBuilder::new().mode(0o755).create(directory).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        save(&sandbox, "nobody else hears this");
        assert!(listener.accept().is_err(), "somebody came");
        assert_eq!(kept(&sandbox).len(), 1);
    }

    #[test]
    fn invalid_frames_are_ignored() {
        let sandbox = sandbox!();
        let (client, socket) = served(&sandbox);
        let later = "{\"v\":9,\"recall\":{\"query\":\"q\",\"session\":\"s\"}}\n";
        // Older servers forward saves, and save directly if refused.
        let handed_over = "{\"v\":1,\"save\":[]}\n";
        for frame in
            ["\n", "{\n", "[]\n", later, "{\"v\":1,\"forget\":{}}\n", handed_over, "{\"v\":1,\"capture\":[{}]}\n"]
        {
            assert!(answer(&socket, frame.as_bytes()).contains("\"refused\""), "{frame}");
        }
        assert!(
            answer(&socket, &vec![b'x'; 1_100_000]).contains("\"refused\":\"the request is not one line of at most")
        );
        let mut hanging = UnixStream::connect(&socket).unwrap();
        hanging.write_all(b"{\"v\":1").unwrap();
        save(&sandbox, "still here");
        assert_eq!(kept(&sandbox).len(), 1);
        client.close();
    }

    #[test]
    fn read_only_server_leaves_the_queue() {
        let sandbox = sandbox!();
        sandbox.run_cli(["save", "decision", "Newer programs make newer databases."]).assert_success();
        let version = sandbox.set_version(77);
        let mut reader = sandbox.serve(Era::Modern);
        assert_eq!(reader.queue_answered_by(), "nobody");
        sandbox.set_version(version);
        let mut clients = [reader, sandbox.serve(Era::Modern)];
        assert_eq!(McpClient::owner_of(&mut clients), 1);
        let path = sandbox.socket().expect("the socket of a server that answers");
        assert_eq!(answer(&path, capture("for the writer").as_bytes()), "{\"v\":1,\"captured\":true}\n");
    }

    #[test]
    fn queue_error_is_reported_once() {
        let sandbox = sandbox!();
        let path = stale(&sandbox);
        fs::remove_file(&path).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        let client = sandbox.serve(Era::Modern);
        for _ in 0..3 {
            listener.accept().expect("a server that checks for another owner");
        }
        let told = client.close().stderr;
        assert_eq!(told.matches("cannot listen for hooks").count(), 1, "{told}");
    }

    #[derive(Debug, Clone, Copy)]
    enum ServerEnd {
        OfInput,
        BySignal,
    }

    #[rstest]
    #[case::of_input(ServerEnd::OfInput)]
    #[case::by_signal(ServerEnd::BySignal)]
    fn requests_before_end_of_queue_are_answered(#[case] end: ServerEnd) {
        let sandbox = sandbox!();
        let (client, socket) = served(&sandbox);
        let mut streams: Vec<_> = (0..16).map(|_| UnixStream::connect(&socket).unwrap()).collect();
        for stream in &mut streams {
            stream.write_all(b"{\"v\":1}\n").unwrap();
            assert!(read_line(stream).contains("refused"), "it is let in");
        }
        for (n, stream) in streams.iter_mut().enumerate() {
            stream.write_all(capture(&format!("text {n}")).as_bytes()).unwrap();
        }
        if let ServerEnd::BySignal = end {
            let id = client.process_id().to_string();
            assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        }
        assert!(client.close().status.success());
        for stream in &mut streams {
            assert_eq!(read_line(stream), "{\"v\":1,\"captured\":true}\n");
        }
        assert!(!socket.exists());
        let kept = kept(&sandbox);
        assert_eq!((kept.len(), kept.values().all(|times| *times == (1, 1))), (16, true), "{kept:?}");
    }

    #[test]
    fn hooks_at_the_end_of_a_server_lose_nothing() {
        let sandbox = sandbox!();
        let (client, _) = served(&sandbox);
        thread::scope(|scope| {
            for hook in 0..HOOKS {
                let sandbox = &sandbox;
                scope.spawn(move || (0..4).for_each(|n| save(sandbox, &format!("prompt {n} of hook {hook}"))));
            }
            eventually(SEEN, || sandbox.logs().lines().count() > HOOKS);
            client.close();
        });
        let kept = kept(&sandbox);
        assert_eq!((kept.len(), kept.values().all(|times| *times == (1, 1))), (4 * HOOKS, true), "{kept:?}");
    }

    fn capture(text: &str) -> String {
        let memory = json!({
            "session": "s", "type": "user_prompt", "at": "2026-11-21T10:30:00+09:00", "content": text, "redactions": 0,
        });
        format!("{}\n", json!({ "v": 1, "capture": [memory] }))
    }

    fn read_line(stream: &UnixStream) -> String {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        line
    }

    fn answer(socket: &PathBuf, frame: &[u8]) -> String {
        let mut stream = UnixStream::connect(socket).expect("a server that answers");
        // The server may answer and disconnect before it has read an overlong line.
        let _ = stream.write_all(frame);
        read_line(&stream)
    }
}
