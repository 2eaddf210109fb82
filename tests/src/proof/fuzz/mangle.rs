//! Mutates corpus files: removes, repeats and joins pieces, changes bytes, and inserts special words.

use crate::proof::SeededRandom;

/// The maximum length of an input, in bytes. Longer ones are refused or read in pieces.
const LONGEST: usize = 200_000;

/// Text that is special to one of the readers.
const WORDS: [&str; 44] = [
    "\n",
    "\r\n",
    "\u{feff}",
    "\0",
    "\u{202e}",
    "\u{200b}",
    "e\u{301}",
    "한글",
    "👩‍👩‍👧",
    "\u{1b}[31m",
    "\u{1b}]0;x\u{7}",
    "`",
    "```\n",
    "~~~\n",
    "# ",
    "## ",
    "## Decision\n\n",
    "- ",
    "  ",
    "\t",
    "- [10:30:15] **User Prompt**: ",
    "<!--",
    "-->",
    "<!-- session x +09:00 -->\n",
    "<!-- {\"id\":\"00000000000000000000000000000001\"} -->",
    "&#45;",
    "\\",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "-1",
    "1e999",
    "18446744073709551616",
    "\\ud83d",
    "\\u0000",
    "<private>",
    "</private>",
    "AND NOT (",
    "*",
];

/// Mutates a file of the corpus.
pub(super) fn mangled_input(corpus: &[Vec<u8>], random: &mut SeededRandom) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(6) {
        mangle(&mut input, corpus, random);
        input.truncate(LONGEST);
    }
    input
}

fn mangle(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut SeededRandom) {
    let at = random.below(input.len() + 1);
    let reach = [4, 64, input.len() + 1][random.below(3)];
    let length = 1 + random.below(reach);
    let end = (at + length).min(input.len());
    match random.below(9) {
        0 => input.truncate(at),
        1 => drop(input.drain(at..end)),
        2 => {
            let piece = input[at..end].to_vec();
            insert(input, at, &piece);
        }
        3 => {
            let piece = input[at..end].repeat(1 + random.below(200));
            insert(input, at, &piece[..piece.len().min(LONGEST)]);
        }
        4 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            let to = (from + length).min(other.len());
            insert(input, at, &other[from..to]);
        }
        5 => input.get_mut(at).into_iter().for_each(|byte| *byte ^= 1 << random.below(8)),
        6 => input.get_mut(at).into_iter().for_each(|byte| *byte = random.below(256) as u8),
        7 => insert(input, at, random.pick(&WORDS).repeat(1 + random.below(3)).as_bytes()),
        _ => insert(input, at, random.pick(&WORDS).as_bytes()),
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}
