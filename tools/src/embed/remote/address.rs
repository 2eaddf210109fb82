//! Parses the base URL of a service.

use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceAddress {
    /// Without a trailing slash.
    pub(super) url: String,
    /// Host and port, for messages.
    pub(super) host: String,
    /// Whether it is this machine.
    pub(super) is_loopback: bool,
    /// Whether the connection is encrypted or local.
    pub(super) is_private: bool,
}

impl ServiceAddress {
    /// Parses a base URL. A URL without a path gets the default path `version`; an endpoint's name at the end is removed.
    /// The error never repeats the URL, which may hold a password.
    pub(super) fn parse(text: &str, version: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").ok_or("must begin with https:// or http://")?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "https" | "http") {
            return Err("must begin with https:// or http://");
        }
        if text.contains('@') {
            return Err("must not hold a password; set JIKIME_EMBEDDING_API_KEY");
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\\\"<>".contains(&byte)) {
            return Err("must be an address and a path, without `?` and `#`");
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let name = strip_port(host);
        if name.is_empty() {
            return Err("has no host");
        }
        let path = path.trim_end_matches('/');
        let path = path.strip_suffix("embeddings").unwrap_or(path).trim_matches('/');
        let path = if path.is_empty() { version } else { path };
        let is_loopback = is_loopback(host);
        Ok(Self {
            url: format!("{scheme}://{host}/{path}"),
            host: host.to_owned(),
            is_loopback,
            is_private: is_loopback || scheme == "https",
        })
    }
}

pub(super) fn strip_port(host: &str) -> &str {
    match host.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// Whether a host, with or without a port, is certainly this machine. A server may resolve `api.localhost` to another one.
pub fn is_loopback(host: &str) -> bool {
    let name = strip_port(host).to_ascii_lowercase();
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
