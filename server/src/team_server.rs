//! `team serve`: the records of teams on PostgreSQL, over HTTP. A client keeps them in its own store; see [`crate::team_client`].
//!
//! A record is a line of a team's file. The server adds what git cannot: it knows who writes, and what they may do. docs/team-server.md
//! has the setup, and docs/dev/team-server.md the routes.

mod database;
mod error;
mod members;
mod records;

use std::net::SocketAddr;

use axum::body::Body;
use axum::extract::{ConnectInfo, DefaultBodyLimit, FromRequestParts, Path, Query, Request};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio_postgres::Transaction;
use tools::error::ToolError;

use crate::exit;
use crate::http::bind_listener;
use crate::http::connection::{BODY_TIME, ConnectionState, LimitedListener, MAX_BODY_BYTES, read_body};
use crate::serve::wait_for_signal;
use crate::team_wire::{
    AuditLine, Cursor, InviteRequest, InviteResponse, ListedMember, Membership, MissingRequest, PullResponse,
    PushRequest, PushResponse,
};
pub(crate) use database::Role;
use database::{RecordDatabase, TeamMember};
use error::ServerError;

/// Lines are checked for secrets, which takes processor time.
const THREADS: usize = 4;

/// How long the token of an admin that the owner adds is valid, in days.
const FIRST_TOKEN_DAYS: u32 = 90;

/// Creates a project if it is missing, adds an admin, and returns the admin's token. `owner` is the address of the database for its owner.
pub(crate) fn create_project(owner: &str, name: &str, admin: &str) -> anyhow::Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let created = runtime.block_on(database::create_project(owner, name, admin, FIRST_TOKEN_DAYS));
    Ok(created.map_err(ToolError::from)?)
}

/// Serves at an address until a signal ends the program. `database` is the address of the database for [`RecordDatabase`].
pub(crate) fn run(address: SocketAddr, database: &str) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(serve(address, database))
}

async fn serve(address: SocketAddr, database: &str) -> anyhow::Result<()> {
    let database = RecordDatabase::open(database).await.map_err(ToolError::from)?;
    let listener = bind_listener(address).await?;
    exit::print_status(&format!("serving teams on http://{}", listener.local_addr()?));
    let router = Router::new()
        .route("/v1/me", get(me))
        .route("/v1/missing", post(missing))
        .route("/v1/push", post(push))
        .route("/v1/pull", get(pull))
        .route("/v1/members", get(list_members).post(invite))
        .route("/v1/members/{name}", delete(revoke))
        .route("/v1/audit", get(audit))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(database.clone(), admit))
        .with_state(database);
    let service = router.into_make_service_with_connect_info::<ConnectionState>();
    axum::serve(LimitedListener::new(listener), service).with_graceful_shutdown(wait_for_signal(false)).await?;
    Ok(())
}

/// The database for the holder of a token. Requests without a token are refused before their bodies are read.
struct TokenHolder {
    database: RecordDatabase,
    token: String,
}

impl FromRequestParts<RecordDatabase> for TokenHolder {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, database: &RecordDatabase) -> Result<Self, ServerError> {
        let given = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| value.strip_prefix("Bearer ")).ok_or(ServerError::Unauthorized)?;
        Ok(Self { database: database.clone(), token: token.trim().to_owned() })
    }
}

impl TokenHolder {
    /// Runs `work` in a transaction of the project that the token belongs to. Nothing of it stays if `work` fails.
    async fn answer<T>(
        self,
        work: impl AsyncFnOnce(&Transaction<'_>, &TeamMember) -> Result<T, ServerError>,
    ) -> JsonAnswer<T> {
        self.database.as_member(&self.token, work).await.map(Json)
    }
}

/// Reads the body of a request with a valid token, and then keeps its connection open while it is answered.
async fn admit(
    ConnectInfo(visitor): ConnectInfo<ConnectionState>,
    holder: TokenHolder,
    request: Request,
    next: Next,
) -> Response {
    if let Err(error) = holder.answer(async |_, _| Ok(())).await {
        return error.into_response();
    }
    visitor.begin_request();
    let (parts, body) = request.into_parts();
    let Ok(bytes) = read_body(body).await else {
        let text =
            format!("the body is longer than {MAX_BODY_BYTES} bytes, or took more than {} s", BODY_TIME.as_secs());
        return ServerError::Invalid(text).into_response();
    };
    visitor.admit();
    next.run(Request::from_parts(parts, Body::from(bytes))).await
}

type JsonAnswer<T> = Result<Json<T>, ServerError>;

async fn me(holder: TokenHolder) -> JsonAnswer<Membership> {
    let me = async |transaction: &Transaction<'_>, member: &TeamMember| {
        let sql = "SELECT name, epoch::text FROM jikime.project WHERE id = jikime.current_project()";
        let project = transaction.query_one(sql, &[]).await?;
        let role = member.role.name().to_owned();
        Ok(Membership { project: project.get(0), member: member.name.clone(), role, epoch: project.get(1) })
    };
    holder.answer(me).await
}

async fn missing(holder: TokenHolder, Json(keys): Json<MissingRequest>) -> JsonAnswer<Vec<String>> {
    holder.answer(async |transaction, _| records::missing(transaction, keys).await).await
}

async fn push(holder: TokenHolder, Json(lines): Json<PushRequest>) -> JsonAnswer<PushResponse> {
    holder.answer(async |transaction, by| records::push(transaction, by, lines).await).await
}

async fn pull(holder: TokenHolder, Query(cursor): Query<Cursor>) -> JsonAnswer<PullResponse> {
    holder.answer(async |transaction, _| records::pull(transaction, cursor).await).await
}

async fn list_members(holder: TokenHolder) -> JsonAnswer<Vec<ListedMember>> {
    holder.answer(async |transaction, _| members::list(transaction).await).await
}

async fn invite(holder: TokenHolder, Json(invitation): Json<InviteRequest>) -> JsonAnswer<InviteResponse> {
    holder.answer(async |transaction, by| members::invite(transaction, by, invitation).await).await
}

async fn revoke(holder: TokenHolder, Path(name): Path<String>) -> JsonAnswer<Value> {
    let revoke = async |transaction: &Transaction<'_>, by: &TeamMember| {
        members::revoke(transaction, by, &name).await?;
        Ok(json!({}))
    };
    holder.answer(revoke).await
}

async fn audit(holder: TokenHolder) -> JsonAnswer<Vec<AuditLine>> {
    holder.answer(async |transaction, by| members::audit(transaction, by).await).await
}
