//! Changes stored entries: pins, replaces, promotes and redacts them, and deletes leftover copies.

pub mod residue;
pub mod revise;
pub mod scrub;
