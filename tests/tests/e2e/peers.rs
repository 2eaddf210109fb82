//! Our own server, described and driven like another one. The bench compares servers this way.

use harness::binaries;
use harness::peer::{Peer, PeerError, PeerTool};
use harness::run_to_end;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const NOTES: [&str; 3] = [
    "Webhooks are acknowledged after the commit.",
    "The cache keeps keys for \"one hour\", not 100 %.",
    "배포는 금요일에 하지 않기로 했다.",
];

/// Returns our server as a peer whose programs are in `folder`.
fn ours(folder: &Path) -> Peer {
    let bin = folder.join("bin");
    binaries!().copy_to(&bin);
    Peer::named("jikime-memory", &bin).unwrap()
}

#[test]
fn our_description_saves_and_finds() {
    let folder = tempfile::tempdir().unwrap();
    let peer = ours(folder.path());
    let mut server = peer.start(&folder.path().join("home")).unwrap();
    for note in NOTES {
        peer.save(&mut server, note).unwrap();
    }
    for (question, note) in ["webhooks commit", "cache keys", "배포 금요일"].into_iter().zip(NOTES) {
        let (_, text) = peer.search(&mut server, question).unwrap();
        assert!(text.contains(note), "{question}: {text}");
    }
    server.end().unwrap();
    let mut server = peer.start(&folder.path().join("home")).unwrap();
    let unknown = PeerTool { tool: "memory_save".to_owned(), arguments: json!({ "type": "novel", "content": "%" }) };
    let refused = peer.call(&mut server, &unknown, "x").unwrap_err();
    assert!(matches!(refused, PeerError::Refused { .. }), "{refused}");
    server.end().unwrap();
}

#[test]
fn our_described_hook_saves_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let (peer, home) = (ours(folder.path()), folder.path().join("home"));
    let hook = peer.description.hook.clone().unwrap();
    let (command, input) = peer.hook(&hook, &home, "Why does the watcher miss replaced files?").unwrap();
    run_to_end(command, &input.to_string(), Duration::from_secs(10)).assert_success().assert_no_stderr();
    let mut server = peer.start(&home).unwrap();
    let (_, text) = peer.search(&mut server, "watcher").unwrap();
    assert!(text.contains("Why does the watcher miss replaced files?"), "{text}");
    server.end().unwrap();
}
