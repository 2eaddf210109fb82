//! The page of `view`: the first view and the results of a keystroke. Browsers add the time to draw them.

use std::thread;
use std::time::{Duration, Instant};

use harness::{PageServer, Sandbox};

use crate::arguments::Outcome;
use crate::figures::FigureTable;
use crate::figures::Goal::AtMost;
use crate::start::REST;

/// Requests of each kind.
const TIMES: usize = 40;

pub(crate) fn measure(sandbox: &Sandbox, table: &mut FigureTable) -> Outcome<()> {
    let started = Instant::now();
    let page = PageServer::start(sandbox.memory_command());
    table.add("page, from start to the first view", started.elapsed().as_secs_f64() * 1e3, "ms", None, None);
    // The server indexes what is new before it is at rest.
    thread::sleep(REST);
    let question = "rate limiter 세션 캐시 timeout";
    let keystrokes: Vec<String> =
        (2..=question.chars().count()).map(|end| question.chars().take(end).collect()).collect();
    let typed = |number: usize| {
        let text = &keystrokes[number % keystrokes.len()];
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        format!("search?part=1&q={encoded}")
    };
    // A search for the first time reads the vectors.
    page.get(&typed(0));
    let mut time = |name: &str, path: &dyn Fn(usize) -> String, most: f64| -> Outcome<()> {
        let mut times: Vec<Duration> = Vec::new();
        for number in 0..TIMES {
            let started = Instant::now();
            let answer = page.get(&path(number));
            times.push(started.elapsed());
            if answer.status != 200 {
                return Err(format!("{}: {}", path(number), answer.body).into());
            }
        }
        table.add_times(name, &mut times, None, &[(50, Some(AtMost(most))), (95, None)]);
        Ok(())
    };
    time("page, first view", &|_| "search".to_owned(), 100.0)?;
    time("page, results of a keystroke", &typed, 50.0)?;
    for view in ["timeline", "sessions", "tasks", "briefs"] {
        time(&format!("page, {view}"), &|_| view.to_owned(), 100.0)?;
    }
    let weight: usize = ["search", "static/view.css", "static/view.js", "static/icon.svg"]
        .map(|path| page.get(path).body.len())
        .iter()
        .sum();
    table.add("page, weight of the first view", weight as f64 / 1e3, "kB", None, Some(AtMost(150.0)));
    Ok(())
}
