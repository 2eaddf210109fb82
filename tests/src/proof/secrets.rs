//! Measures recall and precision of redaction, with synthetic secrets in the formats of providers, and with this project's sources,
//! documents and lock file, which are full of hashes and mentions of tokens.

use std::fs;
use std::path::{Path, PathBuf};

use schema::privacy::sanitizer::Sanitizer;

use crate::canaries::{files_below, find_traces, measured_canaries};
use crate::fixtures::fixtures_dir;
use crate::proof::ProofResult;

/// Measures redaction. Also reports texts that grow without bound or change on a second pass.
pub fn run() -> ProofResult {
    let mut tally = ProofResult::new("secrets", "canaries and this project's own files");
    let sanitizer = Sanitizer::default();
    let canaries = measured_canaries();
    let mut taken_out = 0;
    for canary in &canaries {
        let cleaned = sanitizer.clean(&canary.text).text.into_owned();
        let left = find_traces(std::slice::from_ref(canary), cleaned.as_bytes());
        taken_out += usize::from(left.is_empty());
        if !left.is_empty() {
            tally.findings.push(format!("left as it is: {:?}", canary.text));
        }
        tally.findings.extend(find_instability(&sanitizer, &canary.text));
    }
    let harmless: Vec<(PathBuf, String)> = harmless_lines();
    let mut changed = 0;
    for (path, line) in &harmless {
        let cleaned = sanitizer.redact(line);
        if cleaned.count > 0 {
            changed += 1;
            tally.findings.push(format!("no secret in {}: {line:?} becomes {:?}", path.display(), cleaned.text));
        }
        tally.findings.extend(find_instability(&sanitizer, line));
    }
    tally.rounds = canaries.len() + harmless.len();
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    tally.measured = format!(
        "{taken_out} of {} secrets redacted (recall {:.3}); {changed} of {} harmless lines changed (precision {:.3})",
        canaries.len(),
        share(taken_out, canaries.len()),
        harmless.len(),
        share(taken_out, taken_out + changed),
    );
    tally
}

/// Returns a description if a second pass changes the text, or if the text grows by more than its labels.
fn find_instability(sanitizer: &Sanitizer, text: &str) -> Option<String> {
    let once = sanitizer.clean(text);
    let twice = sanitizer.clean(&once.text);
    if twice.text != once.text {
        return Some(format!("{text:?} becomes {:?}, and then {:?}", once.text, twice.text));
    }
    let longest = text.len() + once.count * 40 + 8;
    (once.text.len() > longest).then(|| format!("{text:?} grows to {} bytes", once.text.len()))
}

/// Returns the lines of files without secrets. Skips files about secrets.
fn harmless_lines() -> Vec<(PathBuf, String)> {
    let root = fs::canonicalize(fixtures_dir().join("../..")).expect("the project is there");
    let folders = ["docs", "schema/src", "tools/src", "server/src", "hooks-client/src"];
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|folder| files_below(&root.join(folder))).collect();
    files.push(root.join("Cargo.lock"));
    files.retain(|path| is_text(path) && !is_about_secrets(path.strip_prefix(&root).unwrap_or(path), path));
    files.sort();
    let named = |path: &Path| path.strip_prefix(&root).unwrap_or(path).to_owned();
    let lines = files.into_iter().filter_map(|path| Some((named(&path), fs::read_to_string(path).ok()?)));
    lines
        .flat_map(|(path, text)| text.lines().map(|line| (path.clone(), line.to_owned())).collect::<Vec<_>>())
        .filter(|(_, line)| !line.trim().is_empty())
        .collect()
}

fn is_text(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ["md", "rs", "toml", "lock", "json", "sql"].iter().any(|known| ending == *known))
}

fn is_about_secrets(name: &Path, path: &Path) -> bool {
    let name = name.to_string_lossy().replace('\\', "/");
    let is_of_rules = name.contains("/redaction") || ["docs/privacy.md", "server/src/http/token.rs"].contains(&&*name);
    // Tests plant secrets.
    is_of_rules || name.contains("/tests") || fs::read_to_string(path).is_ok_and(|text| text.contains("hunter2"))
}
