//! Divides the brief: each part has a share, and the other parts get what it does not use.

use crate::prose::gist::shortened;

/// The longest line about a memory, in characters.
pub(super) const LINE: usize = 260;

/// The shortest line that is worth showing, in characters.
const LEAST: usize = 20;

/// A section of a brief under a heading, with its most important line first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    heading: &'static str,
    /// Its own characters.
    share: usize,
    /// The most characters that it can get, however many are left.
    most: usize,
    /// Whether it only gets what no other part uses.
    is_filler: bool,
    lines: Vec<Line>,
}

/// A line without its newline, and the memory that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) id: Option<String>,
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self { text, id: None }
    }
}

impl Part {
    pub(super) fn new<L: Into<Line>>(heading: &'static str, share: usize, lines: impl IntoIterator<Item = L>) -> Self {
        Self { heading, share, most: usize::MAX, is_filler: false, lines: lines.into_iter().map(Into::into).collect() }
    }

    /// Returns a part that gets what the others do not use.
    pub(super) fn filler<L: Into<Line>>(heading: &'static str, lines: impl IntoIterator<Item = L>) -> Self {
        Self { is_filler: true, ..Self::new(heading, 0, lines) }
    }

    pub(super) fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// The characters of the heading.
    fn opening(&self) -> usize {
        if self.heading.is_empty() { 0 } else { self.heading.chars().count() + 2 }
    }
}

/// The text of parts within a limit, and the ids in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Filled {
    pub(super) text: String,
    pub(super) ids: Vec<String>,
}

/// First gives each part its share, then gives the rest to the parts in order, fillers last. Parts keep their order, and an empty part has
/// no heading.
pub(super) fn fill(parts: Vec<Part>, size: usize) -> Filled {
    let shares: usize = parts.iter().filter(|part| !part.lines.is_empty()).map(|part| part.share).sum();
    let mut taken: Vec<Taken> = parts.iter().map(|_| Taken::default()).collect();
    let mut left = size;
    // In a small brief the shares shrink. Unused characters go to the next part.
    let mut unused = 0;
    for (part, taken) in parts.iter().zip(&mut taken).filter(|(part, _)| !part.lines.is_empty() && !part.is_filler) {
        let share = if shares > size { part.share * size / shares } else { part.share };
        let allowed = (share + unused).min(left);
        let used = taken.take(part, allowed.min(part.most));
        unused = allowed - used;
        left -= used;
    }
    for is_filler in [false, true] {
        for (part, taken) in parts.iter().zip(&mut taken).filter(|(part, _)| part.is_filler == is_filler) {
            left -= taken.take(part, left.min(part.most.saturating_sub(taken.used)));
        }
    }
    if taken.iter().all(|taken| taken.lines == 0) {
        return beginning(parts, size);
    }
    let mut filled = Filled::default();
    for (part, taken) in parts.into_iter().zip(taken).filter(|(_, taken)| taken.lines > 0) {
        if !part.heading.is_empty() {
            filled.text.push_str(part.heading);
            filled.text.push_str(":\n");
        }
        for line in part.lines.into_iter().take(taken.lines) {
            filled.text.push_str(&line.text);
            filled.text.push('\n');
            filled.ids.extend(line.id);
        }
    }
    filled
}

/// Returns the beginning of the first line. In a brief of a few hundred characters, no line may fit.
fn beginning(parts: Vec<Part>, size: usize) -> Filled {
    let first = parts.into_iter().flat_map(|part| part.lines).next().filter(|_| size >= LEAST);
    first.map_or_else(Filled::default, |line| Filled {
        text: shortened(&line.text, size - 1) + "\n",
        ids: line.id.into_iter().collect(),
    })
}

/// How much of a part is shown: its first lines.
#[derive(Debug, Default)]
struct Taken {
    lines: usize,
    used: usize,
}

impl Taken {
    /// Adds lines that fit within `allowed` characters, and returns how many characters they take.
    fn take(&mut self, part: &Part, allowed: usize) -> usize {
        let before = self.used;
        for line in &part.lines[self.lines..] {
            let opening = if self.lines == 0 { part.opening() } else { 0 };
            let cost = opening + line.text.chars().count() + 1;
            if self.used - before + cost > allowed {
                break;
            }
            self.lines += 1;
            self.used += cost;
        }
        self.used - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(heading: &'static str, share: usize, lines: usize) -> Part {
        Part::new(heading, share, (0..lines).map(|n| format!("{n}:{}", "x".repeat(7))))
    }

    fn counts(parts: Vec<Part>, size: usize) -> Vec<usize> {
        let headings: Vec<&str> = parts.iter().map(|part| part.heading).collect();
        let text = fill(parts, size).text;
        let mut found = vec![0; headings.len()];
        let mut at = 0;
        for line in text.lines() {
            match headings.iter().position(|heading| line == format!("{heading}:")) {
                Some(part) => at = part,
                None => found[at] += 1,
            }
        }
        found
    }

    #[test]
    fn unused_shares_are_passed_on() {
        // A line takes ten characters, a heading three.
        assert_eq!(counts(vec![part("a", 33, 9), part("b", 33, 9)], 66), [3, 3]);
        assert_eq!(counts(vec![part("a", 33, 1), part("b", 33, 9)], 66), [1, 5]);
        assert_eq!(counts(vec![part("a", 33, 9), part("b", 33, 1)], 66), [5, 1]);
        assert_eq!(counts(vec![part("a", 33, 9), part("b", 33, 0)], 66), [6, 0]);
    }

    #[test]
    fn small_brief_has_smaller_shares_of_the_same_parts() {
        assert_eq!(counts(vec![part("a", 500, 90), part("b", 500, 90)], 66), [3, 3]);
    }

    #[test]
    fn part_never_exceeds_its_limit() {
        assert_eq!(counts(vec![part("a", 33, 9).at_most(33), part("b", 33, 1)], 500), [3, 1]);
    }

    #[test]
    fn filler_gets_what_the_others_leave() {
        let filler = || Part::filler("f", (0..9).map(|n| format!("{n}:{}", "x".repeat(7))));
        assert_eq!(counts(vec![part("a", 33, 9), filler(), part("b", 33, 9)], 66), [3, 0, 3]);
        assert_eq!(counts(vec![part("a", 33, 1), filler(), part("b", 33, 2)], 66), [1, 2, 2]);
    }

    #[test]
    fn part_without_lines_has_no_heading() {
        assert_eq!(fill(vec![part("a", 33, 9)], 8), Filled::default());
    }

    #[test]
    fn tiny_brief_has_the_beginning_of_a_line() {
        let parts = || {
            vec![Part::new("empty", 9, Vec::<String>::new()), Part::new("a", 9, ["one two three four five".to_owned()])]
        };
        assert_eq!(fill(parts(), 22).text, "one two three four…\n");
        assert_eq!(fill(parts(), 9).text, "");
    }
}
