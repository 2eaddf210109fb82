//! Which words of a query stand close together somewhere in a document: in a long one, words that are far from each other seldom
//! belong to one thing.

/// Written words within which words stand together: a few sentences.
const WINDOW: u32 = 120;

/// The weight of the distinct words in the best window of a document, of which `places` are the written words and the words of
/// the query that occur there, in the order of the document.
pub(super) fn together(places: &[(u32, usize)], weights: &[f32]) -> f32 {
    let mut counts = vec![0u32; weights.len()];
    let (mut inside, mut best, mut first) = (0.0f32, 0.0f32, 0);
    for (place, word) in places {
        if counts[*word] == 0 {
            inside += weights[*word];
        }
        counts[*word] += 1;
        while let Some((_, left)) = places.get(first).filter(|(at, _)| at + WINDOW < *place) {
            counts[*left] -= 1;
            if counts[*left] == 0 {
                inside -= weights[*left];
            }
            first += 1;
        }
        best = best.max(inside);
    }
    best.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_far_apart_do_not_stand_together() {
        let weights = [0.5, 0.3, 0.2];
        assert_eq!(together(&[], &weights), 0.0);
        assert_eq!(together(&[(0, 0), (121, 1)], &weights), 0.5);
        assert_eq!(together(&[(0, 0), (120, 1)], &weights), 0.8);
        assert_eq!(together(&[(0, 2), (130, 0), (131, 0), (190, 1)], &weights), 0.8);
    }
}
