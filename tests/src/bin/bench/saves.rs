//! What it takes to save: one memory after the other, and what several servers save together.

use std::thread;
use std::time::{Duration, Instant};

use harness::{Sandbox, eventually_some};
use serde_json::{Value, json};

use crate::Outcome;
use crate::figures::Goal::{AtLeast, AtMost};
use crate::figures::Table;
use crate::memories::needle;
use crate::serving::Server;
use crate::start::serve;

/// Saves of one server.
const SAVES: usize = 300;

/// Saves that are looked for, by words that no other memory has.
const FOUND: usize = 10;
const NEVER_USED: usize = 23_000_000;

/// How soon what was saved has to be found by its meaning.
const MEANT: Duration = Duration::from_secs(2);

/// Servers at once and what each saves.
const SERVERS: usize = 8;
const SAVES_EACH: usize = 200;

/// One memory after the other.
pub(crate) fn measure(server: &mut Server, table: &mut Table) -> Outcome<()> {
    let mut times = Vec::new();
    for number in 0..SAVES {
        let content = format!("finding {number}: editors replace files instead of writing to them");
        times.push(server.call("memory_save", &json!({ "type": "learning", "content": content }))?.0);
    }
    table.add_times("save", &mut times, None, &[(50, Some(AtMost(1.0))), (99, Some(AtMost(5.0)))]);
    Ok(())
}

/// Whether what was saved is found by its words at once, and how soon by its meaning.
pub(crate) fn found(server: &mut Server, table: &mut Table) -> Outcome<()> {
    let (mut at_once, mut meant) = (0, Vec::new());
    for number in 0..FOUND {
        let word = needle(NEVER_USED + number);
        let content = format!("The {word} service retries three times before it gives up.");
        let asked = json!({ "query": word, "explain": true, "maxResults": 1 });
        server.call("memory_save", &json!({ "type": "decision", "content": content }))?;
        let saved = Instant::now();
        let mut is_first = true;
        eventually_some(MEANT * 10, || {
            let (_, result) = match server.call("memory_search", &asked) {
                Ok(answer) => answer,
                Err(error) => return Some(Err(error)),
            };
            let hit = &result["structuredContent"]["results"][0];
            let is_found = hit["snippet"].as_str().is_some_and(|text| text.contains(&word));
            at_once += usize::from(std::mem::take(&mut is_first) && is_found);
            let counts = hit["explanation"].as_str().is_some_and(|why| is_found && why.contains("vector"));
            counts.then_some(Ok(()))
        })?;
        meant.push(saved.elapsed());
    }
    let share = at_once as f64 / FOUND as f64;
    table.add("what was just saved is found by its words", share, "share", None, Some(AtLeast(1.0)));
    let goal = AtMost(MEANT.as_secs_f64() * 1e3);
    table.add_times("from a save until its vector counts", &mut meant, None, &[(50, None), (100, Some(goal))]);
    Ok(())
}

/// What several servers save in a second together, and whether all of that is kept.
pub(crate) fn at_once(sandbox: &Sandbox, table: &mut Table) -> Outcome<()> {
    let mut servers = Vec::new();
    for _ in 0..SERVERS {
        let mut server = Server::start(serve(sandbox))?;
        server.call("memory_stats", &json!({}))?;
        servers.push(server);
    }
    let before = memories(&mut servers[0])?;
    let started = Instant::now();
    thread::scope(|scope| {
        let work = servers.iter_mut().enumerate().map(|(number, server)| {
            scope.spawn(move || {
                (0..SAVES_EACH).try_for_each(|n| {
                    let content = format!("finding {n} of server {number}: a lock is handed over in turns");
                    let saved = server.call("memory_save", &json!({ "type": "learning", "content": content }));
                    saved.map(drop).map_err(|error| error.to_string())
                })
            })
        });
        let work: Vec<_> = work.collect();
        work.into_iter().try_for_each(|work| work.join().map_err(|_| "a client panicked".to_owned())?)
    })?;
    let taken = started.elapsed();
    let saves = (SERVERS * SAVES_EACH) as f64;
    let kept = (memories(&mut servers[0])? - before) as f64;
    table.add(
        format!("saves of {SERVERS} servers at once"),
        saves / taken.as_secs_f64(),
        "a second",
        None,
        Some(AtLeast(4_000.0)),
    );
    table.add("  of which are kept", kept / saves, "share", None, Some(AtLeast(1.0)));
    servers.into_iter().try_for_each(Server::end)
}

/// How many memories a server knows of.
fn memories(server: &mut Server) -> Outcome<u64> {
    let (_, result) = server.call("memory_stats", &json!({}))?;
    let memories: &Value = &result["structuredContent"]["memories"];
    memories.as_u64().ok_or_else(|| format!("no number of memories: {memories}").into())
}
