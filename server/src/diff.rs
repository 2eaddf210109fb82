//! The differences between two lists of lines or words.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// A range of the first list that the other one replaces by a range of its own. One of them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedLines {
    pub(crate) before: Range<usize>,
    pub(crate) after: Range<usize>,
}

/// Returns the differences in order.
pub(crate) fn differences(before: &[&str], after: &[&str]) -> Vec<ChangedLines> {
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    let diff = Diff::compute(Algorithm::Histogram, &input);
    diff.hunks().map(|hunk| ChangedLines { before: range(hunk.before), after: range(hunk.after) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_differ_are_found() {
        let found = differences(&["a", "b", "c", "d"], &["a", "x", "y", "c"]);
        assert_eq!(found, [ChangedLines { before: 1..2, after: 1..3 }, ChangedLines { before: 3..4, after: 4..4 }]);
        assert_eq!(differences(&["a"], &["a"]), []);
    }
}
