//! Synthetic secrets of each kind. Tests plant them where real secrets could be, and search for them where there must be none.
//!
//! They are assembled from pieces, so that no secret scanner flags this file.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Canary {
    /// The expected placeholder, without brackets.
    pub label: &'static str,
    /// The secret with its name or context.
    pub text: String,
    /// Lower-case parts of the secret that must not be found.
    traces: Vec<String>,
}

/// `~` splits known prefixes, `{N}` is N letters and digits, `{hN}` is N hexadecimal digits, and `{word}` is a typical
/// password.
const TEMPLATES: [(&str, &str); 74] = [
    ("private key", "-----BEGIN RSA ~PRIVATE KEY-----\n{64}\n{64}\n{24}==\n-----END RSA PRIVATE KEY-----"),
    ("private key", "-----BEGIN OPENSSH ~PRIVATE KEY-----\n{64}\n{64}\n{40}"),
    ("private key", r#"{"type":"service_account","private_key":"-----BEGIN ~PRIVATE KEY-----\n{64}\n{64}\n"}"#),
    ("private key", "-----BEGIN PGP ~PRIVATE KEY BLOCK-----\n\n{64}\n{64}\n-----END PGP PRIVATE KEY BLOCK-----"),
    ("private key", "AGE~-SECRET-KEY-1{u58}"),
    ("aws access key", "AK~IA{u16}"),
    ("aws secret key", "aws_secret_access_key = {40}"),
    ("azure key", "AccountName=x;Account~Key={86}==;EndpointSuffix=core.windows.net"),
    ("azure key", "https://x.blob.core.windows.net/c?sv=2024-11-04&sig~={43}%3D"),
    ("google key", "AI~za{35}"),
    ("google token", "ya~29.{40}"),
    ("google key", "GO~CSPX-{28}"),
    ("digitalocean token", "dop~_v1_{h64}"),
    ("cloudflare token", "v1~.0-{h24}-{h146}"),
    ("github token", "gh~p_{36}"),
    ("github token", "gh~s_{36}"),
    ("github token", "github~_pat_{22}_{59}"),
    ("gitlab token", "gl~pat-{20}"),
    ("gitlab token", "gl~dt-{20}"),
    ("atlassian token", "AT~ATT3{60}"),
    ("npm token", "npm~_{36}"),
    ("token", "//registry.npm~js.org/:_authToken={h32}"),
    ("pypi token", "pypi~-AgEIcHlwaS5vcmc{60}"),
    ("docker token", "dckr~_pat_{27}"),
    ("openai key", "sk~-{48}"),
    ("openai key", "sk~-proj-{60}"),
    ("anthropic key", "sk~-ant-api03-{90}AA"),
    ("hugging face token", "hf~_{34}"),
    ("groq key", "gs~k_{52}"),
    ("slack token", "xo~xb-123456789012-1234567890123-{24}"),
    ("slack token", "xa~pp-1-A0123456789-1234567890123-{h64}"),
    ("slack webhook", "https://hooks.slack.com/services/T~0123/B0123/{24}"),
    ("telegram token", "123456789:~AA{33}"),
    ("discord token", "M~TA{23}.GaBcDe.{38}"),
    ("sendgrid key", "SG~.{22}.{43}"),
    ("twilio key", "SK~{h32}"),
    ("token", "TWILIO_AUTH_TOKEN={h32}"),
    ("mailgun key", "key~-{h32}"),
    ("stripe key", "sk_~live_{24}"),
    ("stripe key", "rk_~live_{24}"),
    ("stripe key", "wh~sec_{32}"),
    ("shopify token", "sh~pat_{h32}"),
    ("vault token", "hv~s.{24}"),
    ("doppler token", "dp~.pt.{43}"),
    ("databricks token", "da~pi{h32}"),
    ("linear key", "lin~_api_{40}"),
    ("notion token", "nt~n_{46}"),
    ("sentry token", "sntr~ys_{60}"),
    ("jwt", "ey~J{20}.ey~J{40}.{43}"),
    ("authorization", "Authorization: Bearer {40}"),
    ("authorization", "Authorization: Basic {32}=="),
    ("cookie", "Cookie: sid={32}; theme=dark"),
    ("cookie", "curl -s --cookie 'sid={32}' https://x.io"),
    ("password", "curl -u ann:{word} https://x.io"),
    ("password", "mysql -u root -p{word} shop"),
    ("password", "postgres://app:{word}@db:5432/shop"),
    ("password", "redis://:{word}@cache:6379"),
    ("password", "mongodb+srv://app:{word}@c.x.io/shop"),
    ("password", "machine x.io login ann password {word}"),
    ("password", "PGPASSWORD={word} psql"),
    ("password", "DB_PASSWORD={word}"),
    ("password", "password = \"{word}\""),
    ("password", "{\"password\": \"{word}\"}"),
    ("password", "login --password {word} --force"),
    ("password", "비밀번호: {word}"),
    ("password", "비밀번호는 {word}입니다"),
    ("password", "<password>{word}</password>"),
    ("secret", "NAVER_CLIENT_SECRET={24}"),
    ("secret", "client_secret: '{32}'"),
    ("token", "GET /v1/me?token={32}&page=2"),
    ("token", "토큰: {32}"),
    ("api key", "export SHOP_API_KEY={32}"),
    ("credential", "{\"auths\": {\"x.io\": {\"auth\": \"{32}\"}}}"),
    ("session", "session = '{40}'"),
];

/// More formats from the documentation of providers. They are only measured, because sending all of them through the programs takes too
/// long.
const MORE: [&str; 96] = [
    "AS~IA{u16}",
    r#""SecretAccessKey": "{40}""#,
    "AWS_SECRET_ACCESS_KEY={40}",
    "gh~o_{36}",
    "gh~u_{36}",
    "gh~r_{36}",
    "gl~rt-{20}",
    "gl~ptt-{h40}",
    "xo~xp-123456789012-123456789012-1234567890123-{h32}",
    "xo~xe.xoxp-1-{60}",
    "sk_~test_{24}",
    "rk_~test_{24}",
    r#"{"refresh_token": "1//0{40}"}"#,
    "ruby~gems_{h48}",
    "oy~2{h43}",
    "ci~o{32}",
    "dckr~_oat_{32}",
    "CC~IPAT_{22}_{h40}",
    "bk~ua_{h40}",
    "sg~p_{h40}",
    "xa~i-{80}",
    "pp~lx-{48}",
    "r8~_{37}",
    "tv~ly-{32}",
    "pc~sk_{6}_{60}",
    "lsv2~_pt_{h32}_{h10}",
    "https://discord.com/api/webhooks/123456789012345678/{68}",
    "xkey~sib-{h64}-{16}",
    "re~_{8}_{24}",
    "MAILCHIMP_API_KEY={h32}-us12",
    "sq0~atp-{22}",
    "live~_sk_{32}",
    "PAYPAL_CLIENT_SECRET={80}",
    "hv~b.{90}",
    "aBcDeFgHiJkLm7.atlas~v1.{67}",
    "pu~l-{h40}",
    "pscale~_tkn_{43}",
    "pscale~_pw_{43}",
    "sb~p_{h40}",
    "gl~sa_{32}_{h8}",
    "NR~AK-{u27}",
    "dt0~c01.{u24}.{u64}",
    "PM~AK-{h24}-{h34}",
    "DD_API_KEY={h32}",
    "pa~t{14}.{h64}",
    "fig~d_{40}",
    "CF~PAT-{43}",
    "secret~_{43}",
    "HR~KU-{60}",
    "nf~p_{36}",
    "fo~1_{43}",
    "LT~AI{20}",
    "AK~ID{32}",
    "CLOUDFLARE_API_TOKEN={40}",
    "AT~BB{32}",
    "sntr~yu_{h64}",
    "sh~pss_{h32}",
    "sh~pca_{h32}",
    "Authorization: token {40}",
    "X-API-Key: {32}",
    "Proxy-Authorization: Basic {32}",
    "Set-Cookie: session={40}; HttpOnly; Path=/",
    "headers = {'Authorization': 'Bearer {40}'}",
    "docker login -u ann -p {word} registry.example.com",
    "redis-cli -a {word} ping",
    "sshpass -p {word} ssh ann@host",
    "curl --user ann:{word} https://x.io",
    "wget --password={word} https://x.io",
    "mongodb://app:{word}@db:27017/shop",
    "amqp://app:{word}@mq:5672",
    "smtp://ann:{word}@mail.example.com:587",
    "ftp://ann:{word}@files.example.com/x",
    "jdbc:mysql://db/shop?user=app&password={word}",
    "psql \"host=db user=app password={word}\"",
    "mysqldump --password={word} shop",
    "./deploy --db-password={word}",
    "passwd: {word}",
    "MYSQL_ROOT_PASSWORD: {word}",
    "spring.datasource.password={word}",
    "\"passwd\": \"{word}\"",
    "export PGPASSWORD='{word}'",
    "const dbPassword = '{word}';",
    "db_password => '{word}',",
    "암호: {word}",
    "패스워드: {word}",
    "SECRET_KEY_BASE={h64}",
    "SLACK_SIGNING_SECRET={h32}",
    "webhook_secret: {32}",
    "encryption_key = \"{h64}\"",
    "access_token: {40}",
    "\"refresh_token\": \"{40}\"",
    "apikey={32}",
    "ACCESS_KEY_SECRET={30}",
    "KAKAO_REST_API_KEY={h32}",
    "GET /v1/users?api_key={32}&page=1",
    "-H 'Authorization: Bearer {40}'",
];

/// All canaries to measure.
pub fn measured_canaries() -> Vec<Canary> {
    let mut random = TokenGenerator(0x2545_F491_4F6C_DD1D);
    canaries().into_iter().chain(MORE.iter().map(|template| Canary::fill("", template, &mut random))).collect()
}

/// Returns one canary of each kind, and one between private tags.
pub fn canaries() -> Vec<Canary> {
    let mut random = TokenGenerator(0x9E37_79B9_7F4A_7C15);
    let mut canaries: Vec<Canary> =
        TEMPLATES.iter().map(|(label, template)| Canary::fill(label, template, &mut random)).collect();
    canaries.push(Canary::fill("", "kept <private>the {40} diary</private> kept", &mut random));
    canaries
}

/// Returns the traces of canaries in a text or in a file's bytes, with the text around them.
pub fn find_traces(canaries: &[Canary], bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let lower = text.to_ascii_lowercase();
    let found = canaries.iter().flat_map(|canary| canary.traces.iter().map(move |trace| (canary, trace)));
    found
        .filter_map(|(canary, trace)| {
            let at = lower.find(trace)?;
            let start = text.floor_char_boundary(at.saturating_sub(120));
            let around = &text[start..text.ceil_char_boundary(text.len().min(at + 80))];
            Some(format!("{trace} of {:?} in: {around}", canary.text))
        })
        .collect()
}

/// Searches all files below a folder and their names.
///
/// # Panics
///
/// If a canary left a trace.
#[track_caller]
pub fn assert_no_traces(canaries: &[Canary], folder: &Path) {
    let mut found = Vec::new();
    for file in files_below(folder) {
        let name = file.to_string_lossy().into_owned();
        found.extend(find_traces(canaries, name.as_bytes()));
        // A file may vanish meanwhile.
        let bytes = fs::read(&file).unwrap_or_default();
        found.extend(find_traces(canaries, &bytes).iter().map(|trace| format!("{name}: {trace}")));
    }
    assert!(found.is_empty(), "{} traces:\n{}", found.len(), found.join("\n"));
}

/// Checks that a test planted its canaries: each label must be in the logs.
///
/// # Panics
///
/// If a label is missing.
#[track_caller]
pub fn assert_labels(canaries: &[Canary], logs: &str) {
    for canary in canaries.iter().filter(|canary| !canary.label.is_empty()) {
        assert!(logs.contains(&format!("[redacted: {}]", canary.label)), "no label for {canary:?}");
    }
}

pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(path) = pending.pop() {
        match fs::read_dir(&path) {
            Ok(items) => pending.extend(items.filter_map(|item| Some(item.ok()?.path()))),
            Err(_) => files.push(path),
        }
    }
    files
}

impl Canary {
    fn fill(label: &'static str, template: &str, random: &mut TokenGenerator) -> Self {
        let template = template.replace('~', "");
        let (mut text, mut traces) = (String::new(), Vec::new());
        let mut rest = template.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            let hole = after.split_once('}').and_then(|(name, rest)| Some((random.draw(name)?, rest)));
            let Some((drawn, behind)) = hole else {
                text.push('{');
                rest = after;
                continue;
            };
            // Traces of both ends, so that a truncated secret is found too.
            let part = drawn.len().min(10);
            traces.extend([&drawn[..part], &drawn[drawn.len() - part..]].map(str::to_ascii_lowercase));
            text.push_str(&drawn);
            rest = behind;
        }
        text.push_str(rest);
        // Both ends of a short secret are equal.
        traces.dedup();
        Self { label, text, traces }
    }
}

/// A reproducible generator.
struct TokenGenerator(u64);

impl TokenGenerator {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize
    }

    /// Returns the value of a placeholder, or `None` for any other text.
    fn draw(&mut self, hole: &str) -> Option<String> {
        let (alphabet, length): (&[u8], &str) = match hole.as_bytes().first()? {
            b'h' => (b"0123456789abcdef", &hole[1..]),
            b'u' => (b"ABCDEFGHJKLMNPQRSTUVWXYZ234567", &hole[1..]),
            b'w' => (b"abcdefghjkmnpqrstuvwxyz23456789", "9"),
            _ => (b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", hole),
        };
        let length: usize = length.parse().ok()?;
        let drawn: String = (0..length).map(|_| char::from(alphabet[self.next() % alphabet.len()])).collect();
        // Passwords and nearly all tokens have a digit.
        Some(format!("{}7{}", &drawn[..length / 2], &drawn[length / 2 + 1..]))
    }
}
