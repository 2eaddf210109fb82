//! The members of a project, and the log of what they did.

use schema::model::sharing::author_from_name;
use tokio_postgres::Transaction;

use super::database::{Role, TeamMember, add_member, new_token, note};
use super::error::ServerError;
use crate::team_wire::{AuditLine, InviteRequest, InviteResponse, ListedMember};

/// The most days that a token is valid.
const MOST_DAYS: u32 = 366;

/// The most lines of the audit log in an answer.
const AUDITED: i64 = 500;

/// Adds a member, or gives an existing one a new role and token.
pub(super) async fn invite(
    transaction: &Transaction<'_>,
    by: &TeamMember,
    InviteRequest { name, role, days }: InviteRequest,
) -> Result<InviteResponse, ServerError> {
    by.require(Role::Admin)?;
    let role = Role::parse(&role).ok_or_else(|| ServerError::Invalid(format!("{role:?} is not a role")))?;
    let invalid = || ServerError::Invalid(format!("{name:?} is not a valid member name"));
    let name = author_from_name(&name).ok_or_else(invalid)?;
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(ServerError::Invalid(format!("a token is valid for 1 to {MOST_DAYS} days")));
    }
    let token = new_token()?;
    lock_members(transaction).await?;
    add_member(transaction, &name, role, &token, days).await?;
    require_an_admin(transaction).await?;
    note(transaction, &by.name, &format!("invite as {}", role.name()), &name).await?;
    Ok(InviteResponse { name, role: role.name().to_owned(), token })
}

/// Revokes the token of a member. The member's lines stay.
pub(super) async fn revoke(transaction: &Transaction<'_>, by: &TeamMember, name: &str) -> Result<(), ServerError> {
    by.require(Role::Admin)?;
    lock_members(transaction).await?;
    let sql = "UPDATE jikime.member SET revoked_at = now() WHERE project = jikime.current_project() AND name = $1 AND revoked_at \
               IS NULL";
    if transaction.execute(sql, &[&name]).await? == 0 {
        return Err(ServerError::Invalid(format!("there is no member {name:?}, or the token is revoked already")));
    }
    require_an_admin(transaction).await?;
    note(transaction, &by.name, "revoke", name).await
}

/// Lets one request after the other change members, so that two admins cannot revoke each other at once.
async fn lock_members(transaction: &Transaction<'_>) -> Result<(), ServerError> {
    transaction.query("SELECT FROM jikime.project WHERE id = jikime.current_project() FOR UPDATE", &[]).await?;
    Ok(())
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
pub(super) async fn audit(transaction: &Transaction<'_>, by: &TeamMember) -> Result<Vec<AuditLine>, ServerError> {
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
