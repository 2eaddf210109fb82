//! Rules for English and Korean text: its terms and gist, small talk, one-off requests, finished and pending work, and which statement
//! replaces another. They use only the text, so that a brief, a capture and a search get the same results.

pub mod comparison;
pub mod gist;
pub(crate) mod one_off;
pub(crate) mod pending;
pub(crate) mod sentences;
pub mod small_talk;
pub mod supersession;
pub mod tasks;
pub(crate) mod terms;

/// A message of `tests/extraction`, whose messages are about hundreds of invented projects.
#[cfg(test)]
struct LabelledMessage {
    is_prompt: bool,
    text: String,
    /// The conclusions with the first letter of their kind; `O` is an open step.
    marked: Vec<(char, String)>,
}

#[cfg(test)]
fn labelled_messages() -> Vec<LabelledMessage> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/extraction");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension() == Some("txt".as_ref()));
    paths.sort();
    let parse = |line: &str| {
        let (who, text) = line.split_once('|')?;
        let mut parts = text.split("[[");
        let mut message = LabelledMessage { is_prompt: who == "u", text: parts.next()?.to_owned(), marked: Vec::new() };
        for part in parts {
            let (kind, part) = part.split_once(' ')?;
            let (conclusion, after) = part.split_once("]]").unwrap_or((part, ""));
            message.marked.push((kind.chars().next()?, conclusion.replace("\\n", "\n")));
            message.text.extend([conclusion, after]);
        }
        message.text = message.text.replace("\\n", "\n");
        Some(message)
    };
    let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap());
    texts.flat_map(|text| text.lines().filter_map(parse).collect::<Vec<_>>()).collect()
}
