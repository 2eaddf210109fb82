//! Divides the brief: each section has a share, and the other sections get what it does not use.

use crate::prose::gist::shortened;

/// The longest line about a memory, in characters.
pub(super) const LONGEST_LINE: usize = 260;

/// The shortest line that is worth showing, in characters.
const SHORTEST_LINE: usize = 20;

/// A section of a brief under a heading, with its most important line first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BriefSection {
    heading: &'static str,
    /// Its own characters.
    share: usize,
    /// Whether it only gets what no other section uses.
    is_filler: bool,
    lines: Vec<BriefLine>,
}

/// A line without its newline, and the memory that it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BriefLine {
    pub(super) text: String,
    pub(super) id: Option<String>,
}

impl From<String> for BriefLine {
    fn from(text: String) -> Self {
        Self { text, id: None }
    }
}

impl BriefSection {
    pub(super) fn new<L: Into<BriefLine>>(
        heading: &'static str,
        share: usize,
        lines: impl IntoIterator<Item = L>,
    ) -> Self {
        Self { heading, share, is_filler: false, lines: lines.into_iter().map(Into::into).collect() }
    }

    /// Returns a section that gets what the others do not use.
    pub(super) fn filler<L: Into<BriefLine>>(heading: &'static str, lines: impl IntoIterator<Item = L>) -> Self {
        Self { is_filler: true, ..Self::new(heading, 0, lines) }
    }

    /// The characters of all its lines and the heading. An empty section has neither.
    pub(super) fn size(&self) -> usize {
        self.show_more(&mut 0, usize::MAX)
    }

    /// Adds lines that fit within `allowed` characters to the first `shown` ones, and returns how many characters they take.
    fn show_more(&self, shown: &mut usize, allowed: usize) -> usize {
        let mut used = 0;
        for line in &self.lines[*shown..] {
            let has_heading = *shown == 0 && !self.heading.is_empty();
            let opening = if has_heading { self.heading.chars().count() + 2 } else { 0 };
            let cost = opening + line.text.chars().count() + 1;
            if used + cost > allowed {
                break;
            }
            *shown += 1;
            used += cost;
        }
        used
    }
}

/// A brief, or the sections in it, and the memories that it shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brief {
    pub text: String,
    pub ids: Vec<String>,
}

/// First gives each section its share, then gives the rest to the sections in order, fillers last. Sections keep their order, and an
/// empty section has no heading.
pub(super) fn fill(mut sections: Vec<BriefSection>, size: usize) -> Brief {
    sections.retain(|section| !section.lines.is_empty());
    let shares: usize = sections.iter().map(|section| section.share).sum();
    // How many lines of each section are shown.
    let mut shown = vec![0; sections.len()];
    let mut left = size;
    // In a small brief the shares shrink. Unused characters go to the next section.
    let mut unused = 0;
    for (section, shown) in sections.iter().zip(&mut shown).filter(|(section, _)| !section.is_filler) {
        let share = if shares > size { section.share * size / shares } else { section.share };
        let allowed = (share + unused).min(left);
        let used = section.show_more(shown, allowed);
        unused = allowed - used;
        left -= used;
    }
    for is_filler in [false, true] {
        for (section, shown) in sections.iter().zip(&mut shown).filter(|(section, _)| section.is_filler == is_filler) {
            left -= section.show_more(shown, left);
        }
    }
    if shown.iter().all(|count| *count == 0) {
        return beginning(sections, size);
    }
    let mut filled = Brief::default();
    for (section, count) in sections.into_iter().zip(shown).filter(|(_, count)| *count > 0) {
        if !section.heading.is_empty() {
            filled.text.push_str(section.heading);
            filled.text.push_str(":\n");
        }
        for line in section.lines.into_iter().take(count) {
            filled.text.push_str(&line.text);
            filled.text.push('\n');
            filled.ids.extend(line.id);
        }
    }
    filled
}

/// Returns the beginning of the first line. In a brief of a few hundred characters, no line may fit.
fn beginning(sections: Vec<BriefSection>, size: usize) -> Brief {
    let first = sections.into_iter().flat_map(|section| section.lines).next().filter(|_| size >= SHORTEST_LINE);
    first.map_or_else(Brief::default, |line| Brief {
        text: shortened(&line.text, size - 1) + "\n",
        ids: line.id.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(heading: &'static str, share: usize, lines: usize) -> BriefSection {
        BriefSection::new(heading, share, (0..lines).map(|n| format!("{n}:{}", "x".repeat(7))))
    }

    fn counts(sections: Vec<BriefSection>, size: usize) -> Vec<usize> {
        let headings: Vec<&str> = sections.iter().map(|section| section.heading).collect();
        let text = fill(sections, size).text;
        let mut found = vec![0; headings.len()];
        let mut at = 0;
        for line in text.lines() {
            match headings.iter().position(|heading| line == format!("{heading}:")) {
                Some(section) => at = section,
                None => found[at] += 1,
            }
        }
        found
    }

    #[test]
    fn unused_shares_are_passed_on() {
        // A line takes ten characters, a heading three.
        assert_eq!(counts(vec![section("a", 33, 9), section("b", 33, 9)], 66), [3, 3]);
        assert_eq!(counts(vec![section("a", 33, 1), section("b", 33, 9)], 66), [1, 5]);
        assert_eq!(counts(vec![section("a", 33, 9), section("b", 33, 1)], 66), [5, 1]);
        assert_eq!(counts(vec![section("a", 33, 9), section("b", 33, 0)], 66), [6, 0]);
    }

    #[test]
    fn small_brief_has_smaller_shares_of_the_same_parts() {
        assert_eq!(counts(vec![section("a", 500, 90), section("b", 500, 90)], 66), [3, 3]);
    }

    #[test]
    fn filler_gets_what_the_others_leave() {
        let filler = || BriefSection::filler("f", (0..9).map(|n| format!("{n}:{}", "x".repeat(7))));
        assert_eq!(counts(vec![section("a", 33, 9), filler(), section("b", 33, 9)], 66), [3, 0, 3]);
        assert_eq!(counts(vec![section("a", 33, 1), filler(), section("b", 33, 2)], 66), [1, 2, 2]);
    }

    #[test]
    fn section_without_lines_has_no_heading() {
        assert_eq!(fill(vec![section("a", 33, 9)], 8), Brief::default());
    }

    #[test]
    fn tiny_brief_has_the_beginning_of_a_line() {
        let sections = || {
            vec![
                BriefSection::new("empty", 9, Vec::<String>::new()),
                BriefSection::new("a", 9, ["one two three four five".to_owned()]),
            ]
        };
        assert_eq!(fill(sections(), 22).text, "one two three four…\n");
        assert_eq!(fill(sections(), 9).text, "");
    }
}
