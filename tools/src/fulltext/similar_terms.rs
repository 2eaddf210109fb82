//! Ranges of terms by their beginning, and terms that are spelled almost alike.

use rusqlite::{Connection, Result, params};

use super::merge::Segment;

/// Letters from which a term may differ in one place, and in two. Shorter terms are too often other words.
const ONE_EDIT_FROM: usize = 5;
const TWO_EDITS_FROM: usize = 9;

/// The terms with the fewest edits. The first letter must be the same, so that a part of the dictionary is enough.
pub(super) fn similar_terms(connection: &Connection, segments: &[Segment], term: &str) -> Result<Vec<String>> {
    let letters: Vec<char> = term.chars().collect();
    let most = match letters.len() {
        TWO_EDITS_FROM.. => 2,
        ONE_EDIT_FROM.. => 1,
        _ => return Ok(Vec::new()),
    };
    let first = letters[0].to_string();
    let mut statement = connection.prepare_cached(
        "SELECT term FROM fulltext_postings
         WHERE segment = ?1 AND term >= ?2 AND term < ?3 AND length(term) BETWEEN ?4 AND ?5",
    )?;
    let (mut best, mut found) = (most + 1, Vec::new());
    for segment in segments {
        let (shortest, longest) = ((letters.len() - most) as i64, (letters.len() + most) as i64);
        let values = params![segment.id, first, prefix_end(&first), shortest, longest];
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            let other = row.get_ref(0)?.as_str()?;
            let edits = edit_distance(&letters, other, best.min(most));
            if edits < best {
                found.clear();
                best = edits;
            }
            if edits == best && edits <= most && !found.iter().any(|known| known == other) {
                found.push(other.to_owned());
            }
        }
    }
    Ok(found)
}

/// Insertions, deletions, replacements and swaps of neighbours that make one term of the other; more than `most` if it is
/// more than that (optimal string alignment).
fn edit_distance(a: &[char], other: &str, most: usize) -> usize {
    let b: Vec<char> = other.chars().collect();
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().all(|edits| *edits > most) {
            return most + 1;
        }
        (before, last) = (last, row);
    }
    last[b.len()]
}

/// Upper bound of all tokens with this prefix: no token has a greater character.
pub(super) fn prefix_end(beginning: &str) -> String {
    format!("{beginning}\u{10FFFF}")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::equal("cache", "cache", 0)]
    #[case::swapped("elasticsaerch", "elasticsearch", 1)]
    #[case::missing("kuberntes", "kubernetes", 1)]
    #[case::replaced("postgras", "postgres", 1)]
    #[case::two("verifcaton", "verification", 2)]
    #[case::another_word("cache", "catch", 2)]
    #[case::far("session", "cookies", 3)]
    fn edits_are_counted(#[case] a: &str, #[case] b: &str, #[case] expected: usize) {
        let letters: Vec<char> = a.chars().collect();
        assert_eq!(edit_distance(&letters, b, 2).min(3), expected);
    }
}
