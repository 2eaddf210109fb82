//! What the host says and is told: payloads of hooks, transcripts, command lines, what is found in them, the brief.
//! Keeps nothing itself: what is to be remembered goes to `intake`.

pub mod brief;
pub mod conclusion;
pub mod conclusions;
pub mod given;
pub mod hook;
pub(crate) mod host_text;
pub mod session_record;
pub mod track_buffer;
pub mod transcript;
