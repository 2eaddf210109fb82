//! What a text says, by rules in English and Korean: its terms and its beginning, small talk, finished tasks, and what replaces what.
//! Reads text alone, so that the brief, a capture and a search see it the same way.

pub(crate) mod gist;
pub mod small_talk;
pub mod supersession;
pub mod tasks;
pub(crate) mod terms;
