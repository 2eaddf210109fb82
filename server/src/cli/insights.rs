//! `insights`, and the suggestions of `promote`: what holds in this project, how well it is established, and where it comes from.

use std::fmt::Write as _;

use schema::model::memory::short_id;
use schema::tool::Evidence;
use serde::Serialize;
use tools::engine::{Engine, Insight};

use super::list::ListedMemory;
use super::output::{DIM, KIND, PLAIN, Printer, notice_line, push_lines};
use super::pager::PIPED_LIST_COLUMNS;
use super::terminal_text::{clean_for_terminal, wrap};

const INDENT: &str = "  ";

#[derive(Debug, Serialize)]
struct ListedInsight {
    #[serde(flatten)]
    memory: ListedMemory,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence>,
}

pub(crate) fn run_insights(engine: &mut Engine, printer: &Printer) -> anyhow::Result<()> {
    let found = engine.insights()?;
    let listed = list_insights(engine, found);
    printer.print_paged(&listed, |columns| match listed.is_empty() {
        true => "No preferences, conventions or patterns are recorded.\n".to_owned(),
        false => render_insights(&listed, columns.unwrap_or(PIPED_LIST_COLUMNS)),
    })
}

/// Lists what `promote` may move to `MEMORY.md`.
pub(crate) fn suggest_promotions(engine: &mut Engine, printer: &Printer) -> anyhow::Result<()> {
    let found = engine.promotable()?;
    let listed = list_insights(engine, found);
    printer.print_paged(&listed, |columns| match listed.is_empty() {
        true => "Nothing to promote: every memory that is pinned or confirmed in three sessions is in MEMORY.md.\n"
            .to_owned(),
        false => {
            let next = "move one with `jikime-memory promote ID`";
            render_insights(&listed, columns.unwrap_or(PIPED_LIST_COLUMNS)) + &notice_line(Some(next), columns)
        }
    })
}

fn list_insights(engine: &Engine, found: Vec<Insight>) -> Vec<ListedInsight> {
    let mut locator = engine.locator();
    let listed = found.into_iter().map(|insight| ListedInsight {
        memory: ListedMemory::with_lines(&insight.row, &mut locator),
        standing: insight.standing.name(),
        evidence: insight.evidence,
    });
    listed.collect()
}

fn render_insights(listed: &[ListedInsight], columns: usize) -> String {
    let mut text = String::new();
    let mut kind = None;
    let room = columns.saturating_sub(2 * INDENT.len());
    for ListedInsight { memory, standing, evidence } in listed {
        if kind != Some(memory.kind) {
            let gap = if kind.is_some() { "\n" } else { "" };
            let _ = writeln!(text, "{gap}{KIND}{}{KIND:#}", memory.kind);
            kind = Some(memory.kind);
        }
        push_lines(&mut text, INDENT, PLAIN, wrap(&memory.one_line(), room));
        let date = memory.date.get(..10).unwrap_or(&memory.date);
        let _ = writeln!(text, "{INDENT}{INDENT}{DIM}{}  {standing}, saved {date}{DIM:#}", short_id(&memory.id));
        let evidence = evidence.iter().flat_map(|evidence| wrap(&describe_evidence(evidence), room));
        push_lines(&mut text, "    ", DIM, evidence);
    }
    text
}

/// Where a conclusion comes from, and what is said there.
pub(super) fn describe_evidence(evidence: &Evidence) -> String {
    let Evidence { kind, path, start_line, text, .. } = evidence;
    clean_for_terminal(&format!("from {kind} {path}:{start_line}: \"{text}\""))
}

#[cfg(test)]
mod tests {
    use schema::model::memory::MemoryType;

    use super::*;
    use crate::cli::terminal_text::without_styles;

    #[test]
    fn insights_are_grouped_and_name_their_evidence() {
        let evidence = Evidence {
            id: "1bf312aa".to_owned(),
            kind: MemoryType::UserPrompt,
            path: ".jikime/memory/2026-01-28.md".to_owned(),
            start_line: 12,
            end_line: 12,
            text: "아, 앞으로는 탭을 써줘".to_owned(),
        };
        let insight = |kind, content: &str, standing, evidence| {
            let mut memory = ListedMemory::example(content);
            memory.kind = kind;
            ListedInsight { memory, standing, evidence }
        };
        let listed = [
            insight(MemoryType::Preference, "앞으로는 탭을 써줘", "confirmed", Some(evidence)),
            insight(MemoryType::Preference, "pnpm, never npm", "noted", None),
            insight(MemoryType::Convention, "Migrations are reversible", "core", None),
        ];
        let text = render_insights(&listed, 60);
        insta::assert_snapshot!(without_styles(&text), @r#"
        preference
          앞으로는 탭을 써줘
            0af312aa  confirmed, saved 2026-01-28
            from user_prompt .jikime/memory/2026-01-28.md:12: "아,
            앞으로는 탭을 써줘"
          pnpm, never npm
            0af312aa  noted, saved 2026-01-28

        convention
          Migrations are reversible
            0af312aa  core, saved 2026-01-28
        "#);
    }
}
