//! From the JSON that Claude Code gives a hook to what happened, in our words.

mod command_line;
mod event;
mod wire;

pub use event::{Event, Occurrence, Use};
pub use wire::{Payload, WireError};
