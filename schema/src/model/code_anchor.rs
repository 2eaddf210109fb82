//! Anchors: the places in the project's files that a memory is about, and how they were when it was made. They are part of the entry's
//! metadata, so that they reach rows, exports and rewritten logs like every other field.

use serde_json::{Map, Value, json};

/// The most anchors of a memory.
pub const MOST_ANCHORS: usize = 3;

/// The name of the anchors in the metadata.
pub const ANCHORS: &str = "anchors";

const BRANCH: &str = "branch";
const COMMIT: &str = "commit";

/// The longest path and the longest name in code, in bytes.
const LONGEST_PATH: usize = 240;
const LONGEST_NAME: usize = 80;

/// The digits of a hash: 64 bits of SHA-256.
pub(crate) const HASH_DIGITS: usize = 16;

/// A file that a memory is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodeAnchor {
    /// Relative to the project, with `/`.
    pub path: String,
    /// The bytes of the file.
    pub size: u64,
    /// The hash of the file, or `None` if it was too large to read.
    pub hash: Option<String>,
    pub symbol: Option<CodeSymbol>,
}

/// A function, type or other name in a file, with the lines that it begins.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CodeSymbol {
    pub name: String,
    /// The first of its lines, from 1.
    pub line: u64,
    /// The hash of its lines.
    pub hash: String,
}

/// The code that a memory is about, and what was checked out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeContext {
    pub anchors: Vec<CodeAnchor>,
    pub branch: Option<String>,
    pub commit: Option<String>,
}

impl CodeContext {
    /// Reads the context from metadata or from a note. People may have edited it, so that invalid anchors are ignored.
    pub fn from_fields(fields: &Map<String, Value>) -> Self {
        let anchors = fields.get(ANCHORS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| is_plain_name(text));
        Self {
            anchors: anchors.iter().filter_map(CodeAnchor::parse).take(MOST_ANCHORS).collect(),
            branch: text(BRANCH).map(str::to_owned),
            commit: text(COMMIT).map(str::to_owned),
        }
    }

    /// Adds the context to metadata, without replacing fields of the caller.
    pub fn add_to(&self, fields: &mut Map<String, Value>) {
        if !self.anchors.is_empty() {
            let anchors = || self.anchors.iter().map(CodeAnchor::to_value).collect::<Vec<_>>().into();
            fields.entry(ANCHORS).or_insert_with(anchors);
        }
        for (name, value) in [(BRANCH, &self.branch), (COMMIT, &self.commit)] {
            if let Some(value) = value {
                fields.entry(name).or_insert_with(|| value.as_str().into());
            }
        }
    }
}

impl CodeAnchor {
    fn parse(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let hash = |name: &str| text(name).filter(|text| is_hash(text)).map(str::to_owned);
        let symbol = || {
            let name = text("symbol").filter(|name| is_plain_name(name))?.to_owned();
            Some(CodeSymbol { name, line: number("line")?, hash: hash("lines")? })
        };
        Some(Self {
            path: text("path").filter(|path| is_path_in_project(path))?.to_owned(),
            size: number("size")?,
            hash: hash("hash"),
            symbol: symbol(),
        })
    }

    fn to_value(&self) -> Value {
        let mut value = json!({ "path": self.path, "size": self.size });
        if let Some(hash) = &self.hash {
            value["hash"] = hash.as_str().into();
        }
        if let Some(CodeSymbol { name, line, hash }) = &self.symbol {
            value["symbol"] = name.as_str().into();
            value["line"] = (*line).into();
            value["lines"] = hash.as_str().into();
        }
        value
    }
}

/// Whether a text is the path of a file below the project on every platform: relative, without `..`, and no device.
pub(crate) fn is_path_in_project(path: &str) -> bool {
    let is_fit = |part: &str| {
        let stem = part.split('.').next().unwrap_or(part).to_ascii_uppercase();
        let is_device = ["CON", "PRN", "AUX", "NUL"].contains(&stem.as_str())
            || stem.len() == 4 && (stem.starts_with("COM") || stem.starts_with("LPT"));
        !(part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git") || is_device)
    };
    let is_odd = |c: char| c.is_control() || matches!(c, '\\' | ':' | '<' | '>' | '|' | '"' | '`' | '*' | '?');
    path.len() <= LONGEST_PATH && !path.contains(is_odd) && path.split('/').all(is_fit)
}

/// Whether a text may be the name of a branch or in code, without characters that would disturb a line of text.
fn is_plain_name(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>' | '`' | '"');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(is_odd)
}

fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        let Value::Object(fields) = value else { panic!("{value} is no object") };
        fields
    }

    #[test]
    fn context_round_trips_as_metadata() {
        let symbol = CodeSymbol { name: "verify_token".into(), line: 42, hash: "89abcdef01234567".into() };
        let (path, hash) = ("src/auth.rs".to_owned(), Some("0123456789abcdef".to_owned()));
        let anchor = CodeAnchor { path, size: 1_234, hash, symbol: Some(symbol) };
        let whole = CodeAnchor { hash: None, symbol: None, ..anchor.clone() };
        let context =
            CodeContext { anchors: vec![anchor, whole], branch: Some("main".into()), commit: Some("0123456".into()) };
        let mut metadata = fields(json!({ "tags": ["a"], "branch": "of the caller" }));
        context.add_to(&mut metadata);
        insta::assert_snapshot!(Value::Object(metadata.clone()), @r#"{"anchors":[{"hash":"0123456789abcdef","line":42,"lines":"89abcdef01234567","path":"src/auth.rs","size":1234,"symbol":"verify_token"},{"path":"src/auth.rs","size":1234}],"branch":"of the caller","commit":"0123456","tags":["a"]}"#);
        metadata.insert("branch".to_owned(), "main".into());
        assert_eq!(CodeContext::from_fields(&metadata), context);
    }

    #[rstest]
    #[case::plain("src/auth.rs", true)]
    #[case::korean("문서/설정.toml", true)]
    #[case::hidden(".github/workflows/ci.yml", true)]
    #[case::absolute("/etc/passwd", false)]
    #[case::above("src/../../x", false)]
    #[case::drive("C:/x", false)]
    #[case::share("\\\\host\\x", false)]
    #[case::device("src/nul.txt", false)]
    #[case::port("COM1", false)]
    #[case::git(".git/config", false)]
    #[case::empty("", false)]
    #[case::folder("src/", false)]
    #[case::line_break("a\nb", false)]
    #[case::long(&"x".repeat(241), false)]
    fn only_paths_below_the_project_are_anchors(#[case] path: &str, #[case] expected: bool) {
        let metadata = fields(json!({ "anchors": [{ "path": path, "size": 1, "hash": "0123456789abcdef" }] }));
        assert_eq!(CodeContext::from_fields(&metadata).anchors.len(), usize::from(expected));
    }

    #[rstest]
    #[case::no_list(json!({ "anchors": "src/auth.rs" }))]
    #[case::no_object(json!({ "anchors": [[], 7, "src/auth.rs"] }))]
    #[case::no_size(json!({ "anchors": [{ "path": "a" }, { "path": "a", "size": -1 }, { "path": "a", "size": "1" }] }))]
    fn invalid_anchors_are_ignored(#[case] metadata: Value) {
        assert_eq!(CodeContext::from_fields(&fields(metadata)), CodeContext::default());
    }

    #[test]
    fn invalid_parts_of_an_anchor_are_ignored() {
        let odd =
            json!({ "path": "a", "size": 1, "hash": "xyz", "symbol": "a b", "line": 1, "lines": "0123456789abcdef" });
        let many = fields(json!({ "anchors": vec![odd; 9], "branch": "a\nb", "commit": 7 }));
        let plain = CodeAnchor { path: "a".into(), size: 1, hash: None, symbol: None };
        let expected = CodeContext { anchors: vec![plain; MOST_ANCHORS], ..CodeContext::default() };
        assert_eq!(CodeContext::from_fields(&many), expected);
    }
}
