//! Ranges of terms by their beginning, and terms that are spelled almost alike.

use rusqlite::{Connection, Result, params};

use super::merge::Segment;

/// Letters from which a term may differ in one place, and in two. Shorter terms are too often other words.
const ONE_EDIT_FROM: usize = 5;
const TWO_EDITS_FROM: usize = 9;

/// The terms with the fewest edits: insertions, deletions, replacements and swaps of neighbours. The first letter must be
/// the same, so that a part of the dictionary is enough.
pub(super) fn similar_terms(connection: &Connection, segments: &[Segment], term: &str) -> Result<Vec<String>> {
    let length = term.chars().count();
    let most = match length {
        TWO_EDITS_FROM.. => 2,
        ONE_EDIT_FROM.. => 1,
        _ => return Ok(Vec::new()),
    };
    let first: String = term.chars().take(1).collect();
    let mut statement = connection.prepare_cached(
        "SELECT term FROM fulltext_postings
         WHERE segment = ?1 AND term >= ?2 AND term < ?3 AND length(term) BETWEEN ?4 AND ?5",
    )?;
    let (shortest, longest) = ((length - most) as i64, (length + most) as i64);
    let (mut best, mut found) = (most + 1, Vec::new());
    for segment in segments {
        let values = params![segment.id, first, prefix_end(&first), shortest, longest];
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            let other = row.get_ref(0)?.as_str()?;
            let edits = strsim::osa_distance(term, other);
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

/// Upper bound of all tokens with this prefix: no token has a greater character.
pub(super) fn prefix_end(beginning: &str) -> String {
    format!("{beginning}\u{10FFFF}")
}
