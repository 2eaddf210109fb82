//! Turns the JSON that a host gives a hook into an event, and our answer into what the host expects.

mod edit;
mod edited_file;
mod event;
mod output;
mod payload;
mod tool_use;
mod wire;

pub(crate) use edit::{defines_next, defines_without_word};
pub(crate) use edited_file::{is_in_made_folder, is_recordable, linked_worktree_root};

pub use event::{EventKind, HostEvent, SessionSource};
pub use output::{ContextEvent, add_context, continue_turn, warn_at_start};
pub use payload::{HookPayload, PayloadError, ToolResponse, deserialize_lenient};
pub use tool_use::{ToolChange, ToolUse, is_edit_tool};
pub use wire::{CommandOutput, FilePatch, HookHost, codex_output, file_patches, gemini_output};
