//! Analyses texts by rules for English and Korean: terms, beginnings, small talk, finished tasks, and what replaces what. Depends only on
//! the text, so that the brief, capture and search agree.

pub(crate) mod gist;
pub mod small_talk;
pub mod supersession;
pub mod tasks;
pub(crate) mod terms;
