//! Embeddings: exact reference vectors, and clear errors for invalid model files.

use std::borrow::Cow;
use std::path::Path;

use rstest::rstest;
use schema::model::memory::{MemoryType, to_hex};
use schema::settings::{EmbeddingProvider, Settings};
use schema::tool::{SaveInput, SearchInput};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;
use crate::engine::Engine;

const BUILT_IN: &[u8] = include_bytes!("../../model/static-32k-320-int4.bin");

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let sum = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    sum(a, b) / (sum(a, a) * sum(b, b)).sqrt()
}

#[test]
fn every_reference_text_has_its_tokens_and_its_vector() {
    let model = LocalModel::built_in();
    let references: Value = serde_json::from_str(include_str!("../../model/reference-vectors.json")).unwrap();
    let references = references.as_array().unwrap();
    assert_eq!(references.len(), 41);
    for reference in references {
        let text = reference["text"].as_str().unwrap();
        let tokens: Vec<u32> = serde_json::from_value(reference["tokens"].clone()).unwrap();
        let vector: Vec<f32> = serde_json::from_value(reference["vector"].clone()).unwrap();
        assert_eq!(model.piece_ids(text), tokens, "{text}");
        match model.embed(text) {
            Some(found) => assert!(cosine(&found, &vector) >= 0.9999, "{text}"),
            None => assert!(tokens.is_empty() && vector.iter().all(|value| *value == 0.0), "{text}"),
        }
    }
}

#[test]
fn every_weight_of_the_model_inside_the_binary_is_a_number() {
    assert!(LocalModel::from_bytes(BUILT_IN.into(), "a copy").is_ok());
}

#[test]
fn the_file_is_the_one_that_its_checksum_names() {
    let hash = to_hex(&Sha256::digest(BUILT_IN));
    assert_eq!(include_str!("../../model/SHA256SUMS").split_whitespace().next(), Some(hash.as_str()));
}

#[rstest]
#[case::empty("")]
#[case::space(" \n\t")]
#[case::emoji("🙂🙃 👩‍👩‍👧")]
#[case::punctuation("!? … -- ()")]
#[case::a_script_without_pieces("Привет, мир")]
fn a_text_without_pieces_has_no_vector(#[case] text: &str) {
    assert_eq!(LocalModel::built_in().embed(text), None);
}

#[test]
fn huge_and_mixed_texts_have_unit_vectors() {
    let model = LocalModel::built_in();
    for text in ["x".repeat(1 << 20), "검색".repeat(1 << 17), "日本語とEnglishと한국어".repeat(1000)] {
        let vector = model.embed(&text).unwrap();
        let squares: f32 = vector.iter().map(|value| value * value).sum();
        assert!((squares - 1.0).abs() < 1e-3, "{squares}");
    }
}

#[test]
fn translations_have_near_vectors() {
    let model = LocalModel::built_in();
    let vector = |text: &str| model.embed(text).unwrap();
    let decision = vector("로그인은 OAuth 디바이스 플로우로 하기로 결정");
    let near = cosine(&vector("decided to sign in with the OAuth device flow"), &decision);
    let far = cosine(&vector("the price of gold per ounce"), &decision);
    assert!(near > far + 0.2, "{near} {far}");
}

/// A complete model with two pieces.
fn small_model() -> Vec<u8> {
    let text = b"token\nexpiry";
    let header = [2, 32, text.len() as u32].map(u32::to_le_bytes).concat();
    let scales = [0x3C00u16, 0x4000].map(u16::to_le_bytes).concat();
    [header, text.to_vec(), scales, vec![0x9A; 32]].concat()
}

fn open_bytes(bytes: Vec<u8>) -> Result<LocalModel, ModelFileError> {
    LocalModel::from_bytes(Cow::Owned(bytes), "test")
}

#[test]
fn a_small_model_is_read() {
    let model = open_bytes(small_model()).unwrap();
    assert_eq!(model.piece_ids("TokenExpiry tokens"), [0, 1, 0]);
    let vector = model.embed("token").unwrap();
    // The nibbles 10 and 9 mean 2 and 1 times the scale.
    assert!((vector[0] / vector[1] - 2.0).abs() < 1e-6 && vector.len() == 32);
}

#[test]
fn invalid_model_bytes_have_distinct_errors() {
    let error = |bytes: Vec<u8>| open_bytes(bytes).unwrap_err();
    assert!(matches!(error(Vec::new()), ModelFileError::UnknownFormat(_)));
    assert!(matches!(error(vec![0; 4096]), ModelFileError::UnknownFormat(_)));
    assert!(matches!(error(b"\x80\x04\x95 a pickle of somebody else's".repeat(100)), ModelFileError::UnknownFormat(_)));
    let whole = small_model();
    assert_eq!(
        error(whole[..whole.len() - 1].to_vec()),
        ModelFileError::WrongSize { found: whole.len() - 1, promised: whole.len() }
    );
    assert!(matches!(error([whole.clone(), vec![0]].concat()), ModelFileError::WrongSize { .. }));
    let mut not_a_number = whole.clone();
    not_a_number[12 + 12 + 2..][..2].copy_from_slice(&0x7E00u16.to_le_bytes());
    assert_eq!(error(not_a_number), ModelFileError::NotANumber(1));
    let mut one_piece = whole;
    one_piece[12 + 5] = b' ';
    assert!(matches!(error(one_piece), ModelFileError::UnknownFormat(_)));
}

#[test]
fn model_identity_has_file_name_and_checksum() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.bin");
    let text = open_path(&path).unwrap_err();
    assert!(text.contains("mine.bin"), "{text}");
    std::fs::write(&path, small_model()).unwrap();
    let first = open_path(&path).unwrap();
    std::fs::write(&path, [&small_model()[..small_model().len() - 1], &[0]].concat()).unwrap();
    let second = open_path(&path).unwrap();
    assert!(first.starts_with("local/mine-") && first.ends_with("/32") && first != second, "{first} {second}");
}

fn open_path(path: &Path) -> Result<String, String> {
    let settings = Settings {
        embedding_provider: EmbeddingProvider::Local,
        embedding_model: Some(path.to_string_lossy().into_owned()),
        ..Settings::default()
    };
    let model = super::open_model(&settings, None).expect("there is one");
    match model.health.message() {
        None => Ok(model.embedder.identity().to_string()),
        Some(error) => Err(error),
    }
}

#[test]
fn model_file_may_appear_later() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mine.bin");
    let settings = Settings {
        embedding_provider: EmbeddingProvider::Local,
        embedding_model: Some(path.to_string_lossy().into_owned()),
        ..Settings::default()
    };
    let embedder = super::open_model(&settings, None).unwrap().embedder;
    assert!(embedder.prepare().is_err() && embedder.readiness().is_err() && embedder.embed_query("a").is_err());
    assert_eq!(
        (embedder.location(), embedder.identity().to_string()),
        (EmbeddingLocation::Remote, "local/mine.bin/0".to_owned())
    );
    std::fs::write(&path, small_model()).unwrap();
    embedder.prepare().unwrap();
    assert!(
        embedder.readiness().is_ok()
            && embedder.identity().dims == 32
            && embedder.location() == EmbeddingLocation::InProcess
    );
}

#[test]
fn no_request_without_a_network() {
    let with = |embedding_provider| super::open_model(&Settings { embedding_provider, ..Settings::default() }, None);
    assert!(with(EmbeddingProvider::None).is_none());
    assert_eq!(with(EmbeddingProvider::Auto).unwrap().embedder.identity().provider, "local");
    assert!(with(EmbeddingProvider::OpenAi).unwrap().embedder.readiness().is_err());
}

#[test]
fn model_directory_is_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("model.safetensors"), "weights").unwrap();
    let error = open_path(directory.path()).unwrap_err();
    assert!(error.contains("it is a directory") && error.contains("embedding_base_url"), "{error}");
}

#[cfg(unix)]
#[test]
fn special_file_is_refused_as_model() {
    let error = open_path(Path::new("/dev/null")).unwrap_err();
    assert!(error.contains("it is not a regular file"), "{error}");
}

#[test]
fn a_question_is_compared_in_the_model_of_the_documents() {
    let project = tempfile::tempdir().unwrap();
    let path = project.path().join("mine.bin");
    std::fs::write(&path, small_model()).unwrap();
    let settings = Settings {
        embedding_provider: EmbeddingProvider::Local,
        embedding_model: Some(path.to_string_lossy().into_owned()),
        ..Settings::default()
    };
    let mut engine = Engine::open_with_settings(project.path(), &settings).unwrap();
    for text in ["the token of a session", "the expiry of a token", "the price of gold"] {
        engine.save(&SaveInput::new(MemoryType::Learning, text.to_owned())).unwrap();
    }
    let input = SearchInput { query: "token".to_owned(), explain: true, ..SearchInput::default() };
    let first = engine.search(&input).unwrap().results.remove(0);
    assert!(
        first.explanation.as_deref().is_some_and(|text| text.contains("vector 0.") && !text.contains("vector 0.000")),
        "{first:?}"
    );
}
