//! The hooks of Claude Code: which event calls which command, and how a handler of ours is told from those of others.

use jsonc_parser::cst::CstInputValue;
use serde_json::Value;

use super::server_entry::program_name;

/// The hooks client, without the ending of a platform.
pub(crate) const PROGRAM: &str = "jikime-hook";

/// Seconds. The client ends by itself long before; the host's own limit is 600, and 1.5 at the end of a session for whoever
/// names none.
const TIMEOUT: u32 = 5;

/// One hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hook {
    pub(crate) event: &'static str,
    /// The command of the hooks client.
    pub(crate) command: &'static str,
    matcher: Option<&'static str>,
    /// Whether the host goes on meanwhile, which is for events that nobody waits for.
    is_async: bool,
}

/// All of them, in the order of a session.
pub(crate) const HOOKS: [Hook; 9] = [
    Hook::new("SessionStart", "memory-load"),
    Hook::new("UserPromptSubmit", "memory-prompt-save"),
    Hook {
        // Keeps the host from starting a process for tools that change nothing.
        matcher: Some("Edit|MultiEdit|Write|NotebookEdit|Bash|PowerShell"),
        ..Hook::new("PostToolUse", "memory-track").meanwhile()
    },
    Hook::new("PostToolUseFailure", "memory-track").meanwhile(),
    Hook::new("Stop", "memory-complete"),
    Hook::new("SubagentStop", "memory-subagent").meanwhile(),
    Hook::new("PreCompact", "memory-flush"),
    Hook::new("PostCompact", "memory-compact"),
    Hook::new("SessionEnd", "memory-save"),
];

impl Hook {
    const fn new(event: &'static str, command: &'static str) -> Self {
        Self { event, command, matcher: None, is_async: false }
    }

    const fn meanwhile(self) -> Self {
        Self { is_async: true, ..self }
    }

    /// The group that stands for it in a file of settings. The form with `args` starts the client without a shell.
    pub(super) fn group(&self, program: &str) -> CstInputValue {
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

    /// Whether a group of a file says what ours does.
    pub(super) fn is(&self, group: &Value, program: &str) -> bool {
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

/// The program that a handler starts when it calls our hooks client.
pub(super) fn program_of(handler: &Value) -> Option<String> {
    let command = handler.get("command")?.as_str()?;
    let args = handler.get("args").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut words = vec![command.to_owned()];
    if args.is_empty() {
        words = split(command);
    }
    words.extend(args.iter().filter_map(Value::as_str).map(str::to_owned));
    let program = words.first()?;
    let name = program_name(program);
    // Programs before this one called hooks by the same commands.
    let is_older = name.starts_with("jikime") && words.iter().any(|word| HOOKS.iter().any(|hook| hook.command == word));
    (name == PROGRAM || is_older).then(|| program.clone())
}

/// The words of a command line; a path in quotes is one.
fn split(command: &str) -> Vec<String> {
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
    fn a_handler_of_ours_is_told_in_every_form() {
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
            assert_eq!(program_of(&handler).as_deref(), expected, "{handler}");
        }
    }
}
