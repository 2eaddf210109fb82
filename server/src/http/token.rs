//! The bearer token: made on first use and kept where only the user can read it, or given in the environment.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::Context as _;
use schema::own_file::private_file;
use schema::regular_file;
use schema::settings::user_file;
use subtle::ConstantTimeEq as _;
use tools::error::ToolError;

/// The variable that gives a token.
const VARIABLE: &str = "JIKIME_HTTP_TOKEN";

/// Characters of a token at least.
const SHORTEST: usize = 16;

/// Random bytes of a token that is made.
const BYTES: usize = 32;

/// A secret that is not shown.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// The token of this user, made if there is none yet, and where it is from.
    pub(crate) fn obtain() -> anyhow::Result<(Self, String)> {
        if let Some(given) = std::env::var(VARIABLE).ok().filter(|given| !given.is_empty()) {
            let token = Self::parse(&given).ok_or_else(|| unfit(VARIABLE))?;
            return Ok((token, VARIABLE.to_owned()));
        }
        let path = user_file().context("cannot tell where to keep a token: no home directory is set")?;
        let path = path.with_file_name("http.token");
        let token = Self::of_file(&path)?;
        Ok((token, path.display().to_string()))
    }

    /// A text that may be a token: long enough, and of characters that a header can carry.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        (text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Self(text.to_owned()))
    }

    fn of_file(path: &Path) -> anyhow::Result<Self> {
        match Self::make(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.with_context(|| format!("cannot keep a token in {}", path.display())),
        }
        require_private(path)?;
        let text = regular_file::read_text(path, 1024).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self::parse(&text).ok_or_else(|| unfit(&path.display().to_string()))?)
    }

    fn make(path: &Path) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let text = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        private_file().create_new(true).open(path)?.write_all(format!("{text}\n").as_bytes())?;
        Ok(Self(text))
    }

    /// Whether the value of an `Authorization` header carries it. Takes as long for one wrong token as for another.
    pub(super) fn is_in(&self, header: &str) -> bool {
        let Some((scheme, given)) = header.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer") && bool::from(given.trim().as_bytes().ct_eq(self.0.as_bytes()))
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

fn unfit(place: &str) -> ToolError {
    ToolError::Invalid(format!("{place} holds no token: it has at least {SHORTEST} characters, and no spaces"))
}

/// Others may have read a token in a file that is open to them.
fn require_private(path: &Path) -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let metadata = fs::symlink_metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
        if !metadata.is_file() || metadata.permissions().mode() & 0o077 != 0 {
            let text =
                format!("{} must be a file for its owner only: delete it, and a new one is made", path.display());
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
    fn a_token_is_made_once_for_its_owner_and_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/http.token");
        let made = Token::of_file(&path).unwrap();
        assert_eq!(made.0.len(), 2 * BYTES);
        assert_eq!(Token::of_file(&path).unwrap().0, made.0);
        assert_ne!(Token::of_file(&directory.path().join("other")).unwrap().0, made.0);
        assert_eq!(format!("{made:?}"), "Token(…)");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(Token::of_file(&path).is_err(), "others may have read it");
        }
    }

    #[test]
    fn only_the_whole_token_after_the_scheme_is_the_token() {
        let token = Token::parse(" 0123456789abcdef\n").unwrap();
        assert!(token.is_in("Bearer 0123456789abcdef") && token.is_in("bearer  0123456789abcdef"));
        for header in ["", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef", "Bearer 0123456789abcde"]
        {
            assert!(!token.is_in(header), "{header}");
        }
        assert!(Token::parse("short").is_none() && Token::parse("with a space in between it").is_none());
    }
}
