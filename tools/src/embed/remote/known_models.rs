//! Known models by name: input limit, dimensions and prefixes.

/// Many models embed questions and documents differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbeddingPurpose {
    Document,
    Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownModel {
    /// A prefix or part of the name, in lower case.
    name: &'static str,
    /// Longest input in tokens.
    pub(super) max_tokens: usize,
    pub(super) dims: Option<usize>,
    pub(super) before_document: &'static str,
    pub(super) before_query: &'static str,
}

const fn known_model(name: &'static str, max_tokens: usize, dims: Option<usize>) -> KnownModel {
    KnownModel { name, max_tokens, dims, before_document: "", before_query: "" }
}

const REPRESENT: &str = "Represent this sentence for searching relevant passages: ";

/// From the models' documentation. The first match counts, so a variant precedes its family.
const KNOWN: [KnownModel; 15] = [
    known_model("text-embedding-3-small", 8_191, Some(1_536)),
    known_model("text-embedding-3-large", 8_191, Some(3_072)),
    known_model("text-embedding-ada-002", 8_191, Some(1_536)),
    known_model("gemini-embedding-001", 2_048, Some(3_072)),
    known_model("text-embedding-004", 2_048, Some(768)),
    known_model("nomic-embed-text-v2", 512, Some(768)).with_prefixes("search_document: ", "search_query: "),
    known_model("nomic-embed-text", 2_048, Some(768)).with_prefixes("search_document: ", "search_query: "),
    known_model("embeddinggemma", 2_048, Some(768))
        .with_prefixes("title: none | text: ", "task: search result | query: "),
    known_model("mxbai-embed-large", 512, Some(1_024)).with_prefixes("", REPRESENT),
    known_model("snowflake-arctic-embed2", 8_192, None).with_prefixes("", "query: "),
    known_model("snowflake-arctic-embed", 512, None).with_prefixes("", REPRESENT),
    known_model("qwen3-embedding", 8_192, None)
        .with_prefixes("", "Instruct: Given a question, retrieve passages that answer it\nQuery: "),
    known_model("multilingual-e5", 512, None).with_prefixes("passage: ", "query: "),
    known_model("bge-m3", 8_192, Some(1_024)),
    known_model("all-minilm", 256, Some(384)),
];

/// An unknown model. Most small ones read 512 tokens, and servers silently drop the rest.
const OTHER: KnownModel = known_model("", 512, None);

impl KnownModel {
    const fn with_prefixes(self, before_document: &'static str, before_query: &'static str) -> Self {
        Self { before_document, before_query, ..self }
    }

    pub(super) fn find(name: &str) -> Self {
        let name = name.to_lowercase();
        KNOWN.into_iter().find(|model| name.contains(model.name)).unwrap_or(OTHER)
    }
}
