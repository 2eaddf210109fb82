//! What stands between `<private>` and `</private>` is not remembered: it is cut out before anything else is done.

use std::borrow::Cow;

/// Removes every `<private>…</private>` of a text, tags included, in time linear in its length.
///
/// Tags may be in any case, carry attributes and be nested; one that is never closed hides everything after it, and a
/// closing tag alone hides only itself. Where words would run together, one space is left.
pub fn strip_private(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let (mut copied, mut depth) = (0, 0_usize);
    let mut from = 0;
    while let Some(tag) = next_tag(text, from) {
        if depth == 0 {
            append(&mut kept, &text[copied..tag.start]);
        }
        depth = if tag.opens { depth + 1 } else { depth.saturating_sub(1) };
        from = tag.end;
        copied = tag.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    if depth == 0 {
        append(&mut kept, &text[copied..]);
    }
    Cow::Owned(kept)
}

const OPENING: &str = "<private";
const CLOSING: &str = "</private";
const LONGEST_ATTRIBUTES: usize = 256;

/// A `<private …>` or `</private>` in a text.
struct Tag {
    start: usize,
    end: usize,
    opens: bool,
}

fn next_tag(text: &str, from: usize) -> Option<Tag> {
    text[from..].match_indices('<').find_map(|(index, _)| {
        let start = from + index;
        let (name, opens) = [(OPENING, true), (CLOSING, false)]
            .into_iter()
            .find(|(name, _)| starts_with_ignoring_case(&text.as_bytes()[start..], name))?;
        let end = end_of_tag(text, start + name.len())?;
        Some(Tag { start, end, opens })
    })
}

/// The end of a tag whose name ends here, or `None` when the name goes on and is another one.
///
/// A tag that is cut off counts as one: to hide too much is the smaller mistake, and a rest of it could otherwise become
/// a whole tag once the part behind it is removed.
fn end_of_tag(text: &str, name_end: usize) -> Option<usize> {
    let rest = &text[name_end..];
    if rest.starts_with(|next: char| next.is_ascii_alphanumeric() || matches!(next, '-' | '_')) {
        return None;
    }
    let near = rest.bytes().take(LONGEST_ATTRIBUTES).position(|byte| matches!(byte, b'<' | b'>'));
    let end = near.filter(|&end| rest.as_bytes()[end] == b'>');
    Some(name_end + end.map_or(0, |end| end + 1))
}

/// Adds what stands between two private parts, keeping the words on both sides apart.
fn append(kept: &mut String, piece: &str) {
    let Some(first) = piece.chars().next() else { return };
    let after_space = kept.chars().next_back().is_none_or(char::is_whitespace);
    // The space before a private part and the one behind it become one.
    let piece = if after_space && first == ' ' { &piece[1..] } else { piece };
    if kept.ends_with(is_of_a_word) && is_of_a_word(first) || ends_in_half_a_tag(kept) {
        kept.push(' ');
    }
    kept.push_str(piece);
}

fn is_of_a_word(character: char) -> bool {
    !character.is_whitespace() && !character.is_ascii_punctuation()
}

/// Whether a text ends like `<pri`: the piece behind it must not complete a tag that nobody wrote.
fn ends_in_half_a_tag(text: &str) -> bool {
    let bytes = text.as_bytes();
    let tail = &bytes[bytes.len().saturating_sub(CLOSING.len())..];
    let Some(start) = tail.iter().rposition(|byte| *byte == b'<') else { return false };
    let half = &tail[start..];
    [OPENING, CLOSING]
        .iter()
        .any(|tag| half.len() <= tag.len() && half.eq_ignore_ascii_case(&tag.as_bytes()[..half.len()]))
}

fn starts_with_ignoring_case(text: &[u8], prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
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
    #[case::other_tags("<b>a</b> <private>x</private> <i>c</i>", "<b>a</b> <i>c</i>")]
    fn what_is_private_is_cut_out(#[case] text: &str, #[case] expected: &str) {
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
        fn nothing_between_the_tags_survives(before in "[^<]{0,12}", hidden in "[^<]{0,12}", after in "[^<]{0,12}") {
            let text = format!("{before}<private>{hidden}§secret§{hidden}</private>{after}");
            let stripped = strip_private(&text);
            prop_assert!(!stripped.contains("§secret§"));
            let letters = |text: &str| text.chars().filter(|character| *character != ' ').collect::<String>();
            prop_assert_eq!(letters(&stripped), letters(&before) + &letters(&after));
        }

        #[test]
        fn stripping_twice_is_stripping_once(text in pieces()) {
            let once = strip_private(&text).into_owned();
            prop_assert_eq!(strip_private(&once), once.as_str());
        }
    }
}
