//! Turns the conclusions in prompts and answers into memories. Hooks and imports use the same functions.

use crate::host::conclusions;
pub use crate::host::conclusions::Speaker;
use crate::intake::capture::{Destination, Draft};
use crate::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;
use crate::prose::tasks::without_brief_marks;

/// The most conclusions of one event. A longer list is pasted, not decided.
const MOST: usize = 12;

/// The longest text that is read, in bytes, before its private parts and secrets are removed.
const LONGEST: usize = 256 * 1024;

/// A conclusion in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    pub kind: MemoryType,
    pub content: String,
}

/// Returns the conclusions in a text, in order.
pub fn conclusions(text: &str, speaker: Speaker, sanitizer: &Sanitizer) -> Vec<Conclusion> {
    // A text of this length is a pasted file or log, and cleaning it would take long.
    if text.len() > LONGEST {
        return Vec::new();
    }
    let clean = sanitizer.clean(text).text;
    let found = conclusions::conclusions(&clean, speaker).into_iter();
    // An answer may repeat lines of the brief.
    found.map(|found| Conclusion { kind: found.kind, content: without_brief_marks(&found.text).to_owned() }).collect()
}

/// The place where texts were said.
#[derive(Debug, Clone)]
pub struct SaidIn<'s> {
    pub session_id: &'s str,
    /// The memory of that event, if there is one.
    pub source: Option<MemoryId>,
    pub speaker: Speaker,
    pub at: Moment,
}

/// Returns drafts of the conclusions in texts. They are less important than memories that are saved on purpose.
pub fn drafts<'t>(place: &SaidIn<'_>, texts: impl IntoIterator<Item = &'t str>, sanitizer: &Sanitizer) -> Vec<Draft> {
    let found = texts.into_iter().flat_map(|text| conclusions(text, place.speaker, sanitizer));
    let mut drafts: Vec<Draft> = Vec::new();
    for Conclusion { kind, content } in found {
        if drafts.iter().any(|draft| draft.kind == kind && draft.content == content) {
            continue;
        }
        drafts.push(Draft {
            session_id: place.session_id.to_owned(),
            kind,
            content,
            at: place.at,
            attributes: MemoryAttributes {
                importance: Some(kind.default_importance().saturating_sub(1)),
                auto: true,
                source: place.source.clone(),
                ..MemoryAttributes::default()
            },
            destination: Destination::DailyLog,
        });
        if drafts.len() == MOST {
            break;
        }
    }
    drafts
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::host::transcript::{ReadFrom, Utterance, utterances};

    #[test]
    fn conclusion_is_marked_as_automatic_and_has_a_source() {
        let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
        let source = MemoryId::parse("0af3");
        let place = SaidIn { session_id: "s", source: source.clone(), speaker: Speaker::Agent, at };
        let text = "We decided to keep the tokens in Redis.";
        let found = drafts(&place, [text, text, "Nothing else was said."], &Sanitizer::default());
        let attributes = MemoryAttributes { importance: Some(2), auto: true, source, ..MemoryAttributes::default() };
        let expected = Draft {
            session_id: "s".to_owned(),
            kind: MemoryType::Decision,
            content: text.to_owned(),
            at,
            attributes,
            destination: Destination::DailyLog,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn what_is_private_is_not_concluded_whatever_sentence_holds_it() {
        let text = "We decided to use Redis for the cache. <private>We decided to sell the company.</private>";
        let found = conclusions(text, Speaker::Agent, &Sanitizer::default());
        let contents: Vec<_> = found.iter().map(|found| found.content.as_str()).collect();
        assert_eq!(contents, ["We decided to use Redis for the cache."]);
    }

    #[test]
    fn recorded_sessions_that_conclude_nothing_give_nothing() {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/transcripts");
        let mut count = 0;
        for name in ["after-clear", "compaction-auto", "resumed", "subagent", "tools", "2.1.20/tools"] {
            for said in utterances(&folder.join(format!("{name}.jsonl")), ReadFrom::Start).unwrap() {
                let (text, speaker) = match said {
                    Utterance::Prompt { text, .. } => (text, Speaker::Person),
                    Utterance::Answer { text, .. } => (text, Speaker::Agent),
                    Utterance::Summary { .. } => continue,
                };
                count += 1;
                assert_eq!(conclusions(&text, speaker, &Sanitizer::default()), [], "{name}: {text}");
            }
        }
        assert!(count > 20, "only {count} prompts and answers were read");
    }
}
