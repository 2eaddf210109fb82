//! The results as Markdown, JSON and SVG.

use std::fmt::Write as _;

use serde_json::{Value, json as object};

use crate::figures::{CodingFigure, Direction, ServerFigures};

/// A set and a name.
type FigureName<'f> = (&'f str, &'f str);

/// Returns the names of all figures in the order of the first server that has them.
fn names(servers: &[ServerFigures]) -> Vec<FigureName<'_>> {
    let mut names: Vec<FigureName<'_>> = Vec::new();
    for figure in servers.iter().flat_map(|server| &server.figures) {
        if !names.contains(&(&figure.set, &figure.name)) {
            names.push((&figure.set, &figure.name));
        }
    }
    names
}

fn figure_of<'s>(server: &'s ServerFigures, (set, name): FigureName<'_>) -> Option<&'s CodingFigure> {
    server.figures.iter().find(|figure| figure.set == set && figure.name == name)
}

/// Returns the table of all servers, and the notes.
pub(crate) fn markdown(servers: &[ServerFigures]) -> String {
    let titles: Vec<String> = servers.iter().map(|server| format!("{} {}", server.name, server.version)).collect();
    let mut text =
        format!("| set | figure | {} |\n| --- | --- |{}\n", titles.join(" | "), " --- |".repeat(servers.len()));
    for name in names(servers) {
        let cells: Vec<String> = servers.iter().map(|server| cell(figure_of(server, name))).collect();
        let _ = writeln!(text, "| {} | {} | {} |", name.0, name.1, cells.join(" | "));
    }
    let notes =
        servers.iter().flat_map(|server| server.notes.iter().map(|note| format!("- {}: {note}\n", server.name)));
    let notes: String = notes.collect();
    if notes.is_empty() { text } else { format!("{text}\n{notes}") }
}

fn cell(figure: Option<&CodingFigure>) -> String {
    figure.and_then(|figure| Some((figure, figure.percent()?))).map_or_else(
        || "none".to_owned(),
        |(figure, percent)| format!("{percent:.0} % ({} of {})", figure.count, figure.of),
    )
}

/// Returns `{"benchmark", "format", "servers": [{name, version, figures: [{set, name, count, of, percent, better}], notes}]}`.
pub(crate) fn json(servers: &[ServerFigures]) -> String {
    let figure = |figure: &CodingFigure| {
        let percent = figure.percent().map(|percent| (percent * 10.0).round() / 10.0);
        let better = if figure.direction == Direction::MoreIsBetter { "more" } else { "less" };
        object!({
            "set": figure.set, "name": figure.name, "count": figure.count, "of": figure.of, "percent": percent, "better": better,
        })
    };
    let server = |server: &ServerFigures| {
        let figures: Vec<Value> = server.figures.iter().map(figure).collect();
        object!({ "name": server.name, "version": server.version, "figures": figures, "notes": server.notes })
    };
    let servers: Vec<Value> = servers.iter().map(server).collect();
    let report = object!({ "benchmark": BENCHMARK, "format": FORMAT, "servers": servers });
    format!("{report:#}\n")
}

/// Reads the servers of an earlier report.
pub(crate) fn read_json(text: &str) -> Result<Vec<ServerFigures>, String> {
    let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if report["benchmark"] != BENCHMARK || report["format"] != FORMAT {
        return Err("not a report of this program".to_owned());
    }
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let count = |value: &Value| value.as_u64().unwrap_or_default() as usize;
    let figure = |figure: &Value| CodingFigure {
        set: word(&figure["set"]),
        name: word(&figure["name"]),
        count: count(&figure["count"]),
        of: count(&figure["of"]),
        direction: if figure["better"] == "more" { Direction::MoreIsBetter } else { Direction::LessIsBetter },
    };
    let server = |server: &Value| ServerFigures {
        name: word(&server["name"]),
        version: word(&server["version"]),
        figures: list(&server["figures"]).iter().map(figure).collect(),
        notes: list(&server["notes"]).iter().map(word).collect(),
    };
    Ok(list(&report["servers"]).iter().map(server).collect())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

const BENCHMARK: &str = "coding";
const FORMAT: u64 = 1;

const LEFT: f64 = 300.0;
const WIDTH: f64 = 400.0;
const BAR: f64 = 9.0;
const COLOURS: [&str; 6] = ["#1b6ca8", "#d68910", "#2e8b57", "#c0392b", "#8e44ad", "#555555"];

/// Returns a bar for each figure of each server.
pub(crate) fn svg(servers: &[ServerFigures]) -> String {
    let names = names(servers);
    let row = BAR * servers.len() as f64 + 8.0;
    let top = 24.0 + 14.0 * servers.len() as f64;
    let height = top + row * names.len() as f64 + 10.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        LEFT + WIDTH + 60.0
    );
    for (place, server) in servers.iter().enumerate() {
        let y = 16.0 + 14.0 * place as f64;
        let _ =
            writeln!(text, "<text x=\"{LEFT}\" y=\"{y}\" fill=\"{}\">{}</text>", colour(place), escaped(&server.name));
    }
    for (place, name) in names.iter().enumerate() {
        let y = top + row * place as f64;
        let label = format!("{}: {}", name.0, name.1);
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 6.0,
            y + BAR,
            escaped(&label)
        );
        for (place, server) in servers.iter().enumerate() {
            draw_bar(&mut text, y + BAR * place as f64, figure_of(server, *name), colour(place));
        }
    }
    text + "</svg>\n"
}

fn draw_bar(text: &mut String, y: f64, figure: Option<&CodingFigure>, colour: &str) {
    let Some((figure, percent)) = figure.and_then(|figure| Some((figure, figure.percent()?))) else { return };
    // Outlined if less is better.
    let fill = if figure.direction == Direction::MoreIsBetter { colour } else { "white" };
    let (width, height) = (WIDTH * percent / 100.0, BAR - 1.0);
    let _ = writeln!(
        text,
        "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height}\" fill=\"{fill}\" stroke=\"{colour}\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"9\">{percent:.0}</text>",
        LEFT + width + 4.0,
        y + height
    );
}

fn colour(place: usize) -> &'static str {
    COLOURS[place % COLOURS.len()]
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::coding::{AlarmCounts, RetrievalCounts};

    fn measured() -> [ServerFigures; 2] {
        let mut ours = ServerFigures { name: "ours".to_owned(), version: "1".to_owned(), ..ServerFigures::default() };
        let counts = RetrievalCounts {
            stores: (2, 2),
            questions: 8,
            right_first: 6,
            right_in_five: 7,
            empty: 1,
            newest_first: (0, 0),
        };
        ours.add_retrieval("notes", &counts);
        ours.add_code_changes(&AlarmCounts { changed: (9, 10), unchanged: (1, 20), not_found: 0 });
        let mut theirs = ServerFigures { name: "a<b".to_owned(), version: "2".to_owned(), ..ServerFigures::default() };
        let half = RetrievalCounts { stores: (1, 2), questions: 4, right_first: 0, right_in_five: 1, ..counts };
        theirs.add_retrieval("notes", &half);
        theirs.add_code_changes(&AlarmCounts { changed: (0, 10), unchanged: (0, 20), not_found: 2 });
        [ours, theirs]
    }

    #[test]
    fn table_has_all_servers_and_notes() {
        insta::assert_snapshot!(markdown(&measured()), @r"
        | set | figure | ours 1 | a<b 2 |
        | --- | --- | --- | --- |
        | notes | right first | 75 % (6 of 8) | 0 % (0 of 4) |
        | notes | right in the first five | 88 % (7 of 8) | 25 % (1 of 4) |
        | notes | empty | 12 % (1 of 8) | 25 % (1 of 4) |
        | code changes | changed code that is reported | 90 % (9 of 10) | 0 % (0 of 10) |
        | code changes | reports that are right | 90 % (9 of 10) | none |

        - a<b: notes: 1 of 2 stores could be filled in time
        - a<b: code changes: 2 answers did not have the memory
        ");
    }

    #[test]
    fn json_and_picture_have_every_figure() {
        let read: Value = serde_json::from_str(&json(&measured())).unwrap();
        let figure = &read["servers"][0]["figures"][0];
        assert_eq!(
            *figure,
            object!({ "set": "notes", "name": "right first", "count": 6, "of": 8, "percent": 75.0, "better": "more" })
        );
        assert_eq!(read["servers"][1]["figures"][4]["percent"], Value::Null);
        assert_eq!(markdown(&read_json(&json(&measured())).unwrap()), markdown(&measured()));
        assert!(read_json("{}").is_err());
        let picture = svg(&measured());
        assert_eq!(picture.matches("<rect x=").count(), 9, "{picture}");
        assert!(picture.contains("a&lt;b"), "{picture}");
    }
}
