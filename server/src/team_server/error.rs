//! Errors of the team's server, and their answers.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use deadpool_postgres::PoolError;
use serde_json::json;
use tokio_postgres::error::SqlState;
use tools::error::ToolError;

#[derive(Debug)]
pub(super) enum ServerError {
    /// No token, or one that is unknown, expired or revoked.
    Unauthorized,
    /// The role of the member does not allow it.
    Forbidden(String),
    Invalid(String),
    /// The database cannot be used now.
    Unavailable(String),
}

impl From<tokio_postgres::Error> for ServerError {
    fn from(error: tokio_postgres::Error) -> Self {
        // The text of a database error may repeat what members wrote, so only its code is used.
        match error.code() {
            Some(code) if *code == SqlState::CHARACTER_NOT_IN_REPERTOIRE => {
                Self::Invalid("a text has a character that the database cannot store".to_owned())
            }
            Some(code) => Self::Unavailable(format!("the database answered {}", code.code())),
            None => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<PoolError> for ServerError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            error => Self::Unavailable(error.to_string()),
        }
    }
}

impl From<ServerError> for ToolError {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Unauthorized => Self::Invalid("the token is unknown, expired or revoked".to_owned()),
            ServerError::Forbidden(text) | ServerError::Invalid(text) => Self::Invalid(text),
            ServerError::Unavailable(text) => Self::Unavailable(text),
        }
    }
}

impl IntoResponse for ServerError {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Unauthorized => {
                let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"jikime-memory team\"")];
                let body = Json(json!({"error": "the token is unknown, expired or revoked"}));
                return (StatusCode::UNAUTHORIZED, challenge, body).into_response();
            }
            Self::Forbidden(text) => (StatusCode::FORBIDDEN, text),
            Self::Invalid(text) => (StatusCode::UNPROCESSABLE_ENTITY, text),
            Self::Unavailable(text) => {
                tracing::warn!("{text}");
                (StatusCode::SERVICE_UNAVAILABLE, "the server cannot use its database now; try again later".to_owned())
            }
        };
        (status, Json(json!({"error": text}))).into_response()
    }
}
