//! Converts sessions and memories of hosts and other programs into the memories that capture would have stored.

mod auto_memory;
mod basic_memory;
mod claude_code;
mod claude_mem;
mod codex;
mod foreign;
mod foreign_database;
mod gemini;
mod jikime_mem;
mod markdown;
mod mcp_memory_service;
mod openclaw;
mod replay_context;
mod rules;
mod server_memory;
mod subagent_events;
mod tool_record;
mod turns;

pub use auto_memory::{HostNote, read_notes};
pub use claude_code::{ClaudeCodeReplay, claude_code_session_directory};
pub use codex::{CodexReplay, codex_session_directory};
pub use foreign::{FROM, ForeignMemory, ImportScope, Receiver, Source, SourceError};
pub use gemini::GeminiReplay;
pub use rules::{RuleFile, find_rule_files, read_rules};
pub use turns::{IMPORT_MARK_PREFIX, ReplayState, SessionReplay, TranscriptEnd};

/// The programs whose memories can be imported, the most used first. A new one is a file with a `SOURCE` and a line here.
pub const SOURCES: [Source; 6] = [
    claude_mem::SOURCE,
    jikime_mem::SOURCE,
    server_memory::SOURCE,
    mcp_memory_service::SOURCE,
    basic_memory::SOURCE,
    openclaw::SOURCE,
];
