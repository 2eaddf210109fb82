//! The pages as HTML, one file for each view.

mod briefs;
mod days;
mod frame;
mod health;
mod memory;
mod review;
mod search;

pub(super) use briefs::briefs;
pub(super) use days::{session, sessions, tasks, timeline};
pub(super) use frame::{entry, error};
pub(super) use health::health;
pub(super) use memory::memory;
pub(super) use review::review;
pub(super) use search::search;
