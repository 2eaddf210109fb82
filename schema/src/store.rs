//! The store of one project: its files, `memory.db`, and the rule that Markdown is the truth.

mod database_kind;
pub mod forgotten;
mod go_version;
mod handle;
mod history;
pub mod hook_log;
mod id_claims;
mod locator;
mod log_state;
mod notes;
mod open;
mod rows;
mod schema_upgrade;
mod sessions;
mod sync;

pub use database_kind::StoreVersion;
pub use handle::{ReadOnlyReason, Snapshot, Store, StoreAccess, StoreError};
pub use history::{RecallCount, SessionRow};
pub(crate) use id_claims::IdClaims;
pub use id_claims::claim_rank;
pub use locator::Locator;
pub(crate) use log_state::LogState;
pub use log_state::SyncedLog;
pub use open::has_less_space_than;
pub(crate) use rows::EntryState;
pub use rows::{MemoryFilter, MemoryRow, PendingWrite, Rows};
pub use sync::{CatchUpOutcome, SyncReport};

#[cfg(test)]
mod tests;
