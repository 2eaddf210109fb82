//! Extracts a gist: the first sentences of prose, without markup, cut at a word.

use crate::model::word_list::WordList;
use crate::privacy::output_text::clean_line;
use crate::prose::sentences::sentences;

/// Sentences that carry no information, in lower case and without punctuation.
static EMPTY: WordList = WordList::phrases(
    "done|all done|fixed|ok|okay|sure|great|perfect|good question|got it|understood|yes|no|네|예|알겠습니다|완료|완료했습니다|\
     완료되었습니다|다 됐습니다|확인했습니다|좋습니다",
);

/// Returns the first sentences of an answer that fit `limit` characters, on one line, or `None` without prose.
pub(crate) fn gist(text: &str, limit: usize) -> Option<String> {
    let mut gist_text = String::new();
    for paragraph in prose(text) {
        for sentence in sentences(&paragraph) {
            let sentence = clean_line(sentence);
            let is_empty = EMPTY.contains(&sentence.trim_end_matches(['.', '!']).to_lowercase());
            if sentence.is_empty() || is_empty {
                continue;
            }
            if !gist_text.is_empty() {
                if gist_text.chars().count() + 1 + sentence.chars().count() > limit {
                    return Some(shortened(&gist_text, limit));
                }
                // List items end without punctuation.
                gist_text.push_str(if gist_text.ends_with(['.', '!', '?', ':', ';', '。']) { " " } else { "; " });
            }
            gist_text.push_str(&sentence);
        }
    }
    (!gist_text.is_empty()).then(|| shortened(&gist_text, limit))
}

/// Returns the paragraphs of prose in a text: no code, headings, tables or quotations. List items are included without their markers.
fn prose(text: &str) -> Vec<String> {
    let mut paragraphs: Vec<String> = Vec::new();
    let (mut is_code, mut is_continued) = (false, false);
    for line in text.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        if is_fence {
            is_code = !is_code;
        }
        if is_fence || is_code || line.is_empty() || line.starts_with(['#', '|', '>']) {
            is_continued = false;
            continue;
        }
        let item = list_item(line);
        let line = item.unwrap_or(line).replace("**", "");
        match paragraphs.last_mut().filter(|_| is_continued && item.is_none()) {
            Some(paragraph) => {
                paragraph.push(' ');
                paragraph.push_str(&line);
            }
            None => paragraphs.push(line),
        }
        is_continued = true;
    }
    paragraphs
}

/// Returns the text of a list item: "1. renew the key", "- [ ] renew the key".
pub(crate) fn list_item(line: &str) -> Option<&str> {
    let bullet = ["- ", "* ", "• ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = matches!(line.len() - rest.len(), 1..=2);
        rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")).filter(|_| is_number)
    };
    let text = bullet.or_else(numbered)?.trim_start();
    Some(["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text))
}

/// Returns a text as one clean line of at most `limit` characters, cut at a word.
pub fn shortened(text: &str, limit: usize) -> String {
    let line = clean_line(text);
    let Some((end, _)) = line.char_indices().nth(limit) else { return line };
    let cut = &line[..line.floor_char_boundary(end.saturating_sub(1))];
    // If the last word is longer than half the line, it is cut itself.
    let word = cut.rfind(' ').filter(|at| *at >= cut.len() / 2).unwrap_or(cut.len());
    let kept = cut[..word].trim_end_matches([' ', ',', ';', ':', '-', '(', '—']);
    // A cut emoji leaves its joiners behind.
    clean_line(kept) + "…"
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::sentences(
        "Done. The handler claims the event first. It answers in 40 ms.\n\nMore follows.",
        60,
        "The handler claims the event first. It answers in 40 ms."
    )]
    #[case::code("```\nlet x = 1;\n```\nIt compiles.", 60, "It compiles.")]
    #[case::tildes("~~~\nlet x = 1;\n~~~\nIt compiles.", 60, "It compiles.")]
    #[case::heading("## Summary\n**Fixed** the parser.", 60, "Fixed the parser.")]
    #[case::list("Changed:\n- the parser\n- the writer", 60, "Changed: the parser; the writer")]
    #[case::korean("완료했습니다. 조건부 UPDATE 로 바꿨습니다.", 60, "조건부 UPDATE 로 바꿨습니다.")]
    #[case::inline_code("`merge` keeps the local edit.", 60, "`merge` keeps the local edit.")]
    fn gist_contains_only_prose(#[case] text: &str, #[case] limit: usize, #[case] expected: &str) {
        assert_eq!(gist(text, limit).as_deref(), Some(expected));
    }

    #[test]
    fn text_without_prose_has_no_gist() {
        assert_eq!(gist("Done!\n```\nx\n```", 60), None);
        assert_eq!(gist("", 60), None);
    }

    #[rstest]
    #[case::short("one two", 7, "one two")]
    #[case::word("one two three", 9, "one two…")]
    #[case::mark("one two, three", 10, "one two…")]
    #[case::long_word("abcdefghijkl", 5, "abcd…")]
    #[case::korean("재고를 바로 복원", 6, "재고를…")]
    fn line_is_cut_at_a_word(#[case] text: &str, #[case] limit: usize, #[case] expected: &str) {
        assert_eq!(shortened(text, limit), expected);
        assert!(shortened(text, limit).chars().count() <= limit);
    }
}
