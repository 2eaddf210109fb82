//! The language of the page: Korean if the browser prefers it to English, else English.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use tools::error::ToolError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Korean,
}

impl Language {
    /// The text of this language.
    pub(super) fn of<T>(self, english: T, korean: T) -> T {
        match self {
            Self::English => english,
            Self::Korean => korean,
        }
    }

    /// An error of the user in this language.
    pub(super) fn invalid(self, english: &str, korean: &str) -> ToolError {
        ToolError::Invalid(self.of(english, korean).to_owned())
    }

    /// The tag for HTML.
    pub(super) fn tag(self) -> &'static str {
        self.of("en", "ko")
    }

    /// Reads `Accept-Language`, in which browsers list the preferred language first.
    fn of_header(header: &str) -> Self {
        let tags = header.split(',').map(|tag| tag.split(';').next().unwrap_or_default().trim().to_lowercase());
        let known = |tag: String| match tag.split('-').next() {
            Some("ko") => Some(Self::Korean),
            Some("en") => Some(Self::English),
            _ => None,
        };
        tags.into_iter().find_map(known).unwrap_or(Self::English)
    }
}

impl<S: Sync> FromRequestParts<S> for Language {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let header = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Ok(Self::of_header(header.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_known_language_is_used() {
        for (header, expected) in [
            ("ko-KR,ko;q=0.9,en-US;q=0.8", Language::Korean),
            ("fr, ko;q=0.5", Language::Korean),
            ("en-GB,ko;q=0.9", Language::English),
            ("fr", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of_header(header), expected, "{header}");
        }
    }
}
