//! What is redacted and what is left alone, as tables, and the properties that hold for every text.
//!
//! Tokens are put together from pieces, so that no scanner of secrets mistakes this file for a leak.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// A long run of letters and digits that is no word.
fn run(length: usize) -> String {
    "aB3dE6gH9kM2nP5q".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0a1b2c3d4e5f6789".chars().cycle().take(length).collect()
}

/// Fills in the pieces that a case leaves open: `{run36}`, `{hex32}`, and `~`, which keeps known prefixes apart.
fn fill(template: &str) -> String {
    let mut text = template.replace('~', "");
    for length in [6, 10, 16, 17, 20, 22, 24, 27, 30, 32, 33, 34, 35, 36, 40, 43, 48, 64, 80] {
        text =
            text.replace(&format!("{{run{length}}}"), &run(length)).replace(&format!("{{hex{length}}}"), &hex(length));
    }
    text.replace("{AWS}", &"QW2E4R6T".repeat(2))
}

#[rstest]
#[case::aws_access_key("id AK~IA{AWS} here", "id [redacted: aws access key] here")]
#[case::aws_temporary_key("AS~IA{AWS}", "[redacted: aws access key]")]
#[case::aws_secret_key("aws_secret_access_key = {run40}", "aws_secret_access_key = [redacted: aws secret key]")]
#[case::aws_secret_in_json(r#""SecretAccessKey": "{run40}""#, r#""SecretAccessKey": "[redacted: aws secret key]""#)]
#[case::github_personal("use gh~p_{run36}.", "use [redacted: github token].")]
#[case::github_oauth("gh~o_{run36}", "[redacted: github token]")]
#[case::github_user("gh~u_{run36}", "[redacted: github token]")]
#[case::github_server("gh~s_{run36}", "[redacted: github token]")]
#[case::github_refresh("gh~r_{run36}", "[redacted: github token]")]
#[case::github_fine_grained("github_~pat_{run22}_{run40}", "[redacted: github token]")]
#[case::github_in_quoted_text(r"token\ngh~p_{run36}", r"token\n[redacted: github token]")]
#[case::github_after_korean("토큰은gh~p_{run36}이다", "토큰은[redacted: github token]이다")]
#[case::gitlab("gl~pat-{run20}", "[redacted: gitlab token]")]
#[case::openai_old("sk~-{run48}", "[redacted: openai key]")]
#[case::openai_project("sk~-proj-{run40}_{run6}", "[redacted: openai key]")]
#[case::anthropic("export K=sk~-ant-api03-{run80}-AA", "export K=[redacted: anthropic key]")]
#[case::google("AI~za{run35}", "[redacted: google key]")]
#[case::gemini("AQ~.Ab8{run48}", "[redacted: google key]")]
#[case::slack_bot("xo~xb-1234567890-{run24}", "[redacted: slack token]")]
#[case::slack_user("xo~xp-1234567890-{run24}", "[redacted: slack token]")]
#[case::slack_webhook(
    "https://hooks.slack.com/services/T~0123/B0123/{run24}",
    "https://hooks.slack.com/services/[redacted: slack webhook]"
)]
#[case::stripe_live("sk_~live_{run24}", "[redacted: stripe key]")]
#[case::stripe_restricted("rk_~live_{run24}", "[redacted: stripe key]")]
#[case::stripe_test("sk_~test_{run24}", "[redacted: stripe key]")]
#[case::stripe_webhook("wh~sec_{run32}", "[redacted: stripe key]")]
#[case::npm("npm~_{run36}", "[redacted: npm token]")]
#[case::npmrc("//registry.example.org/:_authToken={hex36}", "//registry.example.org/:_authToken=[redacted: token]")]
#[case::pypi("pypi~-AgEIcHlwaS5vcmc{run40}", "[redacted: pypi token]")]
#[case::crates("ci~o{run32}", "[redacted: crates token]")]
#[case::hugging_face("hf~_{run34}", "[redacted: hugging face token]")]
#[case::sendgrid("SG~.{run22}.{run43}", "[redacted: sendgrid key]")]
#[case::twilio("TWILIO_SID=SK~{hex32}", "TWILIO_SID=[redacted: twilio key]")]
#[case::digitalocean("dop~_v1_{hex64}", "[redacted: digitalocean token]")]
#[case::telegram("bot123456789:~AA{run33}", "bot123456789:[redacted: telegram token]")]
#[case::discord("M~TA{run22}.GaBcDe.{run30}", "[redacted: discord token]")]
#[case::discord_webhook(
    "https://discord.com/api/webhooks/123456789012345678/{run64}",
    "https://discord.com/api/webhooks/123456789012345678/[redacted: discord webhook]"
)]
#[case::azure(
    "AccountName=x;Account~Key={run80}==;Suffix=y",
    "AccountName=x;AccountKey=[redacted: azure key];Suffix=y"
)]
#[case::jwt("ey~J{run20}.ey~J{run40}.{run43}", "[redacted: jwt]")]
#[case::bearer_header("Authorization: Bearer {run30}", "Authorization: Bearer [redacted: authorization]")]
#[case::basic_header(
    r#"-H "Authorization: Basic YWRt~aW46aHVudGVyMg==""#,
    r#"-H "Authorization: Basic [redacted: authorization]""#
)]
#[case::bearer_alone("with Bearer {run30} it works", "with Bearer [redacted: authorization] it works")]
#[case::header_in_json(
    r#"{"authorization": "Bearer {run30}"}"#,
    r#"{"authorization": "Bearer [redacted: authorization]"}"#
)]
#[case::address("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted: password]@db:5432/x")]
#[case::address_with_at("mysql://root:p@ss@localhost", "mysql://root:[redacted: password]@localhost")]
#[case::address_without_user("redis://:hunter2@cache", "redis://:[redacted: password]@cache")]
#[case::curl("curl -s -u admin:hunter2 https://x.io", "curl -s -u admin:[redacted: password] https://x.io")]
#[case::plain("password=hunter2", "password=[redacted: password]")]
#[case::spaced("password = hunter2", "password = [redacted: password]")]
#[case::only_letters_in_a_shell("DB_PASSWORD=letmein", "DB_PASSWORD=[redacted: password]")]
#[case::passwd("passwd: hunter2", "passwd: [redacted: password]")]
#[case::api_key("api_key = \"{run24}\"", "api_key = \"[redacted: api key]\"")]
#[case::api_key_header("X-Api-Key: {run24}", "X-Api-Key: [redacted: api key]")]
#[case::secret("secret: s3cr3tvalue", "secret: [redacted: secret]")]
#[case::token("token={run24}&page=2", "token=[redacted: token]&page=2")]
#[case::client_secret("client_secret='{run24}'", "client_secret='[redacted: secret]'")]
#[case::access_token(
    r#""access_token":"{run24}","expires_in":3600"#,
    r#""access_token":"[redacted: token]","expires_in":3600"#
)]
#[case::private_key_name("private_key: {run40}", "private_key: [redacted: private key]")]
#[case::json(r#"{"password": "hunter2", "user": "x"}"#, r#"{"password": "[redacted: password]", "user": "x"}"#)]
#[case::json_in_json(r#""{\"password\": \"hunter2\"}""#, r#""{\"password\": \"[redacted: password]\"}""#)]
#[case::export("export API_TOKEN={run24}", "export API_TOKEN=[redacted: token]")]
#[case::yaml("db:\n  password: letmein\n  port: 1", "db:\n  password: [redacted: password]\n  port: 1")]
#[case::flag("login --password hunter2 --force", "login --password [redacted: password] --force")]
#[case::flag_with_equals("login --token={run20}", "login --token=[redacted: token]")]
#[case::korean_password("비밀번호: hunter2", "비밀번호: [redacted: password]")]
#[case::korean_cipher("암호=hunter2", "암호=[redacted: password]")]
#[case::korean_short("비번 : hunter2입니다", "비번 : [redacted: password]입니다")]
#[case::korean_wide_colon("비밀번호：hunter2", "비밀번호：[redacted: password]")]
#[case::typed_constant("const PASSWORD: &str = \"hunter2\";", "const PASSWORD: &str = \"[redacted: password]\";")]
#[case::compared("if password == \"hunter2\" {", "if password == \"[redacted: password]\" {")]
#[case::mapped("config[\"password\"] = \"hunter2\"", "config[\"password\"] = \"[redacted: password]\"")]
#[case::xml("<password>hunter2</password>", "<password>[redacted: password]</password>")]
#[case::sql("WITH PASSWORD 'hunter2';", "WITH PASSWORD '[redacted: password]';")]
#[case::markdown("- **Password:** `hunter2`", "- **Password:** `[redacted: password]`")]
#[case::passphrase("passphrase = \"correct horse battery staple\"", "passphrase = \"[redacted: password]\"")]
#[case::short_name("PASS=hunter2", "PASS=[redacted: password]")]
#[case::secret_of_words("jwt_secret: \"super-secret-jwt-key\"", "jwt_secret: \"[redacted: secret]\"")]
#[case::personal_address("https://{hex24}@github.com/x", "https://[redacted: password]@github.com/x")]
#[case::numbered("PASSWORD_2=hunter2", "PASSWORD_2=[redacted: password]")]
#[case::bang("password=hunter2!", "password=[redacted: password]")]
#[case::symbols("password=P@$$w0rd,x&y", "password=[redacted: password]")]
#[case::connection_string("Server=x;Password=hunter2;Database=y", "Server=x;Password=[redacted: password];Database=y")]
#[case::inside_a_reference("password=${gh~p_{run36}}", "password=${[redacted: github token]}")]
#[case::specific_kind_wins("GITHUB_TOKEN=gh~p_{run36}", "GITHUB_TOKEN=[redacted: github token]")]
fn a_secret_is_replaced_and_what_stands_around_it_stays(#[case] template: &str, #[case] expected: &str) {
    let text = fill(template);
    let redacted = redact(&text);
    assert_eq!(redacted.text, expected, "from {text}");
    assert_eq!(redacted.count, 1);
    assert_eq!(redact(&redacted.text), Redacted { text: Cow::Borrowed(expected), count: 0 });
}

#[rstest]
#[case::checked("the password is checked with argon2id")]
#[case::bucket("the token bucket refills every second")]
#[case::required("password: required")]
#[case::environ("password = os.environ[\"X\"]")]
#[case::getenv("password := os.Getenv(\"DB_PASSWORD\")")]
#[case::variable("password=${TOKEN}")]
#[case::variable_in_quotes("API_TOKEN=\"$TOKEN\"")]
#[case::angle("--token <your-token>")]
#[case::angle_assigned("token=<your-token>")]
#[case::process("const token = process.env.API_KEY;")]
#[case::call("const password = getPassword();")]
#[case::rust_type("password: String,")]
#[case::rust_option("pub api_key: Option<String>,")]
#[case::rust_reference("fn check(password: &str, token: &Token) -> bool")]
#[case::typescript_type("  password: string;")]
#[case::mask_x("password=xxxxxxxx")]
#[case::mask_star("password: ********")]
#[case::changeme("password=changeme")]
#[case::your("API_KEY=your-api-key-here")]
#[case::git_sha("commit 7cb99d9c0ffee0123456789abcdef0123456789a")]
#[case::uuid("id 550e8400-e29b-41d4-a716-446655440000")]
#[case::sha256("sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")]
#[case::address("see https://example.com/a/b?c=d#e")]
#[case::git_address("git@github.com:owner/name.git and ssh://git@github.com/owner/name")]
#[case::at_in_path("https://example.com/@scope/name:1.2.3")]
#[case::image("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk")]
#[case::path("/home/user/projects/secret/token.rs")]
#[case::path_value("PASSWORD_FILE=/run/secrets/db")]
#[case::path_assigned("token: /run/secrets/token")]
#[case::header_of_nothing("Authorization: Bearer <token>")]
#[case::header_in_prose("the Authorization: Bearer scheme, or Basic authentication")]
#[case::bearer_prose("a bearer token expires")]
#[case::count("max_tokens: 4096, tokens = 128000")]
#[case::tokenizer("tokenizer: cl100k_base")]
#[case::token_type("\"token_type\": \"bearer\"")]
#[case::hash("password_hash = \"x9f8e7d6c5b4\"")]
#[case::reset("password_reset_url=https://example.com/reset1")]
#[case::length("PASSWORD_MIN_LENGTH=12345")]
#[case::message("password: \"Password must be at least 8 characters\"")]
#[case::korean_message("password: \"비밀번호를 입력하세요\"")]
#[case::korean_prose("비밀번호: 필수 항목입니다")]
#[case::korean_rule("비밀번호는 8자 이상이어야 합니다")]
#[case::korean_algorithm("암호: AES256을 쓴다")]
#[case::shorthand("login({ password: hashed, token: accessToken })")]
#[case::keyword_argument("connect(user=user, password=password)")]
#[case::secrets("secrets: inherit")]
#[case::actions("token: ${{ secrets.GITHUB_TOKEN }}")]
#[case::jinja("password: {{ db_password }}")]
#[case::null("\"password\": null, \"token\": \"\"")]
#[case::boolean("show_password=true")]
#[case::unexpected("Unexpected token 'export' in module")]
#[case::secretary("secretary: Kim1234")]
#[case::compass("compass: north1234")]
#[case::tests_pass("tests pass: 1234 of 1234")]
#[case::enumerated("TokenKind::Secret::Password1")]
#[case::sklearn(".sk-toggleable__content-with-a-long-name")]
#[case::npm_variable("npm_config_registry_and_more_words_after_it")]
#[case::public_block("-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----")]
#[case::certificate("-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG\n-----END CERTIFICATE-----")]
#[case::header_named("files with `-----BEGIN PRIVATE KEY-----` are skipped")]
#[case::json_is_no_jwt("eyJhbGciOiJIUzI1NiJ9 is the header of one")]
#[case::short_prefixes("the prefixes ghp_, sk-ant-, xoxb- and AKIA give them away")]
#[case::placeholder("password=[redacted: password] and [redacted: github token]")]
#[case::address_variable("postgres://user:${DB_PASSWORD}@host/db")]
#[case::address_masked("postgres://user:****@host/db")]
#[case::validation("'password' => 'required|string|min:8'")]
#[case::flag_prose("pass it with the --password flag or the --token option")]
#[case::stdin("docker login --password-stdin")]
#[case::version("token: 1.2.3")]
#[case::measure("[token: 0.123ms]")]
#[case::input("<input type=\"password\" name=\"password\" placeholder=\"Password\">")]
#[case::docker_user("docker run -u 1000:1000 image")]
#[case::times("10:30:15 and 12:45:AAA")]
#[case::empty("")]
fn a_text_without_a_secret_is_left_as_it_is(#[case] text: &str) {
    assert_eq!(redact(text), Redacted { text: Cow::Borrowed(text), count: 0 });
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
fn a_private_key_is_replaced_as_a_whole(#[case] kind: &str, #[case] lines: &str, #[case] terminated: bool) {
    let end = if terminated { format!("-----END {kind}PRIVATE KEY-----") } else { String::new() };
    let text = format!("before {}\nand what follows it", key_block(kind, &end, lines));
    let redacted = redact(&text);
    assert_eq!(redacted.text, "before [redacted: private key]\nand what follows it");
    assert_eq!(redacted.count, 1);
}

#[test]
fn two_keys_are_two_secrets_and_the_text_between_them_stays() {
    let key = key_block("", "-----END PRIVATE KEY-----", "\nMIIEvQIBADANBgkq\n");
    let text = format!("{key} and {key}");
    let expected = "[redacted: private key] and [redacted: private key]";
    assert_eq!(redact(&text), Redacted { text: Cow::Borrowed(expected), count: 2 });
}

#[test]
fn every_secret_of_a_text_is_counted() {
    let text = fill("DB_PASSWORD=hunter2\nGITHUB_TOKEN=gh~p_{run36}\nURL=redis://:hunter2@cache\n");
    let redacted = redact(&text);
    assert_eq!(
        redacted.text,
        "DB_PASSWORD=[redacted: password]\nGITHUB_TOKEN=[redacted: github token]\nURL=redis://:[redacted: password]@cache\n"
    );
    assert_eq!(redacted.count, 3);
}

#[test]
fn what_only_a_placeholder_lays_bare_is_found_in_the_same_call() {
    // With the token in it the value is a path; without it, it could be a password.
    let text = fill("password=x1/y-gh~p_{run36}.txt");
    let expected = "password=[redacted: password][redacted: github token].txt";
    assert_eq!(redact(&text), Redacted { text: Cow::Borrowed(expected), count: 2 });
    assert_eq!(redact(expected).count, 0);
}

/// Texts of pieces that mean something to a rule, which random characters would hardly ever form.
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
    let runs = [4, 10, 16, 20, 32, 36, 40].map(run);
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
    prop_assert!(once.text.len() <= text.len() + once.count * (PLACEHOLDER_START.len() + LONGEST_KIND + 1));
    prop_assert!(once.count > 0 || once.text == text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn redacting_twice_is_redacting_once_for_any_text(text in any::<String>()) {
        check_properties(&text)?;
    }

    #[test]
    fn redacting_twice_is_redacting_once_for_texts_of_telling_pieces(text in pieces()) {
        check_properties(&text)?;
    }

    #[test]
    fn a_token_does_not_survive_whatever_stands_around_it(before in "[^a-zA-Z0-9]{0,8}", after in "[^a-zA-Z0-9_]{0,8}") {
        let token = fill("gh~p_{run36}");
        let text = format!("{before}{token}{after}");
        prop_assert!(!redact(&text).text.contains(&token));
    }
}
