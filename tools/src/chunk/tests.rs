use proptest::prelude::*;
use rstest::rstest;

use super::packing::{BUDGET, MAX_WHOLE, MIN_SIZE, OVERLAP, tokens};
use super::*;

fn outline(text: &str) -> Vec<(usize, usize, String)> {
    chunk_text(text).into_iter().map(|chunk| (chunk.start_line, chunk.end_line, chunk.heading)).collect()
}

fn prose(words: usize) -> String {
    (0..words).map(|i| if i % 12 == 11 { "word\n" } else { "word " }).collect()
}

#[rstest]
#[case::empty("", &[])]
#[case::blank("\n\n  \n", &[])]
#[case::under_fifty_bytes("One line.", &[(1, 1, "")])]
#[case::title("# A\n\n## B\nA section, with words enough to be found by itself.\n", &[(1, 4, "A > B")])]
#[case::small_neighbours_merge(
    "# A\nThe first of two short sections.\n\n# B\nThe second of two sections.\n",
    &[(1, 5, "B")]
)]
#[case::hash_in_code("# A\n```\n# not a heading\n```\nText after the code, long enough to stand alone.", &[(1, 5, "A")])]
#[case::underlined("Title\n=====\nText under the first title, long enough to stand.", &[(1, 3, "Title")])]
#[case::rule_below_a_list("- item\n---\nA rule and not a heading, whatever stands above it.", &[(1, 3, "")])]
#[case::front_matter("---\ntitle: x\n---\n# A\nText of the section A, some words of it, and more.", &[(1, 5, "A")])]
#[case::small_leftover_joins("# A\nText of the section A, which is long enough by itself.\n\n# B\nb", &[(1, 5, "A")])]
fn short_files_are_one_chunk(#[case] text: &str, #[case] expected: &[(usize, usize, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(from, to, heading)| (*from, *to, (*heading).to_owned())).collect();
    assert_eq!(outline(text), expected);
}

#[test]
fn heading_begins_a_chunk() {
    let text = format!("# A\n{}## B\n{}# C\n{}", prose(240), prose(12), prose(60));
    let headings: Vec<String> = chunk_text(&text).into_iter().map(|chunk| chunk.heading).collect();
    assert_eq!(headings, ["A", "A > B", "C"]);
}

#[test]
fn pieces_of_a_long_section_overlap() {
    let found = chunk_text(&format!("# Long\n{}", prose(2400)));
    assert!(found.len() > 5);
    for pair in found.windows(2) {
        assert!(pair[1].start_line <= pair[0].end_line && pair[1].start_line > pair[0].start_line);
        assert_eq!(pair[1].heading, "Long");
    }
}

#[test]
fn code_and_tables_are_kept_whole_where_they_fit() {
    let code = format!("```rust\n{}```\n", prose(384));
    let table: String = (0..60).map(|i| format!("| {i} | some cell with text |\n")).collect();
    let text = format!("# A\n{}{code}{}{table}{}", prose(204), prose(204), prose(204));
    for (from, to) in [("```rust", "```"), ("| 0 |", "| 59 |")] {
        let whole = chunk_text(&text).iter().any(|chunk| {
            chunk.text.lines().any(|line| line.starts_with(from)) && chunk.text.lines().any(|line| line.starts_with(to))
        });
        assert!(whole, "{from}");
    }
    assert!(chunk_text(&format!("```\n{}```\n", prose(4000))).len() > 5, "code over twice the budget is cut");
}

#[test]
fn a_gap_between_lines_is_never_spanned() {
    let lines = [
        (1, "# 2026-01-28"),
        (2, ""),
        (5, "A note that someone typed between two memories, long enough to stand."),
        (9, "## Decision"),
        (12, "Another note by hand, below the decisions, and long enough to stand alone."),
    ];
    let found = chunk_lines(&lines);
    let outline: Vec<_> = found.iter().map(|c| (c.start_line, c.end_line, c.heading.as_str())).collect();
    assert_eq!(outline, [(5, 5, "2026-01-28"), (12, 12, "2026-01-28 > Decision")]);
}

#[rstest]
#[case::one_line("x".repeat(20_000_000))]
#[case::words("word ".repeat(1_000_000))]
#[case::blank_lines("\n".repeat(2_000_000))]
#[case::headings("# a\n".repeat(500_000))]
#[case::fences("```\n".repeat(500_000))]
#[case::korean("가나다라 ".repeat(500_000))]
fn large_files_are_cut_into_pieces_of_the_budget(#[case] text: String) {
    // No clock needed: quadratic time would take hours here.
    let found = chunk_text(&text);
    assert!(found.iter().all(|chunk| tokens(&chunk.text) <= BUDGET + OVERLAP + 2));
}

/// Typical Markdown lines, some of them long.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z가-힣 ]{0,60}",
        1 => "[a-z ]{200,900}",
        1 => Just(String::new()),
        1 => "#{1,4} [A-C]",
        1 => Just("```".to_owned()),
        1 => Just("~~~rust".to_owned()),
        1 => "\\| [a-z]{1,40} \\|",
        1 => Just("---".to_owned()),
        1 => Just("- item\r".to_owned()),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #[test]
    fn every_line_is_covered_exactly_and_nothing_is_much_too_large(lines in prop::collection::vec(line(), 0..120)) {
        let text = lines.join("\n");
        let lines: Vec<&str> = text.split('\n').collect();
        let found = chunk_text(&text);
        let mut covered = vec![false; lines.len()];
        for chunk in &found {
            let exact = lines[chunk.start_line - 1..chunk.end_line].join("\n");
            prop_assert_eq!(&chunk.text, &exact);
            covered[chunk.start_line - 1..chunk.end_line].fill(true);
            prop_assert!(tokens(&chunk.text) <= MAX_WHOLE + MIN_SIZE);
        }
        for (i, line) in lines.iter().enumerate() {
            prop_assert!(covered[i] || line.trim().is_empty(), "line {} is in no chunk", i + 1);
        }
        prop_assert!(found.len() < 2 || found.iter().all(|chunk| chunk.text.len() >= MIN_SIZE));
        prop_assert!(found.windows(2).all(|pair| pair[0].start_line < pair[1].start_line));
    }

    #[test]
    fn the_parts_of_an_enormous_line_cover_it(words in prop::collection::vec("[a-z가-힣]{1,30}", 600..900)) {
        let line = words.join(" ");
        let found = chunk_text(&line);
        prop_assert!(found.len() > 1);
        let mut reached = 0;
        for chunk in found {
            prop_assert_eq!((chunk.start_line, chunk.end_line), (1, 1));
            let at = line[..].match_indices(&chunk.text).map(|(at, _)| at).find(|at| at + chunk.text.len() > reached);
            prop_assert!(at.is_some_and(|at| at <= reached));
            reached = at.unwrap() + chunk.text.len();
        }
        prop_assert_eq!(reached, line.len());
    }
}
