//! Chooses the service from settings and environment.

use schema::settings::{EmbeddingProvider, Settings};

use super::address::{ServiceAddress, strip_port};
use super::known_models::KnownModel;
use super::service::{Protocol, Service};
use super::{ApiKey, RemoteError};

const OPENAI: &str = "https://api.openai.com/v1";
const GEMINI: &str = "https://generativelanguage.googleapis.com/v1beta";

/// Keys are read from the environment only, so that no project file can hold or choose one.
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const GEMINI_KEY: &str = "GEMINI_API_KEY";
/// A key for this product alone. It has priority, and is sent to any configured service.
const OWN_KEY: &str = "JIKIME_EMBEDDING_API_KEY";

/// Dimensions requested from newer Gemini models: little quality is lost and the store needs a quarter of the space.
const GEMINI_DIMS: usize = 768;

/// Returns the service that the settings choose, with the keys that `variable` finds; `None` if no service is used.
pub fn choose_service(
    settings: &Settings,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<Service>, RemoteError> {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.trim().is_empty());
    let provider = match settings.embedding_provider {
        EmbeddingProvider::Auto if settings.embedding_base_url.is_some() || is_set(OPENAI_KEY) => {
            EmbeddingProvider::OpenAi
        }
        EmbeddingProvider::Auto if is_set(GEMINI_KEY) => EmbeddingProvider::Gemini,
        provider => provider,
    };
    match provider {
        EmbeddingProvider::OpenAi => openai_service(settings, &variable).map(Some),
        EmbeddingProvider::Gemini => gemini_service(settings, &variable).map(Some),
        EmbeddingProvider::Auto | EmbeddingProvider::Local | EmbeddingProvider::None => Ok(None),
    }
}

fn openai_service(settings: &Settings, variable: &impl Fn(&str) -> Option<String>) -> Result<Service, RemoteError> {
    let address = service_address(settings, OPENAI, "v1")?;
    let is_their_own = strip_port(&address.host) == "api.openai.com";
    let protocol = if is_their_own { Protocol::OpenAi } else { Protocol::OpenAiCompatible };
    let (key, key_variable) = find_key(&address, OPENAI_KEY, variable)?.unzip();
    if key.is_none() && is_their_own {
        return Err(missing_key_error("openai", OPENAI_KEY));
    }
    let name = settings.embedding_model.as_deref().unwrap_or("text-embedding-3-small");
    let model = KnownModel::find(name);
    let dims = settings.embedding_dimensions;
    Ok(Service {
        protocol,
        address,
        name: name.to_owned(),
        model,
        dims: dims.or(model.dims),
        requested_dims: dims.filter(|dims| model.dims != Some(*dims)),
        key,
        key_variable: key_variable.unwrap_or(if is_their_own { OPENAI_KEY } else { OWN_KEY }),
    })
}

fn gemini_service(settings: &Settings, variable: &impl Fn(&str) -> Option<String>) -> Result<Service, RemoteError> {
    let address = service_address(settings, GEMINI, "v1beta")?;
    let (key, key_variable) = find_key(&address, GEMINI_KEY, variable)?.unzip();
    if key.is_none() && address.is_private {
        return Err(missing_key_error("gemini", GEMINI_KEY));
    }
    let name = settings.embedding_model.as_deref().unwrap_or("gemini-embedding-001");
    let name = name.strip_prefix("models/").unwrap_or(name);
    // It becomes a part of the URL.
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)) {
        return Err(RemoteError::from_settings(format!(
            "{name} is not a valid Gemini model name; check JIKIME_EMBEDDING_MODEL"
        )));
    }
    let model = KnownModel::find(name);
    let usual = name.starts_with("gemini-embedding").then_some(GEMINI_DIMS);
    let asked_dims = settings.embedding_dimensions.or(usual);
    Ok(Service {
        protocol: Protocol::Gemini,
        address,
        name: name.to_owned(),
        model,
        dims: asked_dims.or(model.dims),
        requested_dims: asked_dims,
        key,
        key_variable: key_variable.unwrap_or(GEMINI_KEY),
    })
}

fn service_address(settings: &Settings, usual: &str, version: &str) -> Result<ServiceAddress, RemoteError> {
    let text = settings.embedding_base_url.as_deref().unwrap_or(usual);
    ServiceAddress::parse(text, version).map_err(|problem| {
        RemoteError::from_settings(format!("JIKIME_EMBEDDING_BASE_URL {problem}, as in http://localhost:11434/v1"))
    })
}

/// The first key that is set, with its variable.
fn find_key(
    address: &ServiceAddress,
    name: &'static str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(ApiKey, &'static str)>, RemoteError> {
    // Over an unencrypted network only our own key is sent.
    let names: &[&'static str] = if address.is_private { &[OWN_KEY, name] } else { &[OWN_KEY] };
    let set = names.iter().find_map(|name| Some((*name, variable(name).filter(|text| !text.trim().is_empty())?)));
    let Some((name, text)) = set else { return Ok(None) };
    let invalid = format!("{name} has characters that are invalid in a key; copy the key again");
    let key = ApiKey::new(&text).ok_or_else(|| RemoteError::from_settings(invalid))?;
    Ok(Some((key, name)))
}

fn missing_key_error(provider: &str, name: &str) -> RemoteError {
    RemoteError::from_settings(format!("{provider} needs a key in {name}; set it, or JIKIME_EMBEDDING_PROVIDER=local"))
}
