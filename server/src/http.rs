//! Streamable HTTP, off by default: the same server as on standard input, for clients with the token.

pub(crate) mod connection;
mod session_limit;
mod token;

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tools::error::ToolError;

use crate::mcp::McpServer;
use crate::message::{self, IncomingMessage};
use connection::{BODY_TIME, ConnectionState, LimitedListener, MAX_BODY_BYTES, read_body};
use session_limit::LimitedSessions;
pub(crate) use token::{BearerToken, random_hex};

const PATH: &str = "/mcp";

/// Web pages that may call the server: only pages of this machine.
const ALLOWED_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

#[derive(Debug, Clone)]
pub(crate) struct HttpAccess {
    pub(crate) address: SocketAddr,
    /// With `None`, any client that reaches the address may connect.
    pub(crate) token: Option<BearerToken>,
    /// Allowed values of the Host header, besides this machine's names.
    pub(crate) allowed_hosts: Vec<String>,
}

impl HttpAccess {
    /// Rejects settings that would let other machines in without a token, or without a check of the Host header.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        let ip = self.address.ip();
        if ip.is_loopback() {
            return Ok(());
        }
        if self.token.is_none() {
            return Err(ToolError::Invalid(format!(
                "{ip} is reachable from other machines, so a token is required; remove --no-token"
            )));
        }
        if ip.is_unspecified() && self.allowed_hosts.is_empty() {
            let text = format!("{ip} accepts many host names; give those that clients use with --allow-host");
            return Err(ToolError::Invalid(text));
        }
        Ok(())
    }

    fn allowed_hosts(&self) -> Vec<String> {
        let mut hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        hosts.extend(Some(self.address.ip()).filter(|ip| !ip.is_unspecified()).as_ref().map(IpAddr::to_string));
        hosts.extend_from_slice(&self.allowed_hosts);
        hosts
    }
}

pub(crate) async fn bind_listener(address: SocketAddr) -> Result<TcpListener, ToolError> {
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| ToolError::Unavailable(format!("cannot listen on {address}: {error}")))
}

pub(crate) fn listener_url(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://{}{PATH}", listener.local_addr()?))
}

/// Serves until `stop` is cancelled. Then it accepts no more connections and finishes open requests.
pub(crate) async fn serve(
    listener: TcpListener,
    access: &HttpAccess,
    memory: impl Fn() -> McpServer + Send + Sync + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(access.allowed_hosts())
        .with_allowed_origins(ALLOWED_ORIGINS)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .with_cancellation_token(stop.clone());
    let service = StreamableHttpService::new(move || Ok(memory()), LimitedSessions::new().into(), config);
    let router = Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn(check_body))
        .layer(middleware::from_fn_with_state(access.token.clone(), require_token));
    let served = router.into_make_service_with_connect_info::<ConnectionState>();
    axum::serve(LimitedListener::new(listener), served).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// Checks the token before anything else.
async fn require_token(
    State(token): State<Option<BearerToken>>,
    ConnectInfo(visitor): ConnectInfo<ConnectionState>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match token {
        Some(token) if !token.matches_header(given.unwrap_or_default()) => {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"jikime-memory\"")];
            (StatusCode::UNAUTHORIZED, challenge, "a bearer token is required\n").into_response()
        }
        _ => {
            visitor.begin_request();
            next.run(request).await
        }
    }
}

/// Passes a request to the library. If the body claims to be JSON and cannot be parsed, the library answers "unsupported media
/// type", which is replaced by the error that the specification names.
async fn check_body(ConnectInfo(visitor): ConnectInfo<ConnectionState>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match read_body(body).await {
        Ok(bytes) => bytes,
        Err(status) => {
            let text = match status {
                StatusCode::REQUEST_TIMEOUT => format!("the body did not arrive within {} s\n", BODY_TIME.as_secs()),
                _ => format!("the body is longer than {MAX_BODY_BYTES} bytes\n"),
            };
            return (status, text).into_response();
        }
    };
    visitor.admit();
    let type_ = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = type_.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"));
    // The library runs first, so that an unauthorised client learns nothing about its body.
    let answer = next.run(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    if answer.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
        return answer;
    }
    match message::parse_message(&bytes) {
        IncomingMessage::Refused(refusal) => {
            let text = serde_json::to_string(&refusal).expect("errors are plain structs with string keys");
            (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        IncomingMessage::Ignored => (StatusCode::BAD_REQUEST, "the body is not a JSON-RPC message\n").into_response(),
        IncomingMessage::Message(_) => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_need_a_token_and_host_names() {
        let access = |address: &str, token: Option<&str>, hosts: &[&str]| HttpAccess {
            address: address.parse().unwrap(),
            token: token.map(|token| BearerToken::parse(token).unwrap()),
            allowed_hosts: hosts.iter().map(ToString::to_string).collect(),
        };
        let token = Some("0123456789abcdef");
        assert!(access("127.0.0.1:1", None, &[]).check().is_ok());
        assert!(access("[::1]:1", None, &[]).check().is_ok());
        assert!(access("192.0.2.1:1", token, &[]).check().is_ok());
        assert!(access("0.0.0.0:1", token, &["memory.lan"]).check().is_ok());
        assert!(access("192.0.2.1:1", None, &[]).check().is_err());
        assert!(access("0.0.0.0:1", None, &["memory.lan"]).check().is_err());
        assert!(access("[::]:1", token, &[]).check().is_err());
    }
}
