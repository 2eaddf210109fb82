//! The commands to show, run in their own project.

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::{Binaries, Sandbox, Terminal};

use crate::svg::{PictureFrame, draw_frame};

const SIZE: (u16, u16) = (92, 27);

const ENTER: &str = "\r";

const LOG: &str = "# 2026-01-28

<!-- session 5e551011 +09:00 -->
- [10:30:15] **User Prompt**: 결제 웹훅이 두 번 처리되는 문제를 고쳐줘
- [10:31:02] **Tool Usage**: Files modified: src/billing/webhook.rs
- [10:31:40] **Error**: Bash failed: cargo test -p billing: assertion failed: requeues_on_conflict
- [10:35:12] **Assistant Response**: The handler acknowledged before the commit. I moved that behind the transaction.

<!-- session 7c0ffee1 +09:00 -->
- [15:02:09] **User Prompt**: Where do we keep the tokens, and for how long?
- [15:04:51] **Assistant Response**: In Redis, five minutes; the TTL is set in auth/tokens.rs 👍

## Decision

- Acknowledge webhooks only after the database commit, because a serialization failure must requeue them. <!-- {\"id\":\"9c2d4e6f01\",\"at\":\"2026-01-28T10:36:00+09:00\",\"session\":\"5e551011\"} -->
- Cache JWT tokens in Redis, TTL five minutes. <!-- {\"id\":\"4f368b8b02\",\"at\":\"2026-01-28T15:06:00+09:00\",\"session\":\"7c0ffee1\"} -->

## Learning

- 웹훅 재시도는 같은 이벤트 id로 온다: 처리한 id를 하루 동안 기억한다. <!-- {\"id\":\"1a2b3c4d03\",\"at\":\"2026-01-28T10:40:00+09:00\",\"session\":\"5e551011\"} -->
";

pub(crate) fn play_scenes(program: &Path) -> Vec<PictureFrame> {
    let program = fs::canonicalize(program).unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let sandbox = Sandbox::new(Binaries { hook: program.clone(), memory: program });
    sandbox.write(".jikime/memory/2026-01-28.md", LOG);
    let mut frames = vec![
        command_frame(&sandbox, &["demo"], "jikime-memory demo"),
        command_frame(
            &sandbox,
            &["search", "-n", "3", "why ack after commit?"],
            "jikime-memory search -n 3 \"why ack after commit?\"",
        ),
        command_frame(&sandbox, &["timeline"], "jikime-memory timeline"),
    ];
    let mut terminal = sandbox.terminal(SIZE, &["browse"]);
    terminal.wait_for("five minutes").wait_for("──");
    frames.push(terminal.inspect_screen(|screen| draw_frame(screen, SIZE)));
    terminal.press("/웹훅").wait_without("tokens").wait_for("──");
    frames.push(terminal.inspect_screen(|screen| draw_frame(screen, SIZE)));
    terminal.press(ENTER).wait_for("Esc back").wait_for("──");
    frames.push(terminal.inspect_screen(|screen| draw_frame(screen, SIZE)));
    terminal.press("\u{3}");
    terminal.end();
    frames
}

/// Returns the screen of a command, below its command line.
fn command_frame(sandbox: &Sandbox, arguments: &[&str], typed: &str) -> PictureFrame {
    let memory = sandbox.memory_command();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg("printf '\\033[32m$\\033[0m %s\\n' \"$1\"; shift; exec \"$@\"").arg("sh").arg(typed);
    shell.arg(memory.get_program()).args(arguments).current_dir(sandbox.project());
    shell.envs(memory.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PAGER", "cat");
    // Taller than the picture, which shows only the start.
    let mut terminal = Terminal::start(&shell, (SIZE.0, 2 * SIZE.1));
    assert!(terminal.end().success(), "{}", terminal.screen());
    terminal.inspect_screen(|screen| draw_frame(screen, SIZE))
}
