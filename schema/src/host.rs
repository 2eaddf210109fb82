//! Reads payloads and transcripts of a host (`hook`, `transcript`), finds the conclusions in them (`classifier`, `choice`, `conclusions`) and
//! the code that they are about (`code`), and makes what a session is given (`brief`, `recall`). Stores no memories itself:
//! these go to `intake`.

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
