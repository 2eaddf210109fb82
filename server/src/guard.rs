//! A fault of ours answers the call that met it, and the threads that answer live on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tools::error::ToolError;

/// Does something so that a panic becomes an error. Whatever it worked on is not to be used again then.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(ToolError::Internal(format!("a fault in jikime-memory: {text}")))
    })
}

/// Whether an error says that what it was met with may be broken.
pub(crate) fn is_fault<T>(outcome: &Result<T, ToolError>) -> bool {
    matches!(outcome, Err(ToolError::Damaged(_) | ToolError::Internal(_)))
}
