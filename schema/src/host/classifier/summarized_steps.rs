//! Finds the open steps in the summary of a compaction: after "Next:", or below "Pending Tasks:".

use std::ops::Range;

use super::cues::{begins_with_steps_heading, follows_in_time, is_no_step, is_steps_heading, names_no_step};
use super::listed_steps::listed_steps;
use super::placed_sentences::{Place, PlacedSentence, placed_sentences};
use crate::prose::tasks::{ends_with_done, without_checkbox};

/// The part of a summary that the next sentences belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SummaryPart {
    /// Open steps, each in an item of its own, below a heading with this indentation.
    Steps {
        indent: usize,
        is_item: bool,
    },
    /// The passage of this number begins with "Next:".
    Step(usize),
    Other,
}

impl SummaryPart {
    /// Whether a sentence belongs to open steps.
    fn has(self, sentence: &PlacedSentence, indent: usize) -> bool {
        match self {
            Self::Steps { indent: heading, is_item } => indent > heading || !is_item && sentence.place.is_item(),
            Self::Step(passage) => passage == sentence.passage,
            Self::Other => false,
        }
    }
}

/// Returns the places of the open steps.
pub(crate) fn summarized_steps(text: &str) -> Vec<Range<usize>> {
    let mut section = SummaryPart::Other;
    let mut steps: Vec<(usize, Range<usize>)> = Vec::new();
    // The passage that says there is no step.
    let mut empty = None;
    for sentence in placed_sentences(text) {
        let said = &text[sentence.range.clone()];
        let indent = indentation(text, sentence.range.start);
        if is_steps_heading(said) {
            section = SummaryPart::Steps { indent, is_item: sentence.place.is_item() };
            continue;
        }
        // Below another heading, it is a quoted prompt or a remark on a file.
        let begins = begins_with_steps_heading(said) && indent == 0;
        if !section.has(&sentence, indent) {
            section = if begins { SummaryPart::Step(sentence.passage) } else { SummaryPart::Other };
        }
        if names_no_step(said) || is_no_step(said) {
            empty = Some(sentence.passage);
        }
        let is_step = match section {
            SummaryPart::Steps { .. } => sentence.place != Place::TickedItem && !is_done(said),
            SummaryPart::Step(_) => begins || follows_in_time(said),
            SummaryPart::Other => false,
        };
        if !is_step || empty == Some(sentence.passage) {
            continue;
        }
        let is_list = matches!(section, SummaryPart::Steps { .. });
        match steps.last_mut().filter(|(passage, _)| is_list && *passage == sentence.passage) {
            Some((_, step)) => step.end = sentence.range.end,
            None => steps.push((sentence.passage, sentence.range)),
        }
    }
    steps.into_iter().flat_map(|(_, step)| listed_steps(text, step)).collect()
}

/// Whether an item has a mark that it is done.
fn is_done(item: &str) -> bool {
    item.starts_with("~~") || without_checkbox(item).1 || ends_with_done(item)
}

/// Returns how many spaces the line of a sentence begins with.
fn indentation(text: &str, start: usize) -> usize {
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..].len() - text[line..].trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::item("3. Done: the key.\n4. Next: cap it, then rerun. After that, ship.\n5. Data are old.",
        &["Next: cap it, then rerun.", "After that, ship."])]
    #[case::list("Next: move the rule, run promtool, then tell Sujin, who is on call.",
        &["move the rule", "run promtool", "tell Sujin, who is on call"])]
    #[case::section("7. Pending Tasks:\n   - renew the key\n   - tell Kim. He waits.\n\n8. Current Work:\n   - the cap",
        &["renew the key", "tell Kim. He waits."])]
    #[case::end_of_prose("The user asked for saves. Next: a version field.", &["Next: a version field."])]
    #[case::korean("4. 상태: 실패.\n5. 다음: 강남부터 배포하고 지켜본다.", &["다음: 강남부터 배포하고 지켜본다."])]
    #[case::bold_headings("**Pending Tasks:**\n- renew the key\n\n**Current Work:**\nthe cap", &["renew the key"])]
    #[case::markdown("## Next steps\n1. renew the key\n2. tell Kim\n\n## Files\n1. a.rs", &["renew the key", "tell Kim"])]
    #[case::nested("- Pending:\n  - renew the key\n- Decisions: use Redis", &["renew the key"])]
    #[case::optional("8. Current Work: a.\n9. Optional Next Step:\n   Run the tests again.", &["Run the tests again."])]
    #[case::other_sentence("Next: a version field. Saves are JSON.", &["Next: a version field."])]
    #[case::quoted_prompt("6. All user messages:\n   - \"Next: the exporter\"\n   - go on", &[])]
    #[case::done("7. Pending Tasks:\n   - ✅ register it\n   - migrate rates (done)\n   - ~~delete it~~\n   - ship", &["ship"])]
    #[case::remark("3. Files:\n   - Next: the reader class, which was changed\n4. Errors: none", &[])]
    #[case::all_done("7. Pending Tasks:\n   - All tasks have been completed. No work remains.\n   - The work is complete.\n   - There is no next step.\n   - No explicitly pending tasks", &[])]
    #[case::korean_none("7. 남은 작업:\n   - 모든 작업이 완료되었습니다.\n8. 다음 단계: 명시적인 다음 단계 없음", &[])]
    #[case::nothing_more("7. Pending Tasks:\n   - None. All tasks are complete.", &[])]
    #[case::nothing("7. Pending Tasks:\n   - None\n8. Current Work: done", &[])]
    fn steps_of_a_summary_are_found(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = summarized_steps(text).into_iter().map(|step| &text[step]).collect();
        assert_eq!(found, expected);
    }
}
