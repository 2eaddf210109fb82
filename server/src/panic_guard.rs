//! Catches panics: one call fails, and the thread goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tools::error::ToolError;

/// Turns a panic of `work` into an error. The caller must discard the state that `work` used.
pub(crate) fn catch_panic<T>(work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(ToolError::Internal(format!("internal error in jikime-memory: {text}")))
    })
}

/// After such an error the engine may be in an invalid state.
pub(crate) fn is_internal_error<T>(outcome: &Result<T, ToolError>) -> bool {
    matches!(outcome, Err(ToolError::Damaged(_) | ToolError::Internal(_)))
}
