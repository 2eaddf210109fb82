//! The table of rules, from rules for the tokens of single services to rules that judge a value by its name.
//!
//! Specific rules come before general ones, because the first of two equal matches determines the label.

use super::rule::{SecretRule, TokenBoundary};
use super::values::NameFamily;
use super::{commands, credentials, headers, private_keys};

/// All rules. The formats are documented by the services, or known from their tokens. Maximum lengths are tolerant, because tokens tend to
/// become longer.
pub(super) static RULES: [SecretRule; 124] = [
    SecretRule::function("private key", &["-----BEGIN "], private_keys::find_block),
    SecretRule::function("private key", &["Private-Lines:"], private_keys::find_putty_key),
    SecretRule::token("private key", &["AGE-SECRET-KEY-"], r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{20,}"),
    // Cloud services.
    SecretRule::token("aws access key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"A[KSBC][IC]A[A-Z0-9]{16}\b"),
    SecretRule::token("aws access key", &["ABSK"], r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    SecretRule::after_trigger(
        "aws secret key",
        &["secret_access_key", "secretaccesskey", "secret-access-key"],
        r#"(?i:secret[_-]?access[_-]?key)["'\\]{0,4}[ \t]{0,8}[:=]>?[ \t]{0,8}["'\\]{0,4}([A-Za-z0-9/+]{40})"#,
    ),
    SecretRule::after_trigger(
        "azure key",
        &["accountkey=", "sharedaccesskey=", "account_key=", "sharedsecret="],
        r"[A-Za-z_]{10,15}=([A-Za-z0-9+/]{40,}={0,2})",
    ),
    SecretRule::after_trigger("azure key", &["sig="], r"(?i:sig)=([A-Za-z0-9%+/]{40,}={0,2})"),
    SecretRule::function("azure secret", &["Q~"], credentials::find_azure_secret),
    SecretRule::token("google key", &["AIza"], r"AIza[A-Za-z0-9_-]{35,}"),
    SecretRule::token("google key", &["AQ."], r"AQ\.[A-Za-z0-9_-]{40,}"),
    SecretRule::token("google key", &["GOCSPX-"], r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    SecretRule::token("google token", &["ya29."], r"ya29\.[A-Za-z0-9_-]{20,}"),
    SecretRule::token("google token", &["1//0"], r"1//0[A-Za-z0-9_-]{40,}"),
    SecretRule::token("alibaba key", &["LTAI"], r"LTAI[A-Za-z0-9]{16,24}\b"),
    SecretRule::token("tencent key", &["AKID"], r"AKID[A-Za-z0-9]{32,}"),
    SecretRule::token("digitalocean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{32,}"),
    SecretRule::token("cloudflare token", &["cfut_", "cfat_", "cfk_"], r"cf(?:ut|at|k)_[A-Za-z0-9_-]{30,}"),
    SecretRule::token("cloudflare token", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    SecretRule::token("fly token", &["fo1_", "fm1r_", "fm1a_", "fm2_"], r"f(?:o1|m1r|m1a|m2)_[A-Za-z0-9+/=_-]{40,}"),
    SecretRule::token("heroku key", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{30,}"),
    SecretRule::token("netlify token", &["nfp_", "nfc_", "nfo_"], r"nf[pco]_[A-Za-z0-9]{32,}"),
    SecretRule::token("scaleway key", &["SCW"], r"SCW[A-Z0-9]{17}\b"),
    // Code hosting and packages.
    SecretRule::token(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        r"gh[pousr]_[A-Za-z0-9_]{30,}(?:\.[\w-]{10,}){0,2}",
    ),
    SecretRule::token("github token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,}"),
    SecretRule::token(
        "gitlab token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-"],
        r"gl[a-z]{2,5}-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,}){0,3}",
    ),
    SecretRule::token("bitbucket token", &["ATBB"], r"ATBB[A-Za-z0-9]{28,}"),
    SecretRule::token("atlassian token", &["ATATT3", "ATCTT3"], r"AT[AC]TT3[A-Za-z0-9_=-]{20,}"),
    SecretRule::token("npm token", &["npm_"], r"npm_[A-Za-z0-9]{30,}"),
    SecretRule::token("pypi token", &["pypi-"], r"pypi-(?:AgE[A-Za-z0-9_-]{13,}|[A-Za-z0-9_]{40,})"),
    SecretRule::pattern("crates token", &["cio"], r"cio[A-Za-z0-9]{32}\b", TokenBoundary::Base64, true),
    SecretRule::token("rubygems key", &["rubygems_"], r"rubygems_[0-9a-f]{32,}"),
    SecretRule::token("nuget key", &["oy2"], r"oy2[a-z0-9]{43}\b"),
    SecretRule::token("docker token", &["dckr_pat_", "dckr_oat_"], r"dckr_[op]at_[A-Za-z0-9_-]{20,}"),
    SecretRule::token("artifactory key", &["AKCp"], r"AKCp[A-Za-z0-9]{60,}"),
    SecretRule::token("circleci token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{20,}"),
    SecretRule::token("buildkite token", &["bkua_", "bkaj_", "bkct_"], r"bk(?:ua|aj|ct)_[A-Za-z0-9_.-]{30,}"),
    SecretRule::token("sourcegraph token", &["sgp_"], r"sgp_(?:[0-9a-zA-Z]{16}_|local_)?[0-9a-f]{40}"),
    // AI models.
    SecretRule::token("anthropic key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{10,}"),
    SecretRule::token(
        "openai key",
        &["sk-"],
        r"sk-(?:(?:proj|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_-]{16,}|[A-Za-z0-9]{20,}[A-Za-z0-9_-]*)",
    ),
    SecretRule::token("hugging face token", &["hf_", "api_org_"], r"(?:hf_|api_org_)[A-Za-z0-9]{30,}"),
    SecretRule::token("groq key", &["gsk_"], r"gsk_[A-Za-z0-9]{32,}"),
    SecretRule::token("xai key", &["xai-"], r"xai-[A-Za-z0-9]{40,}"),
    SecretRule::token("perplexity key", &["pplx-"], r"pplx-[A-Za-z0-9]{32,}"),
    SecretRule::token("replicate token", &["r8_"], r"r8_[A-Za-z0-9]{30,}"),
    SecretRule::token("tavily key", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9-]{20,}"),
    SecretRule::token("pinecone key", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{30,}"),
    SecretRule::token("langsmith key", &["lsv2_pt_", "lsv2_sk_"], r"lsv2_[ps][tk]_[A-Za-z0-9_]{20,}"),
    // Messaging.
    SecretRule::token(
        "slack token",
        &["xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"],
        r"xox[a-eo-s](?:\.xox[a-z])?-[A-Za-z0-9%/+_-]{10,}",
    ),
    SecretRule::token("slack token", &["xapp-"], r"xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    SecretRule::after_trigger(
        "slack webhook",
        &["hooks.slack.com/"],
        r"(?i:hooks\.slack\.com)/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{10,})",
    ),
    SecretRule::function("telegram token", &[":AA"], credentials::find_telegram_token),
    SecretRule::after_trigger("discord webhook", &["/webhooks/"], r"(?i:/webhooks)/[0-9]{15,22}/([A-Za-z0-9_-]{30,})"),
    SecretRule::after_trigger(
        "teams webhook",
        &["/IncomingWebhook/"],
        r"(?i:/incomingwebhook)/([0-9a-f]{32}/[0-9a-f-]{36}(?:/[\w-]+)?)",
    ),
    SecretRule::token("sendgrid key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}"),
    SecretRule::function("twilio key", &["SK"], credentials::find_twilio_key),
    SecretRule::token("twilio key", &["AC"], r"AC[0-9a-f]{32}:([0-9a-f]{32})"),
    SecretRule::pattern("mailgun key", &["key-"], r"key-[0-9a-f]{32}\b", TokenBoundary::Base64Url, true),
    SecretRule::token("brevo key", &["xkeysib-"], r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{10,}"),
    SecretRule::token("resend key", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    // Payments and shops.
    SecretRule::token(
        "stripe key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}",
    ),
    SecretRule::token("stripe key", &["whsec_"], r"whsec_[A-Za-z0-9+/]{16,}={0,2}"),
    SecretRule::token("shopify token", &["shpat_", "shpss_", "shpca_", "shppa_"], r"shp[a-z]{2}_[0-9a-fA-F]{32}"),
    SecretRule::token("square token", &["sq0atp-", "sq0csp-", "EAAA"], r"(?:sq0[ac][ts]p-[\w-]{22,}|EAAA[\w-]{60})"),
    SecretRule::token(
        "toss key",
        &["live_sk_", "test_sk_", "live_gsk_", "test_gsk_"],
        r"(?:live|test)_g?sk_[A-Za-z0-9]{20,}",
    ),
    // Data, operations and work.
    SecretRule::token("vault token", &["hvs.", "hvb.", "hvr."], r"hv[bsr]\.[A-Za-z0-9_-]{24,}"),
    SecretRule::pattern("terraform token", &[".atlasv1."], r"\.atlasv1\.[A-Za-z0-9_=-]{50,}", TokenBoundary::No, true),
    SecretRule::token("pulumi token", &["pul-"], r"pul-[0-9a-f]{40}"),
    SecretRule::token(
        "doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,40}\.)?[A-Za-z0-9]{32,}",
    ),
    SecretRule::token("onepassword token", &["ops_eyJ"], r"ops_eyJ[A-Za-z0-9_-]{40,}={0,2}"),
    SecretRule::token("databricks token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    SecretRule::token("planetscale token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,}"),
    SecretRule::token("supabase key", &["sbp_", "sb_secret_"], r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    SecretRule::token("grafana token", &["glsa_", "glc_"], r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}"),
    SecretRule::token("sentry token", &["sntrys_", "sntryu_"], r"sntry(?:s_[A-Za-z0-9_+/=-]{40,}|u_[0-9a-f]{64})"),
    SecretRule::token("new relic key", &["NRAK-", "NRII-", "NRAA-"], r"NR(?:AK|II|AA)-[A-Za-z0-9_-]{25,}"),
    SecretRule::token("dynatrace token", &["dt0c01.", "dt0s16."], r"dt0[cs][0-9]{2}\.[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    SecretRule::token("postman key", &["PMAK-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    SecretRule::token("linear key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    SecretRule::token("notion token", &["ntn_", "secret_"], r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})"),
    SecretRule::function("airtable token", &["pat"], credentials::find_airtable_token),
    SecretRule::token("figma token", &["figd_", "figo_"], r"fig[do]_[A-Za-z0-9_-]{30,}"),
    SecretRule::token("contentful token", &["CFPAT-"], r"CFPAT-[A-Za-z0-9_-]{40,}"),
    // Other services. Longer tokens with mixed letters need no rule; `unnamed` finds them.
    SecretRule::token(
        "token",
        &[
            "e2b_", "fc-", "sqa_", "sqp_", "squ_", "sk_", "dtn_", "crsr_", "mzp_", "KGAT_", "key_", "signkey-",
            "shippo_",
        ],
        r"[A-Za-z0-9]{2,8}(?:[_-][a-z]{2,8})?[_-][0-9a-f]{32,}",
    ),
    SecretRule::token(
        "token",
        &["pat-na", "pat-eu", "sdk-", "api-", "mob-", "xaat-", "xapt-", "access-", "ctx7sk-", "luma-"],
        r"[a-z0-9-]{3,20}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ),
    SecretRule::token(
        "token",
        &[
            "vcp_", "vci_", "vca_", "vcr_", "vck_", "rnd_", "fw_", "up_", "ak-", "as-", "npg_", "AVNS_", "CCDB1_",
            "bb_live_", "bb_test_", "tr_dev_", "tr_prod_",
        ],
        r"(?:(?:vc[pciark]|rnd|fw|up|a[ks]|AVNS|CCDB1|(?:bb|tr)_[a-z]{3,4})[_-][A-Za-z0-9_]{19,}|npg_[A-Za-z0-9]{12,})",
    ),
    SecretRule::token(
        "token",
        &["live_", "test_", "sk_dev_", "sk_prod_"],
        r"(?:live|test|sk_dev|sk_prod)_[A-Za-z0-9]{30,}",
    ),
    SecretRule::token("token", &["sha256~", "sl.", "mfa."], r"(?:sha256~|sl\.(?:u\.)?|mfa\.)[A-Za-z0-9_-]{40,}"),
    SecretRule::token(
        "token",
        &["EZAK", "EZTK", "ATTA", "EAAM", "EAAC", "EAAB", "cmVmdGtu"],
        r"[A-Za-z]{4,8}[A-Za-z0-9]{54,}",
    ),
    SecretRule::token("token", &["FLWSECK", "CLOJARS_"], r"(?:FLWSECK|CLOJARS)[A-Z_-]{1,6}[a-z0-9]{32,}"),
    SecretRule::token("token", &["1/1", "2/1"], r"[12]/1[0-9]{12,}(?:/[0-9]{13,})?:([0-9a-f]{32})"),
    SecretRule::token("gitlab token", &["GR1348941"], r"GR1348941[A-Za-z0-9_-]{20,}"),
    SecretRule::token("mapbox token", &["sk.eyJ", "tk.eyJ"], r"[st]k\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{16,}"),
    SecretRule::token("onepassword token", &["A3-"], r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-?){4,5}"),
    SecretRule::pattern("google key", &[":APA91b"], r":(APA91b[A-Za-z0-9_-]{100,})", TokenBoundary::No, true),
    // Secrets with a known format or place.
    SecretRule::pattern(
        "jwt",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?",
        TokenBoundary::Base64Url,
        true,
    ),
    SecretRule::function("authorization", &["authorization", "bearer "], headers::find_authorization),
    SecretRule::function("cookie", &["cookie"], headers::find_cookies),
    SecretRule::function("cookie", &["-b"], commands::find_curl_cookies),
    SecretRule::function("password", &["://"], credentials::find_url_password),
    SecretRule::function("password", commands::OPTIONS, commands::find_option_password),
    SecretRule::function("password", &["htpasswd"], commands::find_htpasswd_password),
    SecretRule::function("secret", &["--from-literal"], commands::find_kubectl_literal),
    SecretRule::function("password", &["echo ", "printf "], commands::find_piped_password),
    SecretRule::function("token", &["login "], commands::find_login_token),
    SecretRule::function("password", &["cred", "login:"], credentials::find_login_password),
    SecretRule::function(
        "password",
        &["auth(", "auth=(", "login(", "authenticate(", "connect(", "credential(", "credentials("],
        credentials::find_argument_password,
    ),
    SecretRule::function("seed phrase", &["seed phrase", "mnemonic", "recovery phrase"], credentials::find_seed_phrase),
    SecretRule::after_trigger(
        "password",
        &["identified "],
        r#"(?i:identified)\s+(?i:with\s+\S+\s+)?(?i:by)\s+(?i:password\s+)?["']([^"'\s<$:{][^"'\n]{2,})["']"#,
    ),
    SecretRule::after_trigger(
        "password",
        &["thin:", "sqlplus "],
        r"(?i:thin:|sqlplus +(?:-\S+ +)*)[^\s/@]+/([^\s@/$&<]+)",
    ),
    SecretRule::after_trigger("password", &["ConvertTo-SecureString "], r#"\S+ +(?:-String +)?["']([^"'$<]+)["']"#),
    SecretRule::after_trigger("password", &["/user:"], r"(?i:/user:)\S+[ \t]+([^\s/$<%*]\S{3,})"),
    SecretRule::after_trigger(
        "password",
        &[":5432:", ":5433:", ":6432:", ":6543:", ":*:"],
        r":[0-9*]+:[^:\s]+:[^:\s]+:([^\s$<*][^\s]{3,})",
    ),
    SecretRule::token("password", &["PIN: ", "PIN is ", "PIN="], r"PIN(?:: | is |=)([0-9]{4,12})\b"),
    SecretRule::after_trigger(
        "password",
        &["machine "],
        r"(?i:machine)\s+\S+(?:\s+(?:login|account)\s+\S+){1,2}\s+password\s+([^\s<$*]\S*)",
    ),
    // Secrets with a known name.
    SecretRule::by_name("private key", &["private_key", "privatekey", "private-key"], NameFamily::Key),
    SecretRule::by_name("password", PASSWORDS, NameFamily::Password),
    SecretRule::by_name("secret", &["secret", "시크릿", "シークレット"], NameFamily::Secret),
    SecretRule::by_name("token", &["token", "_pat", "토큰", "トークン", "令牌", "токен"], NameFamily::Token),
    SecretRule::by_name("api key", API_KEYS, NameFamily::Key),
    SecretRule::by_name("key", &["key", "키", "キー"], NameFamily::Weak),
    SecretRule::by_name("credential", &["credential", "auth"], NameFamily::Weak),
    SecretRule::by_name("session", &["session"], NameFamily::Weak),
    SecretRule::by_name("signature", &["signature"], NameFamily::Weak),
];

/// Words for passwords in the languages of most developers.
#[rustfmt::skip]
const PASSWORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pwd", "pass", "pw", "psk", "masterauth", "비밀번호", "비번", "암호", "암호문구",
    "패스워드", "パスワード", "パスフレーズ", "暗証番号", "密码", "密碼", "口令", "passwort", "kennwort", "contraseña", "clave", "mot de passe",
    "senha", "пароль", "Пароль",
];

/// Names of keys that hardly ever hold anything else. For `key` the word before it decides.
#[rustfmt::skip]
const API_KEYS: &[&str] = &[
    "key", "api 키", "api키", "시크릿 키", "액세스 키", "apiキー", "api キー", "api密钥", "api 密钥", "密钥", "api-schlüssel", "clave api",
    "clave de api", "clé api", "chave de api", "chave api",
];
