//! Rules for English and Korean text: its terms and gist, small talk, one-off requests, finished tasks, and which statement replaces another. They use only
//! the text, so that a brief, a capture and a search get the same results.

pub mod comparison;
pub mod gist;
pub(crate) mod one_off;
pub(crate) mod sentences;
pub mod small_talk;
pub mod supersession;
pub mod tasks;
pub(crate) mod terms;
