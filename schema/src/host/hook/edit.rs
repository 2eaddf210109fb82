//! Summarises an edit in a few lines that a search finds: removed and added lines, and the function or heading around them.

mod diff;
mod fragment;
mod symbol;

use std::path::Path;

use super::payload::{HookPayload, PatchHunk};
use crate::files::regular_file;
use crate::model::word_list::WordList;
use crate::privacy::sanitizer::Sanitizer;
use diff::{Changed, LONGEST_SUMMARY, changed, head_of_file, says_something, shown, shown_length};
use fragment::{is_fragment, is_hidden_in};
pub(crate) use symbol::{defines_next, defines_without_word};
use symbol::{enclosing, is_definition};

/// How many bytes of an edit's text are read. The rest is ignored.
const READ_BYTES: usize = 128 * 1024;

/// How many bytes to drop at a cut end, which may contain an unrecognisable half of a secret.
const CUT_MARGIN: usize = 8 * 1024;

/// A file of at most this many lines is shown from its beginning. Of a longer one, a few lines of its head, its first imports and its
/// definitions are shown before others.
const SMALL_FILE: usize = 12;
const HEAD_LINES: usize = 2;
const IMPORT_LINES: usize = 3;

/// The longest file that is searched for the function around an edit, in bytes.
const LARGEST_FILE: u64 = 1024 * 1024;

/// A text with more than one unreadable character of this many is binary.
const MOST_UNREADABLE: usize = 10;

/// The most edits of one call that are summarised.
const MOST_EDITS: usize = 8;

/// Summarises the change of `file` in a payload, or returns `None` if only its path may be recorded. `shown_path` is the file's name in the
/// memory.
pub(super) fn change(payload: &HookPayload, file: &Path, shown_path: &str, sanitizer: &Sanitizer) -> Option<String> {
    if is_made_by_tools(shown_path) || may_hold_secrets(shown_path) {
        return None;
    }
    let is_prose = is_prose(shown_path);
    let input = |name: &str| payload.tool_input[name].as_str();
    let texts = match payload.tool_name.as_deref()? {
        "Edit" => vec![edit(input("old_string")?, input("new_string")?, file, is_prose, sanitizer)],
        "MultiEdit" => {
            let edits = payload.tool_input["edits"].as_array()?.iter();
            let pairs = edits.filter_map(|edit| edit["old_string"].as_str().zip(edit["new_string"].as_str()));
            pairs.take(MOST_EDITS).map(|(old, new)| edit(old, new, file, is_prose, sanitizer)).collect()
        }
        "Write" => vec![match payload.tool_response.patch.as_slice() {
            // The changes alone do not show whether they are within something secret.
            hunks if !hunks.is_empty() && !is_hidden_in(input("content")?, "") => patched(hunks, sanitizer),
            _ => written(input("content")?, sanitizer),
        }],
        "NotebookEdit" => {
            let cell = input("cell_id").map(|cell| format!("cell {cell}"));
            vec![written(input("new_source")?, sanitizer).map(|text| titled(cell, &text))]
        }
        _ => return None,
    };
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Removes secrets from a text, and the end that may have half of one. Returns `None` if the text may not be shown at all.
fn clean(text: &str, sanitizer: &Sanitizer) -> Option<String> {
    let read = &text[..text.floor_char_boundary(READ_BYTES)];
    if is_binary(read) || is_fragment(read) {
        return None;
    }
    if text.len() <= READ_BYTES {
        return Some(sanitizer.clean(text).text.into_owned());
    }
    let cleaned = sanitizer.clean(read).text.into_owned();
    let end = cleaned.floor_char_boundary(cleaned.len().saturating_sub(CUT_MARGIN));
    Some(cleaned[..end].to_owned())
}

fn edit(old: &str, new: &str, file: &Path, is_prose: bool, sanitizer: &Sanitizer) -> Option<String> {
    let content = regular_file::read(file, LARGEST_FILE).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if content.as_deref().is_some_and(|content| is_hidden_in(content, new)) {
        return None;
    }
    let (old, new) = beyond_common_start(old, new);
    let (old, new) = (clean(old, sanitizer)?, clean(new, sanitizer)?);
    if is_generated(&new) {
        return None;
    }
    let changed = changed(&old, &new);
    let text = shown(&changed)?;
    let around =
        around(&changed, &new, content.as_deref(), is_prose).map(|title| sanitizer.clean(&title).text.into_owned());
    Some(titled(around, &text))
}

/// Of very long texts, returns the parts from shortly before the first difference.
fn beyond_common_start<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    if old.len().max(new.len()) <= READ_BYTES {
        return (old, new);
    }
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    // The text before it shows whether it is part of a secret.
    let start =
        old[..old.floor_char_boundary(same.saturating_sub(CUT_MARGIN))].rfind('\n').map_or(0, |newline| newline + 1);
    if new.is_char_boundary(start) { (&old[start..], &new[start..]) } else { (old, new) }
}

/// Returns the function or heading around a change, from the edit's text or else from the file.
fn around(changed: &Changed<'_>, new: &str, content: Option<&str>, is_prose: bool) -> Option<String> {
    let in_edit = enclosing(&changed.before, changed.indent(), is_prose);
    if in_edit.is_some() || changed.holds_definition() {
        return in_edit;
    }
    let text = content?;
    let at = text.find(new.lines().find(|line| line.trim().len() > 3)?)?;
    let before: Vec<&str> = text[..at].lines().collect();
    enclosing(&before, changed.indent(), is_prose)
}

/// Summarises a written file by its head.
fn written(content: &str, sanitizer: &Sanitizer) -> Option<String> {
    let content = clean(content, sanitizer)?;
    if is_generated(&content) {
        return None;
    }
    let lines: Vec<&str> =
        content.lines().skip_while(|line| is_preamble(line)).filter(|line| says_something(line)).collect();
    head_of_file(&selected(&lines))
}

/// Returns the lines of a new file that say most about it, in the order of the file, as far as they fit into a summary.
fn selected<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let all = |kind: fn(&str) -> bool| lines.iter().enumerate().filter(move |(_, line)| kind(line)).map(|(at, _)| at);
    let plain = all(|line| !is_import(line) && !is_definition(line));
    // People search for definitions more than for implementations.
    let head = plain.clone().take(HEAD_LINES).chain(all(is_import).take(IMPORT_LINES));
    let of_long_file = head.chain(all(is_definition)).chain(plain).chain(all(is_import));
    let by_weight: Vec<usize> =
        if lines.len() <= SMALL_FILE { (0..lines.len()).collect() } else { of_long_file.collect() };
    let mut taken: Vec<usize> = Vec::new();
    let mut left = LONGEST_SUMMARY;
    for at in by_weight {
        if taken.contains(&at) {
            continue;
        }
        let Some(rest) = left.checked_sub(shown_length(lines[at])) else { break };
        left = rest;
        taken.push(at);
    }
    // A single line may be longer than all that is shown.
    if taken.is_empty() && !lines.is_empty() {
        taken.push(0);
    }
    taken.sort_unstable();
    taken.into_iter().map(|at| lines[at]).collect()
}

/// Summarises what a write changed in an existing file, according to the host.
fn patched(hunks: &[PatchHunk], sanitizer: &Sanitizer) -> Option<String> {
    let (mut old, mut new) = (String::new(), String::new());
    for line in hunks.iter().flat_map(|hunk| &hunk.lines) {
        if old.len().max(new.len()) > READ_BYTES {
            break;
        }
        let Some((kind, text)) = line.split_at_checked(1) else { continue };
        for (sides, kept) in [("- ", &mut old), ("+ ", &mut new)] {
            if sides.contains(kind) {
                kept.push_str(text);
                kept.push('\n');
            }
        }
    }
    let (old, new) = (clean(&old, sanitizer)?, clean(&new, sanitizer)?);
    if is_generated(&new) { None } else { shown(&changed(&old, &new)) }
}

/// Whether a text is the content of a file without text: it has control characters that no editor writes, or hardly anything readable.
fn is_binary(text: &str) -> bool {
    let is_readable = |c: &char| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x0c' | '\x1b');
    let unreadable = text.chars().filter(|c| !is_readable(c) || *c == char::REPLACEMENT_CHARACTER).count();
    text.contains('\0') || unreadable > text.chars().count() / MOST_UNREADABLE
}

fn titled(title: Option<String>, text: &str) -> String {
    title.map_or_else(|| text.to_owned(), |title| format!("@ {title}\n{text}"))
}

/// Whether a line precedes the content of a file: a licence, a shebang or a blank line.
fn is_preamble(line: &str) -> bool {
    let line = line.trim();
    let lower = line.to_ascii_lowercase();
    line.is_empty()
        || line.starts_with("#!")
        || ["copyright", "spdx-license", "licensed under"].iter().any(|word| lower.contains(word))
}

/// Whether a line only imports something.
fn is_import(line: &str) -> bool {
    let line = line.trim_start();
    static STARTS: WordList = WordList::phrases(
        "import |from |use |#include|package |using |require(|require |const {|module.exports|@import|\"use strict\"|\
         'use client'",
    );
    STARTS.begins(line) && (!line.starts_with("const {") || line.contains("require("))
}

/// Whether a text says that a program generated it.
fn is_generated(text: &str) -> bool {
    static MARKS: WordList = WordList::phrases(
        "@generated|DO NOT EDIT|Code generated by|autogenerated|auto-generated|automatically generated",
    );
    let head = &text[..text.floor_char_boundary(1_024)];
    MARKS.occurs_in(head)
}

/// Whether tools write this file: a lock, a bundle, a snapshot, data or an image.
pub(super) fn is_made_by_tools(path: &str) -> bool {
    static NAMES: WordList = WordList::words(
        "bun.lockb cargo.lock composer.lock flake.lock gemfile.lock go.sum npm-shrinkwrap.json package-lock.json \
         packages.lock.json pnpm-lock.yaml",
    );
    static ENDINGS: WordList = WordList::words(
        ".lock .min.js .min.css .map .snap .pb.go _pb2.py _pb2_grpc.py .g.dart .freezed.dart .designer.cs .bundle.js \
         .tsbuildinfo .svg .png .jpg .jpeg .gif .webp .ico .pdf .zip .gz .tar .7z .woff .woff2 .ttf .mp3 .mp4 .wasm \
         .so .dll .exe .bin .o .a .class .jar .pyc .sqlite .db .parquet .npy",
    );
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    NAMES.contains(name) || ENDINGS.ends(name)
}

/// Whether a file usually holds secrets. Only its name may be recorded.
pub(super) fn may_hold_secrets(path: &str) -> bool {
    static ENDINGS: WordList = WordList::words(
        ".pem .key .p8 .p12 .pfx .pkcs12 .ppk .jks .keystore .kdbx .gpg .age .tfvars .tfstate .ovpn .env .kubeconfig \
         .secret .secrets",
    );
    static NAMES: WordList = WordList::words(
        ".boto .dev.vars .dockercfg .git-credentials .htpasswd .my.cnf .netrc _netrc .npmrc .pgpass .pypirc .renviron \
         .s3cfg .vault-token credentials kubeconfig secrets service-account.json",
    );
    const FOLDERS: [&str; 5] = [".aws/", ".docker/", ".gnupg/", ".kube/", ".ssh/"];
    let path = path.replace('\\', "/").to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let (stem, ending) = name.split_once('.').unwrap_or((name, ""));
    let is_data = ["json", "toml", "yaml", "yml", "ini", "xml", "properties"].contains(&ending);
    let is_key = stem.starts_with("id_") && ending.is_empty();
    let is_example = [".example", ".sample", ".template", ".dist"].iter().any(|end| name.ends_with(end));
    let is_in = |folder: &str| path.starts_with(folder) || path.contains(&format!("/{folder}"));
    is_environment(name) && !is_example
        || is_key
        || is_data && ["secrets", "credentials"].contains(&stem)
        || NAMES.contains(name)
        || ENDINGS.ends(name)
        || FOLDERS.iter().any(|folder| is_in(folder))
}

/// Whether a file sets variables, such as `.env`, `.envrc` or `.env-local`.
fn is_environment(name: &str) -> bool {
    let rest = name.strip_prefix(".env");
    rest.is_some_and(|rest| rest == "rc" || !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn is_prose(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt", ".org", ".tex"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests;
