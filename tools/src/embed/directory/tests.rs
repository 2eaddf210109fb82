//! Models in directories: the vectors of fixtures as another program computed them, and clear words about what cannot be used.

use std::fs;
use std::path::PathBuf;

use rstest::rstest;
use serde::Deserialize;
use tempfile::TempDir;

use super::*;
use crate::embed::{Embedded, Vector, WorkPlace};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/embed/directory/fixtures").join(name)
}

/// The vectors of a text as a document and as a question.
#[derive(Deserialize)]
struct Reference {
    text: String,
    document: Option<Vec<f32>>,
    query: Option<Vec<f32>>,
}

fn references(path: &Path) -> Vec<Reference> {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn vectors(model: &dyn Embedder, texts: &[&str]) -> Vec<Vector> {
    model.embed_documents(texts).unwrap().into_iter().map(Embedded::vector).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let length = |vector: &[f32]| vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() / (length(a) * length(b))
}

fn check(model: &dyn Embedder, references: &[Reference], least: f32) {
    let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
    let documents = vectors(model, &texts);
    for (reference, document) in references.iter().zip(documents) {
        let query = model.embed_query(&reference.text).unwrap();
        for (found, expected) in [(document, &reference.document), (query, &reference.query)] {
            match (found, expected) {
                (Some(found), Some(expected)) => {
                    assert_eq!(found.len(), model.identity().dims);
                    assert!((cosine(&found, &found) - 1.0).abs() < 1e-5);
                    let cosine = cosine(&found, expected);
                    assert!(cosine >= least, "{}: {cosine}", reference.text);
                }
                (None, None) => {}
                (found, _) => panic!("{}: {found:?}", reference.text),
            }
        }
    }
}

#[rstest]
#[case::bert("bert", 16, WorkPlace::Elsewhere)]
#[case::with_positions_of_roberta_and_prefixes_of_e5("e5-tiny", 16, WorkPlace::Elsewhere)]
#[case::of_model2vec("model2vec", 8, WorkPlace::Here)]
fn vectors_are_those_of_another_program(#[case] name: &str, #[case] dims: usize, #[case] place: WorkPlace) {
    let model = open(&fixture(name)).unwrap();
    assert_eq!((model.identity().dims, model.place()), (dims, place));
    assert!(model.identity().model.contains(&format!(":{name}-")), "{}", model.identity());
    check(&*model, &references(&fixture(name).join("reference.json")), 0.99999);
}

#[test]
fn a_text_is_the_same_alone_and_among_others_and_none_is_none() {
    let model = open(&fixture("bert")).unwrap();
    let texts = ["a socket", "", "the queue listens on a socket and a session is signed with a secret", " \n"];
    let together = vectors(&*model, &texts);
    assert!(together[1].is_none() && together[3].is_none());
    for at in [0, 2] {
        let alone = model.embed_query(texts[at]).unwrap().unwrap();
        assert!(cosine(together[at].as_ref().unwrap(), &alone) > 0.99999);
    }
}

#[test]
fn a_long_text_is_read_to_its_end() {
    let model = open(&fixture("bert")).unwrap();
    let vector = |text: &str| model.embed_query(text).unwrap().unwrap();
    let beginning = "the queue listens ".repeat(20);
    assert!(cosine(&vector(&format!("{beginning}{}", "vault and ".repeat(20))), &vector(&beginning)) < 0.999);
}

/// A copy of a fixture in which one file says something else.
fn spoiled(name: &str, file: &str, spoil: impl FnOnce(Vec<u8>) -> Vec<u8>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(name)).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), directory.path().join(entry.file_name())).unwrap();
    }
    let path = directory.path().join(file);
    let bytes = spoil(fs::read(&path).unwrap_or_default());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    directory
}

fn replaced(from: &'static str, to: &'static str) -> impl FnOnce(Vec<u8>) -> Vec<u8> {
    move |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(from));
        text.replace(from, to).into_bytes()
    }
}

fn text(text: &'static str) -> Box<dyn FnOnce(Vec<u8>) -> Vec<u8>> {
    Box::new(move |_| text.as_bytes().to_vec())
}

/// The last weights become NaN.
fn not_a_number(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len();
    bytes[end - 2..].copy_from_slice(&0x7E00u16.to_le_bytes());
    bytes
}

#[rstest]
#[case::truncated("bert", "model.safetensors", Box::new(|bytes: Vec<u8>| bytes[..bytes.len() - 1].to_vec()), "model.safetensors is damaged or no such file")]
#[case::foreign(
    "bert",
    "model.safetensors",
    text("a pickle of somebody else's"),
    "model.safetensors is damaged or no such file"
)]
#[case::nan("bert", "model.safetensors", Box::new(not_a_number), "holds what is no number")]
#[case::other_sizes(
    "bert",
    "config.json",
    Box::new(replaced("\"intermediate_size\": 32", "\"intermediate_size\": 64")),
    "has the shape"
)]
#[case::other_heads(
    "bert",
    "config.json",
    Box::new(replaced("\"num_attention_heads\": 4", "\"num_attention_heads\": 5")),
    "16 dimensions for 5 heads"
)]
#[case::more_layers(
    "bert",
    "config.json",
    Box::new(replaced("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3")),
    "lacks encoder.layer.2"
)]
#[case::no_json("bert", "config.json", text("{"), "config.json: EOF")]
#[case::another_type(
    "bert",
    "config.json",
    Box::new(replaced("\"bert\"", "\"llama\"")),
    "of the type \"llama\"; bert, roberta, xlm-roberta and model2vec can be used"
)]
#[case::tokens("bert", "tokenizer.json", text("{}"), "tokenizer.json: ")]
#[case::more_tokens(
    "bert",
    "tokenizer.json",
    Box::new(replaced("\"socket\":", "\"a-token\":59,\"socket\":")),
    "tokenizer.json"
)]
#[case::pooling(
    "bert",
    "1_Pooling/config.json",
    text("{\"pooling_mode_weightedmean_tokens\": true}"),
    "another way than mean, cls or max"
)]
#[case::modules(
    "bert",
    "modules.json",
    text("[{\"type\": \"sentence_transformers.models.Dense\"}]"),
    "asks for sentence_transformers.models.Dense"
)]
#[case::static_truncated("model2vec", "model.safetensors", Box::new(|bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec()), "model.safetensors is damaged or no such file")]
fn what_cannot_be_used_is_told(
    #[case] name: &str,
    #[case] file: &str,
    #[case] spoil: Box<dyn FnOnce(Vec<u8>) -> Vec<u8>>,
    #[case] told: &str,
) {
    let directory = spoiled(name, file, spoil);
    let error = crate::error::chain(&open(directory.path()).unwrap_err());
    assert!(error.starts_with("cannot use the embedding model ") && error.contains(told), "{error}");
}

#[test]
fn a_file_that_is_missing_is_told_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let error = crate::error::chain(&open(directory.path()).unwrap_err());
    assert!(error.contains("config.json: "), "{error}");
}

#[rstest]
#[case::mean("{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": false}", 1.0)]
#[case::first("{\"pooling_mode_cls_token\": true}", 0.999)]
#[case::largest("{\"pooling_mode_max_tokens\": true}", 0.999)]
fn pooling_goes_by_its_file(#[case] config: &'static str, #[case] most: f32) {
    let directory = spoiled("bert", "1_Pooling/config.json", text(config));
    let (usual, model) = (open(&fixture("bert")).unwrap(), open(directory.path()).unwrap());
    let vector = |model: &dyn Embedder| model.embed_query("a socket of the queue").unwrap().unwrap();
    let cosine = cosine(&vector(&*usual), &vector(&*model));
    assert!(if most == 1.0 { cosine > 0.99999 } else { cosine < most }, "{cosine}");
}

/// A real model is too large to lie here: `JIKIME_TEST_MODEL=DIR JIKIME_TEST_REFERENCE=FILE cargo nextest run … --run-ignored all`.
#[test]
#[ignore = "needs a model and its vectors, which the environment names"]
fn a_real_model_gives_the_vectors_of_another_program() {
    let variable = |name: &str| std::env::var(name).expect("it names a path");
    let model = open(Path::new(&variable("JIKIME_TEST_MODEL"))).unwrap();
    check(&*model, &references(Path::new(&variable("JIKIME_TEST_REFERENCE"))), 0.999);
}
