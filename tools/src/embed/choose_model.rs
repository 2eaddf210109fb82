//! Chooses the embedder from settings and environment.

use std::path::PathBuf;
use std::sync::Arc;

use schema::files::environment;
use schema::settings::{EmbeddingProvider, Settings};

use super::lazy::LazyEmbedder;
use super::remote::{self, Network, RemoteEmbedder, Service};
use super::{EmbedError, Embedder, EmbeddingHealth, EmbeddingModel, LocalModel, ModelIdentity};

/// Returns the embedder that the settings name, or `None` for search by words alone. API keys come from the environment.
/// Without a network, [`EmbeddingProvider::Auto`] chooses the built-in model.
///
/// This sends nothing and reads no large file. A bad choice fails at first use.
pub fn open_model(settings: &Settings, network: Option<Arc<dyn Network>>) -> Option<EmbeddingModel> {
    let local_model = Arc::new(LocalModel::built_in());
    let built_in = Arc::clone(&local_model) as Arc<dyn Embedder>;
    let health = Arc::new(EmbeddingHealth::default());
    let embedder = match (settings.embedding_provider, network) {
        (EmbeddingProvider::None, _) => return None,
        (EmbeddingProvider::Local, _) => match &settings.embedding_model {
            Some(path) => file_embedder(PathBuf::from(path), &health),
            None => built_in,
        },
        (_, Some(network)) => match remote::choose_service(settings, environment::text) {
            Ok(Some(service)) => service_embedder(service, network),
            Ok(None) => built_in,
            Err(error) => failing_embedder(settings, &error.into(), &health),
        },
        (EmbeddingProvider::Auto, None) => built_in,
        (provider, None) => {
            failing_embedder(settings, &EmbedError::Unavailable(format!("{provider} needs a network")), &health)
        }
    };
    Some(EmbeddingModel { embedder, local_model, health })
}

fn failing_embedder(settings: &Settings, error: &EmbedError, health: &EmbeddingHealth) -> Arc<dyn Embedder> {
    health.record_error(error);
    let text = error.to_string();
    let provider = settings.embedding_provider.to_string();
    let model = settings.embedding_model.clone().unwrap_or_default();
    let open = move || Err(EmbedError::Unavailable(text.clone()));
    Arc::new(LazyEmbedder::new(unknown_identity(provider, model), open))
}

/// If a service's dimensions are unknown, the first use asks for them.
fn service_embedder(service: Service, network: Arc<dyn Network>) -> Arc<dyn Embedder> {
    let identity = unknown_identity(service.provider().to_owned(), service.model().to_owned());
    let is_known = service.dims().is_some();
    let open = move || Ok(Arc::new(RemoteEmbedder::open(service.clone(), Arc::clone(&network))?) as Arc<dyn Embedder>);
    match is_known.then(&open) {
        Some(Ok(remote)) => remote,
        _ => Arc::new(LazyEmbedder::new(identity, open)),
    }
}

/// A model file in our format. If it cannot be opened now, it is retried later.
fn file_embedder(path: PathBuf, health: &EmbeddingHealth) -> Arc<dyn Embedder> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let open = move || Ok(Arc::new(LocalModel::open(&path)?) as Arc<dyn Embedder>);
    open().unwrap_or_else(|error| {
        health.record_error(&error);
        Arc::new(LazyEmbedder::new(unknown_identity("local".to_owned(), name), open))
    })
}

fn unknown_identity(provider: String, model: String) -> ModelIdentity {
    ModelIdentity { provider, model, dims: 0 }
}
