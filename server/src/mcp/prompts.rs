//! The prompts, which hosts offer as slash commands. The prompt for a review also gets its candidates.

use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use schema::privacy::output_text::clean_text;
use schema::privacy::sanitizer::Sanitizer;
use schema::settings;
use serde_json::Value;
use tools::engine::ReviewCandidate;

use crate::dispatcher::{Dispatcher, ReadNeed};

pub(super) fn list_prompts() -> Vec<Prompt> {
    TEMPLATES.iter().map(PromptTemplate::list_entry).collect()
}

/// The prompt that gets candidates.
const REVIEW: &str = "review-memory";

/// The most candidates.
const MAX_CANDIDATES: usize = 10;

/// The longest text of a memory, in bytes; `memory_get` has all of it.
const MAX_CANDIDATE_BYTES: usize = 600;

/// How long new memories are examined. The next prompt goes on.
const REVIEW_TIME: Duration = Duration::from_secs(3);

/// The text of a prompt, with its argument filled in.
pub(super) async fn get_prompt(
    request: &GetPromptRequestParams,
    dispatcher: &Dispatcher,
) -> Result<GetPromptResult, ErrorData> {
    let Some(template) = TEMPLATES.iter().find(|template| template.name == request.name) else {
        let known = TEMPLATES.each_ref().map(|template| template.name).join(", ");
        return Err(invalid_params(format!("unknown prompt {:?}: known prompts are {known}", request.name)));
    };
    let mut text = template.fill(request)?;
    if template.name == REVIEW {
        text.push_str(&clean_text(&list_candidates(dispatcher, request).await));
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(template.description))
}

pub(super) fn is_known_prompt(name: &str) -> bool {
    TEMPLATES.iter().any(|template| template.name == name)
}

struct PromptTemplate {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    argument: Option<TemplateArgument>,
    text: &'static str,
}

/// Each prompt has at most one argument, because hosts that split a command line into words cannot fill several.
struct TemplateArgument {
    name: &'static str,
    description: &'static str,
    /// The text before an optional argument; omitted without an argument. `None` if the argument is required.
    optional_after: Option<&'static str>,
}

const TEMPLATES: [PromptTemplate; 4] = [
    PromptTemplate {
        name: "recall",
        title: "Recall a topic",
        description: "Recall what memory knows about a topic, with dates and reasons",
        argument: Some(TemplateArgument {
            name: "topic",
            description: "Words or a question, in any language",
            optional_after: None,
        }),
        text: include_str!("prompts/recall.md"),
    },
    PromptTemplate {
        name: "remember",
        title: "Remember this",
        description: "Save a fact so that later sessions understand it, unless memory has it already",
        argument: Some(TemplateArgument { name: "text", description: "The fact to remember", optional_after: None }),
        text: include_str!("prompts/remember.md"),
    },
    PromptTemplate {
        name: "summarize-session",
        title: "Summarize this session",
        description: "Save results, decisions, lessons and open points of this session",
        argument: None,
        text: include_str!("prompts/summarize-session.md"),
    },
    PromptTemplate {
        name: REVIEW,
        title: "Review memory",
        description: "Find stale, contradictory and duplicate memories, and propose what to supersede",
        argument: Some(TemplateArgument {
            name: "topic",
            description: "Review only this topic",
            optional_after: Some(" Review only this topic: "),
        }),
        text: include_str!("prompts/review-memory.md"),
    },
];

impl PromptTemplate {
    fn list_entry(&self) -> Prompt {
        let arguments = self.argument.as_ref().map(|argument| {
            let listed = PromptArgument::new(argument.name).with_description(argument.description);
            vec![listed.with_required(argument.optional_after.is_none())]
        });
        Prompt::new(self.name, Some(self.description), arguments).with_title(self.title)
    }

    fn fill(&self, request: &GetPromptRequestParams) -> Result<String, ErrorData> {
        let Some(argument) = &self.argument else { return Ok(self.text.to_owned()) };
        let given = match request.arguments.as_ref().and_then(|arguments| arguments.get(argument.name)) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text.trim(),
            Some(other) => {
                return Err(invalid_params(format!(
                    "prompt {}: {} is {other}, but must be text",
                    self.name, argument.name
                )));
            }
        };
        let put_in = match argument.optional_after {
            None if given.is_empty() => {
                let TemplateArgument { name, description, .. } = argument;
                return Err(invalid_params(format!("prompt {} needs the argument {name}: {description}", self.name)));
            }
            Some(_) if given.is_empty() => String::new(),
            before => format!("{}{given}", before.unwrap_or_default()),
        };
        Ok(self.text.replacen(&format!("{{{}}}", argument.name), &clean_text(&put_in), 1))
    }
}

/// Lists the candidates of a review; with a topic, only those that contain one of its words. Lists nothing if the store cannot be read.
async fn list_candidates(dispatcher: &Dispatcher, request: &GetPromptRequestParams) -> String {
    let topic = request.arguments.as_ref().and_then(|arguments| arguments.get("topic")?.as_str()).unwrap_or_default();
    let topic: Vec<String> = topic.split_whitespace().map(str::to_lowercase).collect();
    let listed = dispatcher.read(ReadNeed::OpenStore, None, move |engine, control| {
        let start = Instant::now();
        let report = engine.review(&mut control.cancelled_if(|| start.elapsed() >= REVIEW_TIME))?;
        let sanitizer = settings::load(engine.store().layout()).sanitizer;
        let is_about = |text: &String| topic.is_empty() || topic.iter().any(|word| text.to_lowercase().contains(word));
        let texts = report.candidates.iter().map(|candidate| describe(candidate, &sanitizer)).filter(is_about);
        let texts: Vec<String> = texts.collect();
        let more = texts.len().saturating_sub(MAX_CANDIDATES);
        let rest = if report.is_complete { "" } else { "; older memories are not compared yet" };
        Ok(match texts.is_empty() {
            true => format!("\nThere are no candidates{rest}.\n"),
            false => {
                let shown = texts.into_iter().take(MAX_CANDIDATES).collect::<String>();
                format!("\nCandidates, {more} more later{rest}:\n\n{shown}")
            }
        })
    });
    listed.await.unwrap_or_default()
}

fn describe(candidate: &ReviewCandidate, sanitizer: &Sanitizer) -> String {
    let mut text = format!("- {}: {}\n", candidate.kind.name().replace('_', " "), candidate.reason);
    for row in std::iter::once(&candidate.older).chain(&candidate.newer) {
        let content = sanitizer.clean(&row.memory.content).text.replace('\n', "\n    ");
        let content = &content[..content.floor_char_boundary(MAX_CANDIDATE_BYTES)];
        text.push_str(&format!("  - {} {} {}: {content}\n", row.memory.id, row.memory.kind, row.memory.at.date()));
    }
    text
}

fn invalid_params(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    use schema::tool::Tool;

    use super::*;

    #[test]
    fn prompts_have_one_placeholder_and_name_real_tools() {
        for template in &TEMPLATES {
            let places = template.text.matches('{').count();
            assert_eq!(places, usize::from(template.argument.is_some()), "{}", template.name);
            for word in template.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
                assert!(!word.starts_with("memory_") || Tool::from_name(word).is_some(), "{}: {word}", template.name);
            }
        }
    }
}
