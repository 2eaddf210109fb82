//! Parses a query into words and synonyms.

use super::Query;
use super::builder::{QueryBuilder, WordSelection};

/// Most bytes of a query.
pub(super) const MAX_BYTES: usize = 8 * 1024;

/// Whether to add synonyms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SynonymMode {
    Glossary,
    None,
}

impl Query {
    /// Parses a query. Function words are dropped unless there are no others.
    pub fn parse(text: &str) -> Self {
        Self::parse_with(text, SynonymMode::Glossary)
    }

    /// Parses a query without synonyms.
    pub fn parse_literal(text: &str) -> Self {
        Self::parse_with(text, SynonymMode::None)
    }

    fn parse_with(text: &str, synonyms: SynonymMode) -> Self {
        let used = truncated_query(text);
        let mut query = build_query(used, WordSelection::Content, synonyms);
        if query.words.is_empty() {
            query = build_query(used, WordSelection::Everything, SynonymMode::None);
            query.has_only_stop_words = true;
        }
        query.is_truncated |= used.len() < text.len();
        query
    }
}

fn build_query(text: &str, selection: WordSelection, synonyms: SynonymMode) -> Query {
    let mut builder = QueryBuilder::read(text, selection);
    if synonyms == SynonymMode::Glossary {
        builder.add_synonyms();
        builder.add_translations();
    }
    builder.query
}

/// The part of a query that is used, for all legs.
pub(crate) fn truncated_query(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}
