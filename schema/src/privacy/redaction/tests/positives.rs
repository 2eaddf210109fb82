//! Texts with secrets, and their expected redaction.

use rstest::rstest;

use super::*;

#[rstest]
#[case::on_the_next_line("password\nhunter2hunter2\n", "password\n[redacted: password]\n")]
#[case::on_the_next_line_of_a_list("- id\r\n- Password\r\nqwer1234!", "- id\r\n- Password\r\n[redacted: password]")]
#[case::korean_without_a_particle("패스워드 qwer1234! 로 접속", "패스워드 [redacted: password] 로 접속")]
#[case::htpasswd("htpasswd -b .htpasswd ann hunter2", "htpasswd -b .htpasswd ann [redacted: password]")]
#[case::htpasswd_without_file(
    "run htpasswd -b ann 'hunter2' && ls",
    "run htpasswd -b ann '[redacted: password]' && ls"
)]
#[case::htpasswd_to_output("htpasswd -nbB ann hunter2 | tee x", "htpasswd -nbB ann [redacted: password] | tee x")]
#[case::from_literal(
    "kubectl create secret generic x --from-literal=pw=hunter2",
    "kubectl create secret generic x --from-literal=pw=[redacted: secret]"
)]
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
#[case::age("AGE~-SECRET-KEY-1{RUN58}", "[redacted: private key]")]
#[case::putty(
    "Private-~Lines: 2\n{run64}\n{run40}==\nPrivate-MAC: 1",
    "Private-Lines: 2\n[redacted: private key]\nPrivate-MAC: 1"
)]
#[case::gcp_account(
    r#"{"type": "service_account", "private_key": "-----BEGIN ~PRIVATE KEY-----\n{run64}\n-----END PRIVATE KEY-----\n", "client_email": "a@b.c"}"#,
    r#"{"type": "service_account", "private_key": "[redacted: private key]\n", "client_email": "a@b.c"}"#
)]
#[case::bedrock("AB~SK{run80}=", "[redacted: aws access key]")]
#[case::azure_shared_access("?sv=2024&sig~={run43}%3D&se=1", "?sv=2024&sig=[redacted: azure key]&se=1")]
#[case::azure_client("abc8Q{tilde}{run34}", "abc8[redacted: azure secret]")]
#[case::google_refresh("1/~/0{run43}", "[redacted: google token]")]
#[case::google_oauth("ya~29.{run40}", "[redacted: google token]")]
#[case::google_client("GO~CSPX-{run27}", "[redacted: google key]")]
#[case::alibaba("LT~AI{run20}", "[redacted: alibaba key]")]
#[case::cloudflare("v1~.0-{hex24}-{hex100}", "[redacted: cloudflare token]")]
#[case::gitlab_deploy("gl~dt-{run20}", "[redacted: gitlab token]")]
#[case::gitlab_runner("gl~rt-t1_{run20}.01.{run6}", "[redacted: gitlab token]")]
#[case::bitbucket("AT~BB{run32}", "[redacted: bitbucket token]")]
#[case::atlassian("AT~ATT3{run40}=AB12", "[redacted: atlassian token]")]
#[case::rubygems("rubygems~_{hex48}", "[redacted: rubygems key]")]
#[case::docker("dckr~_pat_{run27}", "[redacted: docker token]")]
#[case::openai_service("sk~-svcacct-{run40}", "[redacted: openai key]")]
#[case::openrouter("sk~-or-v1-{hex64}", "[redacted: openai key]")]
#[case::groq("gs~k_{run48}", "[redacted: groq key]")]
#[case::perplexity("pp~lx-{run48}", "[redacted: perplexity key]")]
#[case::replicate("r8~_{run36}", "[redacted: replicate token]")]
#[case::slack_app("xa~pp-1-A0123-456-{hex64}", "[redacted: slack token]")]
#[case::slack_refresh("xo~xe.xoxp-1-{run40}", "[redacted: slack token]")]
#[case::mailgun("key~-{hex32}", "[redacted: mailgun key]")]
#[case::shopify("sh~pat_{hex32}", "[redacted: shopify token]")]
#[case::square("sq~0atp-{run22}", "[redacted: square token]")]
#[case::toss("live~_sk_{run24}", "[redacted: toss key]")]
#[case::vault("hv~s.{run24}", "[redacted: vault token]")]
#[case::terraform("aB3dE6gH9kM2nP.~atlasv1.{run64}", "aB3dE6gH9kM2nP[redacted: terraform token]")]
#[case::pulumi("pu~l-{hex40}", "[redacted: pulumi token]")]
#[case::doppler("dp~.pt.{run43}", "[redacted: doppler token]")]
#[case::databricks("da~pi{hex32}", "[redacted: databricks token]")]
#[case::planetscale("psc~ale_tkn_{run43}", "[redacted: planetscale token]")]
#[case::supabase("sb~p_{hex40}", "[redacted: supabase key]")]
#[case::grafana("gl~sa_{run32}_{hex16}", "[redacted: grafana token]")]
#[case::sentry("sntr~ys_eyJpYXQ{run40}", "[redacted: sentry token]")]
#[case::new_relic("NR~AK-{run27}", "[redacted: new relic key]")]
#[case::postman("PM~AK-{hex24}-{hex34}", "[redacted: postman key]")]
#[case::linear("lin~_api_{run40}", "[redacted: linear key]")]
#[case::notion("nt~n_{run43}", "[redacted: notion token]")]
#[case::notion_old("secre~t_{run43}", "[redacted: notion token]")]
#[case::airtable("pa~t{run10}aB3d.{hex64}", "[redacted: airtable token]")]
#[case::figma("fig~d_{run40}", "[redacted: figma token]")]
#[case::cookie_header("Cookie: sid={run24}; theme=dark", "Cookie: [redacted: cookie]")]
#[case::set_cookie("Set-Cookie: sid={run24}; Path=/; HttpOnly", "Set-Cookie: sid=[redacted: cookie]; Path=/; HttpOnly")]
#[case::cookie_in_json(r#""cookie": "sid={run24}", "x": 1"#, r#""cookie": "[redacted: cookie]", "x": 1"#)]
#[case::cookie_argument("curl -b 'sid={run24}' https://x.io", "curl -b '[redacted: cookie]' https://x.io")]
#[case::cookie_option("curl --cookie \"sid={run24}\" x.io", "curl --cookie \"[redacted: cookie]\" x.io")]
#[case::cookie_header_argument("curl -H 'Cookie: sid={run24}' x.io", "curl -H 'Cookie: [redacted: cookie]' x.io")]
#[case::curl_over_lines(
    "curl https://x.io \\\n  -u \"ann:hunter2\" -s",
    "curl https://x.io \\\n  -u \"ann:[redacted: password]\" -s"
)]
#[case::curl_in_json(r#""curl -u \"ann:hunter2\" x.io""#, r#""curl -u \"ann:[redacted: password]\" x.io""#)]
#[case::curl_key_as_user("curl https://x.io -u {run24}:", "curl https://x.io -u [redacted: password]:")]
#[case::mysql("mysql -u root -phunter2 shop", "mysql -u root -p[redacted: password] shop")]
#[case::mysql_quoted("mysqldump -p'hunter 2' shop", "mysqldump -p'[redacted: password]' shop")]
#[case::docker_login("docker login -u ann -p hunter2 x.io", "docker login -u ann -p [redacted: password] x.io")]
#[case::sshpass("sshpass -p hunter2 ssh x.io", "sshpass -p [redacted: password] ssh x.io")]
#[case::redis("redis-cli -h db -a hunter2 ping", "redis-cli -h db -a [redacted: password] ping")]
#[case::httpie("http -a ann:hunter2 GET x.io", "http -a ann:[redacted: password] GET x.io")]
#[case::openssl_key(
    "openssl enc -aes-256-cbc -k hunter2 -in a",
    "openssl enc -aes-256-cbc -k [redacted: password] -in a"
)]
#[case::openssl("openssl rsa -passin pass:hunter2 -in k", "openssl rsa -passin pass:[redacted: password] -in k")]
#[case::postgres_variable("PGPASSWORD=hunter2 psql -h db", "PGPASSWORD=[redacted: password] psql -h db")]
#[case::netrc("machine x.io login ann password hunter2", "machine x.io login ann password [redacted: password]")]
#[case::netrc_over_lines(
    "machine x.io\n  login ann\n  password hunter2",
    "machine x.io\n  login ann\n  password [redacted: password]"
)]
#[case::docker_config(
    r#"{"auths": {"x.io": {"auth": "YW5uOmh1bnRlcjI5OTk5"}}}"#,
    r#"{"auths": {"x.io": {"auth": "[redacted: credential]"}}}"#
)]
#[case::query("GET /v1/me?token={run24}&x=1", "GET /v1/me?token=[redacted: token]&x=1")]
#[case::query_key("GET /v1/me?x=1&api_key={run24}", "GET /v1/me?x=1&api_key=[redacted: api key]")]
#[case::toml("[db]\npassword = \"hunter2\"\nport = 1", "[db]\npassword = \"[redacted: password]\"\nport = 1")]
#[case::typescript("const apiKey: string = '{run24}';", "const apiKey: string = '[redacted: api key]';")]
#[case::ruby("secret_key_base: '{hex64}'", "secret_key_base: '[redacted: secret]'")]
#[case::naver("NAVER_CLIENT_SECRET=hunter2abc", "NAVER_CLIENT_SECRET=[redacted: secret]")]
#[case::kakao("KAKAO_REST_API_KEY={hex32}", "KAKAO_REST_API_KEY=[redacted: api key]")]
#[case::kakao_admin("kakao.admin_key: {hex32}", "kakao.admin_key: [redacted: api key]")]
#[case::twilio_auth("TWILIO_AUTH_TOKEN={hex32}", "TWILIO_AUTH_TOKEN=[redacted: token]")]
#[case::weak_key("key: \"{run24}\"", "key: \"[redacted: key]\"")]
#[case::weak_key_in_environment("APP_KEY2={hex32}", "APP_KEY2=[redacted: api key]")]
#[case::weak_session("session = '{run32}'", "session = '[redacted: session]'")]
#[case::weak_credential("credential: {run32}", "credential: [redacted: credential]")]
#[case::weak_signature("&X-Amz-Signature={hex64}&x=1", "&X-Amz-Signature=[redacted: signature]&x=1")]
#[case::sentence("the password is hunter2, please", "the password is [redacted: password], please")]
#[case::korean_sentence("비밀번호는 hunter2입니다", "비밀번호는 [redacted: password]입니다")]
#[case::korean_cipher_sentence("임시 암호는 hunter2!", "임시 암호는 [redacted: password]")]
#[case::korean_token_sentence("토큰은 {run24}이고 곧 만료된다", "토큰은 [redacted: token]이고 곧 만료된다")]
#[case::korean_loan_word("패스워드=hunter2", "패스워드=[redacted: password]")]
#[case::korean_token("토큰: {run24}", "토큰: [redacted: token]")]
#[case::diff(
    "-DB_PASSWORD=hunter2\n+DB_PASSWORD=${DB_PASSWORD}",
    "-DB_PASSWORD=[redacted: password]\n+DB_PASSWORD=${DB_PASSWORD}"
)]
#[case::mongo("mongodb+srv://ann:hunter2@c.x.io/d?w=1", "mongodb+srv://ann:[redacted: password]@c.x.io/d?w=1")]
#[case::amqp("amqps://ann:p%40ss@mq:5671/v", "amqps://ann:[redacted: password]@mq:5671/v")]
#[case::log_line("10:30 WARN login failed, token={run24}.", "10:30 WARN login failed, token=[redacted: token].")]
fn secret_is_replaced_and_its_context_stays(#[case] template: &str, #[case] expected: &str) {
    let text = fill_pieces(template);
    let redacted = redact(&text);
    assert_eq!(redacted.text, expected, "from {text}");
    assert_eq!(redacted.count, 1);
    assert_eq!(redact(&redacted.text), RedactedText { text: Cow::Borrowed(expected), count: 0 });
    let (above, below) =
        ("윗줄은 그대로\n", "\nand so does the line below, at 7cb99d9c0ffee0123456789abcdef0123456789a");
    assert_eq!(redact(&format!("{above}{text}{below}")).text, format!("{above}{expected}{below}"));
}
