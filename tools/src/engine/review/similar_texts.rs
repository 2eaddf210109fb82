//! Keys by which memories with similar words find each other, without comparing all pairs and whatever else is in the store.
//!
//! A. Broder: On the resemblance and containment of documents (1997). Two texts that share half of their words have a common key with a
//! probability of 74 %, and two that share four of five words with 99.9 %.

use schema::prose::comparison::subject_terms;

use crate::text::stem::stem;
use crate::text::token_hashes::token_hash;

/// Keys of a text, and hashes that form one key. More hashes make unrelated texts share a key less often.
const KEYS: u64 = 10;
const HASHES: u64 = 3;

/// Returns the keys of a text, or none if it has no words.
pub(super) fn similarity_keys(text: &str) -> Vec<i64> {
    let terms: Vec<u64> = subject_terms(text).iter().map(|term| token_hash(&stem(term))).collect();
    if terms.is_empty() {
        return Vec::new();
    }
    let least = |seed: u64| terms.iter().map(|term| mixed(term ^ mixed(seed))).min().unwrap_or_default();
    let key = |key: u64| (0..HASHES).fold(key, |joined, hash| mixed(joined ^ least(key * HASHES + hash + 1)));
    (0..KEYS).map(|number| key(number).cast_signed()).collect()
}

/// The finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(a: &str, b: &str) -> usize {
        let keys = similarity_keys(a);
        similarity_keys(b).iter().filter(|key| keys.contains(key)).count()
    }

    #[test]
    fn similar_texts_have_common_keys() {
        let text = "The proxy buffers answers of more than 64 KB before it sends them to clients";
        assert_eq!(common(text, "Before it sends them to clients, the proxy buffers answers of more than 128 KB."), 10);
        let longer = "In the shop, the proxy buffers answers of more than 64 KB before it sends them to clients";
        assert!((1..10).contains(&common(text, longer)));
        assert_eq!(common(text, "Deploys are frozen until the audit of the payment module is over"), 0);
        assert!(similarity_keys("ok, 5").is_empty());
    }
}
