use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn day() -> LogKind {
    LogKind::from_path("2026-01-28.md").unwrap()
}

const EVENTS: &str =
    "# 2026-01-28\n\nWhat a person wrote.\n\n<!-- session s +09:00 -->\n- [10:00:00] **User Prompt**: one\n";
const DECISIONS: &str = "# 2026-01-28\n\n## Decision\n\n- one <!-- {\"id\":\"00000000000000000000000000000001\"} -->\n";

#[rstest]
#[case::an_event(EVENTS, "- [10:00:01] **Error**: two\n\n  in three lines\n", true)]
#[case::of_another_session(EVENTS, "\n<!-- session t +09:00 -->\n- [10:00:01] **Error**: two\n", true)]
#[case::a_decision(DECISIONS, "- two\n", true)]
#[case::the_first_learning(EVENTS, "## Learning\n\n- three\n", true)]
#[case::what_is_no_entry_among_events(EVENTS, "- two\n", false)]
#[case::prose(EVENTS, "- [10:00:01] **Error**: two\n\nand prose\n", false)]
#[case::more_of_the_last_entry(EVENTS, "  and more of it\n", false)]
#[case::a_heading_of_somebody(DECISIONS, "## Mine\n\n- two\n", false)]
#[case::behind_half_a_line("- [10:00:00] **Error**: tw", "- [10:00:01] **Error**: two\n", false)]
fn appended_text_is_recognised_as_prose_or_entry(#[case] before: &str, #[case] added: &str, #[case] expected: bool) {
    assert_eq!(is_without_new_prose(before, added, day()), expected);
}

/// Lines with a meaning for the parser, and some without.
const ANY_LINE: &str = "(- \\[10:00:00\\] \\*\\*(Error|Decision)\\*\\*: x|- x|\\* x|  more|\tmore|## Decision|## Mine|### Part|# 2026-01-28|\
                        <!-- session s -->|- x <!-- \\{\"id\":\"0000000000000000000000000000000[1-4]\"\\} -->|<!-- \\{\\} -->|\
                        prose||=======|- \\[10:0|\u{feff}## Decision)\r?\n";

fn any_lines(count: &str) -> impl Strategy<Value = String> {
    proptest::string::string_regex(&format!("({ANY_LINE}){{{count}}}x?")).unwrap()
}

proptest! {
    #[test]
    fn log_without_new_prose_keeps_its_prose(
        before in any_lines("0,8"), added in any_lines("1,5")
    ) {
        for kind in [day(), LogKind::LongTerm] {
            if is_without_new_prose(&before, &added, kind) {
                let (first, both) = (parse(&before, kind), parse(&format!("{before}{added}"), kind));
                prop_assert_eq!(&both.prose, &first.prose);
                prop_assert_eq!(&both.entries[..first.entries.len()], &first.entries[..]);
            }
        }
    }
}
