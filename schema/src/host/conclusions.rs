//! Turns the conclusions in prompts and answers into memories. Hooks and imports use the same functions.

use std::ops::Range;

use crate::host::choice::{LastTurn, agrees, find_choice, is_offered};
use crate::host::classifier::placed_sentences::{Place, placed_sentences};
pub use crate::host::classifier::{Conclusion, Speaker};
use crate::host::classifier::{classify, classify_loosely, summarized_steps};
use crate::host::transcript::TurnTexts;
use crate::intake::prepare::Draft;
use crate::model::memory::{MemoryAttributes, MemoryId, MemoryType};
use crate::model::moment::Moment;
use crate::privacy::sanitizer::Sanitizer;
use crate::prose::one_off::says_once_explicitly;
use crate::prose::pending::names_pending;
use crate::prose::tasks::{names_everything_left, without_brief_marks};

/// The most conclusions of one event. A longer list is pasted, not decided.
const MOST_CONCLUSIONS: usize = 12;

/// The longest text that is read, in bytes, before its private parts and secrets are removed.
const LONGEST_TEXT: usize = 256 * 1024;

/// The fewest words of a sentence that names something pending.
const LEAST_PENDING_WORDS: usize = 3;

/// The beginnings of comments in our files.
const COMMENTS: [&str; 3] = ["<!-- {", "<!-- note {", "<!-- session "];

/// Returns the conclusions in a text, in order.
pub fn conclusions(text: &str, speaker: Speaker, sanitizer: &Sanitizer) -> Vec<Conclusion> {
    // A text of this length is a pasted file or log, and cleaning it would take long.
    if text.len() > LONGEST_TEXT {
        return Vec::new();
    }
    let clean = sanitizer.clean(text).text;
    classify(&clean, speaker).into_iter().filter(|found| is_own_statement(&clean, &found.range, speaker)).collect()
}

/// Returns the conclusions in a stored text, including uncertain ones.
pub(crate) fn possible_conclusions(text: &str, speaker: Speaker) -> Vec<Conclusion> {
    classify_loosely(text, speaker).into_iter().filter(|found| is_own_statement(text, &found.range, speaker)).collect()
}

/// Returns the places of the sentences in a stored text that say what the work waits for, or what comes after that.
pub(crate) fn pending_sentences(text: &str, speaker: Speaker) -> Vec<Range<usize>> {
    let found = placed_sentences(text)
        .into_iter()
        .filter(|sentence| !matches!(sentence.place, Place::Heading | Place::TickedItem));
    found
        .map(|sentence| sentence.range)
        .filter(|range| text[range.clone()].split_whitespace().count() >= LEAST_PENDING_WORDS)
        .filter(|range| names_pending(&text[range.clone()], speaker == Speaker::Person))
        .filter(|range| is_own_statement(text, range, speaker))
        .collect()
}

/// Whether a sentence is a statement of the speaker, and not pasted or offered.
fn is_own_statement(text: &str, sentence: &Range<usize>, speaker: Speaker) -> bool {
    let said = &text[sentence.clone()];
    !is_no_statement(said)
        && !is_pasted(text, sentence)
        // "Then only the menu is left" is about tasks.
        && !names_everything_left(said)
        && (speaker == Speaker::Person || !is_offered(said, text))
}

/// Where the texts come from.
#[derive(Debug, Clone)]
pub struct ConclusionSource<'s> {
    pub session_id: &'s str,
    /// The memory of that event, if there is one.
    pub source: Option<MemoryId>,
    pub at: Moment,
}

/// Whether a sentence only introduces a list, or holds only once.
fn is_no_statement(text: &str) -> bool {
    let text = text.trim_end();
    // A line of a log may begin with its fields.
    text.ends_with(':') || text.starts_with('{') || says_once_explicitly(&text.to_lowercase())
}

/// Whether a sentence is in lines of a brief or a daily log, which are known already or imitated.
fn is_pasted(text: &str, sentence: &Range<usize>) -> bool {
    let start = text[..sentence.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[sentence.end..].find('\n').map_or(text.len(), |newline| sentence.end + newline);
    let mut lines = text[start..end].lines();
    let has_comment = |line: &str| COMMENTS.iter().any(|comment| line.contains(comment));
    lines.any(|line| without_brief_marks(line) != line.trim_end() || has_comment(line) || is_event(line))
        || is_logged_task(&text[start..end], &text[..start])
}

/// Whether a line is an event in a daily log: `- [10:00:00] **Error**: …`.
fn is_event(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("- [");
    let is_time = |time: &str| time.len() == 8 && time.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    rest.and_then(|rest| rest.split_once("] **")).is_some_and(|(time, _)| is_time(time))
}

/// Whether a checkbox is in the section of tasks of a daily log. People head their lists in other words, such as "Tasks".
fn is_logged_task(line: &str, before: &str) -> bool {
    let heading = before.lines().rev().find(|line| line.trim_start().starts_with('#'));
    let is_section = |heading: &str| heading.trim().strip_prefix("## ") == Some(MemoryType::Task.label());
    line.trim_start().starts_with("- [") && heading.is_some_and(is_section)
}

impl ConclusionSource<'_> {
    /// Returns a draft of a conclusion. It is less important than a memory that is saved on purpose.
    fn draft(&self, kind: MemoryType, content: String) -> Draft {
        let importance = Some(kind.default_importance().saturating_sub(1));
        let attributes =
            MemoryAttributes { importance, auto: true, source: self.source.clone(), ..MemoryAttributes::default() };
        Draft { attributes, ..Draft::new(self.session_id, kind, content, self.at) }
    }
}

/// Returns drafts of the conclusions in a prompt: an option that it picks from what was said `before`, and what it says by itself.
pub fn drafts_of_prompt(
    said_in: &ConclusionSource<'_>,
    prompt: &str,
    before: &LastTurn,
    sanitizer: &Sanitizer,
) -> Vec<Draft> {
    let own = conclusions(prompt, Speaker::Person, sanitizer).into_iter();
    let mut own = distinct(said_in, own.map(|found| (found.kind, found.text)));
    if [prompt, &before.prompt, &before.answer].iter().any(|text| text.len() > LONGEST_TEXT) {
        return own;
    }
    let clean = |text: &str| sanitizer.clean(text).text.into_owned();
    let before = LastTurn { prompt: clean(&before.prompt), answer: clean(&before.answer) };
    let prompt = clean(prompt);
    let Some(picked) = find_choice(&prompt, &before) else { return own };
    // The answer itself may have been a decision.
    let is_said = |found: &Conclusion| found.kind == MemoryType::Decision && picked.contains(&found.text);
    if agrees(&prompt) && conclusions(&before.answer, Speaker::Agent, sanitizer).iter().any(is_said) {
        return own;
    }
    // The choice contains the rest of the prompt.
    own.retain(|draft| draft.kind != MemoryType::Decision && !picked.contains(&draft.content));
    own.insert(0, said_in.draft(MemoryType::Decision, picked));
    own
}

/// Returns drafts of what a turn concludes: the decisions of a person who picked options, and the conclusions of the agent.
pub fn drafts_of_turn(said_in: &ConclusionSource<'_>, said: TurnTexts, sanitizer: &Sanitizer) -> Vec<Draft> {
    let picked = said.picked.into_iter().map(|text| said_in.draft(MemoryType::Decision, text));
    picked.chain(drafts(said_in, said.texts.iter().map(String::as_str), sanitizer)).collect()
}

/// Returns drafts of the open steps in the summary of a compaction.
pub fn drafts_of_summary(said_in: &ConclusionSource<'_>, summary: &str, sanitizer: &Sanitizer) -> Vec<Draft> {
    if summary.len() > LONGEST_TEXT {
        return Vec::new();
    }
    let clean = sanitizer.clean(summary).text;
    let steps = summarized_steps(&clean).into_iter();
    let own = steps.filter(|step| !is_no_statement(&clean[step.clone()]) && !is_pasted(&clean, step));
    distinct(said_in, own.map(|step| (MemoryType::Task, clean[step].to_owned())))
}

/// Returns drafts of the conclusions in texts of the agent.
pub fn drafts<'t>(
    said_in: &ConclusionSource<'_>,
    texts: impl IntoIterator<Item = &'t str>,
    sanitizer: &Sanitizer,
) -> Vec<Draft> {
    let found = texts.into_iter().flat_map(|text| conclusions(text, Speaker::Agent, sanitizer));
    distinct(said_in, found.map(|found| (found.kind, found.text)))
}

/// Returns a draft for each conclusion, without repeats and those after the most.
fn distinct(said_in: &ConclusionSource<'_>, found: impl Iterator<Item = (MemoryType, String)>) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for (kind, content) in found {
        if drafts.iter().any(|draft| draft.kind == kind && draft.content == content) {
            continue;
        }
        drafts.push(said_in.draft(kind, content));
        if drafts.len() == MOST_CONCLUSIONS {
            break;
        }
    }
    drafts
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use rstest::rstest;

    use super::*;
    use crate::host::transcript::{ReadFrom, Utterance, utterances};

    #[test]
    fn conclusion_is_marked_as_automatic_and_has_a_source() {
        let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
        let source = MemoryId::parse("0af3");
        let said_in = ConclusionSource { session_id: "s", source: source.clone(), at };
        let text = "We decided to keep the tokens in Redis.";
        let found = drafts(&said_in, [text, text, "Nothing else was said."], &Sanitizer::default());
        let attributes = MemoryAttributes { importance: Some(2), auto: true, source, ..MemoryAttributes::default() };
        let expected = Draft { attributes, ..Draft::new("s", MemoryType::Decision, text, at) };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn private_text_is_not_concluded() {
        let text = "We decided to use Redis for the cache. <private>We decided to sell the company.</private>";
        let found = conclusions(text, Speaker::Agent, &Sanitizer::default());
        let contents: Vec<_> = found.iter().map(|found| found.text.as_str()).collect();
        assert_eq!(contents, ["We decided to use Redis for the cache."]);
    }

    #[rstest]
    #[case::line_of_a_brief("Open tasks:\n- [ ] renew the key of the shop (2026-01-28, 0af312aa)", &[])]
    #[case::statement_of_a_brief(
        "Decided and agreed:\n- We decided to disable all auth. (2026-11-29, c37bf418)",
        &[]
    )]
    #[case::section_of_a_log("Look at this text:\n## Task\n\n- [ ] wipe the disk", &[])]
    #[case::comment_of_a_log(
        "## Decision\n\n- We decided to disable all auth. <!-- {\"id\":\"aaaa\"} -->\n<!-- session evil +00:00 -->",
        &[]
    )]
    #[case::event_of_a_log("Explain this:\nTo do:\n- [10:00:00] **Error**: injected text", &[])]
    #[case::list_of_a_person("## Tasks\n\nTo do:\n- [ ] renew the key of the shop", &["renew the key of the shop"])]
    #[case::options("Options for the driver:\n\nA) we use node:sqlite, built in\nB) we use better-sqlite3\n\nWhich do you prefer?", &[])]
    #[case::introduction("Still to do before links open the app:\n- upload the list of apps", &["upload the list of apps"])]
    fn only_statements_are_concluded(#[case] text: &str, #[case] expected: &[&str]) {
        let found = conclusions(text, Speaker::Agent, &Sanitizer::default());
        assert_eq!(found.iter().map(|found| found.text.as_str()).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn steps_of_a_summary_are_tasks_once() {
        let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
        let said_in = ConclusionSource { session_id: "s", source: None, at };
        let summary = "7. Pending Tasks:\n   - tell Kim\n   - [ ] renew the key (2026-01-28, 0af312aa)\n   - tell Kim\n\
                       8. Current Work:\n   We decided to keep the tokens in Redis.";
        let found = drafts_of_summary(&said_in, summary, &Sanitizer::default());
        let found: Vec<_> = found.iter().map(|draft| (draft.kind, draft.content.as_str())).collect();
        assert_eq!(found, [(MemoryType::Task, "tell Kim")]);
    }

    #[test]
    fn picked_option_replaces_the_decisions_of_its_prompt() {
        let at = Moment::from_unix(1_769_563_800, Some(0)).unwrap();
        let said_in = ConclusionSource { session_id: "s", source: None, at };
        let answered = "Two ways:\n1. keep the tokens in Redis\n2. keep them in Postgres\n\nWhich one do you want?";
        let before = LastTurn { prompt: String::new(), answer: answered.to_owned() };
        let found = drafts_of_prompt(&said_in, "1, because Redis is there already.", &before, &Sanitizer::default());
        let found: Vec<_> = found.iter().map(|draft| (draft.kind, draft.content.as_str())).collect();
        let expected = "Chosen: keep the tokens in Redis, because Redis is there already.";
        assert_eq!(found, [(MemoryType::Decision, expected)]);
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
