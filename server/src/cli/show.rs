//! `show`: a memory, a day, or a file of the store.

use chrono::NaiveDate;
use schema::log::{LONG_TERM_FILE, LogKind};
use schema::model::moment::Moment;
use schema::store::MemoryRow;
use schema::tool::{GetInput, GetOutput, MemoryDetails};
use serde::Serialize;
use tools::engine::{Engine, HistoryFilter};
use tools::error::ToolError;
use tools::exchange::render_markdown;

use super::forget::{MIN_ID_LENGTH, too_short_id};
use super::insights::describe_evidence;
use super::output::{DIM, Printer, notice_line};
use super::terminal_text::{clean_for_terminal, wrap};

/// The output of `memory_get` and more fields.
#[derive(Debug, Serialize)]
struct ShownMemory {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    output: GetOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    importance: Option<u8>,
}

pub(crate) fn run_show(engine: &mut Engine, printer: &Printer, what: &str) -> anyhow::Result<()> {
    let mut what = what.trim().to_owned();
    if let Some(day) = parse_day(&what, Moment::now().date()) {
        match day_rows(engine, day)? {
            rows if !rows.is_empty() => return show_day(printer, day, &rows),
            // A log may have only prose.
            _ if engine.store().layout().store_path(&format!("{day}.md")).exists() => what = format!("{day}.md"),
            _ => {
                return Err(
                    ToolError::NotFound(format!("there are no memories of {day}; `list` shows the days")).into()
                );
            }
        }
    }
    if what.eq_ignore_ascii_case(LONG_TERM_FILE.trim_end_matches(".md")) {
        what = LONG_TERM_FILE.to_owned();
    }
    let is_path = what.ends_with(".md") || what.contains('/');
    // The token limit is for models; people can scroll.
    let mut input = GetInput { max_tokens: Some(i64::from(u32::MAX)), ..GetInput::default() };
    if is_path {
        input.path = Some(what);
    } else {
        input.id = Some(engine.resolve_id(&what)?);
        refuse_other_ids(engine, &what)?;
    }
    let output = engine.get(&input)?;
    let row = input.id.as_deref().map(|id| engine.peek(id)).transpose()?.flatten();
    let memory = row.as_ref().map(|row| &row.memory);
    let shown = ShownMemory {
        id: memory.map(|memory| memory.id.to_string()),
        output,
        pinned: memory.map(|memory| memory.attributes.pinned),
        importance: memory.and_then(|memory| memory.attributes.importance),
    };
    printer.print_paged(&shown, |columns| render_memory(&shown, columns))
}

#[derive(Debug, Serialize)]
struct ShownDay {
    date: NaiveDate,
    content: String,
}

/// A day by its date, or `today` or `yesterday`.
fn parse_day(what: &str, today: NaiveDate) -> Option<NaiveDate> {
    match what.to_lowercase().as_str() {
        "today" => Some(today),
        "yesterday" => today.pred_opt(),
        date => date.parse().ok(),
    }
}

/// The beginning of a session's id is no memory, but people try it, and too few characters of an id.
fn refuse_other_ids(engine: &mut Engine, what: &str) -> Result<(), ToolError> {
    if !engine.newest_ids(what, 1)?.is_empty() || what.is_empty() {
        return Ok(());
    }
    let session = engine.resolve_session_id(what)?;
    let wanted = HistoryFilter::default();
    if engine.sessions(&wanted, usize::MAX)?.iter().any(|known| known.id == session) {
        let text = format!("{what:?} is a session, not a memory: jikime-memory list --session {what}");
        return Err(ToolError::Invalid(text));
    }
    if what.len() < MIN_ID_LENGTH { Err(too_short_id(what)) } else { Ok(()) }
}

fn day_rows(engine: &Engine, date: NaiveDate) -> anyhow::Result<Vec<MemoryRow>> {
    let mut rows = Vec::new();
    for name in LogKind::Daily(date).file_names() {
        rows.extend(engine.store().rows().by_path(&name)?);
    }
    rows.sort_by(|a, b| a.memory.at.cmp(&b.memory.at).then(a.seq.cmp(&b.seq)));
    Ok(rows)
}

fn show_day(printer: &Printer, date: NaiveDate, rows: &[MemoryRow]) -> anyhow::Result<()> {
    let day = ShownDay { date, content: render_markdown(rows, &[]) };
    printer.print_paged(&day, |columns| render_content(&day.content, columns))
}

fn render_content(content: &str, columns: Option<usize>) -> String {
    let content = clean_for_terminal(content);
    match columns {
        Some(columns) => wrap(&content, columns).join("\n"),
        None => content,
    }
}

fn render_memory(shown: &ShownMemory, columns: Option<usize>) -> String {
    let ShownMemory { output, pinned, importance, .. } = shown;
    let mut place = format!("{}:{}", clean_for_terminal(&output.path), output.start_line);
    if output.end_line > output.start_line {
        place.push_str(&format!("-{}", output.end_line));
    }
    let mut about = output.memory.as_ref().map(render_details).unwrap_or_default();
    if *pinned == Some(true) {
        about.push_str("\npinned");
    }
    about.extend(importance.map(|importance| format!("\nimportance {importance}")));
    let evidence = output.memory.as_ref().and_then(|memory| memory.evidence.as_ref());
    let evidence = notice_line(evidence.map(describe_evidence).as_deref(), columns);
    let rest = evidence + &notice_line(output.notice.as_deref(), columns);
    let content = render_content(&output.content, columns);
    format!("{DIM}{place}{about}{DIM:#}\n{content}\n{rest}")
}

/// The properties of a memory, one per line.
fn render_details(memory: &MemoryDetails) -> String {
    let MemoryDetails { kind, date, session_id, also, metadata, supersedes, superseded_by, source, .. } = memory;
    let mut text = format!("\n{kind}, {date}");
    let metadata = (!metadata.is_empty()).then(|| serde_json::Value::Object(metadata.clone()).to_string());
    let state = memory.state.as_ref().map(|state| match &memory.settled_by {
        Some(by) => format!("{state} by {by}"),
        None => state.clone(),
    });
    let code = (!memory.code.is_empty()).then(|| memory.code.join("; "));
    let repeated = (memory.repeats > 0).then(|| {
        let last = memory.repeated_at.as_ref().map(|at| format!(", last {at}")).unwrap_or_default();
        let times = if memory.repeats == 1 { "once".to_owned() } else { format!("{} times", memory.repeats) };
        format!("{times}{last}")
    });
    for (name, value) in [
        ("session", Some(session_id).filter(|id| !id.is_empty())),
        ("also found by", also.as_ref()),
        ("metadata", metadata.as_ref()),
        ("supersedes", supersedes.as_ref()),
        ("superseded by", superseded_by.as_ref()),
        ("concluded in", source.as_ref()),
        ("code", code.as_ref()),
        ("standing", memory.standing.as_ref()),
        ("confirmed", memory.confirmed_at.as_ref()),
        ("state", state.as_ref()),
        ("repeated", repeated.as_ref()),
    ] {
        text.extend(value.map(|value| format!("\n{name} {}", clean_for_terminal(value))));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates_and_two_words() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        for (what, expected) in [
            ("2026-11-22", Some("2026-11-22")),
            ("today", Some("2026-03-01")),
            ("Yesterday", Some("2026-02-28")),
            ("2026-11", None),
            ("0af3", None),
        ] {
            assert_eq!(parse_day(what, day("2026-03-01")), expected.map(day), "{what}");
        }
    }
}
