//! From the JSON that Claude Code gives a hook to what happened, in our words.

mod answer;
mod command_line;
mod event;
mod noise;
mod wire;

pub use answer::{Adds, add_context, warn_at_start};
#[cfg(test)]
pub(crate) use command_line::words;
pub use event::{Event, Occurrence, Use};
pub(crate) use wire::lenient;
pub use wire::{Payload, WireError};
