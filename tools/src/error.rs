//! What a tool answers when it cannot do what was asked, by who can mend it.

use schema::database;
use schema::lock::LockError;
use schema::store::StoreError;

pub use schema::causes::chain;

use crate::embed::EmbedError;

/// Why a tool did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The arguments; the message says how to mend them.
    #[error("{0}")]
    Invalid(String),
    /// What was asked for is not there.
    #[error("{0}")]
    NotFound(String),
    /// The store cannot be used now or not in this way.
    #[error("{0}")]
    Unavailable(String),
    /// It was stopped before its end, by whoever asked or because the process ends.
    #[error("it was stopped before its end; what is left is done by the next indexing")]
    Interrupted,
    /// A database is damaged, or a row has values that are none of ours. The engine repairs that and tries again; a caller sees this when
    /// that failed.
    #[error("{0}")]
    Damaged(String),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let text = chain(&error);
        match error {
            _ if error.is_damage() => Self::Damaged(text),
            StoreError::Sqlite(source) => Self::from(source),
            StoreError::Lock(LockError::Busy(_)) => {
                Self::Unavailable(format!("another process is writing: {text}; try again"))
            }
            _ => Self::Unavailable(text),
        }
    }
}

impl From<EmbedError> for ToolError {
    fn from(error: EmbedError) -> Self {
        Self::Unavailable(chain(&error))
    }
}

impl From<rusqlite::Error> for ToolError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DiskFull, ReadOnly, SystemIoFailure};
        match error.sqlite_error_code() {
            _ if database::is_damage(&error) || database::is_conversion(&error) => Self::Damaged(chain(&error)),
            Some(DatabaseBusy) => Self::Unavailable("another process is writing; try again".to_owned()),
            Some(DiskFull | ReadOnly | SystemIoFailure) => Self::Unavailable(chain(&error)),
            _ => Self::Internal(chain(&error)),
        }
    }
}
