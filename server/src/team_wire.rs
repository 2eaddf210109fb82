//! The JSON that a client and a server of a team exchange. Unknown fields are ignored, so that both can be of different versions.

use serde::{Deserialize, Serialize};

/// The answer of `GET /v1/me`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Membership {
    pub(crate) project: String,
    pub(crate) member: String,
    pub(crate) role: String,
    /// Changes when the database is recreated.
    pub(crate) epoch: String,
}

/// The body of `POST /v1/missing`: keys of lines; see `TeamLine::key`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MissingRequest {
    pub(crate) keys: Vec<String>,
}

/// The body of `POST /v1/push`: lines of the sender's own file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PushRequest {
    pub(crate) lines: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PushResponse {
    pub(crate) added: usize,
    pub(crate) refused: Vec<RefusedLine>,
}

/// A line that was not added.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RefusedLine {
    /// Its number in the request, from 0.
    pub(crate) line: usize,
    pub(crate) why: String,
}

/// Where a client continues: after the record with this number, if the history up to it has this hash.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Cursor {
    pub(crate) after: i64,
    pub(crate) chain: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PullResponse {
    /// Whether the records begin at the first one, because the cursor belongs to another history.
    pub(crate) restarted: bool,
    pub(crate) records: Vec<PulledRecord>,
    /// Whether there are more after these.
    pub(crate) more: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PulledRecord {
    pub(crate) seq: i64,
    pub(crate) chain: String,
    pub(crate) author: String,
    /// Empty if the memory was forgotten.
    pub(crate) line: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InviteRequest {
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) days: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InviteResponse {
    pub(crate) name: String,
    pub(crate) role: String,
    /// It is shown once.
    pub(crate) token: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListedMember {
    pub(crate) name: String,
    pub(crate) role: String,
    /// RFC 3339 in UTC.
    pub(crate) expires: String,
    pub(crate) is_revoked: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AuditLine {
    /// RFC 3339 in UTC.
    pub(crate) at: String,
    pub(crate) member: String,
    pub(crate) act: String,
    pub(crate) about: String,
}
