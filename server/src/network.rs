//! HTTP for embedding providers: one request, one response, over rustls. `tools::embed::remote` builds requests and reads responses.

use std::error::Error as _;
use std::io::Read as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use tools::embed::remote::{HttpRequest, HttpResponse, Network, NetworkError};

/// Connecting takes milliseconds if the host is up.
const CONNECT: Duration = Duration::from_secs(5);

const USER_AGENT: &str = concat!("jikime-memory/", env!("CARGO_PKG_VERSION"));

/// HTTP through reqwest, with the proxies of the environment. Must not be used in an async runtime.
#[derive(Debug, Default)]
pub struct ReqwestNetwork {
    /// For other machines and for this one. Created on first use, because loading certificates is slow and most servers need no network.
    clients: [OnceLock<Result<Client, String>>; 2],
}

impl ReqwestNetwork {
    fn client(&self, is_loopback: bool) -> Result<&Client, NetworkError> {
        let client = self.clients[usize::from(is_loopback)].get_or_init(|| build_client(is_loopback));
        client.as_ref().map_err(|error| NetworkError::Unreachable(error.clone()))
    }
}

/// Builds a client that follows no redirects. Requests to this machine use no proxy.
pub(crate) fn build_client(is_loopback: bool) -> Result<Client, String> {
    // Fails if a default is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().user_agent(USER_AGENT).connect_timeout(CONNECT);
    // A redirect could send texts and keys to another host.
    let builder = builder.redirect(Policy::none()).referer(false);
    let builder = if is_loopback { builder.no_proxy() } else { builder };
    builder.build().map_err(first_cause)
}

impl Network for ReqwestNetwork {
    fn post(&self, request: &HttpRequest, within: Duration) -> Result<HttpResponse, NetworkError> {
        let mut builder = self
            .client(request.is_loopback)?
            .post(&request.url)
            .timeout(within)
            .header(CONTENT_TYPE, "application/json")
            .body(request.body.clone());
        if let Some((name, before, key)) = &request.key {
            let value = HeaderValue::from_str(&format!("{before}{}", key.expose()));
            let mut value = value.map_err(|error| NetworkError::Unreachable(error.to_string()))?;
            value.set_sensitive(true);
            builder = builder.header(*name, value);
        }
        read_response(builder.send().map_err(network_error)?, request.max_bytes)
    }
}

fn read_response(response: Response, most: u64) -> Result<HttpResponse, NetworkError> {
    let status = response.status().as_u16();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let mut body = Vec::new();
    // One byte more shows that the body is too long.
    let read = response.take(most + 1).read_to_end(&mut body);
    match read {
        Ok(_) if body.len() as u64 > most => Err(NetworkError::TooLarge),
        Ok(_) => Ok(HttpResponse { status, headers, body }),
        Err(error) => Err(match error.downcast::<reqwest::Error>() {
            Ok(error) => network_error(error),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => NetworkError::TimedOut,
            Err(error) => NetworkError::Broken(error.to_string()),
        }),
    }
}

fn network_error(error: reqwest::Error) -> NetworkError {
    if error.is_timeout() {
        NetworkError::TimedOut
    } else if error.is_connect() || error.is_builder() {
        NetworkError::Unreachable(first_cause(error))
    } else {
        NetworkError::Broken(first_cause(error))
    }
}

/// The root cause without the URL. The caller reports the URL.
fn first_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let first = std::iter::successors(error.source(), |cause| (*cause).source()).last();
    first.map_or_else(|| error.to_string(), ToString::to_string)
}
