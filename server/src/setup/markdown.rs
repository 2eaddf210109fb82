//! Edits our part of an instructions file, which is between two markers. Text outside the markers is never changed.

use super::settings_text::{EditError, gap_after};

const BEGIN: &str = "<!-- jikime-memory:begin -->";
const END: &str = "<!-- jikime-memory:end -->";

/// The instructions for models.
const SNIPPET: &str = include_str!("snippet.md");

/// Replaces our part, or appends it after an empty line.
pub(super) fn set_part(text: &str) -> Result<String, EditError> {
    let part = format!("{BEGIN}\n{SNIPPET}{END}\n");
    if let Some((start, end)) = find_part(text)? {
        return Ok(format!("{}{part}{}", &text[..start], &text[end..]));
    }
    Ok(format!("{text}{}{part}", gap_after(text)))
}

/// Removes our part and the empty line before it.
pub(super) fn remove_part(text: &str) -> Result<String, EditError> {
    let Some((start, end)) = find_part(text)? else { return Ok(text.to_owned()) };
    let (before, after) = (&text[..start], &text[end..]);
    let before = before.strip_suffix("\n\n").map_or(before, |_| &before[..before.len() - 1]);
    Ok(format!("{before}{after}"))
}

/// The range of our part, in whole lines. If a marker is missing, only the user can repair the file.
fn find_part(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let quoted = fenced_lines(text);
    let lines = || {
        text.split_inclusive('\n').scan(0, |at, line| {
            let start = *at;
            *at += line.len();
            Some((start, line))
        })
    };
    let marks = |mark: &'static str| {
        lines().enumerate().filter(|(number, _)| !quoted[*number]).filter(move |(_, (_, line))| line.trim() == mark)
    };
    let (begins, ends): (Vec<_>, Vec<_>) = (marks(BEGIN).collect(), marks(END).collect());
    match (&begins[..], &ends[..]) {
        ([], []) => Ok(None),
        ([(_, (start, _))], [(_, (end, line))]) if start < end => Ok(Some((*start, end + line.len()))),
        (begins, ends) => {
            let line = begins.iter().chain(ends).map(|(number, _)| number + 1).min().unwrap_or(1);
            let what = format!("the markers {BEGIN} and {END} must appear once each, in this order");
            Err(EditError::Shape { line, what })
        }
    }
}

/// Marks lines in fenced code blocks, which are never our part. A fence without an end is ignored.
fn fenced_lines(text: &str) -> Vec<bool> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut quoted = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let end =
            parse_fence(lines[at]).and_then(|fence| (at + 1..lines.len()).find(|end| closes_fence(lines[*end], fence)));
        match end {
            Some(end) => {
                quoted[at..=end].fill(true);
                at = end + 1;
            }
            None => at += 1,
        }
    }
    quoted
}

/// The character and the length of an opening fence.
fn parse_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_end();
    let rest = line.trim_start_matches(' ');
    let sign = rest.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = rest.trim_start_matches(sign);
    let is_one = line.len() - rest.len() <= 3 && rest.len() - info.len() >= 3 && !(sign == '`' && info.contains('`'));
    is_one.then_some((sign, rest.len() - info.len()))
}

fn closes_fence(line: &str, (sign, count): (char, usize)) -> bool {
    parse_fence(line).is_some_and(|(other, more)| other == sign && more >= count)
        && line.trim().chars().all(|c| c == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_part(text: &str) -> bool {
        matches!(find_part(text), Ok(Some(_)))
    }

    #[test]
    fn part_is_set_and_removed_without_other_changes() {
        for text in
            ["", "# Rules\n", "# Rules\n\nBe kind.", "\n\n", "# Rules\n\n", "text <!-- jikime-memory:begin --> text\n"]
        {
            let set = set_part(text).unwrap();
            assert!(set.starts_with(text) && has_part(&set), "{set}");
            assert_eq!(super::set_part(&set).unwrap(), set);
            // An empty line at the end may have been ours; only the record knows.
            assert_eq!(remove_part(&set).unwrap().trim_end(), text.trim_end());
        }
    }

    #[test]
    fn older_part_is_replaced_in_place() {
        let text = format!("# A\n\n{BEGIN}\nold\n{END}\n\n# B\n");
        let set = set_part(&text).unwrap();
        assert!(
            set.starts_with(&format!("# A\n\n{BEGIN}\n## Memory")) && set.ends_with(&format!("{END}\n\n# B\n")),
            "{set}"
        );
        assert_eq!(remove_part(&set).unwrap(), "# A\n\n# B\n");
    }

    #[test]
    fn part_in_a_code_block_is_ignored() {
        let shown = format!("# How\n\n```md\n{BEGIN}\nx\n{END}\n```\n\n~~~~\n```\n{BEGIN}\n~~~~\n");
        assert!(!has_part(&shown) && remove_part(&shown).unwrap() == shown);
        let both = set_part(&shown).unwrap();
        assert!(both.starts_with(&shown) && has_part(&both) && set_part(&both).unwrap() == both);
        assert_eq!(remove_part(&both).unwrap(), shown);
        // An open fence hides nothing.
        let open = format!("```\ncode\n\n{BEGIN}\nold\n{END}\n");
        assert!(has_part(&open) && !remove_part(&open).unwrap().contains("old"));
    }

    #[test]
    fn incomplete_part_is_rejected_with_its_line() {
        for text in
            [format!("a\n{BEGIN}\nx\n"), format!("a\n{END}\n{BEGIN}\n"), format!("a\n{BEGIN}\n{END}\n{BEGIN}\n{END}\n")]
        {
            let error = set_part(&text).unwrap_err();
            assert!(matches!(error, EditError::Shape { line: 2, .. }), "{error:?}");
        }
    }
}
