//! The network as providers of embeddings need it: one request, one answer, over rustls. What is sent and what is made of the
//! answer is decided in `tools::embed::remote`.

use std::error::Error as _;
use std::io::Read as _;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::redirect::Policy;
use tools::embed::remote::{Network, Outage, Reply, Request};

/// A host that does not even take a connection is not there.
const CONNECT: Duration = Duration::from_secs(5);

const USER_AGENT: &str = concat!("jikime-memory/", env!("CARGO_PKG_VERSION"));

/// The network by way of reqwest, with the proxies of the environment. To be used on threads without a runtime.
#[derive(Debug, Default)]
pub struct Http {
    /// Made when they are needed: certificates take a while to load, and most servers send nothing anywhere.
    outside: OnceLock<Result<Client, String>>,
    loopback: OnceLock<Result<Client, String>>,
}

impl Http {
    fn client(&self, is_loopback: bool) -> Result<&Client, Outage> {
        let client = match is_loopback {
            // What stays on this machine passes no proxy, whatever the environment forgot to exempt.
            true => self.loopback.get_or_init(|| client(true)),
            false => self.outside.get_or_init(|| client(false)),
        };
        client.as_ref().map_err(|fault| Outage::Unreachable(fault.clone()))
    }
}

fn client(is_loopback: bool) -> Result<Client, String> {
    // Another part of the program may have chosen before, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().user_agent(USER_AGENT).connect_timeout(CONNECT);
    // A redirect could lead texts and keys to where nobody meant them to go.
    let builder = builder.redirect(Policy::none()).referer(false);
    let builder = if is_loopback { builder.no_proxy() } else { builder };
    builder.build().map_err(causes)
}

impl Network for Http {
    fn post(&self, request: &Request, within: Duration) -> Result<Reply, Outage> {
        let mut builder = self
            .client(request.is_loopback)?
            .post(&request.url)
            .timeout(within)
            .header(CONTENT_TYPE, "application/json")
            .body(request.body.clone());
        if let Some((name, before, key)) = &request.key {
            let value = HeaderValue::from_str(&format!("{before}{}", key.expose()));
            let mut value = value.map_err(|error| Outage::Unreachable(error.to_string()))?;
            value.set_sensitive(true);
            builder = builder.header(*name, value);
        }
        read(builder.send().map_err(outage)?, request.most_bytes)
    }
}

fn read(response: Response, most: u64) -> Result<Reply, Outage> {
    let status = response.status().as_u16();
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let mut body = Vec::new();
    // One byte more, to know whether there is more.
    let read = response.take(most + 1).read_to_end(&mut body);
    match read {
        Ok(_) if body.len() as u64 > most => Err(Outage::TooMuch),
        Ok(_) => Ok(Reply { status, headers, body }),
        Err(error) => Err(match error.downcast::<reqwest::Error>() {
            Ok(error) => outage(error),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Outage::Slow,
            Err(error) => Outage::Broken(error.to_string()),
        }),
    }
}

fn outage(error: reqwest::Error) -> Outage {
    if error.is_timeout() {
        Outage::Slow
    } else if error.is_connect() || error.is_builder() {
        Outage::Unreachable(causes(error))
    } else {
        Outage::Broken(causes(error))
    }
}

/// The first cause, which is what people understand, without the address, which is told anyway.
fn causes(error: reqwest::Error) -> String {
    let error = error.without_url();
    let first = std::iter::successors(error.source(), |cause| (*cause).source()).last();
    first.map_or_else(|| error.to_string(), ToString::to_string)
}
