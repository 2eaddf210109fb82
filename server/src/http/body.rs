//! Bodies that are no message: the protocol's library calls them a media type that it does not support; here they get the error that
//! the specification names.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use super::connection::Visitor;
use crate::message::{self, Incoming};

/// Bytes of a request. The longest memory is far shorter.
pub(super) const BODY: usize = 4 * 1024 * 1024;

/// How long the body of a request may take to come.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Answers as the library does, except for a body that is said to be JSON and cannot be read.
pub(super) async fn answered(ConnectInfo(visitor): ConnectInfo<Visitor>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let bytes = match timeout(BODY_TIME, to_bytes(body, BODY)).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            let text = format!("a request has at most {BODY} bytes\n");
            return (StatusCode::PAYLOAD_TOO_LARGE, text).into_response();
        }
        Err(_) => {
            let text = format!("a request comes within {} s\n", BODY_TIME.as_secs());
            return (StatusCode::REQUEST_TIMEOUT, text).into_response();
        }
    };
    visitor.let_in();
    let type_ = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_json = type_.split(';').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("application/json"));
    // The library looks at it first: whoever may not ask is told that, and nothing of what was sent.
    let answer = next.run(Request::from_parts(parts, Body::from(bytes.clone()))).await;
    if answer.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE || !is_json {
        return answer;
    }
    match message::read(&bytes) {
        Incoming::Refused(refusal) => {
            let text = serde_json::to_string(&refusal).expect("errors are plain structs with string keys");
            (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Incoming::Ignored => (StatusCode::BAD_REQUEST, "the body is no message\n").into_response(),
        Incoming::Message(_) => answer,
    }
}
