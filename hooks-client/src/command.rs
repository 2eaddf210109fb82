//! The commands of the hooks client, one for each event that it is registered for.

use std::time::Duration;

/// The longest that a hook may run.
pub(crate) const MAX_RUN_TIME: Duration = Duration::from_secs(1);

/// A command that the host's settings call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HookCommand {
    pub(crate) name: &'static str,
    /// The events that it is registered for.
    events: &'static [&'static str],
    what: &'static str,
}

const fn command(name: &'static str, events: &'static [&'static str], what: &'static str) -> HookCommand {
    HookCommand { name, events, what }
}

static COMMANDS: [HookCommand; 9] = [
    command("memory-load", &["SessionStart"], "print the brief"),
    command("memory-prompt-save", &["UserPromptSubmit"], "remember what was asked"),
    command("memory-file-recall", &["PreToolUse"], "show memories that name the file"),
    command("memory-track", &["PostToolUse", "PostToolUseFailure"], "note changes, remember failures"),
    command("memory-complete", &["Stop"], "remember the answer and what the turn changed"),
    command("memory-subagent", &["SubagentStop"], "remember the report, or the summary of a compaction"),
    command("memory-flush", &["PreCompact"], "save decisions, learnings and fixes before the compaction"),
    command("memory-compact", &["PostCompact"], "remember the summary"),
    command("memory-save", &["SessionEnd"], "remember what is still pending"),
];

impl HookCommand {
    pub(crate) fn parse(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Returns the command for an event. Versions of Claude Code of January 2026 drop the arguments of a hook if they are in a field of
    /// their own.
    pub(crate) fn for_event(event: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.events.contains(&event))
    }

    /// Returns the time limit of the process. All hooks at the end of a session share 1.5 seconds.
    pub(crate) fn deadline(&self) -> Duration {
        if self.events.contains(&"SessionEnd") { Duration::from_millis(500) } else { MAX_RUN_TIME }
    }

    /// Returns the text of `--help`.
    pub(crate) fn help_text() -> String {
        let mut text = String::from(
            "jikime-hook: records one event of an agent host in the project's memory\n\n\
             usage: jikime-hook [COMMAND] [--host HOST] [--project DIR] < event.json\n\n\
             hosts: claude-code (unless given), codex, cursor, gemini, vscode, windsurf\n\n\
             commands and their events; without a command, the event in the input decides:\n",
        );
        for Self { name, events, what } in &COMMANDS {
            text.push_str(&format!("  {name:<20} {}: {what}\n", events.join(", ")));
        }
        text.push_str(
            "\nThe exit status is always 0. Errors are logged to .jikime/memory/hook.log; memory_stats reports them.\n",
        );
        text
    }
}
