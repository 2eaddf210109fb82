//! Whether a value is random, for names such as `key` and `session` that say too little about what they hold.

/// Whether a value looks like one that a machine drew: long, of many different characters, and mixed as words are not.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    value.len() >= MIN_LENGTH && letters > LETTERS_OF_A_TIME && is_alternating(value) && entropy_bits(value) >= MIN_BITS
}

/// Whether the kinds of its characters alternate as they do in what a machine drew.
pub(super) fn is_alternating(value: &str) -> bool {
    alternation(value) >= MIN_ALTERNATION
}

const MIN_LENGTH: usize = 16;

/// `1979-05-27T07:32:00Z`
const LETTERS_OF_A_TIME: usize = 2;

/// Random base64 has 3.6 bits at 16 characters and 5 at 64, random hexadecimal digits about 3.5; English words in a row
/// have 3 to 4, which is why this alone does not tell.
const MIN_BITS: f64 = 3.0;

/// How often one kind of character follows another: in random hexadecimal digits at 47 of 100 places, in random base64 at
/// 44, in `user-session-2026-01` at one or two of 20.
const MIN_ALTERNATION: f64 = 0.2;

/// Shannon's entropy in bits for each byte, from the frequencies in the value itself.
fn entropy_bits(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len() as f64;
    let parts = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / length);
    -parts.map(|part| part * part.log2()).sum::<f64>()
}

/// The part of its neighbouring letters and digits that are of different kinds. Other characters are passed over, and a
/// capital before a small letter only begins a word.
fn alternation(value: &str) -> f64 {
    let kinds = || value.bytes().filter_map(ByteKind::from_byte);
    let changes = kinds().zip(kinds().skip(1)).filter(|(one, next)| one.changes_to(*next)).count();
    // A value that is mostly punctuation says nothing; its few letters are not to decide.
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
    fn what_a_machine_drew_is_told_from_words(#[case] value: &str, #[case] expected: bool) {
        assert_eq!(is_random(value), expected, "{} bits, mixing {}", entropy_bits(value), alternation(value));
    }
}
