//! The topics of the newest failures, by which a success is recognised as one after a failure.

use std::io::{self, Write as _};

use crate::files::layout::Layout;
use crate::files::store_file::{self, options_for_private};

/// How many topics of failures are stored, the newest ones.
const MOST_TOPICS: usize = 100;

/// Records the topics of a failure. A later success is compared with them first.
pub fn note_failure(layout: &Layout, topics: &[String]) -> io::Result<()> {
    let path = layout.failed_topics_file();
    let mut known = failed(layout);
    if topics.iter().all(|topic| known.contains(topic)) {
        return Ok(());
    }
    known.extend(topics.iter().filter(|topic| !known.contains(topic)).cloned().collect::<Vec<_>>());
    let first = known.len().saturating_sub(MOST_TOPICS);
    let mut file = options_for_private().create(true).truncate(true).open(&path)?;
    file.write_all((known[first..].join("\n") + "\n").as_bytes())
}

/// Whether something with these topics failed lately, according to this project's hooks. Losing the list loses no memory.
pub fn has_failed(layout: &Layout, topics: &[String]) -> bool {
    let known = failed(layout);
    topics.iter().any(|topic| known.contains(topic))
}

fn failed(layout: &Layout) -> Vec<String> {
    let bytes = store_file::read(&layout.failed_topics_file()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_topics_of_failures_are_stored() {
        let project = tempfile::tempdir().unwrap();
        let layout = Layout::new(project.path());
        layout.create_dirs_and_gitignore().unwrap();
        for n in 0..MOST_TOPICS + 5 {
            note_failure(&layout, &[n.to_string()]).unwrap();
        }
        assert!(!has_failed(&layout, &["4".to_owned()]) && has_failed(&layout, &["5".to_owned()]));
    }
}
