//! Removes everything between `<private>` and `</private>`, before secrets are redacted.

use std::borrow::Cow;

/// Removes each `<private>…</private>` from a text, including the tags, in linear time.
///
/// Tags may be in any case, have attributes and be nested. They may contain invisible characters, blanks around the name, and other forms
/// of brackets. A tag without an end hides everything after it, and a closing tag alone is removed by itself. One space is left where words
/// would run together.
pub fn strip_private(text: &str) -> Cow<'_, str> {
    let Some(mut stripped) = strip_outermost(text) else { return Cow::Borrowed(text) };
    // The text around a private part may form a new tag.
    for _ in 0..MAX_PASSES {
        match strip_outermost(&stripped) {
            Some(again) => stripped = again,
            None => return Cow::Owned(stripped),
        }
    }
    stripped.truncate(next_tag(&stripped, 0).map_or(stripped.len(), |tag| tag.start));
    Cow::Owned(stripped)
}

/// Whether a text has a tag of a private part.
pub fn has_tag(text: &str) -> bool {
    next_tag(text, 0).is_some()
}

/// Whether the text after this one would be private.
pub fn ends_in_private(text: &str) -> bool {
    tags(text).fold(0, |depth, tag| tag.depth_after(depth)) > 0
}

/// Whether a closing tag ends a private part that began before this text.
pub fn closes_more_than_it_opens(text: &str) -> bool {
    let mut depth = 0;
    tags(text).any(|tag| {
        let closes_more = !tag.is_opening && depth == 0;
        depth = tag.depth_after(depth);
        closes_more
    })
}

fn tags(text: &str) -> impl Iterator<Item = PrivateTag> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let tag = next_tag(text, from)?;
        from = tag.end;
        Some(tag)
    })
}

/// Only a text that is made for it needs more passes.
const MAX_PASSES: usize = 4;

fn strip_outermost(text: &str) -> Option<String> {
    let mut kept = String::new();
    let (mut copied, mut depth) = (0, 0);
    for tag in tags(text) {
        if depth == 0 {
            append_piece(&mut kept, &text[copied..tag.start]);
        }
        depth = tag.depth_after(depth);
        copied = tag.end;
    }
    if depth == 0 {
        append_piece(&mut kept, &text[copied..]);
    }
    (copied > 0).then_some(kept)
}

const NAME: &str = "private";
const OPENING: &str = "<private";
const CLOSING: &str = "</private";
/// The longest attributes in bytes, and the most characters between the parts of a tag.
const MAX_ATTRIBUTES_LENGTH: usize = 256;
const MAX_FILLER_LENGTH: usize = 16;

/// A `<private …>` or `</private>` tag in a text.
struct PrivateTag {
    start: usize,
    end: usize,
    is_opening: bool,
}

impl PrivateTag {
    /// Returns how many private parts are open after this tag.
    fn depth_after(&self, depth: usize) -> usize {
        if self.is_opening { depth + 1 } else { depth.saturating_sub(1) }
    }
}

fn next_tag(text: &str, from: usize) -> Option<PrivateTag> {
    text[from..].match_indices(['<', '＜', '&']).find_map(|(index, _)| tag_at(text, from + index))
}

fn tag_at(text: &str, start: usize) -> Option<PrivateTag> {
    let rest = ["<", "＜", "&lt;"].iter().find_map(|bracket| text[start..].strip_prefix(bracket))?;
    let (bracket, rest) = (rest, skip_invisible(rest));
    let slash = rest.strip_prefix(['/', '／', '\\']).map(|rest| rest.strip_prefix('/').unwrap_or(rest));
    let mut rest = skip_invisible(slash.unwrap_or(rest));
    for letter in NAME.chars() {
        rest = rest.strip_prefix([letter, letter.to_ascii_uppercase()])?.trim_start_matches(is_invisible);
    }
    let name_end = text.len() - rest.len();
    let end = tag_end(text, name_end)?;
    // `a < private` without a closing bracket is a comparison.
    let compares = end == name_end && bracket.starts_with(char::is_whitespace);
    (!compares).then_some(PrivateTag { start, end, is_opening: slash.is_none() })
}

/// Skips blanks and invisible characters at the start of a text, up to a limit that keeps the search fast.
fn skip_invisible(text: &str) -> &str {
    let length = text.chars().take(MAX_FILLER_LENGTH).take_while(|&next| next.is_whitespace() || is_invisible(next));
    &text[length.map(char::len_utf8).sum()..]
}

/// Whether a character is invisible, so that a name looks the same with or without it.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    ) || character.is_control() && !character.is_whitespace()
}

/// Returns the end of a tag after its name, or `None` if the name continues and is a different one.
///
/// A truncated tag counts, because hiding too much is the smaller mistake. Its rest could also become a complete tag when the part after it
/// is removed.
fn tag_end(text: &str, name_end: usize) -> Option<usize> {
    let rest = &text[name_end..];
    if rest.starts_with(|next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_')) {
        return None;
    }
    let near = &rest[..rest.floor_char_boundary(MAX_ATTRIBUTES_LENGTH)];
    let end = near.find(['<', '＜', '>', '＞', '&']).map(|end| &near[end..]);
    let bracket = end.and_then(|end| [">", "＞", "&gt;"].into_iter().find(|bracket| end.starts_with(bracket)));
    let length = end.zip(bracket).map_or(0, |(end, bracket)| near.len() - end.len() + bracket.len());
    Some(name_end + length)
}

/// Appends the text between two private parts, keeping the words around a private part apart.
fn append_piece(text: &mut String, piece: &str) {
    let Some(first) = piece.chars().next() else { return };
    let after_space = text.chars().next_back().is_none_or(char::is_whitespace);
    // The spaces before and after a private part are merged.
    let piece = if after_space && first == ' ' { &piece[1..] } else { piece };
    if text.ends_with(is_word_char) && is_word_char(first) || ends_in_partial_tag(text) {
        text.push(' ');
    }
    text.push_str(piece);
}

fn is_word_char(character: char) -> bool {
    !character.is_whitespace() && !character.is_ascii_punctuation()
}

/// Whether a text ends in a partial tag such as `<pri`, which the next piece must not complete.
fn ends_in_partial_tag(text: &str) -> bool {
    let bytes = text.as_bytes();
    let tail = &bytes[bytes.len().saturating_sub(CLOSING.len())..];
    let Some(start) = tail.iter().rposition(|byte| *byte == b'<') else { return false };
    let half = &tail[start..];
    [OPENING, CLOSING]
        .iter()
        .any(|tag| half.len() <= tag.len() && half.eq_ignore_ascii_case(&tag.as_bytes()[..half.len()]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::none("nothing to hide", "nothing to hide")]
    #[case::between_words("a <private>x</private> b", "a b")]
    #[case::inside_a_word("a<private>x</private>b", "a b")]
    #[case::before_punctuation("a <private>x</private>.", "a .")]
    #[case::inside_korean("가<private>x</private>나", "가 나")]
    #[case::at_the_start("<private>x</private> b", "b")]
    #[case::at_the_end("a <private>x</private>", "a ")]
    #[case::alone("<private>x</private>", "")]
    #[case::over_lines("a\n<private>\nx\n</private>\nb", "a\n\nb")]
    #[case::any_case("a <PRIVATE>x</Private> b", "a b")]
    #[case::attributes("a <private reason=\"key\">x</private > b", "a b")]
    #[case::nested("a <private>x <private>y</private> z</private> b", "a b")]
    #[case::several("a <private>x</private> b <private>y</private> c", "a b c")]
    #[case::adjacent("a <private>x</private><private>y</private> b", "a b")]
    #[case::unclosed("a <private>x y z", "a ")]
    #[case::unclosed_inside("a <private>x <private>y</private> z", "a ")]
    #[case::cut_off("a <private reason", "a ")]
    #[case::closing_alone("a </private>b", "a b")]
    #[case::another_name("a <privateer> and <private-key> b", "a <privateer> and <private-key> b")]
    #[case::halves("<pri<private>x</private>vate>y", "<pri vate>y")]
    #[case::spaces("a < private >x< / private > b", "a b")]
    #[case::space_behind_the_slash("a <private>x</ private> b", "a b")]
    #[case::line_break_in_a_tag("a <\nprivate\n>x</private> b", "a b")]
    #[case::invisible_before("a <\u{200b}private>x</private> b", "a b")]
    #[case::invisible_inside("a <pri\u{200b}va\u{ad}te>x</\u{feff}priv\u{2060}ate> b", "a b")]
    #[case::wide_brackets("a ＜private＞x＜/private＞ b", "a b")]
    #[case::escaped("a &lt;private&gt;x&lt;/private&gt; b", "a b")]
    #[case::escaped_slash("a <private>x<\\/private> b", "a b")]
    #[case::mixed_case("a < PriVate x=1 >x</pRIVATE> b", "a b")]
    #[case::tag_around_a_part("a <<private>x</private>private>y", "a ")]
    #[case::less_than("1 < private_count && a < private && b", "1 < private_count && a < private && b")]
    #[case::other_tags("<b>a</b> <private>x</private> <i>c</i>", "<b>a</b> <i>c</i>")]
    fn private_parts_are_removed(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(strip_private(text), expected);
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "<private>",
            "</private>",
            "<PRIVATE a=1>",
            "<pri",
            "vate>",
            "<",
            ">",
            "/",
            "</",
            "< ",
            "\u{200b}",
            "&lt;",
            "＜",
            "private",
            " ",
            "\n",
            "a",
            "나",
        ]);
        prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn no_text_between_the_tags_survives(before in "[^<]{0,12}", hidden in "[^<]{0,12}", after in "[^<]{0,12}") {
            let text = format!("{before}<private>{hidden}§secret§{hidden}</private>{after}");
            let stripped = strip_private(&text);
            prop_assert!(!stripped.contains("§secret§"));
            let letters = |text: &str| text.chars().filter(|character| *character != ' ').collect::<String>();
            prop_assert_eq!(letters(&stripped), letters(&before) + &letters(&after));
        }

        #[test]
        fn stripping_is_idempotent(text in pieces()) {
            let once = strip_private(&text).into_owned();
            prop_assert_eq!(strip_private(&once), once.as_str());
        }
    }
}
