//! The prompts, which hosts offer to people as slash commands: what they are called, what they ask for, what they say.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};
use schema::sanitize::sanitize;
use serde_json::Value;

/// The list of prompts.
pub(super) fn list() -> Vec<Prompt> {
    TEMPLATES.iter().map(Template::listed).collect()
}

/// The text of one prompt with its argument put in.
pub(super) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let Some(template) = TEMPLATES.iter().find(|template| template.name == request.name) else {
        let known = TEMPLATES.each_ref().map(|template| template.name).join(", ");
        return Err(invalid(format!("unknown prompt {:?}: known prompts are {known}", request.name)));
    };
    let text = template.filled(request)?;
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(template.description))
}

/// Whether there is a prompt of this name.
pub(super) fn is_known(name: &str) -> bool {
    TEMPLATES.iter().any(|template| template.name == name)
}

struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    argument: Option<Argument>,
    text: &'static str,
}

/// The argument of a prompt. Hosts that take words from a command line fill one better than several.
struct Argument {
    name: &'static str,
    description: &'static str,
    need: Need,
}

enum Need {
    Required,
    /// What stands before the argument in the text when there is one.
    Optional(&'static str),
}

const TEMPLATES: [Template; 4] = [
    Template {
        name: "recall",
        title: "Recall a topic",
        description: "What is remembered about a topic, with dates and reasons",
        argument: Some(Argument {
            name: "topic",
            description: "Words or a question, in any language",
            need: Need::Required,
        }),
        text: include_str!("prompts/recall.md"),
    },
    Template {
        name: "remember",
        title: "Remember this",
        description: "Keep a fact, in words that are understood later, unless it is known already",
        argument: Some(Argument { name: "text", description: "What to remember", need: Need::Required }),
        text: include_str!("prompts/remember.md"),
    },
    Template {
        name: "summarize-session",
        title: "Summarize this session",
        description: "Keep what this session did, decided and learned, and what is open",
        argument: None,
        text: include_str!("prompts/summarize-session.md"),
    },
    Template {
        name: "review-memory",
        title: "Review memory",
        description: "Find stale, contradictory and duplicate memories, and propose what to supersede",
        argument: Some(Argument {
            name: "topic",
            description: "Only memories about this",
            need: Need::Optional(" Only what is about this: "),
        }),
        text: include_str!("prompts/review-memory.md"),
    },
];

impl Template {
    fn listed(&self) -> Prompt {
        let arguments = self.argument.as_ref().map(|argument| {
            let is_required = matches!(argument.need, Need::Required);
            let listed = PromptArgument::new(argument.name).with_description(argument.description);
            vec![listed.with_required(is_required)]
        });
        Prompt::new(self.name, Some(self.description), arguments).with_title(self.title)
    }

    fn filled(&self, request: &GetPromptRequestParams) -> Result<String, ErrorData> {
        let Some(argument) = &self.argument else { return Ok(self.text.to_owned()) };
        let given = match request.arguments.as_ref().and_then(|arguments| arguments.get(argument.name)) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text.trim(),
            Some(other) => {
                return Err(invalid(format!("prompt {}: {} is {other}, not a text", self.name, argument.name)));
            }
        };
        let put_in = match argument.need {
            Need::Required if given.is_empty() => {
                let Argument { name, description, .. } = argument;
                return Err(invalid(format!("prompt {} needs the argument {name}: {description}", self.name)));
            }
            Need::Optional(_) if given.is_empty() => String::new(),
            Need::Required => given.to_owned(),
            Need::Optional(before) => format!("{before}{given}"),
        };
        Ok(self.text.replacen(&format!("{{{}}}", argument.name), &sanitize(&put_in), 1))
    }
}

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests {
    use schema::tool::Tool;

    use super::*;

    #[test]
    fn every_text_has_a_place_for_its_argument_and_names_tools_that_exist() {
        for template in &TEMPLATES {
            let places = template.text.matches('{').count();
            assert_eq!(places, usize::from(template.argument.is_some()), "{}", template.name);
            for word in template.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
                assert!(!word.starts_with("memory_") || Tool::by_name(word).is_some(), "{}: {word}", template.name);
            }
        }
    }
}
