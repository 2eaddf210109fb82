//! Reads and writes everything that the host exchanges with us: hook payloads, transcripts, the conclusions in them, and the brief.
//! Stores no memories itself: these go to `intake`.

pub mod brief;
pub mod choice;
pub mod classifier;
pub mod code;
pub mod conclusions;
pub mod failed_topics;
pub mod hook;
pub(crate) mod host_text;
pub mod recall;
pub mod session_context;
pub mod session_record;
pub mod track_buffer;
pub mod transcript;
