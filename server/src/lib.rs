//! Skeleton.
/// Runs.
pub fn run() {}
