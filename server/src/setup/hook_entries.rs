//! The hooks of Claude Code: which event calls which command, and how to recognise our handlers.

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use super::server_entry::program_name;

/// The name of the hooks client, without a file extension.
pub(crate) const PROGRAM: &str = "jikime-hook";

/// Seconds. The client ends itself much earlier. The host's default is 600 s, and 1.5 s at the end of a session.
const TIMEOUT: u32 = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HookEntry {
    pub(crate) event: &'static str,
    /// Argument for the hooks client.
    pub(crate) command: &'static str,
    matcher: Option<&'static str>,
    /// Whether the host goes on without waiting for the hook.
    is_async: bool,
}

/// In the order of a session.
pub(crate) const HOOKS: [HookEntry; 9] = [
    HookEntry::new("SessionStart", "memory-load"),
    HookEntry::new("UserPromptSubmit", "memory-prompt-save"),
    HookEntry {
        // Tools that change nothing should not start a process.
        matcher: Some("Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell"),
        ..HookEntry::new("PostToolUse", "memory-track").in_background()
    },
    HookEntry::new("PostToolUseFailure", "memory-track").in_background(),
    HookEntry::new("Stop", "memory-complete"),
    HookEntry::new("SubagentStop", "memory-subagent").in_background(),
    HookEntry::new("PreCompact", "memory-flush"),
    HookEntry::new("PostCompact", "memory-compact"),
    HookEntry::new("SessionEnd", "memory-save"),
];

/// Only with the setting `file_recall`, because it starts a process before each of these tools.
const FILE_RECALL: HookEntry = HookEntry {
    matcher: Some("Read|Edit|MultiEdit|Write|NotebookEdit"),
    ..HookEntry::new("PreToolUse", "memory-file-recall")
};

/// The hooks that a settings file should have, and the program that they call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HookSet {
    pub(crate) program: String,
    pub(crate) has_file_recall: bool,
}

impl HookSet {
    pub(super) fn entries(&self) -> Vec<HookEntry> {
        HOOKS.into_iter().chain(self.has_file_recall.then_some(FILE_RECALL)).collect()
    }
}

impl HookEntry {
    const fn new(event: &'static str, command: &'static str) -> Self {
        Self { event, command, matcher: None, is_async: false }
    }

    const fn in_background(self) -> Self {
        Self { is_async: true, ..self }
    }

    /// The group in a settings file. With `args` the host starts the client without a shell.
    pub(super) fn to_group(self, program: &str) -> CstInputValue {
        let text = |text: &str| CstInputValue::String(text.to_owned());
        let mut handler = vec![
            ("type".to_owned(), text("command")),
            ("command".to_owned(), text(program)),
            ("args".to_owned(), CstInputValue::Array(vec![text(self.command)])),
            ("timeout".to_owned(), CstInputValue::Number(TIMEOUT.to_string())),
        ];
        if self.is_async {
            handler.push(("async".to_owned(), CstInputValue::Bool(true)));
        }
        let handlers = CstInputValue::Array(vec![CstInputValue::Object(handler)]);
        let matcher = self.matcher.map(|matcher| ("matcher".to_owned(), text(matcher)));
        CstInputValue::Object(matcher.into_iter().chain([("hooks".to_owned(), handlers)]).collect())
    }

    /// Whether a group is exactly ours.
    pub(super) fn matches(&self, group: &Value, program: &str) -> bool {
        let mut handler = serde_json::json!({
            "type": "command", "command": program, "args": [self.command], "timeout": TIMEOUT,
        });
        if self.is_async {
            handler["async"] = Value::Bool(true);
        }
        let mut ours = serde_json::json!({ "hooks": [handler] });
        if let Some(matcher) = self.matcher {
            ours["matcher"] = Value::from(matcher);
        }
        *group == ours
    }
}

/// The program of a handler that calls our hooks client.
pub(super) fn hook_program(handler: &Value) -> Option<String> {
    let command = handler.get("command")?.as_str()?;
    let args = handler.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut words = vec![command.to_owned()];
    if args.is_empty() {
        words = split_command(command);
    }
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
            (json!({"command": "jikime hooks lint"}), None),
            (json!({"command": "echo jikime-hook"}), None),
            (json!({"type": "prompt", "prompt": "jikime-hook"}), None),
            (json!("jikime-hook"), None),
        ] {
            assert_eq!(hook_program(&handler).as_deref(), expected, "{handler}");
        }
    }
}
