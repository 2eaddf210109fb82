//! `save`: stores one fact. A missing type is asked for on a terminal, and guessed otherwise.

use std::io::Write as _;

use anyhow::Context as _;
use clap::Args;
use schema::host::classifier::{KINDS, likeliest_kind};
use schema::model::memory::{MemoryType, short_id};
use schema::tool::{SaveInput, SaveOutput};
use serde::Serialize;
use tools::engine::Engine;
use tools::error::ToolError;

use super::confirm::{ask_unless_ended, can_ask};
use super::edit::text_or_stdin;
use super::filter_arguments::{MemoryTypeParser, parse_memory_type};
use super::output::{DIM, Printer, redaction_note};

#[derive(Debug, Args)]
pub(crate) struct SaveArguments {
    /// The text, after its type. Without a type, the command asks for it or guesses it. `-` reads the text from standard input
    #[arg(required = true, value_name = "TEXT")]
    words: Vec<String>,
    /// The type
    #[arg(long = "type", value_name = "TYPE", value_parser = MemoryTypeParser)]
    kind: Option<MemoryType>,
    /// Extra words for searching, in any language; may be repeated
    #[arg(long, value_name = "WORDS")]
    also: Vec<String>,
    /// A tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Metadata, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Save in MEMORY.md, the long-term memory
    #[arg(long)]
    long_term: bool,
    /// The id of the memory that this one replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
}

/// The output of `memory_save` and more fields.
#[derive(Debug, Serialize)]
struct ShownSave {
    #[serde(flatten)]
    output: SaveOutput,
    #[serde(rename = "type")]
    kind: MemoryType,
    /// Whether the type was guessed from the text.
    guessed: bool,
    /// Number of secrets that were removed.
    redactions: usize,
}

pub(crate) fn run_save(engine: &mut Engine, printer: &Printer, arguments: SaveArguments) -> anyhow::Result<()> {
    let SaveArguments { words, kind, also, tag, metadata, long_term, supersedes } = arguments;
    let (given, text) = split_type(kind, &words)?;
    let content = text_or_stdin(text)?;
    let (kind, guessed) = match given {
        Some(kind) => (kind, false),
        None => choose_type(&content, printer)?,
    };
    let input = SaveInput {
        kind,
        content,
        also: (!also.is_empty()).then(|| also.join("; ")),
        tags: tag,
        metadata: metadata.map(serde_json::Value::String),
        long_term,
        supersedes: supersedes.map(|id| engine.resolve_id(&id)).transpose()?,
        share: false,
    };
    let prepared = engine.prepare(&input)?;
    let redactions = prepared.redactions();
    let saved = engine.commit(&[prepared]).pop().context("a saved memory has an outcome")??;
    let output = engine.save_output(saved)?;
    let shown = ShownSave { output, kind, guessed, redactions };
    printer.print_value(&shown, || shown.render())
}

impl ShownSave {
    fn render(&self) -> String {
        let mut text = format!("{}  {DIM}{}{DIM:#}\n", self.output.message, short_id(&self.output.id));
        if self.guessed {
            text.push_str(&format!("The type is guessed: {}. --type TYPE sets another one.\n", self.kind));
        }
        text + redaction_note(self.redactions).trim_start() + if self.redactions > 0 { "\n" } else { "" }
    }
}

/// Splits the words of the command line into a type and a text.
fn split_type(kind: Option<MemoryType>, words: &[String]) -> Result<(Option<MemoryType>, String), ToolError> {
    if kind.is_some() {
        return Ok((kind, words.join(" ")));
    }
    let is_one_word = |word: &String| !word.trim().contains(char::is_whitespace);
    match words {
        [first, rest @ ..] => match parse_memory_type(first) {
            Ok(_) if rest.is_empty() => {
                Err(ToolError::Invalid(format!("the text is missing: jikime-memory save {first} TEXT")))
            }
            Ok(kind) => Ok((Some(kind), rest.join(" "))),
            // A quoted text after a single word: the word was meant as the type.
            Err(unknown) if rest.len() == 1 && is_one_word(first) && !is_one_word(&rest[0]) => {
                Err(ToolError::Invalid(format!("{unknown}, or quote the whole text if {first:?} belongs to it")))
            }
            Err(_) => Ok((None, words.join(" "))),
        },
        _ => Ok((None, words.join(" "))),
    }
}

/// Asks for the type on a terminal, and guesses it otherwise. Returns also whether it is guessed.
fn choose_type(content: &str, printer: &Printer) -> anyhow::Result<(MemoryType, bool)> {
    let guess = likeliest_kind(content).unwrap_or(MemoryType::Learning);
    if printer.is_json() || !can_ask() {
        return Ok((guess, true));
    }
    let names: Vec<String> = KINDS.iter().enumerate().map(|(at, kind)| format!("{} {kind}", at + 1)).collect();
    loop {
        let question = format!("{}\nWhat is it? A number or a type [{guess}]: ", names.join("  "));
        let unanswered = || ToolError::Invalid("no type was chosen, so nothing was saved".to_owned());
        let answer = ask_unless_ended(&question)?.ok_or_else(unanswered)?;
        match parse_answer(&answer, guess) {
            Ok(kind) => return Ok((kind, false)),
            Err(unknown) => writeln!(anstream::stderr(), "{unknown}").context("cannot ask")?,
        }
    }
}

/// Parses a number or a type. The error names the known types.
fn parse_answer(answer: &str, guess: MemoryType) -> Result<MemoryType, String> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Ok(guess);
    }
    let number = answer.parse::<usize>().ok().and_then(|number| KINDS.get(number.checked_sub(1)?).copied());
    number.map_or_else(|| parse_memory_type(answer), Ok)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::type_and_text(&["decision", "Use Redis"], Some(MemoryType::Decision), "Use Redis")]
    #[case::type_and_words(&["error-fix", "it", "was", "late"], Some(MemoryType::ErrorFix), "it was late")]
    #[case::text_only(&["Use Redis for tokens"], None, "Use Redis for tokens")]
    #[case::words_only(&["Use", "Redis"], None, "Use Redis")]
    #[case::input(&["-"], None, "-")]
    fn first_word_may_be_the_type(#[case] words: &[&str], #[case] kind: Option<MemoryType>, #[case] text: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(split_type(None, &words).unwrap(), (kind, text.to_owned()));
        let all = (Some(MemoryType::Task), words.join(" "));
        assert_eq!(split_type(Some(MemoryType::Task), &words).unwrap(), all);
    }

    #[rstest]
    #[case::missing_text(&["decision"], "the text is missing: jikime-memory save decision TEXT")]
    #[case::unknown_type(&["decison", "Use Redis"], "use decision, or quote the whole text")]
    fn invalid_words_say_what_to_do(#[case] words: &[&str], #[case] expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let error = split_type(None, &words).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[rstest]
    #[case("\n", Ok(MemoryType::Learning))]
    #[case("1\n", Ok(MemoryType::Decision))]
    #[case("6", Ok(MemoryType::Task))]
    #[case(" Error Fix \n", Ok(MemoryType::ErrorFix))]
    #[case("0", Err("unknown type \"0\"; the types are "))]
    #[case("7", Err("unknown type \"7\"; the types are "))]
    #[case("decison", Err("unknown type \"decison\"; use decision"))]
    fn answer_is_a_number_or_a_type(#[case] answer: &str, #[case] expected: Result<MemoryType, &str>) {
        match (parse_answer(answer, MemoryType::Learning), expected) {
            (Err(error), Err(beginning)) => assert!(error.starts_with(beginning), "{error}"),
            (kind, expected) => assert_eq!(kind, expected.map_err(str::to_owned)),
        }
    }
}
