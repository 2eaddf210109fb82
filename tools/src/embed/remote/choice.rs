//! Which service the settings and the environment mean, if any.

use schema::settings::{Provider, Settings};

use super::address::Address;
use super::model::Model;
use super::service::{Protocol, Service};
use super::{Key, RemoteError};

const OPENAI: &str = "https://api.openai.com/v1";
const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Keys stand in the environment and nowhere else, so that no file, and no project's at all, holds one or chooses it.
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const GEMINI_KEY: &str = "GEMINI_API_KEY";
/// A key for this product alone; it goes before the others, and to wherever its owner has texts sent.
const OWN_KEY: &str = "JIKIME_EMBEDDING_API_KEY";

/// Dimensions that the newer models of Gemini are asked for: they lose little by it, and a store takes a quarter of the space.
const GEMINI_DIMS: usize = 768;

/// The service that settings mean, with the keys that `variable` finds; `None` when vectors are made here, or not at all.
pub fn choose(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Service>, RemoteError> {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
    let provider = match settings.embedding_provider {
        Provider::Auto if settings.embedding_base_url.is_some() || is_set(OPENAI_KEY) => Provider::OpenAi,
        Provider::Auto if is_set(GEMINI_KEY) => Provider::Gemini,
        provider => provider,
    };
    match provider {
        Provider::OpenAi => open_ai(settings, &variable).map(Some),
        Provider::Gemini => gemini(settings, &variable).map(Some),
        Provider::Auto | Provider::Local | Provider::None => Ok(None),
    }
}

fn open_ai(settings: &Settings, variable: &impl Fn(&str) -> Option<String>) -> Result<Service, RemoteError> {
    let address = address(settings, OPENAI, "v1")?;
    let is_their_own = without_port(&address.host) == "api.openai.com";
    let protocol = if is_their_own { Protocol::OpenAi } else { Protocol::LikeOpenAi };
    // Over a network that anybody can read along, only a key that was meant for that.
    let names: &[&'static str] = if address.is_private { &[OWN_KEY, OPENAI_KEY] } else { &[OWN_KEY] };
    let (key, key_variable) = key(names, variable)?;
    if key.is_none() && is_their_own {
        return Err(no_key("openai", OPENAI_KEY));
    }
    let name = settings.embedding_model.as_deref().unwrap_or("text-embedding-3-small");
    let model = Model::of(name);
    let dims = settings.embedding_dimensions;
    Ok(Service {
        protocol,
        address,
        name: name.to_owned(),
        model,
        dims: dims.or(model.dims),
        asked_dims: dims.filter(|dims| model.dims != Some(*dims)),
        key,
        key_variable: if is_their_own { key_variable.unwrap_or(OPENAI_KEY) } else { key_variable.unwrap_or(OWN_KEY) },
    })
}

fn gemini(settings: &Settings, variable: &impl Fn(&str) -> Option<String>) -> Result<Service, RemoteError> {
    let address = address(settings, GEMINI, "v1beta")?;
    let names: &[&'static str] = if address.is_private { &[OWN_KEY, GEMINI_KEY] } else { &[OWN_KEY] };
    let (key, key_variable) = key(names, variable)?;
    if key.is_none() && address.is_private {
        return Err(no_key("gemini", GEMINI_KEY));
    }
    let name = settings.embedding_model.as_deref().unwrap_or("gemini-embedding-001");
    let name = name.strip_prefix("models/").unwrap_or(name);
    // It becomes a part of the address.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        return Err(RemoteError::settings(format!("{name} is no model of gemini; check JIKIME_EMBEDDING_MODEL")));
    }
    let model = Model::of(name);
    let usual = name.starts_with("gemini-embedding").then_some(GEMINI_DIMS);
    let asked_dims = settings.embedding_dimensions.or(usual);
    Ok(Service {
        protocol: Protocol::Gemini,
        address,
        name: name.to_owned(),
        model,
        dims: asked_dims.or(model.dims),
        asked_dims,
        key,
        key_variable: key_variable.unwrap_or(GEMINI_KEY),
    })
}

fn address(settings: &Settings, usual: &str, version: &str) -> Result<Address, RemoteError> {
    let text = settings.embedding_base_url.as_deref().unwrap_or(usual);
    Address::parse(text, version).map_err(|fault| {
        RemoteError::settings(format!("JIKIME_EMBEDDING_BASE_URL {fault}, as in http://localhost:11434/v1"))
    })
}

/// The first key that is set, and where.
fn key(
    names: &[&'static str],
    variable: impl Fn(&str) -> Option<String>,
) -> Result<(Option<Key>, Option<&'static str>), RemoteError> {
    let set = names.iter().find_map(|name| Some((*name, variable(name).filter(|text| !text.trim().is_empty())?)));
    let Some((name, text)) = set else { return Ok((None, None)) };
    match Key::new(&text) {
        Some(key) => Ok((Some(key), Some(name))),
        None => Err(RemoteError::settings(format!("{name} holds characters that no key has; copy the key anew"))),
    }
}

fn no_key(provider: &str, name: &str) -> RemoteError {
    RemoteError::settings(format!("{provider} needs a key in {name}; set it, or JIKIME_EMBEDDING_PROVIDER=local"))
}

fn without_port(host: &str) -> &str {
    host.split(':').next().unwrap_or_default()
}
