//! The database: its schema, and transactions of one project.

use std::str::FromStr as _;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use schema::model::memory::content_hash;
use tokio_postgres::{Client, Config, NoTls, Transaction};

use super::error::ServerError;
use crate::http::random_hex;

const SCHEMA: &str = include_str!("schema.sql");

/// The role of the server.
const RUNTIME_ROLE: &str = "jikime_app";

/// The version of [`SCHEMA`], as the comment of the database schema.
const VERSION: &str = "1";

/// Connections to the database. More requests wait.
const CONNECTIONS: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Limits of a transaction, so that no request holds the lock of its project for long.
const LIMITS: &str = "SET LOCAL statement_timeout = '20s'; SET LOCAL lock_timeout = '10s'; \
                      SET LOCAL idle_in_transaction_session_timeout = '20s'";

/// The role of a member. Each role includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Reader,
    Writer,
    Approver,
    Admin,
}

impl Role {
    const ALL: [Self; 4] = [Self::Reader, Self::Writer, Self::Approver, Self::Admin];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Approver => "approver",
            Self::Admin => "admin",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// The member that a token belongs to.
#[derive(Debug, Clone)]
pub(super) struct TeamMember {
    pub(super) name: String,
    pub(super) role: Role,
}

impl TeamMember {
    pub(super) fn require(&self, role: Role) -> Result<(), ServerError> {
        if self.role >= role {
            return Ok(());
        }
        let (name, own, needed) = (&self.name, self.role.name(), role.name());
        Err(ServerError::Forbidden(format!("{name} has the role {own}; this needs the role {needed}")))
    }
}

/// Creates a token. The database stores only its hash.
pub(super) fn new_token() -> Result<String, ServerError> {
    let random = random_hex::<32>().map_err(|error| ServerError::Unavailable(error.to_string()))?;
    Ok(format!("jkm_{random}"))
}

/// Connections of the runtime role.
#[derive(Clone)]
pub(super) struct RecordDatabase(Pool);

impl RecordDatabase {
    /// Connects, and refuses a role that row security does not bind.
    pub(super) async fn open(url: &str) -> Result<Self, ServerError> {
        let manager =
            Manager::from_config(config(url)?, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
        let pool = Pool::builder(manager)
            .max_size(CONNECTIONS)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .build()
            .map_err(|error| ServerError::Unavailable(error.to_string()))?;
        let client = pool.get().await?;
        let sql = "SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, (SELECT nspowner FROM pg_namespace WHERE nspname = \
                   'jikime'), 'MEMBER'), obj_description(to_regnamespace('jikime'), 'pg_namespace') FROM pg_roles WHERE \
                   rolname = current_user";
        let row = client.query_one(sql, &[]).await?;
        match (row.get::<_, Option<bool>>(0), row.get::<_, Option<String>>(1).as_deref()) {
            (Some(false), Some(VERSION)) => {}
            (Some(false), Some(version)) => {
                let text =
                    format!("the database has version {version} of the tables, and this program version {VERSION}");
                return Err(ServerError::Unavailable(text));
            }
            (None, _) | (_, None) => {
                let text = "the database has no tables yet; run `jikime-memory team create` first";
                return Err(ServerError::Unavailable(text.to_owned()));
            }
            (Some(true), _) => {
                let text = format!("row security does not bind this role; connect as {RUNTIME_ROLE}");
                return Err(ServerError::Unavailable(text));
            }
        }
        drop(client);
        Ok(Self(pool))
    }

    /// Runs `work` in a transaction of the project that a token belongs to. Nothing of it stays if `work` fails.
    pub(super) async fn as_member<T>(
        &self,
        token: &str,
        work: impl AsyncFnOnce(&Transaction<'_>, &TeamMember) -> Result<T, ServerError>,
    ) -> Result<T, ServerError> {
        let mut client = self.0.get().await?;
        let transaction = client.transaction().await?;
        transaction.batch_execute(LIMITS).await?;
        let member = sign_in(&transaction, token).await?;
        let done = work(&transaction, &member).await?;
        transaction.commit().await?;
        Ok(done)
    }
}

/// Finds the member of a token, and limits the transaction to their project.
async fn sign_in(transaction: &Transaction<'_>, token: &str) -> Result<TeamMember, ServerError> {
    transaction.query_one("SELECT set_config('jikime.token_hash', $1, true)", &[&content_hash(token)]).await?;
    let sql = "SELECT project, name, role FROM jikime.member WHERE token_hash = current_setting('jikime.token_hash') AND \
               revoked_at IS NULL AND expires_at > now()";
    let row = transaction.query_opt(sql, &[]).await?;
    let row = row.ok_or(ServerError::Unauthorized)?;
    let role = Role::parse(row.get(2)).ok_or(ServerError::Unauthorized)?;
    enter(transaction, row.get(0)).await?;
    Ok(TeamMember { name: row.get(1), role })
}

/// Limits a transaction to a project.
async fn enter(transaction: &Transaction<'_>, project: i32) -> Result<(), ServerError> {
    let sql = "SELECT set_config('jikime.project', $1, true), set_config('jikime.token_hash', '', true)";
    transaction.query_one(sql, &[&project.to_string()]).await?;
    Ok(())
}

/// Creates the tables and the project if they are missing, and adds an admin, or renews the token of one. Returns the token. Connects as
/// the owner of the tables.
pub(super) async fn create_project(url: &str, name: &str, admin: &str, days: u32) -> Result<String, ServerError> {
    let mut client = connect(url).await?;
    let transaction = client.transaction().await?;
    // Two programs that begin at once create the tables one after the other.
    transaction.batch_execute("SELECT pg_advisory_xact_lock(7316591)").await?;
    let sql = "SELECT FROM pg_roles WHERE rolname = $1";
    if transaction.query_opt(sql, &[&RUNTIME_ROLE]).await?.is_none() {
        return Err(ServerError::Invalid(format!("the database has no role {RUNTIME_ROLE}; create it first")));
    }
    let sql = "SELECT obj_description(to_regnamespace('jikime'), 'pg_namespace')";
    match transaction.query_one(sql, &[]).await?.get::<_, Option<String>>(0).as_deref() {
        None => {
            let comment = format!("COMMENT ON SCHEMA jikime IS '{VERSION}'");
            transaction.batch_execute(SCHEMA).await?;
            transaction.batch_execute(&comment).await?;
        }
        Some(VERSION) => {}
        Some(version) => {
            return Err(ServerError::Unavailable(format!("the tables have version {version}; use a newer program")));
        }
    }
    let known = transaction.query_opt("SELECT id FROM jikime.project WHERE name = $1", &[&name]).await?;
    match known {
        Some(row) => enter(&transaction, row.get(0)).await?,
        None => {
            let sql = "SELECT nextval(pg_get_serial_sequence('jikime.project', 'id'))::integer";
            let id: i32 = transaction.query_one(sql, &[]).await?.get(0);
            enter(&transaction, id).await?;
            let sql = "INSERT INTO jikime.project (id, name) VALUES ($1, $2)";
            transaction.execute(sql, &[&id, &name]).await?;
        }
    }
    let token = new_token()?;
    add_member(&transaction, admin, Role::Admin, &token, days).await?;
    note(&transaction, admin, "create", name).await?;
    transaction.commit().await?;
    Ok(token)
}

/// Adds a member, or gives an existing one a new role and token.
pub(super) async fn add_member(
    transaction: &Transaction<'_>,
    name: &str,
    role: Role,
    token: &str,
    days: u32,
) -> Result<(), ServerError> {
    let sql = "INSERT INTO jikime.member (project, name, role, token_hash, expires_at) VALUES (jikime.current_project(), $1, $2, \
               $3, now() + make_interval(days => $4)) ON CONFLICT (project, name) DO UPDATE SET role = excluded.role, \
               token_hash = excluded.token_hash, expires_at = excluded.expires_at, revoked_at = NULL";
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    transaction.execute(sql, &[&name, &role.name(), &content_hash(token), &days]).await?;
    Ok(())
}

/// Notes in the audit log who did what.
pub(super) async fn note(
    transaction: &Transaction<'_>,
    member: &str,
    act: &str,
    about: &str,
) -> Result<(), ServerError> {
    let sql = "INSERT INTO jikime.audit (project, member, act, about) VALUES (jikime.current_project(), $1, $2, $3)";
    transaction.execute(sql, &[&member, &act, &about]).await?;
    Ok(())
}

async fn connect(url: &str) -> Result<Client, ServerError> {
    let (client, connection) = config(url)?.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

fn config(url: &str) -> Result<Config, ServerError> {
    // The error of the library may repeat the password.
    let mut config = Config::from_str(url)
        .map_err(|_| ServerError::Invalid("the address of the database is not valid".to_owned()))?;
    config.connect_timeout(CONNECT_TIMEOUT).application_name("jikime-memory");
    Ok(config)
}
