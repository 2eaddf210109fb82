//! The browser and commands for reading, in a real terminal.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use harness::{Sandbox, Terminal, eventually, sandbox};
use rstest::rstest;
use serde_json::Value;

const KOREAN: &str = "결제 웹훅은 커밋한 다음에 확인 응답을 보낸다 👍";
const ENGLISH: &str = "Cache JWT tokens in Redis, TTL five minutes";

const ENTER: &str = "\r";
const TAB: &str = "\t";
const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";

fn sandbox_with_memories() -> Sandbox {
    let sandbox = sandbox!();
    for (kind, text) in [("decision", KOREAN), ("learning", ENGLISH), ("user_prompt", "Why \u{1b}[2J\u{7}redis?")] {
        sandbox.run_cli(["save", kind, text]).assert_success();
    }
    sandbox
}

fn listed(sandbox: &Sandbox, kind: &str) -> Vec<Value> {
    let listed = sandbox.run_cli(["list", "--json", "--type", kind]).assert_success().json();
    listed.as_array().unwrap().clone()
}

/// Whether the terminal was restored.
fn is_terminal_restored(terminal: &Terminal) -> bool {
    terminal.inspect_screen(|screen| !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste())
}

#[test]
fn memories_are_searched_read_edited_promoted_and_deleted() {
    let mut sandbox = sandbox_with_memories();
    let editor = sandbox.root().join("my editor");
    fs::write(&editor, "#!/bin/sh\nsed -i.bak 's/five minutes/ten minutes/' \"$2\" && echo \"$1\" > \"$HOME/line\"\n")
        .unwrap();
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set_variable("EDITOR", format!("'{}' +1", editor.display()));

    let mut terminal = sandbox.terminal((80, 24), &["browse"]);
    terminal.wait_for(KOREAN).wait_for(ENGLISH).wait_for("Why ");
    assert!(terminal.written().contains("Why [2Jredis?"), "the terminal gets no orders: {}", terminal.screen());
    terminal.press("/웹훅").wait_without(ENGLISH).wait_for(KOREAN);
    assert!(is_highlighted(&terminal, '웹'), "{}", terminal.screen());
    terminal.press(ENTER).wait_for("Esc back").press(ESCAPE).wait_for("q quit");
    terminal.press("p").wait_for("Saved in MEMORY.md as decision");
    terminal.press("/\u{15}tokens").wait_for(ENGLISH).wait_without(KOREAN);
    terminal.press(TAB).press("e").wait_for("TTL ten minutes");
    terminal.press("d").wait_for("Delete this memory for good?").press("y").wait_for("u undoes");
    terminal.press("u").wait_for("Kept 1 memory").wait_for("TTL ten minutes");
    terminal.press("d").wait_for("Delete this memory for good?").press("y").wait_for("u undoes");
    assert!(sandbox.logs().contains("JWT"), "it can be undone");
    // The end of the browser deletes it.
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
    assert!(is_terminal_restored(&terminal), "{}", terminal.screen());

    assert_eq!(listed(&sandbox, "learning"), Vec::<Value>::new());
    assert_eq!(listed(&sandbox, "decision")[0]["path"], ".jikime/memory/MEMORY.md");
    assert!(!sandbox.logs().contains("JWT"), "{}", sandbox.logs());
}

/// Whether a letter is underlined somewhere on the screen.
fn is_highlighted(terminal: &Terminal, letter: char) -> bool {
    terminal.inspect_screen(|screen| {
        let (rows, columns) = screen.size();
        let (rows, columns) = (rows.get(), columns.get());
        let mut cells = (0..rows).flat_map(|row| (0..columns).filter_map(move |column| screen.cell(row, column)));
        cells.any(|cell| cell.underline() && cell.contents().contains(letter))
    })
}

#[test]
fn forgotten_text_returns_after_an_undo_only() {
    let sandbox = sandbox_with_memories();
    let forgotten = || fs::read_to_string(sandbox.store().join("forgotten")).unwrap_or_default();
    let mut terminal = sandbox.terminal((120, 40), &["browse"]);
    terminal.wait_for(ENGLISH).press("  ").wait_for("2 marked");
    terminal.press("d").wait_for("Delete 2 memories for good?").press("y").wait_for("2 deleted, u undoes");
    // The list is complete again before the next keys.
    terminal.press("u").wait_for("Kept 2 memories").wait_for(ENGLISH);
    assert_eq!((listed(&sandbox, "decision,learning,user_prompt").len(), forgotten()), (3, String::new()));
    terminal.press("dy").wait_for("1 deleted, u undoes").press("dy").wait_for("Deleted 1 memory");
    assert_eq!(listed(&sandbox, "decision,learning,user_prompt").len(), 2);
    terminal.press("u").wait_for("Kept 1 memory").press("q");
    assert_eq!(terminal.end().code(), Some(0));
    assert_eq!(listed(&sandbox, "decision,learning,user_prompt").len(), 2);
    assert!(!forgotten().is_empty());
}

#[test]
fn text_is_copied_to_the_terminal_clipboard() {
    let sandbox = sandbox!();
    sandbox.run_cli(["save", "decision", "foobar"]).assert_success();
    let mut terminal = sandbox.terminal((80, 24), &["browse"]);
    terminal.wait_for("foobar").press("y").wait_for("Copied 1 text");
    assert!(terminal.written().contains("\u{1b}]52;c;Zm9vYmFy\u{7}"), "{:?}", terminal.written());
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn sessions_and_tasks_have_their_own_lists() {
    let sandbox = sandbox!();
    let prompt = sandbox.event("UserPromptSubmit");
    sandbox.run_hook("memory-prompt-save", &prompt.to_string()).assert_success();
    let title = prompt["prompt"].as_str().unwrap().chars().take(20).collect::<String>();
    for text in ["Rename the job", "Cut over the DNS"] {
        sandbox.run_cli(["save", "task", text]).assert_success();
    }
    let mut terminal = sandbox.terminal((120, 40), &["browse"]);
    terminal.wait_for("Rename the job").press("2").wait_for("1 prompt").wait_without("Rename the job");
    terminal.press(ENTER).wait_for(&format!("session: {title}")).press(ESCAPE).wait_for("sessions · any time");
    terminal.press("3").wait_for("Cut over the DNS").wait_for("open");
    terminal.press("x").wait_for("Closed the task").wait_for("done");
    terminal.press("q");
    assert_eq!(terminal.end().code(), Some(0));
    let open = sandbox.run_cli(["tasks", "--json"]).assert_success().json();
    assert_eq!(open.as_array().unwrap().len(), 1, "{open:#}");
}

#[test]
fn one_memory_replaces_another() {
    let sandbox = sandbox!();
    for text in ["Tokens live five minutes", "Tokens live ten minutes"] {
        sandbox.run_cli(["save", "decision", text]).assert_success();
    }
    let mut terminal = sandbox.terminal((40, 20), &["browse", "five"]);
    terminal.wait_for("live five").press("s").wait_for("Choose what replaces");
    terminal.press("/\u{15}ten").wait_for("live ten").press(ENTER).wait_for("Mark as superseded?");
    terminal.press("y").wait_for("Marked as superseded");
    terminal.press("\u{3}");
    assert_eq!(terminal.end().code(), Some(0));
    let listed = listed(&sandbox, "decision");
    let old = listed.iter().find(|memory| memory["content"] == "Tokens live five minutes").unwrap();
    let new = listed.iter().find(|memory| memory["content"] == "Tokens live ten minutes").unwrap();
    assert_eq!(old["superseded_by"], new["id"]);
}

#[rstest]
#[case::terminated("-TERM")]
#[case::interrupted("-INT")]
#[case::left("-HUP")]
fn a_signal_gives_the_terminal_back(#[case] signal: &str) {
    let sandbox = sandbox_with_memories();
    let mut terminal = sandbox.terminal((80, 24), &["browse"]);
    terminal.wait_for(ENGLISH);
    assert!(!is_terminal_restored(&terminal));
    let id = terminal.process_id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    terminal.end();
    assert!(is_terminal_restored(&terminal), "{}", terminal.written());
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let sandbox = sandbox_with_memories();
    let command = sandbox.memory_command();
    let (mut pty, inside) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, 80)).unwrap();
    let browser = pty_process::blocking::Command::new(command.get_program()).arg("browse").env_clear();
    let browser = browser.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = browser.env("TERM", "xterm-256color").current_dir(sandbox.project()).spawn(inside).unwrap();
    let mut seen = Vec::new();
    let mut bytes = [0; 4096];
    // Existing spaces are not drawn.
    while !String::from_utf8_lossy(&seen).contains("Redis") {
        let count = pty.read(&mut bytes).unwrap();
        seen.extend_from_slice(&bytes[..count]);
    }
    drop(pty);
    eventually(Duration::from_secs(30), || child.try_wait().unwrap().is_some());
}

#[test]
fn the_line_discipline_is_as_before() {
    let sandbox = sandbox_with_memories();
    let command = sandbox.memory_command();
    let mut shell = Command::new("sh");
    let script = format!("stty -a; echo; '{}' browse; echo; stty -a", command.get_program().to_str().unwrap());
    shell.arg("-c").arg(script).current_dir(sandbox.project());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = Terminal::start(&shell, (100, 24));
    terminal.wait_for(ENGLISH).press("\u{3}");
    terminal.end();
    let written = terminal.written();
    let modes: Vec<&str> = written.lines().filter(|line| line.contains("icanon")).collect();
    assert!(modes.len() == 2 && modes[0] == modes[1], "{written}");
}

#[test]
fn browse_without_a_terminal_suggests_alternatives() {
    let sandbox = sandbox_with_memories();
    let outcome = sandbox.run_cli(["browse"]);
    outcome.assert_code(1).assert_no_stdout();
    assert!(outcome.stderr.contains("needs a terminal"), "{}", outcome.stderr);
    sandbox.run_cli(["browse", "--json"]).assert_code(1);
}

#[test]
fn missing_store_is_reported_and_not_created() {
    let sandbox = sandbox!();
    let mut terminal = sandbox.terminal((80, 24), &["browse"]);
    terminal.wait_for("has no memory yet");
    assert_eq!(terminal.end().code(), Some(1));
    assert!(!sandbox.store().exists());
}

#[test]
fn long_answers_go_through_the_pager() {
    let mut sandbox = sandbox_with_memories();
    sandbox.set_variable("PAGER", "sed 's/^/paged: /'");
    let mut terminal = sandbox.terminal((80, 5), &["stats"]);
    terminal.end();
    assert!(terminal.written().contains("paged: "), "{}", terminal.written());
    for arguments in [&["stats", "--no-pager"][..], &["stats", "--json"], &["config", "path"]] {
        let mut terminal = sandbox.terminal((80, 5), arguments);
        terminal.end();
        assert!(!terminal.written().contains("paged: "), "{}", terminal.written());
    }
    sandbox.set_variable("PAGER", "no-such-pager -x");
    let mut terminal = sandbox.terminal((80, 20), &["stats"]);
    terminal.end();
    assert!(terminal.screen().contains("Storage"), "{}", terminal.screen());
    sandbox.set_variable("PAGER", "sed 's/^/paged: /'");
    // Only terminals get a pager.
    assert!(!sandbox.run_cli(["stats"]).assert_success().stdout.contains("paged: "));
}

#[rstest]
#[case(80)]
#[case(40)]
fn answers_fit_the_terminal_and_are_harmless(#[case] columns: u16) {
    let sandbox = sandbox_with_memories();
    for arguments in
        [&["list"][..], &["timeline"], &["sessions"], &["stats"], &["search", "redis"], &["config", "show"]]
    {
        let mut terminal = sandbox.terminal((columns, 60), arguments);
        assert_eq!(terminal.end().code(), Some(0), "{arguments:?}");
        let wrapped = terminal.inspect_screen(|screen| (0..60).filter(|row| screen.row_wrapped(*row)).count());
        let project = sandbox.project().to_string_lossy().into_owned();
        // Paths cannot be wrapped.
        let has_path = terminal.screen().replace('\n', "").contains(&project);
        assert!(wrapped == 0 || has_path, "{arguments:?} in {columns} columns:\n{}", terminal.screen());
        assert!(!terminal.written().contains("\u{1b}[2J"), "{arguments:?}");
    }
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let mut sandbox = sandbox_with_memories();
    let mut terminal = sandbox.terminal((80, 60), &["list"]);
    terminal.end();
    assert!(terminal.written().contains("\u{1b}["));
    assert!(!sandbox.run_cli(["list"]).assert_success().stdout.contains('\u{1b}'));
    sandbox.set_variable("NO_COLOR", "1");
    let mut terminal = sandbox.terminal((80, 60), &["list"]);
    terminal.end();
    assert!(!terminal.written().contains('\u{1b}'), "{:?}", terminal.written());
    let mut terminal = sandbox.terminal((80, 24), &["browse"]);
    terminal.wait_for(ENGLISH).press(DOWN).press("q");
    terminal.end();
    let is_coloured = |code: &str| terminal.written().contains(&format!("\u{1b}[{code}"));
    assert!(
        !["36m", "38;5;6m", "38;5;8m", "90m", "33m", "38;5;3m"].iter().any(|code| is_coloured(code)),
        "{:?}",
        terminal.written()
    );
}
