//! Formats an error and its causes as one line.

use std::error::Error;

/// Joins the messages of an error and its causes, leaving out a cause whose text is already included.
pub fn join_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| (*cause).source()) {
        let cause = cause.to_string();
        if !already_contains(&text, &cause) {
            text.push_str(&format!(": {cause}"));
        }
    }
    text
}

/// Whether `text` already contains `cause`. SQLite reports most errors twice: plainly, and as `Error code 11: The …`.
fn already_contains(text: &str, cause: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace("the ", "");
    let cause = plain(cause);
    let cause = match cause.strip_prefix("error code ").and_then(|rest| rest.split_once(": ")) {
        Some((_, said)) => said,
        None => &cause,
    };
    plain(text).contains(cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn repeated_sqlite_messages_are_joined_once() {
        let malformed = rusqlite::Error::SqliteFailure(
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT),
            Some("database disk image is malformed".to_owned()),
        );
        assert_eq!(join_causes(&StoreError::Sqlite(malformed)), "memory.db failed: database disk image is malformed");
        let source = std::io::Error::other("no such luck");
        let error = StoreError::Io { doing: "read", path: "a".into(), source };
        assert_eq!(join_causes(&error), "cannot read a: no such luck");
    }
}
