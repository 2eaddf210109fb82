//! What is known of models by their names: how much they read, how long their vectors are, what they want to stand before a text.

/// A model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Model {
    /// How the name begins, or what it holds, in small letters.
    name: &'static str,
    /// Tokens that it reads of one text.
    pub(super) tokens: usize,
    pub(super) dims: Option<usize>,
    pub(super) before_document: &'static str,
    pub(super) before_query: &'static str,
}

const fn model(name: &'static str, tokens: usize, dims: usize) -> Model {
    Model { name, tokens, dims: Some(dims), before_document: "", before_query: "" }
}

const REPRESENT: &str = "Represent this sentence for searching relevant passages: ";

/// From their documentation. The first that fits counts, so a variant stands before its family.
const KNOWN: [Model; 15] = [
    model("text-embedding-3-small", 8_191, 1_536),
    model("text-embedding-3-large", 8_191, 3_072),
    model("text-embedding-ada-002", 8_191, 1_536),
    model("gemini-embedding-001", 2_048, 3_072),
    model("text-embedding-004", 2_048, 768),
    Model {
        before_document: "search_document: ",
        before_query: "search_query: ",
        ..model("nomic-embed-text-v2", 512, 768)
    },
    Model {
        before_document: "search_document: ",
        before_query: "search_query: ",
        ..model("nomic-embed-text", 2_048, 768)
    },
    Model {
        before_document: "title: none | text: ",
        before_query: "task: search result | query: ",
        ..model("embeddinggemma", 2_048, 768)
    },
    Model { before_query: REPRESENT, ..model("mxbai-embed-large", 512, 1_024) },
    Model { dims: None, before_query: "query: ", ..model("snowflake-arctic-embed2", 8_192, 0) },
    Model { dims: None, before_query: REPRESENT, ..model("snowflake-arctic-embed", 512, 0) },
    Model {
        dims: None,
        before_query: "Instruct: Given a question, retrieve passages that answer it\nQuery: ",
        ..model("qwen3-embedding", 8_192, 0)
    },
    Model { dims: None, before_document: "passage: ", before_query: "query: ", ..model("multilingual-e5", 512, 0) },
    model("bge-m3", 8_192, 1_024),
    model("all-minilm", 256, 384),
];

/// A model that nobody told us of. Most of the small ones read 512 tokens, and servers drop the rest of a text without a word.
const OTHER: Model = Model { name: "", tokens: 512, dims: None, before_document: "", before_query: "" };

impl Model {
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        KNOWN.into_iter().find(|model| name.contains(model.name)).unwrap_or(OTHER)
    }
}
