//! Access to the page: a browser of this user exchanges a token in the address for a cookie, and only pages of this server may ask.

use std::io;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use subtle::ConstantTimeEq as _;

use crate::http::random_hex;
use crate::request::lock;

/// How long the address that is printed works.
const ENTRY_LIFE: Duration = Duration::from_mins(1);

/// The header with the token of forms.
const FORM_TOKEN: &str = "x-jikime-form";

/// Only what the page itself needs, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

pub(super) struct PageAccess {
    port: u16,
    /// A folder in the address that others cannot guess. The cookie belongs to it, so that other servers of this machine do not get it.
    folder: String,
    entry: Mutex<Option<EntryToken>>,
    cookie: String,
    pub(super) form_token: String,
}

struct EntryToken {
    text: String,
    until: Instant,
}

impl PageAccess {
    /// Creates the secrets. Returns the address to open, with the token in its fragment, which browsers never send.
    pub(super) fn new(port: u16) -> io::Result<(Self, String)> {
        let [folder, token, cookie, form_token] =
            [random_hex::<8>()?, random_hex::<32>()?, random_hex::<32>()?, random_hex::<32>()?];
        let address = format!("http://127.0.0.1:{port}/{folder}/#{token}");
        let entry = Mutex::new(Some(EntryToken { text: token, until: Instant::now() + ENTRY_LIFE }));
        Ok((Self { port, folder, entry, cookie, form_token }, address))
    }

    /// The path before all paths.
    pub(super) fn base(&self) -> String {
        format!("/{}", self.folder)
    }

    /// Takes the token and returns the cookie for it. A wrong token leaves the right one valid.
    pub(super) fn redeem(&self, token: &str) -> Option<String> {
        lock(&self.entry).take_if(|entry| is_same(&entry.text, token)).filter(|entry| Instant::now() < entry.until)?;
        Some(format!("{}={}; Path={}/; HttpOnly; SameSite=Strict", self.cookie_name(), self.cookie, self.base()))
    }

    /// Whether a request has the cookie.
    pub(super) fn is_known(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name() && is_same(value, &self.cookie))
    }

    /// Cookies do not know ports, so each server has its own name.
    fn cookie_name(&self) -> String {
        format!("jikime_view_{}", self.port)
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port))
    }

    /// Whether a request comes from a page of this server, or is typed into the address bar.
    fn is_own_page(&self, request: &Request) -> bool {
        let is_read = is_read(request);
        let is_own_site = match header_text(request, "sec-fetch-site") {
            Some("same-origin") => true,
            Some("none") => is_read,
            // A link on another page leads here without a cookie.
            Some(_) => is_read && header_text(request, "sec-fetch-mode") == Some("navigate"),
            None => true,
        };
        let is_own_origin = match header_text(request, "origin") {
            Some(origin) => self.hosts().iter().any(|host| origin == format!("http://{host}")),
            None => is_read,
        };
        is_own_site && is_own_origin
    }

    /// Whether a request asks for a whole page, not for a part of it or for data.
    pub(super) fn is_page(&self, request: &Request) -> bool {
        let is_part = request.uri().query().unwrap_or_default().split('&').any(|field| field.starts_with("part="));
        *request.method() == Method::GET && !is_part && !self.path_of(request).starts_with("/api/")
    }

    /// The path of a request below the one before all paths.
    fn path_of<'r>(&self, request: &'r Request) -> &'r str {
        request.uri().path().strip_prefix(&self.base()).unwrap_or_default()
    }

    /// Returns the reason to refuse a request, if there is one.
    pub(super) fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        let host = header_text(request, "host").unwrap_or_default();
        if !self.hosts().iter().any(|own| own == host) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "unknown host"));
        }
        if !self.is_own_page(request) {
            return Some((StatusCode::FORBIDDEN, "requests of other pages are refused"));
        }
        if matches!(self.path_of(request), "/" | "/enter" | "/static/view.css" | "/static/view.js" | "/static/icon.svg")
        {
            return None;
        }
        if !self.is_known(request.headers()) {
            return Some((StatusCode::UNAUTHORIZED, "run `jikime-memory view` and open the address that it prints"));
        }
        let has_form_token = header_text(request, FORM_TOKEN).is_some_and(|given| is_same(given, &self.form_token));
        (!is_read(request) && !has_form_token)
            .then_some((StatusCode::FORBIDDEN, "the token of forms is missing; reload the page"))
    }
}

/// Adds headers that keep browsers from doing more than the page needs.
pub(super) fn protect(mut response: Response) -> Response {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn header_text<'r>(request: &'r Request, name: &str) -> Option<&'r str> {
    request.headers().get(name)?.to_str().ok()
}

fn is_read(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn is_same(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use rstest::rstest;

    use super::*;

    fn access() -> (PageAccess, String, String) {
        let (access, address) = PageAccess::new(7_000).unwrap();
        let token = address.split_once('#').unwrap().1.to_owned();
        let cookie = access.redeem(&token).unwrap().split(';').next().unwrap().to_owned();
        (access, token, cookie)
    }

    #[test]
    fn token_works_once() {
        let (access, token, _) = access();
        assert_eq!(access.redeem(&token), None);
        let (access, address) = PageAccess::new(7_000).unwrap();
        assert_eq!(access.redeem("wrong"), None);
        assert!(access.redeem(address.split_once('#').unwrap().1).is_some());
    }

    #[test]
    fn token_works_for_a_minute() {
        let (access, address) = PageAccess::new(7_000).unwrap();
        access.entry.lock().unwrap().as_mut().unwrap().until = Instant::now();
        assert_eq!(access.redeem(address.split_once('#').unwrap().1), None);
    }

    #[rstest]
    #[case::page("GET", "/search", &[], None)]
    #[case::form("POST", "/do", &[("origin", "http://127.0.0.1:7000"), (FORM_TOKEN, "FORM")], None)]
    #[case::no_cookie("GET", "/search", &[("cookie", "")], Some(401))]
    #[case::wrong_cookie("GET", "/api/search", &[("cookie", "jikime_view_7000=0")], Some(401))]
    #[case::foreign_host("GET", "/search", &[("host", "evil.example:7000")], Some(421))]
    #[case::other_port("GET", "/search", &[("host", "127.0.0.1:7001")], Some(421))]
    #[case::foreign_origin("POST", "/do", &[("origin", "https://evil.example"), (FORM_TOKEN, "FORM")], Some(403))]
    #[case::no_origin("POST", "/do", &[(FORM_TOKEN, "FORM")], Some(403))]
    #[case::no_form_token("POST", "/do", &[("origin", "http://127.0.0.1:7000")], Some(403))]
    #[case::script_of_another_page("GET", "/api/search", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], Some(403))]
    #[case::other_server_of_this_machine("POST", "/do", &[("sec-fetch-site", "same-site"), (FORM_TOKEN, "FORM")], Some(403))]
    #[case::entry_needs_no_cookie("GET", "/", &[("cookie", "")], None)]
    #[case::entry_of_another_page("POST", "/enter", &[("cookie", ""), ("origin", "http://127.0.0.1:7001")], Some(403))]
    fn requests_are_checked(
        #[case] method: &str,
        #[case] path: &str,
        #[case] headers: &[(&str, &str)],
        #[case] expected: Option<u16>,
    ) {
        let (access, _, cookie) = access();
        let mut request = Request::builder().method(method).uri(format!("{}{path}", access.base()));
        let names = request.headers_mut().unwrap();
        names.insert("host", "127.0.0.1:7000".parse().unwrap());
        names.insert("cookie", cookie.parse().unwrap());
        for (name, value) in headers {
            let value = value.replace("FORM", &access.form_token);
            names.insert(header::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let request = request.body(Body::empty()).unwrap();
        assert_eq!(access.refusal(&request).map(|(status, _)| status.as_u16()), expected);
    }
}
