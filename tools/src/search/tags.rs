//! Tags of a passage: of its metadata, and `#tag` in its text.

use std::ops::Range;

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

/// The words that `#` marks as tags in a text: it follows no letter, and a letter follows it. Code has none, and `#fff` is a colour.
fn hash_tags(text: &str) -> impl Iterator<Item = &str> {
    let code = code_ranges(text);
    let marks = text.match_indices('#').filter(move |(at, _)| !code.iter().any(|code| code.contains(at)));
    marks.filter_map(|(at, mark)| {
        let is_start = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | ','));
        let rest = &text[at + mark.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/'))).unwrap_or(rest.len());
        let tag = rest[..end].trim_end_matches(['-', '/']);
        (is_start && tag.chars().any(char::is_alphabetic) && !is_colour(tag)).then_some(tag)
    })
}

/// `fff` or `1e90ff`, but not a word such as `add`.
fn is_colour(tag: &str) -> bool {
    let is_grey = tag.bytes().all(|byte| Some(byte) == tag.bytes().next());
    let has_digit = tag.bytes().any(|byte| byte.is_ascii_digit());
    matches!(tag.len(), 3 | 6) && tag.bytes().all(|byte| byte.is_ascii_hexdigit()) && (is_grey || has_digit)
}

/// The bytes of fenced code, and of code between backticks in a line.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut is_fenced = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        if is_fence || is_fenced {
            ranges.push(start..start + line.len());
        } else {
            let marks: Vec<usize> = line.match_indices('`').map(|(at, _)| start + at).collect();
            ranges.extend(marks.chunks_exact(2).map(|pair| pair[0]..pair[1]));
        }
        is_fenced ^= is_fence;
        start += line.len();
    }
    ranges
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
    fn code_and_colours_have_no_tags() {
        let text =
            "Links are #fff and #1e90ff, #add it.\n```c\n#define MAX 3\n```\nWe include ` #include <x>` here #c-code";
        assert_eq!(hash_tags(text).collect::<Vec<_>>(), ["add", "c-code"]);
    }

    #[test]
    fn tags_are_compared_without_case_and_mark() {
        assert_eq!(comparable_tag(" #Auth ").as_deref(), Some("auth"));
        assert_eq!(comparable_tag("#"), None);
        assert_eq!(metadata_tags(&Value::from("a, b")).collect::<Vec<_>>(), ["a", "b"]);
    }
}
