//! Word lists that separate secrets from text about secrets.

use crate::model::word_list::WordList;

/// Words after the name of a secret that make it something about a secret.
pub(super) static DESCRIPTIONS: WordList = WordList::words(
    "algorithm arn at attempts audience bucket budget button by change changed charset class column cost count created \
     digest dir encoder encryption endpoint entropy env error expiration expired expires expiry field file form format \
     generator hash hasher header hint icon id index input issuer label len length lifetime limit manager max message \
     mgr min mode name names param path pattern placeholder policy prefix property provider ref regex required reset \
     ring rotation rule schema size state status stdin store strength title ttl type uri url usage",
);

/// Names that start a reference to a member.
pub(super) static OWNERS: WordList = WordList::words(
    "app args cfg conf config context ctx data env module options opts os params process props req request res \
     response secrets self settings this user var",
);

/// Words in the place of a value: types, algorithms, states, and words that say there is no value.
pub(super) static WORDS: WordList = WordList::words(
    "aes128 aes256 any argon2 argon2d argon2i argon2id argument array async await base64 basic bcrypt bearer blank \
     bool boolean byte bytea bytes change-me change_me changeit changeme char checked correct default deprecated \
     disabled dummy ed25519 empty enabled encrypted es256 example expired false field filtered flag from hash hashed \
     hidden hmac hs256 hs512 ignored incorrect inherit input int integer invalid jwt login masked match matches md5 \
     mismatch missing n/a never nil none null nullable number object omitted opaque option optional parameter passed \
     pbkdf2 placeholder plain plaintext private prompt protected public random redacted removed required reset rotated \
     rs256 rs512 salted sample scrypt sha1 sha256 sha384 sha512 static stored str string strong text that this todo \
     true typeof unchanged undefined unknown unset unused utf8 uuid uuid4 valid validated value varchar verified void \
     weak when with wrong",
);

/// Words that occur in sentences about passwords and hardly ever in passphrases.
pub(super) static SENTENCE_WORDS: WordList = WordList::words(
    "a an and are argument arguments as at be by can cannot change characters confirm could does empty enter failed \
     field flag flags for forgot forgotten from has hash have if in incorrect invalid is least missing must new no not \
     of on option optional options or parameter password please required reset secret should string than that the this \
     to token type was will with wrong you your",
);

/// Words before `key`, `session` or `signature` that make it something public.
pub(super) static HARMLESS_KEYS: WordList = WordList::words(
    "attribute build bundle cache column composite content dedup dedupe distribution foreign group hash host i18n \
     idempotency index item lock map message object partition primary public query range react redis registry restore \
     routing row s3 save shard sort ssh state translation type unique",
);

/// Prefixes of algorithms, formats and protocols that contain a digit.
pub(super) static ALGORITHMS: WordList = WordList::words(
    "aes argon base32 base58 base64 bcrypt blake chacha curve ecdsa ed25519 es256 hmac hs256 hs384 hs512 http ipv4 \
     ipv6 iso jwt kebab md5 oauth pbkdf pkcs ps256 rfc rs256 rs384 rs512 rsa scrypt sha ssl tls totp unicode utf uuid \
     v1 v2 v3 win32 win64 x509 xchacha",
);

/// Extensions of files that are named after a secret: `compile-pass.rs:17`, `token.js:120`.
pub(super) static FILE_ENDINGS: WordList = WordList::words(
    "c cc cpp cs css go h hpp html java js json jsx kt lock md mjs php proto py rb rs scss sh sql svelte swift toml ts \
     tsx txt vue yaml yml",
);

/// Words before `key` that make it a secret and not the name of something.
pub(super) static KEY_OWNERS: WordList = WordList::words(
    "access account admin aes api app application auth decryption deploy encryption function functions hmac jwt \
     license master private rest secret service shared signing subscription webhook",
);

/// Words that `pass` is joined to without a separator, as in `storepass`.
pub(super) static PASS_OWNERS: WordList =
    WordList::words("admin become conf cert db ftp key mail my mysql pg redis require root smtp sql store sudo user");

/// Commands that take a variable and its value as two words.
pub(super) static SETTERS: WordList = WordList::words("set setx setenv export ENV env config");

/// Particles that join a name and its value in languages that put no blank before them.
pub(super) static PARTICLES: WordList =
    WordList::words("는 은 가 이 를 을 로 は が を 是 为 為 改成 改为 改為 设为 設為 设置为 就是");

/// Words that join a name and its value in a sentence: English, German, Spanish, Portuguese, French, Russian.
pub(super) static VERBS: WordList =
    WordList::words("is was now be equals ist lautet war jetzt es era ahora fue é foi agora est était это теперь");

/// Words that announce a new value of a secret.
pub(super) static CHANGES: WordList = WordList::words(
    "set sets change changed changing reset update updated rotate rotated switch switched make made cambia cambié \
     ändere geändert setze",
);

/// Functions that turn a literal into a value, as in `String::from("…")`.
pub(super) static CONSTRUCTORS: WordList = WordList::words("from new String SecretString Secret Some bytes Bytes str");

/// Prefixes of references to a secret store, as in `env:DB_PASSWORD`.
pub(super) static SCHEMES: WordList =
    WordList::words("arn aws env file gcp keychain keyring op secret secrets ssm vault");
