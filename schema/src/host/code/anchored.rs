//! Adds to a memory what code it is about: the files that its text names, or else the files that its turn edited.

use std::fs;
use std::path::{Path, PathBuf};

use super::block::{NameUse, find_symbol, hash_bytes};
use super::named::{CodeName, NameForm, NamedCode};
use crate::files::project::git::head_of;
use crate::files::regular_file;
use crate::host::hook::{is_recordable, linked_worktree_root};
use crate::intake::prepare::PreparedMemory;
use crate::model::code_anchor::{CodeAnchor, CodeContext, CodeSymbol, MOST_ANCHORS, is_path_in_project};
use crate::privacy::sanitizer::Sanitizer;

/// The largest file that is read, in bytes.
pub(super) const LARGEST_FILE: u64 = 1024 * 1024;

/// The most edited files that are searched for a name.
const MOST_EDITED: usize = 12;

/// Where memories are made.
#[derive(Debug, Clone, Copy)]
pub struct CodePlace<'p> {
    pub project: &'p Path,
    /// The working directory of the session, which may be in a linked worktree.
    pub directory: &'p Path,
    pub sanitizer: &'p Sanitizer,
}

/// Returns the root of the files that a session works on: the project's linked worktree that contains its directory, or the project.
pub fn checkout_root(directory: &Path, project: &Path) -> PathBuf {
    linked_worktree_root(directory, project).unwrap_or_else(|| project.to_owned())
}

impl CodePlace<'_> {
    /// Returns a memory with the code that it is about. `edited` are the files of its turn, relative to the project.
    pub fn anchored(&self, memory: PreparedMemory, edited: &[String]) -> PreparedMemory {
        let draft = memory.draft();
        if !draft.kind.is_about_code() {
            return memory;
        }
        let code = self.code_of(&draft.content, edited);
        memory.with_code(&code)
    }

    /// Returns the code that a text is about, and what is checked out.
    pub fn code_of(&self, text: &str, edited: &[String]) -> CodeContext {
        let root = checkout_root(self.directory, self.project);
        let files = fs::canonicalize(&root).map(|root| SourceFiles { root, sanitizer: self.sanitizer });
        let anchors = files.map(|files| files.anchors(&NamedCode::in_text(text), edited)).unwrap_or_default();
        let head = head_of(&root);
        // A branch without commits has nothing that another branch lacks.
        let branch = head.branch.filter(|branch| head.commit.is_some() && self.sanitizer.clean(branch).text == *branch);
        CodeContext { anchors, branch, commit: head.commit }
    }
}

/// The files of a checkout. Its root has no links.
struct SourceFiles<'s> {
    root: PathBuf,
    sanitizer: &'s Sanitizer,
}

impl SourceFiles<'_> {
    fn anchors(&self, named: &NamedCode, edited: &[String]) -> Vec<CodeAnchor> {
        let mut paths: Vec<String> = Vec::new();
        for path in &named.paths {
            let path = self.find(path, edited).filter(|path| !paths.contains(path));
            paths.extend(path);
        }
        if !paths.is_empty() {
            paths.truncate(MOST_ANCHORS);
            return paths.iter().filter_map(|path| self.anchor(path, &named.names)).collect();
        }
        let files = edited.iter().filter_map(|path| self.find(path, &[])).take(MOST_EDITED);
        let files = files.filter_map(|path| self.anchor(&path, &named.names));
        let (mut with_name, without): (Vec<_>, Vec<_>) = files.partition(|file| file.symbol.is_some());
        if !with_name.is_empty() {
            with_name.truncate(MOST_ANCHORS);
            return with_name;
        }
        // Of many files, any choice would be a guess.
        if without.len() <= MOST_ANCHORS { without } else { Vec::new() }
    }

    /// Returns the path of a file that may be recorded: relative to the root, as the file system spells it, and without links. A text may
    /// name the last parts of an edited path only.
    fn find(&self, path: &str, edited: &[String]) -> Option<String> {
        let root = self.root.to_string_lossy().replace('\\', "/");
        let path = path.strip_prefix(&*root).and_then(|path| path.strip_prefix('/')).unwrap_or(path);
        let is_end = |whole: &&String| whole.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
        self.recordable(path).or_else(|| self.recordable(edited.iter().find(is_end)?))
    }

    fn recordable(&self, path: &str) -> Option<String> {
        if !is_path_in_project(path) || !is_recordable(path, &self.root, self.sanitizer) {
            return None;
        }
        let real = fs::canonicalize(self.root.join(path)).ok()?;
        let relative = real.strip_prefix(&self.root).ok()?.to_str()?.replace('\\', "/");
        let may_be = relative == path || is_recordable(&relative, &self.root, self.sanitizer);
        (may_be && is_path_in_project(&relative) && fs::metadata(&real).ok()?.is_file()).then_some(relative)
    }

    fn anchor(&self, path: &str, names: &[CodeName]) -> Option<CodeAnchor> {
        let file = self.root.join(path);
        let (path, size) = (path.to_owned(), fs::metadata(&file).ok()?.len());
        if size > LARGEST_FILE {
            return Some(CodeAnchor { path, size, hash: None, symbol: None });
        }
        let bytes = regular_file::read(&file, LARGEST_FILE).ok()?;
        let (size, hash) = (bytes.len() as u64, Some(hash_bytes(&bytes)));
        Some(CodeAnchor { path, size, hash, symbol: symbol_in(&bytes, names) })
    }
}

/// Returns the first name that a file defines, or else the first one that looks like code and occurs in it.
fn symbol_in(text: &[u8], names: &[CodeName]) -> Option<CodeSymbol> {
    let mut mentioned = None;
    for name in names {
        let Some(found) = find_symbol(text, &name.text) else { continue };
        let is_defined = found.how > NameUse::Mentioned && (name.form != NameForm::Word || found.is_only);
        if is_defined {
            return Some(found.symbol);
        }
        mentioned = mentioned.or(Some(found.symbol).filter(|_| name.form == NameForm::Marked));
    }
    mentioned
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FILES: [(&str, &str); 8] = [
        ("src/auth.rs", "use x;\n\nfn verify_token() {\n    check();\n}\n"),
        ("src/web/app.ts", "export function load() {}\n"),
        ("README.md", "`verify_token` checks.\n"),
        ("secret/plan.md", "verify_token\n"),
        ("local.toml", "a = 1\n"),
        (".env", "A=1\n"),
        ("Cargo.lock", "x\n"),
        ("target/debug/build.rs", "x\n"),
    ];

    fn anchors(text: &str, edited: &[&str]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        for (path, text) in
            FILES.into_iter().chain([(".git/HEAD", "ref: refs/heads/main\n"), (".gitignore", "local.toml\n")])
        {
            fs::create_dir_all(project.join(path).parent().unwrap()).unwrap();
            fs::write(project.join(path), text).unwrap();
        }
        fs::write(root.path().join("outside.rs"), "x").unwrap();
        #[cfg(unix)]
        for (link, to) in [("link.rs", "../outside.rs"), ("inside.rs", "src/auth.rs")] {
            std::os::unix::fs::symlink(to, project.join(link)).unwrap();
        }
        let (sanitizer, _) = Sanitizer::new(&[], &["secret/".to_owned()]);
        let place = CodePlace { project: &project, directory: &project, sanitizer: &sanitizer };
        let edited: Vec<String> = edited.iter().map(|path| (*path).to_owned()).collect();
        let describe = |anchor: CodeAnchor| {
            let symbol = anchor.symbol.map(|symbol| format!(":{} {}", symbol.line, symbol.name)).unwrap_or_default();
            anchor.path + &symbol
        };
        place.code_of(text, &edited).anchors.into_iter().map(describe).collect()
    }

    #[rstest]
    #[case::named("src/auth.rs checks tokens", &["src/web/app.ts"], &["src/auth.rs"])]
    #[case::with_function("`verify_token` in src/auth.rs stays free of I/O", &[], &["src/auth.rs:3 verify_token"])]
    #[case::last_part_of_an_edited_path("auth.rs stays small", &["src/auth.rs"], &["src/auth.rs"])]
    #[case::edited("We cache tokens.", &["src/auth.rs", "README.md"], &["src/auth.rs", "README.md"])]
    #[case::edited_with_function("verify_token is slow", &["src/web/app.ts", "src/auth.rs"], &["src/auth.rs:3 verify_token"])]
    #[case::many_edited("We cache.", &["src/auth.rs", "README.md", "src/web/app.ts", ".gitignore"], &[])]
    #[case::nothing("We cache tokens.", &[], &[])]
    #[case::missing("src/none.rs is new", &[], &[])]
    #[case::folder("src/ is the code, src/web too", &[], &[])]
    #[case::above("see ../outside.rs and src/../../outside.rs", &["../outside.rs", "/etc/passwd"], &[])]
    #[case::excluded("secret/plan.md has it", &["secret/plan.md"], &[])]
    #[case::ignored("local.toml has it", &["local.toml"], &[])]
    #[case::secret(".env has it", &[".env"], &[])]
    #[case::made_by_tools("Cargo.lock and target/debug/build.rs", &["Cargo.lock"], &[])]
    fn memory_is_anchored_to_what_it_is_about(#[case] text: &str, #[case] edited: &[&str], #[case] expected: &[&str]) {
        assert_eq!(anchors(text, edited), expected);
    }

    #[cfg(unix)]
    #[rstest]
    #[case::outside("link.rs is here", &[])]
    #[case::inside("inside.rs is here", &["src/auth.rs"])]
    fn link_leads_to_the_file_itself_and_never_outside(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(anchors(text, &[]), expected);
    }

    #[test]
    fn hashes_are_not_taken_for_secrets() {
        let sanitizer = Sanitizer::default();
        for n in 0..200 {
            let text = format!("fn verify_token() {{\n    check({n});\n}}\n");
            let (path, size, hash) = ("src/auth_token.rs".to_owned(), 9, Some(hash_bytes(text.as_bytes())));
            let symbol = find_symbol(text.as_bytes(), "verify_token").map(|found| found.symbol);
            let commit = Some(hash_bytes(hash.as_ref().unwrap().as_bytes())[..12].to_owned());
            let anchors = vec![CodeAnchor { path, size, hash, symbol }];
            let mut fields = serde_json::Map::new();
            CodeContext { anchors, branch: Some("fix/token".to_owned()), commit }.add_to(&mut fields);
            assert_eq!(sanitizer.clean_fields(fields.clone()), (fields.clone(), 0));
            let line = format!("<!-- note {} -->", serde_json::Value::Object(fields));
            assert_eq!(sanitizer.clean(&line).text, line);
        }
    }
}
