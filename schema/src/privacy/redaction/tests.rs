//! Tests of properties that hold for all texts, and of cases that need more than a table. The tables are in `positives` and `negatives`.
//!
//! Tokens are composed of pieces, so that secret scanners do not report these files.

mod negatives;
mod positives;
mod sets;

use proptest::prelude::*;
use rstest::rstest;

use super::find::MAX_KIND_LENGTH;
use super::rules::RULES;
use super::*;

/// Returns a long run of letters and digits that is not a word.
fn random_run(length: usize) -> String {
    "aB3dE6gH9kM2nP5q".chars().cycle().take(length).collect()
}

fn hex_run(length: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(length).collect()
}

/// Fills the holes of a case: `{run36}`, `{hex32}`, and `~`, which separates known prefixes. `{tilde}` is a real tilde.
fn fill_pieces(template: &str) -> String {
    let mut text = template.replace('~', "");
    for length in [6, 10, 16, 20, 22, 24, 27, 30, 32, 33, 34, 35, 36, 40, 43, 48, 64, 80, 100] {
        text = text
            .replace(&format!("{{run{length}}}"), &random_run(length))
            .replace(&format!("{{hex{length}}}"), &hex_run(length));
    }
    text.replace("{AWS}", &"QW2E4R6T".repeat(2)).replace("{RUN58}", &"QW2E4R6T".repeat(7)).replace("{tilde}", "~")
}

fn key_block(kind: &str, end: &str, lines: &str) -> String {
    format!("-----{} {kind}PRIVATE KEY-----{lines}{end}", "BEGIN")
}

#[rstest]
#[case::plain("", "\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n", true)]
#[case::rsa("RSA ", "\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nabcd==\n", true)]
#[case::encrypted("RSA ", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,3F17\n\nMIIEpAIBAAKC\n", true)]
#[case::openssh("OPENSSH ", "\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\n", true)]
#[case::escaped("", r"\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n", true)]
#[case::doubly_escaped("", r"\\nMIIEvQIBADANBgkqhkiG9w0BAQE\\n", true)]
#[case::program("EC ", "\\n\" +\n  \"MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKt\\n\" +\n  \"", true)]
#[case::unterminated("RSA ", "\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nQd81", false)]
#[case::unterminated_and_escaped("RSA ", r"\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nQd81", false)]
fn private_key_is_replaced_completely(#[case] kind: &str, #[case] lines: &str, #[case] terminated: bool) {
    let end = if terminated { format!("-----END {kind}PRIVATE KEY-----") } else { String::new() };
    let text = format!("before {}\nand what follows it", key_block(kind, &end, lines));
    let redacted = redact(&text);
    assert_eq!(redacted.text, "before [redacted: private key]\nand what follows it");
    assert_eq!(redacted.count, 1);
}

#[test]
fn truncated_key_ends_where_other_text_begins() {
    let text = format!("{} lies in it", key_block("", "", "\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC"));
    assert_eq!(redact(&text).text, "[redacted: private key] lies in it");
}

#[test]
fn text_between_two_keys_stays() {
    let key = key_block("", "-----END PRIVATE KEY-----", "\nMIIEvQIBADANBgkq\n");
    let text = format!("{key} and {key}");
    let expected = "[redacted: private key] and [redacted: private key]";
    assert_eq!(redact(&text), RedactedText { text: Cow::Borrowed(expected), count: 2 });
}

#[test]
fn every_secret_is_counted() {
    let text = fill_pieces("DB_PASSWORD=hunter2\nGITHUB_TOKEN=gh~p_{run36}\nURL=redis://:hunter2@cache\n");
    let redacted = redact(&text);
    assert_eq!(
        redacted.text,
        "DB_PASSWORD=[redacted: password]\nGITHUB_TOKEN=[redacted: github token]\nURL=redis://:[redacted: password]@cache\n"
    );
    assert_eq!(redacted.count, 3);
}

#[test]
fn secret_revealed_by_a_placeholder_is_found() {
    // Together with the token the value is a path. Without it, it could be a password.
    let text = fill_pieces("password=x1/y-gh~p_{run36}.txt");
    let expected = "password=[redacted: password][redacted: github token].txt";
    assert_eq!(redact(&text), RedactedText { text: Cow::Borrowed(expected), count: 2 });
    assert_eq!(redact(expected).count, 0);
}

#[test]
fn every_label_is_documented() {
    let documentation = include_str!("../../../../docs/privacy.md");
    for kind in RULES.iter().map(|rule| rule.kind).chain(["custom"]) {
        assert!(documentation.contains(&format!("`{kind}`")), "{kind} is not in docs/privacy.md");
    }
}

#[test]
fn command_may_contain_several_secrets() {
    let text = fill_pieces("curl -u ann:hunter2 -b sid={run24} --proxy-user=bob:hunter3 x.io");
    let expected = "curl -u ann:[redacted: password] -b [redacted: cookie] --proxy-user=bob:[redacted: password] x.io";
    assert_eq!(redact(&text), RedactedText { text: Cow::Borrowed(expected), count: 3 });
}

#[test]
fn project_patterns_apply_and_invalid_ones_are_reported() {
    let patterns = ["(", r"\bACME-(\d{4})", "x*", "Falcon|Heron"].map(str::to_owned);
    let (redactor, problems) = Redactor::new(&patterns);
    let refused = ["invalid pattern \"(\" in `redact`: ", "invalid pattern \"x*\" in `redact`: "];
    assert_eq!(problems.len(), refused.len(), "{problems:?}");
    assert!(problems.iter().zip(refused).all(|(problem, start)| problem.starts_with(start)), "{problems:?}");
    let text = "ACME-1234 and FalconHeron with password=hunter2, xx";
    let expected = "ACME-[redacted: custom] and [redacted: custom] with password=[redacted: password], xx";
    assert_eq!(redactor.redact(text), RedactedText { text: Cow::Borrowed(expected), count: 3 });
    assert_eq!(redactor.redact(expected), RedactedText { text: Cow::Borrowed(expected), count: 0 });
    assert_eq!(redactor.redact("nothing").text, "nothing");
}

#[rstest]
#[case::by_name("password", "hunter2", "[redacted: password]")]
#[case::by_korean_name("비밀번호", "hunter2", "[redacted: password]")]
#[case::by_value("note", "redis://:hunter2@cache", "redis://:[redacted: password]@cache")]
#[case::neither("context", "SPEC-001", "SPEC-001")]
#[case::reference("password", "${DB_PASSWORD}", "${DB_PASSWORD}")]
fn value_is_judged_by_its_name_too(#[case] name: &str, #[case] value: &str, #[case] expected: &str) {
    assert_eq!(Redactor::default().redact_named(name, value).text, expected);
}

/// Generates texts of pieces that are relevant to rules. Random characters would hardly ever form them.
fn pieces() -> impl Strategy<Value = String> {
    let fixed: Vec<String> = [
        "password",
        "token",
        "secret",
        "api_key",
        "pwd",
        "비밀번호",
        "=",
        ": ",
        ":",
        " ",
        "\n",
        "\"",
        "'",
        "`",
        "\\",
        "\\n",
        "${",
        "}",
        "(",
        ")",
        "<",
        ">",
        "://",
        "@",
        "user",
        "hunter2",
        "letmein",
        ".",
        ",",
        ";",
        "&",
        "-",
        "--",
        "_",
        "%3D",
        "!",
        "…",
        "Authorization",
        "Bearer ",
        "Basic ",
        "curl -u ",
        "[redacted: token]",
        "[redacted: ",
        "]",
        "a",
        "Z",
        "7",
        "é",
        "암호",
        "\u{0}",
        "eyJ",
        "ghp_",
        "sk-",
        "AKIA",
        "xoxb-",
        "SG.",
        "-----BEGIN ",
        "-----END ",
        "PRIVATE KEY-----",
        "MT",
        ":AA",
        "cio",
        "hf_",
    ]
    .map(str::to_owned)
    .into();
    let runs = [4, 10, 16, 20, 32, 36, 40].map(random_run);
    let rules: Vec<String> = RULES.iter().flat_map(|rule| rule.triggers).map(|&trigger| trigger.to_owned()).collect();
    let piece = prop_oneof![
        4 => prop::sample::select(fixed),
        2 => prop::sample::select(runs.to_vec()),
        1 => prop::sample::select(rules),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn check_properties(text: &str) -> Result<(), TestCaseError> {
    let once = redact(text);
    let twice = redact(&once.text);
    prop_assert_eq!(&twice.text, &once.text);
    prop_assert_eq!(twice.count, 0);
    prop_assert!(once.text.len() <= text.len() + once.count * (PLACEHOLDER_START.len() + MAX_KIND_LENGTH + 1));
    prop_assert!(once.count > 0 || once.text == text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn redaction_of_any_text_is_idempotent(text in any::<String>()) {
        check_properties(&text)?;
    }

    #[test]
    fn redaction_of_relevant_pieces_is_idempotent(text in pieces()) {
        check_properties(&text)?;
    }

    #[test]
    fn redaction_by_project_patterns_is_idempotent(text in pieces()) {
        let (redactor, _) = Redactor::new(&["t.k", "(?s)user.*?(hunter2|@)", "^[aZ7é]", "[a-c]+", "edact"].map(str::to_owned));
        let once = redactor.redact(&text);
        let twice = redactor.redact(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
        prop_assert_eq!(twice.count, 0);
    }

    #[test]
    fn token_is_removed_from_any_context(before in "[^a-zA-Z0-9]{0,8}", after in "[^a-zA-Z0-9_]{0,8}") {
        let token = fill_pieces("gh~p_{run36}");
        let text = format!("{before}{token}{after}");
        prop_assert!(!redact(&text).text.contains(&token));
    }
}
