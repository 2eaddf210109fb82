//! Streamable HTTP, only when it is asked for: the same server as on standard input, for those who have the token.

mod body;
mod connection;
mod sessions;
mod token;

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tools::error::ToolError;

use crate::mcp::Memory;
use connection::{Limited, Visitor};
use sessions::Sessions;
pub(crate) use token::Token;

/// Where the protocol is spoken.
const PATH: &str = "/mcp";

/// Where to listen, and to whom.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    /// `None` when whoever reaches the address may speak.
    pub(crate) token: Option<Token>,
    /// Names by which the server is called, beside those of this machine.
    pub(crate) hosts: Vec<String>,
}

impl Access {
    /// Refuses what would let strangers in.
    pub(crate) fn check(&self) -> Result<(), ToolError> {
        let ip = self.address.ip();
        if ip.is_loopback() {
            return Ok(());
        }
        if self.token.is_none() {
            return Err(ToolError::Invalid(format!("{ip} is reached from other machines: a token is needed there")));
        }
        if ip.is_unspecified() && self.hosts.is_empty() {
            let text = format!("{ip} is reached by many names: give those that clients use with --allow-host");
            return Err(ToolError::Invalid(text));
        }
        Ok(())
    }

    fn hosts(&self) -> Vec<String> {
        let mut hosts = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        hosts.extend(Some(self.address.ip()).filter(|ip| !ip.is_unspecified()).as_ref().map(IpAddr::to_string));
        hosts.extend_from_slice(&self.hosts);
        hosts
    }

    /// Pages that may call from a browser: those of this machine.
    fn origins() -> [&'static str; 3] {
        ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]
    }
}

/// Opens the socket.
pub(crate) async fn bind(access: &Access) -> Result<TcpListener, ToolError> {
    let address = access.address;
    let bound = TcpListener::bind(address).await;
    bound.map_err(|error| ToolError::Unavailable(format!("cannot listen on {address}: {error}")))
}

/// The URL at which a socket is reached.
pub(crate) fn url(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://{}{PATH}", listener.local_addr()?))
}

/// Answers until it is told to stop. Then nobody is let in any more, and what was asked is answered.
pub(crate) async fn serve(
    listener: TcpListener,
    access: &Access,
    memory: impl Fn() -> Memory + Send + Sync + 'static,
    stop: CancellationToken,
) -> io::Result<()> {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(access.hosts())
        .with_allowed_origins(Access::origins())
        .enforce_origin_validation()
        .with_max_request_body_bytes(body::BODY)
        .with_cancellation_token(stop.clone());
    let service = StreamableHttpService::new(move || Ok(memory()), Sessions::new().into(), config);
    let router = Router::new()
        .route_service(PATH, service)
        .layer(middleware::from_fn(body::answered))
        .layer(middleware::from_fn_with_state(access.token.clone(), admit));
    let served = router.into_make_service_with_connect_info::<Visitor>();
    axum::serve(Limited::new(listener), served).with_graceful_shutdown(stop.cancelled_owned()).await
}

/// Lets those pass who have the token, before anything else is looked at.
async fn admit(
    State(token): State<Option<Token>>,
    ConnectInfo(visitor): ConnectInfo<Visitor>,
    request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match token {
        Some(token) if !token.is_in(given.unwrap_or_default()) => {
            let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"jikime-memory\"")];
            (StatusCode::UNAUTHORIZED, challenge, "a bearer token is needed\n").into_response()
        }
        _ => {
            visitor.begins();
            next.run(request).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_loopback_a_token_and_the_names_of_the_server_are_needed() {
        let access = |address: &str, token: Option<&str>, hosts: &[&str]| Access {
            address: address.parse().unwrap(),
            token: token.map(|token| Token::parse(token).unwrap()),
            hosts: hosts.iter().map(ToString::to_string).collect(),
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
