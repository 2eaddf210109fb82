//! The hooks of each host: which event calls which command, in which form, and how to recognise our handlers.

use jsonc_parser::cst::CstInputValue;
use schema::host::hook::HookHost;
use serde_json::Value;

use super::json::tree::to_one_line;
use super::server_entry::program_name;

/// The name of the hooks client, without a file extension.
pub(crate) const PROGRAM: &str = "jikime-hook";

/// Seconds. The client ends itself much earlier. The host's default is 600 s, and 1.5 s at the end of a session.
const TIMEOUT: u32 = 5;

/// Seconds. Codex shows a warning about a longer time at the end of a session.
const CODEX_END_TIMEOUT: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HookEntry {
    pub(crate) event: &'static str,
    /// Argument for the hooks client.
    pub(crate) command: &'static str,
    matcher: Option<&'static str>,
    /// Whether the host goes on without waiting for the hook.
    is_async: bool,
    /// Seconds.
    timeout: u32,
}

/// The hooks of Claude Code, in the order of a session.
pub(crate) const HOOKS: [HookEntry; 9] = [
    HookEntry::new("SessionStart", "memory-load"),
    HookEntry::new("UserPromptSubmit", "memory-prompt-save"),
    // Tools that change nothing should not start a process.
    HookEntry::new("PostToolUse", "memory-track")
        .for_tools("Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell")
        .in_background(),
    HookEntry::new("PostToolUseFailure", "memory-track").in_background(),
    HookEntry::new("Stop", "memory-complete"),
    HookEntry::new("SubagentStop", "memory-subagent"),
    HookEntry::new("PreCompact", "memory-flush"),
    HookEntry::new("PostCompact", "memory-compact"),
    HookEntry::new("SessionEnd", "memory-save"),
];

/// Only with the setting `file_recall`, because it starts a process before each of these tools.
const FILE_RECALL: HookEntry =
    HookEntry::new("PreToolUse", "memory-file-recall").for_tools("Read|Edit|MultiEdit|Write|NotebookEdit");

const CODEX: [HookEntry; 8] = [
    HookEntry::new("SessionStart", "memory-load"),
    HookEntry::new("UserPromptSubmit", "memory-prompt-save"),
    HookEntry::new("PostToolUse", "memory-track").for_tools("Bash|apply_patch"),
    HookEntry::new("Stop", "memory-complete"),
    HookEntry::new("SubagentStop", "memory-subagent"),
    HookEntry::new("PreCompact", "memory-flush"),
    HookEntry::new("PostCompact", "memory-compact"),
    HookEntry { timeout: CODEX_END_TIMEOUT, ..HookEntry::new("SessionEnd", "memory-save") },
];

const CURSOR: [HookEntry; 10] = [
    HookEntry::new("sessionStart", "memory-load"),
    HookEntry::new("beforeSubmitPrompt", "memory-prompt-save"),
    HookEntry::new("afterFileEdit", "memory-track"),
    HookEntry::new("postToolUse", "memory-track").for_tools("Shell"),
    HookEntry::new("postToolUseFailure", "memory-track").for_tools("Shell"),
    HookEntry::new("afterAgentResponse", "memory-complete"),
    HookEntry::new("stop", "memory-complete"),
    HookEntry::new("subagentStop", "memory-subagent"),
    HookEntry::new("preCompact", "memory-flush"),
    HookEntry::new("sessionEnd", "memory-save"),
];

const GEMINI: [HookEntry; 5] = [
    HookEntry::new("SessionStart", "memory-load"),
    HookEntry::new("BeforeAgent", "memory-prompt-save"),
    HookEntry::new("AfterTool", "memory-track").for_tools("write_file|replace|run_shell_command"),
    HookEntry::new("AfterAgent", "memory-complete"),
    HookEntry::new("SessionEnd", "memory-save"),
];

const VSCODE: [HookEntry; 5] = [
    HookEntry::new("SessionStart", "memory-load"),
    HookEntry::new("UserPromptSubmit", "memory-prompt-save"),
    HookEntry::new("PostToolUse", "memory-track"),
    HookEntry::new("Stop", "memory-complete"),
    HookEntry::new("PreCompact", "memory-flush"),
];

const WINDSURF: [HookEntry; 4] = [
    HookEntry::new("pre_user_prompt", "memory-prompt-save"),
    HookEntry::new("post_write_code", "memory-track"),
    HookEntry::new("post_run_command", "memory-track"),
    HookEntry::new("post_cascade_response", "memory-complete"),
];

/// The hooks that a host needs for everything that it can tell us.
pub(crate) fn hooks_of(host: HookHost) -> &'static [HookEntry] {
    match host {
        HookHost::ClaudeCode => &HOOKS,
        HookHost::Codex => &CODEX,
        HookHost::Cursor => &CURSOR,
        HookHost::Gemini => &GEMINI,
        HookHost::Vscode => &VSCODE,
        HookHost::Windsurf => &WINDSURF,
    }
}

/// The program that the hooks of a settings file call, and the optional hooks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HookSet {
    pub(crate) program: String,
    pub(crate) has_file_recall: bool,
}

impl HookSet {
    pub(super) fn entries(&self, host: HookHost) -> Vec<HookEntry> {
        let has_file_recall = self.has_file_recall && host == HookHost::ClaudeCode;
        hooks_of(host).iter().copied().chain(has_file_recall.then_some(FILE_RECALL)).collect()
    }
}

impl HookEntry {
    const fn new(event: &'static str, command: &'static str) -> Self {
        Self { event, command, matcher: None, is_async: false, timeout: TIMEOUT }
    }

    const fn in_background(self) -> Self {
        Self { is_async: true, ..self }
    }

    const fn for_tools(self, matcher: &'static str) -> Self {
        Self { matcher: Some(matcher), ..self }
    }

    /// The element of the event's list in a settings file: a group of handlers, or in some hosts one handler.
    pub(super) fn to_element(self, host: HookHost, program: &str) -> CstInputValue {
        let matcher = self.matcher.map(|matcher| ("matcher", matcher.into()));
        let handler = self.handler(host, program);
        match host {
            HookHost::ClaudeCode | HookHost::Codex | HookHost::Gemini => {
                object(matcher.into_iter().chain([("hooks", vec![object(handler)].into())]))
            }
            HookHost::Cursor | HookHost::Vscode | HookHost::Windsurf => object(handler.into_iter().chain(matcher)),
        }
    }

    fn handler(self, host: HookHost, program: &str) -> Vec<(&'static str, CstInputValue)> {
        let line = ("command", command_line(program, self.command, host).into());
        let kind = ("type", "command".into());
        let timeout = ("timeout", self.timeout.into());
        match host {
            // With `args` the host starts the client without a shell.
            HookHost::ClaudeCode => {
                let mut handler = vec![kind, ("command", program.into()), ("args", vec![self.command].into()), timeout];
                handler.extend(self.is_async.then(|| ("async", true.into())));
                handler
            }
            HookHost::Codex | HookHost::Vscode => vec![kind, line, timeout],
            // The name is what the host lists; its times are in milliseconds.
            HookHost::Gemini => {
                let name = ("name", format!("jikime-{}", self.command).into());
                vec![name, kind, line, ("timeout", (self.timeout * 1000).into())]
            }
            HookHost::Cursor => vec![line, timeout],
            HookHost::Windsurf => vec![line, ("show_output", false.into())],
        }
    }

    /// Whether an element is exactly ours.
    pub(super) fn matches(self, element: &Value, host: HookHost, program: &str) -> bool {
        *element == to_json(&self.to_element(host, program))
    }
}

fn object(fields: impl IntoIterator<Item = (&'static str, CstInputValue)>) -> CstInputValue {
    CstInputValue::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn to_json(value: &CstInputValue) -> Value {
    serde_json::from_str(&to_one_line(value)).unwrap_or_default()
}

/// The command for hosts that pass it to a shell.
fn command_line(program: &str, command: &str, host: HookHost) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/\\:._-+@~".contains(c);
    let program = match program {
        plain if plain.chars().all(is_plain) => plain.to_owned(),
        odd if cfg!(windows) => format!("\"{odd}\""),
        odd => format!("'{}'", odd.replace('\'', r"'\''")),
    };
    format!("{program} {command} --host {}", host.name())
}

/// The program of a handler that calls our hooks client.
pub(super) fn hook_program(handler: &Value) -> Option<String> {
    let command = handler.get("command")?.as_str()?;
    let args = handler.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut words = if args.is_empty() { split_command(command) } else { vec![command.to_owned()] };
    words.extend(args.iter().filter_map(Value::as_str).map(str::to_owned));
    let program = words.first()?;
    let name = program_name(program);
    // Earlier versions used other program names with the same commands.
    let is_older = name.starts_with("jikime") && words.iter().any(|word| HOOKS.iter().any(|hook| hook.command == word));
    (name == PROGRAM || is_older).then(|| program.clone())
}

/// Splits a command line into words. A quoted path is one word.
fn split_command(command: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for c in command.trim().chars() {
        match (quote, words.last_mut()) {
            (Some(open), _) if c == open => quote = None,
            (None, _) if c == '"' || c == '\'' => quote = Some(c),
            (None, _) if c.is_whitespace() => words.push(String::new()),
            (_, Some(word)) => word.push(c),
            (_, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_handlers_are_recognised_in_every_form() {
        for (handler, expected) in [
            (json!({"type": "command", "command": "jikime-hook memory-load"}), Some("jikime-hook")),
            (json!({"type": "command", "command": "jikime-hook", "args": ["memory-load"]}), Some("jikime-hook")),
            (json!({"command": "\"/a b/jikime-hook\" memory-load"}), Some("/a b/jikime-hook")),
            (json!({"command": "/a b/jikime-hook", "args": ["memory-load"]}), Some("/a b/jikime-hook")),
            (json!({"command": r"C:\bin\jikime-hook.exe", "args": ["memory-load"]}), Some(r"C:\bin\jikime-hook.exe")),
            (json!({"command": "jikime hooks memory-load"}), Some("jikime")),
            (json!({"command": "/a/jikime-hook memory-load --host codex", "timeout": 5}), Some("/a/jikime-hook")),
            (json!({"command": "'/a b/jikime-hook' memory-load --host gemini"}), Some("/a b/jikime-hook")),
            (json!({"command": "jikime hooks lint"}), None),
            (json!({"command": "echo jikime-hook"}), None),
            (json!({"type": "prompt", "prompt": "jikime-hook"}), None),
            (json!("jikime-hook"), None),
        ] {
            assert_eq!(hook_program(&handler).as_deref(), expected, "{handler}");
        }
    }

    #[test]
    fn elements_have_the_form_of_the_host() {
        let element = |host, event: &str| {
            let hook = hooks_of(host).iter().find(|hook| hook.event == event).unwrap();
            to_json(&hook.to_element(host, "/a b/jikime-hook"))
        };
        let line = |command: &str, host: &str| {
            let quote = if cfg!(windows) { '"' } else { '\'' };
            format!("{quote}/a b/jikime-hook{quote} {command} --host {host}")
        };
        let codex = json!({"type": "command", "command": line("memory-track", "codex"), "timeout": 5});
        let gemini = json!({"name": "jikime-memory-load", "type": "command", "command": line("memory-load", "gemini"), "timeout": 5000});
        for (host, event, expected) in [
            (HookHost::Codex, "PostToolUse", json!({"matcher": "Bash|apply_patch", "hooks": [codex]})),
            (HookHost::Gemini, "SessionStart", json!({"hooks": [gemini]})),
            (
                HookHost::Cursor,
                "postToolUse",
                json!({"command": line("memory-track", "cursor"), "timeout": 5, "matcher": "Shell"}),
            ),
            (
                HookHost::Vscode,
                "Stop",
                json!({"type": "command", "command": line("memory-complete", "vscode"), "timeout": 5}),
            ),
            (
                HookHost::Windsurf,
                "post_run_command",
                json!({"command": line("memory-track", "windsurf"), "show_output": false}),
            ),
        ] {
            let found = element(host, event);
            assert_eq!(found, expected);
            let handler = found["hooks"].get(0).unwrap_or(&found);
            assert_eq!(hook_program(handler).as_deref(), Some("/a b/jikime-hook"));
        }
    }
}
