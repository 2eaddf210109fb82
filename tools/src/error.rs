//! Errors of tools, by who can fix them.

use std::io;

use schema::files::database;
use schema::files::lock::LockError;
use schema::store::StoreError;

pub use schema::model::error_chain::join_causes;

use crate::embed::EmbedError;

#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Invalid arguments; the message says how to fix them.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    NotFound(String),
    /// The store cannot be used now, or not this way.
    #[error("{0}")]
    Unavailable(String),
    /// Cancelled by the caller or because the process ends.
    #[error("cancelled")]
    Interrupted,
    /// A database is damaged or has invalid values. The engine repairs that and retries; a caller sees this only if that
    /// failed.
    #[error("{0}")]
    Damaged(String),
    /// A bug.
    #[error("{0}")]
    Internal(String),
}

impl ToolError {
    /// Something that the system does not allow now, such as `write FILE`.
    pub(crate) fn cannot(doing: &str, error: &io::Error) -> Self {
        Self::Unavailable(format!("cannot {doing}: {error}"))
    }
}

impl From<StoreError> for ToolError {
    fn from(error: StoreError) -> Self {
        let text = join_causes(&error);
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
        Self::Unavailable(join_causes(&error))
    }
}

impl From<rusqlite::Error> for ToolError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseBusy, DiskFull, ReadOnly, SystemIoFailure};
        match error.sqlite_error_code() {
            _ if database::is_damage(&error) || database::is_conversion_error(&error) => {
                Self::Damaged(join_causes(&error))
            }
            Some(DatabaseBusy) => Self::Unavailable("another process is writing; try again".to_owned()),
            Some(DiskFull | ReadOnly | SystemIoFailure) => Self::Unavailable(join_causes(&error)),
            _ => Self::Internal(join_causes(&error)),
        }
    }
}
