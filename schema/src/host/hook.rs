//! Turns the JSON that Claude Code gives a hook into an event.

mod edit;
mod edited_file;
mod event;
mod output;
mod payload;

pub use event::{EventKind, HostEvent, ToolUse, Used, is_edit_tool};
pub use output::{ContextEvent, add_context, continue_turn, warn_at_start};
pub use payload::deserialize_lenient;
pub use payload::{HookPayload, PayloadError, ToolResponse};
