//! Splits Markdown into the sentences of its author, without code, quotes, tables and headings.

/// A sentence, and the number of its paragraph or list item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) passage: usize,
}

/// Words with a dot that ends no sentence.
const ABBREVIATIONS: [&str; 9] = ["e.g.", "i.e.", "vs.", "etc.", "cf.", "approx.", "no.", "fig.", "resp."];

/// Splits a text into sentences, without list markers and emphasis.
pub(super) fn split_sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for (passage, text) in split_passages(text).iter().enumerate() {
        found.extend(split_passage(text).map(|text| Sentence { text: text.to_owned(), passage }));
    }
    found
}

fn split_passages(text: &str) -> Vec<String> {
    let mut passages: Vec<String> = Vec::new();
    let mut fence: Option<&str> = None;
    // Whether the next line continues the last passage.
    let mut goes_on = false;
    for line in text.lines() {
        let line = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        if let Some(open) = fence {
            if mark == Some(open) {
                fence = None;
            }
            continue;
        }
        fence = mark;
        if mark.is_some() || line.is_empty() || line.starts_with(['>', '|', '#', '<']) {
            goes_on = false;
            continue;
        }
        let (item, rest) = strip_list_marker(line);
        let Some(rest) = rest else {
            goes_on = false;
            continue;
        };
        let rest = strip_emphasis(rest);
        match passages.last_mut().filter(|_| goes_on && !item) {
            Some(passage) => {
                passage.push(' ');
                passage.push_str(&rest);
            }
            None => passages.push(rest),
        }
        goes_on = true;
    }
    passages
}

/// Whether a line begins a list item, and the text after its marker. An unticked box has no text.
fn strip_list_marker(line: &str) -> (bool, Option<&str>) {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let bullet = ["- ", "* ", "+ ", "• "].into_iter().find_map(|mark| line.strip_prefix(mark));
    let number = (1..=3).contains(&digits).then(|| &line[digits..]);
    let number = number.and_then(|rest| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") ")));
    let Some(rest) = bullet.or(number).map(str::trim_start) else { return (false, Some(line)) };
    if rest.starts_with("[ ]") {
        return (true, None);
    }
    let ticked = rest.strip_prefix("[x]").or_else(|| rest.strip_prefix("[X]"));
    (true, Some(ticked.unwrap_or(rest).trim_start()))
}

/// Removes bold marks and symbols before the first word, and normalises apostrophes.
fn strip_emphasis(text: &str) -> String {
    let text = text.replace("**", "").replace('’', "'");
    text.trim_start_matches(['✅', '📌', '💡', '🔧', '👉', '→', '\u{fe0f}', ' ']).to_owned()
}

/// Splits a passage into sentences.
fn split_passage(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().find_map(|(at, c)| {
            let end = at + c.len_utf8();
            (matches!(c, '.' | '!' | '?' | '。' | '？') && is_sentence_end(&rest[..end], &rest[end..])).then_some(end)
        });
        let (sentence, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(sentence.trim())
    })
}

fn is_sentence_end(before: &str, after: &str) -> bool {
    if before.ends_with(['。', '？']) {
        return true;
    }
    let Some(next) = after.strip_prefix(' ').and_then(|after| after.trim_start().chars().next()) else { return false };
    let last = before.rsplit(' ').next().unwrap_or_default().trim_start_matches('(').to_ascii_lowercase();
    !next.is_lowercase() && !ABBREVIATIONS.contains(&last.as_str())
}
