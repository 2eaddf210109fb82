//! The bearer token. The environment sets it, or the server creates it on first use in a file that only the user can read.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use schema::files::environment;
use schema::files::regular_file;
use schema::files::store_file::options_for_private;
use schema::model::memory::to_hex;
use schema::settings::user_file;
use subtle::ConstantTimeEq as _;
use tools::error::ToolError;

const VARIABLE: &str = "JIKIME_HTTP_TOKEN";

/// Minimum number of characters.
const MIN_LENGTH: usize = 16;

/// Random bytes of a new token.
const TOKEN_BYTES: usize = 32;

/// A secret. `Debug` does not print it.
#[derive(Clone)]
pub(crate) struct BearerToken(String);

impl BearerToken {
    /// The user's token and where it comes from. Creates a token on first use.
    pub(crate) fn obtain() -> anyhow::Result<(Self, String)> {
        if let Some(given) = environment::text(VARIABLE).filter(|given| !given.is_empty()) {
            let token = Self::parse(&given).ok_or_else(|| invalid_token_error(VARIABLE))?;
            return Ok((token, VARIABLE.to_owned()));
        }
        let path = user_file().context("cannot store a token: no home directory is set")?;
        let path = path.with_file_name("http.token");
        let token = Self::read_file(&path)?;
        Ok((token, path.display().to_string()))
    }

    /// Parses a token: long enough, and only characters that a header can carry.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= MIN_LENGTH && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    fn read_file(path: &Path) -> anyhow::Result<Self> {
        match Self::create_file(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.with_context(|| format!("cannot write a token to {}", path.display())),
        }
        require_private(path)?;
        let text = regular_file::read_text(path, 1024).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::parse(&text).ok_or_else(|| invalid_token_error(&path.display().to_string()))?)
    }

    fn create_file(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let text = random_hex::<TOKEN_BYTES>()?;
        options_for_private().create_new(true).open(path)?.write_all(format!("{text}\n").as_bytes())?;
        Ok(Self(text))
    }

    /// Checks an `Authorization` header, in constant time.
    pub(super) fn matches_header(&self, header: &str) -> bool {
        let Some((scheme, given)) = header.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && bool::from(given.trim().as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Random bytes in hexadecimal, for secrets.
pub(crate) fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(to_hex(&bytes))
}

fn invalid_token_error(place: &str) -> ToolError {
    ToolError::Invalid(format!("{place} has no valid token: use at least {MIN_LENGTH} characters and no spaces"))
}

/// If other users can read the file, they may know the token.
fn require_private(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = fs::symlink_metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
        if !metadata.is_file() || metadata.permissions().mode() & 0o077 != 0 {
            let text = format!("other users can read {}; delete it to create a new token", path.display());
            return Err(ToolError::Invalid(text).into());
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_created_once_privately_and_never_printed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/http.token");
        let made = BearerToken::read_file(&path).unwrap();
        assert_eq!(made.0.len(), 2 * TOKEN_BYTES);
        assert_eq!(BearerToken::read_file(&path).unwrap().0, made.0);
        assert_ne!(BearerToken::read_file(&directory.path().join("other")).unwrap().0, made.0);
        assert_eq!(format!("{made:?}"), "Token(…)");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(BearerToken::read_file(&path).is_err(), "others may know it");
        }
    }

    #[test]
    fn header_must_carry_the_whole_token() {
        let token = BearerToken::parse(" 0123456789abcdef\n").unwrap();
        assert!(token.matches_header("Bearer 0123456789abcdef") && token.matches_header("bearer  0123456789abcdef"));
        for header in ["", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcde"]
        {
            assert!(!token.matches_header(header), "{header}");
        }
        assert!(BearerToken::parse("short").is_none() && BearerToken::parse("with a space in between it").is_none());
    }
}
