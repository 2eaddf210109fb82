//! Invalid JSON bodies. The protocol library answers "unsupported media type"; this module returns the error that the specification names.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use super::connection::ConnectionState;
use crate::message::{self, IncomingMessage};

/// Bytes of a request. The longest memory is far shorter.
pub(super) const BODY: usize = 4 * 1024 * 1024;

const BODY_TIME: Duration = Duration::from_secs(10);

/// Passes a request to the library. Replaces the library's answer if the body claims to be JSON and cannot be parsed.
pub(super) async fn check_body(
    ConnectInfo(visitor): ConnectInfo<ConnectionState>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match timeout(BODY_TIME, to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let text = format!("the body is longer than {BODY} bytes\n");
            return (StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
        }
        Err(_) => {
            let text = format!("the body did not arrive within {} s\n", BODY_TIME.as_secs());
            return (StatusCode::REQUEST_TIMEOUT, text).into_response();
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
