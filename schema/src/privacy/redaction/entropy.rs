//! Detects random values, for names such as `key` and `session` that say too little about their value.

/// Whether a value looks random: long, of many different characters, and mixed in a way that words are not.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    value.len() >= MIN_LENGTH && letters > LETTERS_OF_A_TIME && is_alternating(value) && entropy_bits(value) >= MIN_BITS
}

/// Whether upper case, lower case and digits alternate as often as in a random value.
pub(super) fn is_alternating(value: &str) -> bool {
    alternation(value) >= MIN_ALTERNATION
}

/// In bytes.
const MIN_LENGTH: usize = 16;

/// The letters of `1979-05-27T07:32:00Z`.
const LETTERS_OF_A_TIME: usize = 2;

/// The minimum entropy per byte. Random base64 has 3.6 bits at 16 characters and 5 bits at 64, and random hexadecimal digits have about 3.5
/// bits. English text has 3 to 4 bits, so entropy alone is not enough.
const MIN_BITS: f64 = 3.0;

/// The minimum share of places where the kind of character changes. It is 0.47 in random hexadecimal digits, 0.44 in random base64, and at
/// most 0.1 in `user-session-2026-01`.
const MIN_ALTERNATION: f64 = 0.2;

/// Returns the Shannon entropy in bits per byte, from the frequencies in the value itself.
fn entropy_bits(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len() as f64;
    let parts = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -parts.map(|part| part * part.log2()).sum::<f64>()
}

/// Returns the share of neighbouring letters and digits that are of different kinds. Other characters are skipped, and a capital before a
/// lower-case letter does not count as a change.
fn alternation(value: &str) -> f64 {
    let kinds = || value.bytes().filter_map(ByteKind::from_byte);
    let changes = kinds().zip(kinds().skip(1)).filter(|(one, next)| one.changes_to(*next)).count();
    // Otherwise the few letters of a value that is mostly punctuation would decide.
    changes as f64 / kinds().count().saturating_sub(1).max(value.len() / 2) as f64
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteKind {
    Small,
    Capital,
    Digit,
}

impl ByteKind {
    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'a'..=b'z' => Some(Self::Small),
            b'A'..=b'Z' => Some(Self::Capital),
            b'0'..=b'9' => Some(Self::Digit),
            _ => None,
        }
    }

    fn changes_to(self, next: Self) -> bool {
        self != next && (self, next) != (Self::Capital, Self::Small)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::base64("q8Zr2LkV0xYtB7nWc5Ja", true)]
    #[case::hexadecimal("9f86d081884c7d659a2feaa0c55ad015", true)]
    #[case::small_letters_and_digits("k3jx09qz7w2m5v8b1t4r", true)]
    #[case::short("q8Zr2LkV0x", false)]
    #[case::words("production-user-session-key", false)]
    #[case::numbered_words("user-session-2026-01-28-v2", false)]
    #[case::camel_case("currentUserSessionIdentifier", false)]
    #[case::digits("20260128103015202601281030", false)]
    #[case::time("1979-05-27T07:32:00Z", false)]
    #[case::row("aaaaaaaaaaaaaaaaaaaaaaaa", false)]
    #[case::path("src/components/Button2/index.tsx", false)]
    fn random_values_differ_from_words(#[case] value: &str, #[case] expected: bool) {
        assert_eq!(is_random(value), expected, "{} bits, mixing {}", entropy_bits(value), alternation(value));
    }
}
