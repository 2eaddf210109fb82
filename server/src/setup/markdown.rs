//! The part of a file of instructions that is ours: between two markers, and nothing outside of them is touched.

use super::part::EditError;

const BEGIN: &str = "<!-- jikime-memory:begin -->";
const END: &str = "<!-- jikime-memory:end -->";

/// What models are told in the files that they read first.
const SNIPPET: &str = include_str!("snippet.md");

/// The text with our part in it: where it stands already, else at its end behind an empty line.
pub(super) fn set(text: &str) -> Result<String, EditError> {
    let part = format!("{BEGIN}\n{SNIPPET}{END}\n");
    if let Some((start, end)) = find(text)? {
        return Ok(format!("{}{part}{}", &text[..start], &text[end..]));
    }
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    Ok(format!("{text}{gap}{part}"))
}

/// The text without our part and the empty line before it.
pub(super) fn remove(text: &str) -> Result<String, EditError> {
    let Some((start, end)) = find(text)? else { return Ok(text.to_owned()) };
    let (before, after) = (&text[..start], &text[end..]);
    let before = before.strip_suffix("\n\n").map_or(before, |_| &before[..before.len() - 1]);
    Ok(format!("{before}{after}"))
}

pub(super) fn is_set(text: &str) -> bool {
    matches!(find(text), Ok(Some(_)))
}

/// From where to where our part goes, whole lines. Half a part is nobody's to mend but its owner's.
fn find(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    let quoted = quoted(text);
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
            let what = format!("the markers {BEGIN} and {END} should stand there once each, in this order");
            Err(EditError::Shape { line, what })
        }
    }
}

/// Which lines stand in a fenced block: what is shown there is nobody's part. A fence that nothing closes is none.
fn quoted(text: &str) -> Vec<bool> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut quoted = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let end = fence(lines[at]).and_then(|fence| (at + 1..lines.len()).find(|end| closes(lines[*end], fence)));
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

/// The sign of a fence, and how many of them, where a line opens one.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_end();
    let rest = line.trim_start_matches(' ');
    let sign = rest.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
    let info = rest.trim_start_matches(sign);
    let is_one = line.len() - rest.len() <= 3 && rest.len() - info.len() >= 3 && !(sign == '`' && info.contains('`'));
    is_one.then_some((sign, rest.len() - info.len()))
}

fn closes(line: &str, (sign, count): (char, usize)) -> bool {
    fence(line).is_some_and(|(other, more)| other == sign && more >= count) && line.trim().chars().all(|c| c == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_part_comes_and_goes_and_leaves_the_rest() {
        for text in
            ["", "# Rules\n", "# Rules\n\nBe kind.", "\n\n", "# Rules\n\n", "text <!-- jikime-memory:begin --> text\n"]
        {
            let set = set(text).unwrap();
            assert!(set.starts_with(text) && is_set(&set), "{set}");
            assert_eq!(super::set(&set).unwrap(), set);
            // An empty line at the end may have been ours; what was written down tells.
            assert_eq!(remove(&set).unwrap().trim_end(), text.trim_end());
        }
    }

    #[test]
    fn an_older_part_is_replaced_where_it_stands() {
        let text = format!("# A\n\n{BEGIN}\nold\n{END}\n\n# B\n");
        let set = set(&text).unwrap();
        assert!(
            set.starts_with(&format!("# A\n\n{BEGIN}\n## Memory")) && set.ends_with(&format!("{END}\n\n# B\n")),
            "{set}"
        );
        assert_eq!(remove(&set).unwrap(), "# A\n\n# B\n");
    }

    #[test]
    fn a_part_that_is_shown_as_code_is_not_ours() {
        let shown = format!("# How\n\n```md\n{BEGIN}\nx\n{END}\n```\n\n~~~~\n```\n{BEGIN}\n~~~~\n");
        assert!(!is_set(&shown) && remove(&shown).unwrap() == shown);
        let both = set(&shown).unwrap();
        assert!(both.starts_with(&shown) && is_set(&both) && set(&both).unwrap() == both);
        assert_eq!(remove(&both).unwrap(), shown);
        // A fence that was left open hides nothing.
        let open = format!("```\ncode\n\n{BEGIN}\nold\n{END}\n");
        assert!(is_set(&open) && !remove(&open).unwrap().contains("old"));
    }

    #[test]
    fn half_a_part_is_refused_with_its_line() {
        for text in
            [format!("a\n{BEGIN}\nx\n"), format!("a\n{END}\n{BEGIN}\n"), format!("a\n{BEGIN}\n{END}\n{BEGIN}\n{END}\n")]
        {
            let error = set(&text).unwrap_err();
            assert!(matches!(error, EditError::Shape { line: 2, .. }), "{error:?}");
        }
    }
}
