//! Who makes the vectors, as settings and the environment say.

use std::path::PathBuf;
use std::sync::Arc;

use schema::settings::{Provider, Settings};

use super::late::Late;
use super::remote::{self, Network, Remote, Service};
use super::{EmbedError, Embedder, Identity, LocalModel, Meaning, Trouble};

/// What the settings name; `None` when search is to go by words alone. Keys are found in the environment. Without a network no
/// service is asked, and the choice of [`Provider::Auto`] is the model inside the binary.
///
/// Nothing is sent and nothing large is read yet; what cannot be used says so when it is asked.
pub fn open(settings: &Settings, network: Option<Arc<dyn Network>>) -> Option<Meaning> {
    if settings.embedding_provider == Provider::None {
        return None;
    }
    let words = Arc::new(LocalModel::built_in());
    let trouble = Arc::new(Trouble::default());
    let embedder = embedder(settings, network, &words, &trouble);
    Some(Meaning { embedder, words, trouble })
}

fn embedder(
    settings: &Settings,
    network: Option<Arc<dyn Network>>,
    words: &Arc<LocalModel>,
    trouble: &Trouble,
) -> Arc<dyn Embedder> {
    let nobody = |error: EmbedError| -> Arc<dyn Embedder> {
        trouble.met(&error);
        let text = error.to_string();
        let provider = settings.embedding_provider.to_string();
        let model = settings.embedding_model.clone().unwrap_or_default();
        Arc::new(Late::new(unknown(provider, model), move || Err(EmbedError::Unavailable(text.clone()))))
    };
    match (settings.embedding_provider, network) {
        (Provider::Local, _) => match &settings.embedding_model {
            Some(path) => by_path(PathBuf::from(path), trouble),
            None => Arc::clone(words) as Arc<dyn Embedder>,
        },
        (_, Some(network)) => match remote::choose(settings, |name| std::env::var(name).ok()) {
            Ok(Some(service)) => of_service(service, network),
            Ok(None) => Arc::clone(words) as Arc<dyn Embedder>,
            Err(error) => nobody(error.into()),
        },
        (Provider::Auto | Provider::None, None) => Arc::clone(words) as Arc<dyn Embedder>,
        (provider, None) => nobody(EmbedError::Unavailable(format!("{provider} is not asked without a network"))),
    }
}

/// A service whose dimensions only an answer tells is asked for them when it is first needed.
fn of_service(service: Service, network: Arc<dyn Network>) -> Arc<dyn Embedder> {
    let identity = unknown(service.provider().to_owned(), service.model().to_owned());
    let is_known = service.dims().is_some();
    let open = move || Ok(Arc::new(Remote::open(service.clone(), Arc::clone(&network))?) as Arc<dyn Embedder>);
    match is_known.then(&open) {
        Some(Ok(remote)) => remote,
        _ => Arc::new(Late::new(identity, open)),
    }
}

/// A file of our own format. One that cannot be used now is tried again later.
fn by_path(path: PathBuf, trouble: &Trouble) -> Arc<dyn Embedder> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let open = move || Ok(Arc::new(LocalModel::open(&path)?) as Arc<dyn Embedder>);
    open().unwrap_or_else(|error| {
        trouble.met(&error);
        Arc::new(Late::new(unknown("local".to_owned(), name), open))
    })
}

fn unknown(provider: String, model: String) -> Identity {
    Identity { provider, model, dims: 0 }
}
