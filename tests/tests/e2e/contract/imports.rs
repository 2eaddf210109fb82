//! Finds imports between files of a crate, from `use` and from paths in the code, except in tests. A `pub use` counts as an
//! import of the defining file.

use std::collections::{BTreeMap, BTreeSet};

/// A module's path below the crate's root; empty for the root.
type Path = Vec<String>;

#[derive(Debug, Default)]
struct Module {
    /// Paths from the root, to modules or their items.
    uses: BTreeSet<Path>,
    /// Re-exported names with their origin.
    exports: BTreeMap<String, Path>,
    /// Modules for tests only.
    tests: BTreeSet<String>,
    /// Identifiers in its code.
    names: BTreeSet<String>,
}

/// Import cycles, as lists that begin and end with the same file. `files` has the text of each module path such as
/// `store/rows`; the root is empty.
pub(super) fn circles(files: &BTreeMap<String, String>) -> Vec<Vec<String>> {
    let mut imports = imports(files);
    let mut found = Vec::new();
    while let Some(circle) = circle(&imports) {
        // Removes the last import of the cycle, so that others are found too.
        if let [.., from, to] = &circle[..] {
            imports.entry(from.clone()).or_default().remove(to);
        }
        found.push(circle);
    }
    found
}

/// The imports of each file.
pub(super) fn imports(files: &BTreeMap<String, String>) -> BTreeMap<String, BTreeSet<String>> {
    let mut modules: BTreeMap<Path, Module> =
        files.iter().map(|(name, text)| (path_of(name), Module::read(path_of(name), text))).collect();
    let tests: BTreeSet<Path> =
        modules.iter().flat_map(|(path, module)| module.tests.iter().map(|name| below(path, name))).collect();
    modules.retain(|path, _| !(1..=path.len()).any(|length| tests.contains(&path[..length])));
    let imported = |(path, module): (&Path, &Module)| {
        let passed_on = module.exports.iter().filter(|(name, _)| module.names.contains(*name)).map(|(_, from)| from);
        let files = module.uses.iter().chain(passed_on).filter_map(|used| home(&modules, used, 0));
        (path.join("/"), files.filter(|file| file != path).map(|file| file.join("/")).collect())
    };
    modules.iter().map(imported).collect()
}

/// The file that defines a path's item.
fn home(modules: &BTreeMap<Path, Module>, path: &[String], depth: usize) -> Option<Path> {
    const DEEPEST: usize = 8;
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let (file, rest) = path.split_at(length);
    let passed_on = rest.first().and_then(|name| modules[file].exports.get(name)).filter(|_| depth < DEEPEST);
    match passed_on {
        Some(from) => home(modules, &[from, &rest[1..]].concat(), depth + 1),
        None => Some(file.to_vec()),
    }
}

/// Any one cycle.
fn circle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut open: BTreeSet<&String> = imports.keys().collect();
    loop {
        let leads_on = |name: &&String| imports[*name].iter().any(|imported| open.contains(imported));
        let left: BTreeSet<&String> = open.iter().copied().filter(leads_on).collect();
        if left.len() == open.len() {
            break;
        }
        open = left;
    }
    // Each remaining file imports another remaining one, so that a walk must return to a visited file.
    let mut way = vec![(*open.first()?).clone()];
    loop {
        let next = imports[way.last()?].iter().find(|imported| open.contains(imported))?.clone();
        let begin = way.iter().position(|name| *name == next);
        way.push(next);
        if let Some(begin) = begin {
            return Some(way.split_off(begin));
        }
    }
}

fn path_of(name: &str) -> Path {
    name.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

fn below(path: &[String], name: &str) -> Path {
    [path, &[name.to_owned()]].concat()
}

impl Module {
    fn read(path: Path, text: &str) -> Self {
        let tokens = tokens(&without_words(text));
        let mut reader = Reader { tokens: &tokens, at: 0, path, inner: Vec::new(), depth: 0, module: Self::default() };
        reader.read();
        reader.module
    }
}

/// Processes the tokens of a file.
struct Reader<'t> {
    tokens: &'t [String],
    at: usize,
    path: Path,
    /// Inline modules, each with the number of open braces.
    inner: Vec<(String, usize)>,
    depth: usize,
    module: Module,
}

impl Reader<'_> {
    fn read(&mut self) {
        let (mut is_test, mut is_public) = (false, false);
        while let Some(token) = self.token(0) {
            match token {
                "#" => {
                    let attribute = self.bracketed();
                    let says = |word: &str| attribute.iter().any(|token| token == word);
                    is_test |= says("cfg") && says("test") && !says("not");
                    continue;
                }
                "pub" => {
                    is_public = true;
                    self.at += 1;
                    if self.token(0) == Some("(") {
                        self.bracketed();
                    }
                    continue;
                }
                "mod" if self.token(2) == Some(";") => {
                    if is_test {
                        self.module.tests.insert(self.tokens[self.at + 1].clone());
                    }
                    self.at += 3;
                }
                _ if is_test => self.skip_item(),
                "mod" if self.token(2) == Some("{") => {
                    self.inner.push((self.tokens[self.at + 1].clone(), self.depth));
                    self.depth += 1;
                    self.at += 3;
                }
                // `use<'a>` says what a type captures.
                "use" if self.token(1) != Some("<") => {
                    self.at += 1;
                    self.used(is_public && self.inner.is_empty(), Vec::new());
                    self.at += 1;
                }
                "{" => {
                    self.depth += 1;
                    self.at += 1;
                }
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    self.inner.retain(|(_, depth)| *depth < self.depth);
                    self.at += 1;
                }
                _ => self.path_or_name(),
            }
            (is_test, is_public) = (false, false);
        }
    }

    fn token(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at + ahead).map(String::as_str)
    }

    /// Skips an attribute or brackets that begin here, and returns their tokens.
    fn bracketed(&mut self) -> Vec<String> {
        let (start, mut open) = (self.at, 0_usize);
        while let Some(token) = self.token(0) {
            match token {
                "[" | "(" | "{" => open += 1,
                "]" | ")" | "}" => open -= 1,
                _ => {}
            }
            let is_bracket = !matches!(token, "#" | "!");
            self.at += 1;
            if open == 0 && is_bracket {
                break;
            }
        }
        self.tokens[start..self.at].to_vec()
    }

    /// Skips an item: to its semicolon, or to the end of its block.
    fn skip_item(&mut self) {
        while let Some(token) = self.token(0) {
            match token {
                ";" => {
                    self.at += 1;
                    return;
                }
                "{" => {
                    self.bracketed();
                    return;
                }
                "(" | "[" => drop(self.bracketed()),
                _ => self.at += 1,
            }
        }
    }

    /// Reads one tree of a `use` declaration.
    fn used(&mut self, is_passed_on: bool, before: Path) {
        let mut path = before;
        loop {
            match self.token(0) {
                Some("{") => {
                    self.at += 1;
                    while !matches!(self.token(0), None | Some("}")) {
                        self.used(is_passed_on, path.clone());
                        if self.token(0) != Some("}") {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Some("::") => self.at += 1,
                Some("as") => {
                    let name = self.token(1).unwrap_or_default().to_owned();
                    self.at += 2;
                    return self.note(is_passed_on, &path, name);
                }
                None | Some(";" | "," | "}") => {
                    let name = path.last().cloned().unwrap_or_default();
                    return self.note(is_passed_on, &path, name);
                }
                Some(segment) => {
                    let segment = segment.to_owned();
                    // `a::{self}` is `a`.
                    if segment != "self" || path.is_empty() {
                        path.push(segment);
                    }
                    self.at += 1;
                }
            }
        }
    }

    fn note(&mut self, is_passed_on: bool, path: &[String], name: String) {
        let Some(path) = self.absolute(path) else { return };
        if is_passed_on {
            self.module.exports.insert(name, path);
        } else {
            self.module.uses.insert(path);
        }
    }

    fn path_or_name(&mut self) {
        let mut path = vec![self.tokens[self.at].clone()];
        self.at += 1;
        while self.token(0) == Some("::") && self.token(1).is_some_and(is_name) {
            path.push(self.tokens[self.at + 1].clone());
            self.at += 2;
        }
        if path.len() > 1 {
            self.module.uses.extend(self.absolute(&path));
        }
        self.module.names.insert(path.swap_remove(0));
    }

    /// Resolves a path from the crate's root. A path of another crate becomes one below this file, which leads nowhere.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let mut base: Path = self.path.iter().chain(self.inner.iter().map(|(name, _)| name)).cloned().collect();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            _ => {}
        }
        while rest.first().is_some_and(|segment| segment == "super") {
            base.pop();
            rest = &rest[1..];
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Identifiers, `::`, and all other characters individually.
fn tokens(code: &str) -> Vec<String> {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if is_of_name(first) => rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Code without comments and literals.
fn without_words(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            'r' if !code.ends_with(|c: char| c.is_alphanumeric() || c == '_') => raw_length(rest).unwrap_or(0),
            '"' => quoted_length(rest, '"'),
            '\'' if is_character(rest) => quoted_length(rest, '\''),
            _ => 0,
        };
        if length > 0 {
            code.push(' ');
            rest = &rest[length..];
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    code
}

/// Length of the `r"…"` or `r#"…"#` that begins here.
fn raw_length(text: &str) -> Option<usize> {
    let inside = text[1..].trim_start_matches('#');
    let fence = text.len() - 1 - inside.len();
    let inside = inside.strip_prefix('"')?;
    let closing = format!("\"{}", "#".repeat(fence));
    inside.find(&closing).map(|end| 2 + fence + end + closing.len())
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a quote begins a character instead of a lifetime.
fn is_character(text: &str) -> bool {
    let mut inside = text.chars().skip(1);
    matches!((inside.next(), inside.next()), (Some('\\'), _) | (_, Some('\'')))
}
