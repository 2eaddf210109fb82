//! Reads the marks of lists and of finished work that people write into a task.

use crate::model::word_list::WordList;

/// Returns a task without one list mark or checkbox before it, and whether the checkbox is ticked.
pub fn without_checkbox(text: &str) -> (&str, bool) {
    static OPEN: WordList = WordList::phrases("[ ] |[] |☐ ");
    static TICKED: WordList = WordList::phrases("[x] |[X] |✅ |☑ |✔ |✓ ");
    let text = text.trim();
    let item = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text).trim_start();
    let after = |marks: &'static WordList| marks.iter().find_map(|mark| item.strip_prefix(mark)).map(str::trim_start);
    match (after(&TICKED), after(&OPEN)) {
        // The boxes below it are open.
        (Some(rest), _) => (rest, !rest.contains("[ ] ")),
        (None, Some(rest)) => (rest, false),
        (None, None) => (item, false),
    }
}

/// Whether a task ends with a word that it is done: "Publish the release: done".
pub fn ends_with_done(task: &str) -> bool {
    static DONE: WordList = WordList::phrases(
        ": done|: finished|: completed| - done| — done| – done|(done)|✅|☑|✔|: 완료| - 완료|(완료)|: 끝",
    );
    DONE.ends(task.to_lowercase().trim_end_matches(['.', '!', ' ', '\u{fe0f}']))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::open("- [ ] Renew the key", ("Renew the key", false))]
    #[case::ticked("- [x] Renew the key", ("Renew the key", true))]
    #[case::ticked_without_item("[X] Renew the key", ("Renew the key", true))]
    #[case::sign("✅ Renew the key", ("Renew the key", true))]
    #[case::item("* Renew the key", ("Renew the key", false))]
    #[case::open_below("- [x] Renew:\n- [ ] the key", ("Renew:\n- [ ] the key", false))]
    #[case::none("Renew the [x] key", ("Renew the [x] key", false))]
    fn one_mark_is_removed_from_a_task(#[case] text: &str, #[case] expected: (&str, bool)) {
        assert_eq!(without_checkbox(text), expected);
    }

    #[rstest]
    #[case::word("Publish the release: done.", true)]
    #[case::bracket("Publish the release (Done)", true)]
    #[case::sign("Publish the release ✔\u{fe0f}", true)]
    #[case::korean("릴리스 올리기: 완료", true)]
    #[case::in_a_sentence("Ask whether it is done", false)]
    fn word_at_the_end_says_that_a_task_is_done(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(ends_with_done(text), expected);
    }
}
