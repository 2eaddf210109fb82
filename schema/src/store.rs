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
mod memory_row;
mod notes;
mod open;
mod rows;
mod schema_upgrade;
mod sessions;
mod sync;
mod team;

pub use database_kind::DatabaseKind;
pub use handle::{ReadOnlyReason, Store, StoreAccess, StoreError};
pub(crate) use history::ACKNOWLEDGEMENTS;
pub use history::{RecallCount, SessionRow};
pub(crate) use id_claims::IdClaims;
pub use id_claims::claim_rank;
pub use locator::Locator;
pub(crate) use log_state::LogState;
pub(crate) use log_state::RESTORED_AGE;
pub use log_state::SyncedLog;
pub use memory_row::{EntryState, MemoryFilter, MemoryRow, SharingFilter};
pub use open::has_less_space_than;
pub use rows::Rows;
pub(crate) use sync::ROWS_AT_ONCE;
pub use sync::{CatchUpOutcome, SyncReport};
pub use team::{SharedMemory, merge_team};

#[cfg(test)]
mod tests;
