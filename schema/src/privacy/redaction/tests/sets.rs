//! Measures the share of many forms that are redacted, and of look-alikes that are changed. The forms are in `sets/`. The sets `held-out`
//! and `later` were written after the rules: when they were first measured, 9.7 % and 5.1 % of their secrets were stored.

use super::*;

const SECRETS: [&str; 3] = [
    include_str!("sets/secrets.txt"),
    include_str!("sets/held-out-secrets.txt"),
    include_str!("sets/later-secrets.txt"),
];
const LOOKALIKES: [&str; 3] = [
    include_str!("sets/lookalikes.txt"),
    include_str!("sets/held-out-lookalikes.txt"),
    include_str!("sets/later-lookalikes.txt"),
];

#[test]
fn at_most_five_percent_of_secret_forms_are_stored() {
    for set in SECRETS {
        let mut random = FormGenerator(0x9E37_79B9_7F4A_7C15);
        let stored: Vec<String> = forms(set).filter_map(|form| stored_secret(&random.fill(form))).collect();
        assert!(stored.len() * 20 <= forms(set).count(), "{} are stored:\n{}", stored.len(), stored.join("\n"));
    }
}

#[test]
fn at_most_one_percent_of_look_alikes_are_changed() {
    for set in LOOKALIKES {
        let mut random = FormGenerator(0x9E37_79B9_7F4A_7C15);
        let redacted = forms(set).map(|form| redact(&random.fill(form)).text.into_owned());
        let changed: Vec<String> = redacted.filter(|text| text.contains(PLACEHOLDER_START)).collect();
        assert!(changed.len() * 100 <= forms(set).count(), "{} are changed:\n{}", changed.len(), changed.join("\n"));
    }
}

#[test]
fn redaction_of_cut_forms_is_idempotent() {
    let mut random = FormGenerator(0x2545_F491_4F6C_DD1D);
    let all: Vec<&str> = SECRETS.into_iter().chain(LOOKALIKES).flat_map(forms).collect();
    for _ in 0..2_000 {
        let mut parts = String::new();
        for _ in 0..4 {
            let form = all[random.below(all.len())];
            parts.push_str(&random.cut_form(form));
        }
        let text = parts.replace(['«', '»'], "");
        let once = redact(&text).text.into_owned();
        assert_eq!(redact(&once), RedactedText { text: Cow::Borrowed(&once), count: 0 }, "from {text:?}");
    }
}

fn forms(set: &'static str) -> impl Iterator<Item = &'static str> {
    set.lines().filter(|line| !line.starts_with("# "))
}

/// Returns the redacted text of a form if it still contains the secret or either end of it.
fn stored_secret(form: &str) -> Option<String> {
    let (before, rest) = form.split_once('«').expect("a form marks its secret");
    let (secret, after) = rest.split_once('»').expect("a form marks its secret");
    let redacted = redact(&format!("{before}{secret}{after}")).text.into_owned();
    let ends = if secret.len() < 16 { [secret; 2] } else { [&secret[..10], &secret[secret.len() - 10..]] };
    ends.iter().any(|end| redacted.contains(end)).then_some(redacted)
}

/// A small pseudorandom generator with a fixed sequence.
struct FormGenerator(u64);

impl FormGenerator {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % limit
    }

    /// Fills the holes of a form, as described at the top of `sets/secrets.txt`.
    fn fill(&mut self, form: &str) -> String {
        let escapes = [("~", ""), ("\\\\", "\u{1}"), ("\\n", "\n"), ("\\t", "\t"), ("\u{1}", "\\")];
        let form = escapes.iter().fold(form.to_owned(), |form, (from, to)| form.replace(from, to));
        let mut filled = String::new();
        let mut rest = form.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            filled.push_str(before);
            let hole = behind.split_once('}').and_then(|(hole, after)| Some((self.draw(hole)?, after)));
            rest = match hole {
                Some((drawn, after)) => {
                    filled.push_str(&drawn);
                    after
                }
                None => {
                    filled.push('{');
                    behind
                }
            };
        }
        filled + rest
    }

    fn draw(&mut self, hole: &str) -> Option<String> {
        const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let (alphabet, length) = match hole.as_bytes().first()? {
            b'h' => ("0123456789abcdef", &hole[1..]),
            b'l' => (&MIXED[26..62], &hole[1..]),
            b'u' => ("ABCDEFGHJKLMNPQRSTUVWXYZ234567", &hole[1..]),
            b'b' => (MIXED, &hole[1..]),
            b's' => ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", &hole[1..]),
            _ => (&MIXED[..62], hole),
        };
        let length: usize = length.parse().ok()?;
        Some((0..length).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect())
    }

    /// Returns a part of a form, followed by a break or a placeholder.
    fn cut_form(&mut self, form: &str) -> String {
        let form: Vec<char> = self.fill(form).chars().collect();
        let start = self.below(form.len().max(1));
        let length = 1 + self.below(form.len().saturating_sub(start).max(1));
        let ends = ["", "\n", " ", " | ", ",", "[redacted: token]", "[redacted: aws access key]"];
        form.into_iter().skip(start).take(length).collect::<String>() + ends[self.below(ends.len())]
    }
}
