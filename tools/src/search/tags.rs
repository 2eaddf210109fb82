//! Tags of a passage: of its metadata, and `#tag` in its text.

use schema::model::memory::Memory;

use crate::index::{TAGS, metadata_tags};
use crate::text::fold::fold;

/// A tag as it is compared, without its `#`; `None` if nothing is left.
pub(super) fn comparable_tag(tag: &str) -> Option<String> {
    let tag = fold(tag.trim().trim_start_matches('#'));
    (!tag.is_empty()).then_some(tag)
}

/// Whether a memory or one of these texts has a comparable tag.
pub(super) fn has_tag(memory: Option<&Memory>, texts: &[&str], wanted: &str) -> bool {
    let tags = memory.and_then(|memory| memory.attributes.metadata.get(TAGS));
    let is_wanted = |tag: &str| comparable_tag(tag).is_some_and(|tag| tag == wanted);
    tags.into_iter().flat_map(metadata_tags).any(is_wanted) || texts.iter().any(|text| hash_tags(text).any(is_wanted))
}

/// The words that `#` marks as tags in a text: it follows no letter, and a letter follows it.
fn hash_tags(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('#').filter_map(|(at, mark)| {
        let is_start = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | ','));
        let rest = &text[at + mark.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/'))).unwrap_or(rest.len());
        let tag = rest[..end].trim_end_matches(['-', '/']);
        (is_start && tag.chars().any(char::is_alphabetic)).then_some(tag)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn hash_marks_a_tag_but_not_a_heading_number_or_anchor() {
        let text = "# Heading\n#auth and (#db-schema), issue #41, page.html#top, C# and #배포/서버.";
        assert_eq!(hash_tags(text).collect::<Vec<_>>(), ["auth", "db-schema", "배포/서버"]);
    }

    #[test]
    fn tags_are_compared_without_case_and_mark() {
        assert_eq!(comparable_tag(" #Auth ").as_deref(), Some("auth"));
        assert_eq!(comparable_tag("#"), None);
        assert_eq!(metadata_tags(&Value::from("a, b")).collect::<Vec<_>>(), ["a", "b"]);
    }
}
