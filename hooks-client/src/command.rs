//! The commands of the hooks client, one for each event that it is registered for.

use std::time::Duration;

/// The longest that a hook may run.
pub(crate) const MAX_RUN_TIME: Duration = Duration::from_secs(1);

/// A command that the host's settings call, named for what happened in the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookCommand {
    SessionStart,
    Prompt,
    FileRecall,
    ToolUse,
    Stop,
    SubagentStop,
    BeforeCompaction,
    AfterCompaction,
    SessionEnd,
}

impl HookCommand {
    const ALL: [(&'static str, Self, &'static [&'static str], &'static str); 9] = [
        ("memory-load", Self::SessionStart, &["SessionStart"], "print the brief"),
        ("memory-prompt-save", Self::Prompt, &["UserPromptSubmit"], "remember what was asked"),
        ("memory-file-recall", Self::FileRecall, &["PreToolUse"], "show memories that name the file"),
        ("memory-track", Self::ToolUse, &["PostToolUse", "PostToolUseFailure"], "note changes, remember failures"),
        ("memory-complete", Self::Stop, &["Stop"], "remember the answer and what the turn changed"),
        (
            "memory-subagent",
            Self::SubagentStop,
            &["SubagentStop"],
            "remember the report, or the summary of a compaction",
        ),
        (
            "memory-flush",
            Self::BeforeCompaction,
            &["PreCompact"],
            "save decisions, learnings and fixes before the compaction",
        ),
        ("memory-compact", Self::AfterCompaction, &["PostCompact"], "remember the summary"),
        ("memory-save", Self::SessionEnd, &["SessionEnd"], "remember what is still pending"),
    ];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, ..)| *known == name).map(|(_, command, ..)| *command)
    }

    /// Returns the command for an event. Versions of Claude Code of January 2026 drop the arguments of a hook if they are in a field of
    /// their own.
    pub(crate) fn for_event(event: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, _, events, _)| events.contains(&event)).map(|(_, command, ..)| *command)
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, command, ..)| *command == self).map_or("", |(name, ..)| name)
    }

    /// Returns the time limit of the process. All hooks at the end of a session share 1.5 seconds.
    pub(crate) fn deadline(self) -> Duration {
        match self {
            Self::SessionEnd => Duration::from_millis(500),
            _ => MAX_RUN_TIME,
        }
    }

    /// Returns the text of `--help`.
    pub(crate) fn help_text() -> String {
        let mut text = String::from(
            "jikime-hook: records one event of an agent host in the project's memory\n\n\
             usage: jikime-hook [COMMAND] [--host HOST] [--project DIR] < event.json\n\n\
             hosts: claude-code (unless given), codex, cursor, gemini, vscode, windsurf\n\n\
             commands and their events; without a command, the event in the input decides:\n",
        );
        for (name, _, events, what) in Self::ALL {
            text.push_str(&format!("  {name:<20} {}: {what}\n", events.join(", ")));
        }
        text.push_str(
            "\nThe exit status is always 0. Errors are logged to .jikime/memory/hook.log; memory_stats reports them.\n",
        );
        text
    }
}
