//! The members of a project, and the log of what they did.

use schema::model::sharing::is_author;
use serde::{Deserialize, Serialize};
use tokio_postgres::Transaction;

use super::database::{Member, Role, add_member, new_token, note};
use super::error::ServerError;

/// The most days that a token is valid.
const MOST_DAYS: u32 = 366;

/// The most lines of the audit log in an answer.
const AUDITED: i64 = 500;

#[derive(Debug, Deserialize)]
pub(super) struct Invitation {
    name: String,
    role: String,
    days: u32,
}

#[derive(Debug, Serialize)]
pub(super) struct Invited {
    name: String,
    role: &'static str,
    /// It is shown once.
    token: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ListedMember {
    name: String,
    role: String,
    /// RFC 3339 in UTC.
    expires: String,
    is_revoked: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct AuditLine {
    /// RFC 3339 in UTC.
    at: String,
    member: String,
    act: String,
    about: String,
}

/// Adds a member, or gives an existing one a new role and token.
pub(super) async fn invite(
    transaction: &Transaction<'_>,
    by: &Member,
    Invitation { name, role, days }: Invitation,
) -> Result<Invited, ServerError> {
    by.require(Role::Admin)?;
    let role = Role::parse(&role).ok_or_else(|| ServerError::Invalid(format!("{role:?} is no role")))?;
    if !is_author(&name) {
        return Err(ServerError::Invalid(format!("{name:?} is no name of a member")));
    }
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(ServerError::Invalid(format!("a token is valid for 1 to {MOST_DAYS} days")));
    }
    let token = new_token()?;
    add_member(transaction, &name, role, &token, days).await?;
    require_an_admin(transaction).await?;
    note(transaction, &by.name, &format!("invite as {}", role.name()), &name).await?;
    Ok(Invited { name, role: role.name(), token })
}

/// Revokes the token of a member. What they shared stays.
pub(super) async fn revoke(transaction: &Transaction<'_>, by: &Member, name: &str) -> Result<(), ServerError> {
    by.require(Role::Admin)?;
    let sql = "UPDATE jikime.member SET revoked_at = now() WHERE project = jikime.current_project() AND name = $1 AND revoked_at \
               IS NULL";
    if transaction.execute(sql, &[&name]).await? == 0 {
        return Err(ServerError::Invalid(format!("there is no member {name:?}, or the token is revoked already")));
    }
    require_an_admin(transaction).await?;
    note(transaction, &by.name, "revoke", name).await
}

/// Fails if nobody could invite others any more.
async fn require_an_admin(transaction: &Transaction<'_>) -> Result<(), ServerError> {
    let sql = "SELECT FROM jikime.member WHERE project = jikime.current_project() AND role = 'admin' AND revoked_at IS NULL AND \
               expires_at > now() LIMIT 1";
    let text = || ServerError::Invalid("the project would have no admin".to_owned());
    transaction.query_opt(sql, &[]).await?.map(drop).ok_or_else(text)
}

/// Returns the members by name.
pub(super) async fn list(transaction: &Transaction<'_>) -> Result<Vec<ListedMember>, ServerError> {
    let sql = "SELECT name, role, to_char(expires_at AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), revoked_at IS NOT \
               NULL FROM jikime.member WHERE project = jikime.current_project() ORDER BY name";
    let listed = |row: &tokio_postgres::Row| ListedMember {
        name: row.get(0),
        role: row.get(1),
        expires: row.get(2),
        is_revoked: row.get(3),
    };
    Ok(transaction.query(sql, &[]).await?.iter().map(listed).collect())
}

/// Returns the last lines of the audit log, the newest first.
pub(super) async fn audit(transaction: &Transaction<'_>, by: &Member) -> Result<Vec<AuditLine>, ServerError> {
    by.require(Role::Approver)?;
    let sql = "SELECT to_char(at AT TIME ZONE 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), member, act, about FROM jikime.audit WHERE \
               project = jikime.current_project() ORDER BY at DESC LIMIT $1";
    let line = |row: &tokio_postgres::Row| AuditLine {
        at: row.get(0),
        member: row.get(1),
        act: row.get(2),
        about: row.get(3),
    };
    Ok(transaction.query(sql, &[&AUDITED]).await?.iter().map(line).collect())
}
