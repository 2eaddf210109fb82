//! `browse`: what is remembered on one screen, to search as you type, read, edit, delete, promote and replace.
//!
//! `model` is what is shown, `update` what an event makes of it, `view` how it looks; none of them touches a terminal. The engine
//! works in a thread of its own (`worker`), so that typing never waits for a search.

mod editor;
#[cfg(unix)]
mod hangup;
mod input;
mod model;
mod screen;
mod update;
mod view;
mod worker;

#[cfg(test)]
mod tests;

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use crossterm::event::{self, Event as TerminalEvent};
use tools::error::ToolError;

use model::Model;
use screen::Screen;
use update::{Effect, Event, update};
use worker::Worker;

/// How long the terminal is asked for a key before the worker and the signals are looked at.
const GLANCE: Duration = Duration::from_millis(40);

#[derive(Debug, Args)]
pub(crate) struct BrowseArguments {
    /// What to look for at first
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
}

pub(crate) fn browse(project: &Path, arguments: &BrowseArguments) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let text = "browse needs a terminal; search, list and timeline answer without one";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let signals = Signals::listen()?;
    let worker = Worker::start(project.to_owned())?;
    let mut screen = Screen::enter()?;
    let mut model = Model::new(&arguments.query.join(" "), screen.size()?);
    let mut effects = vec![model.find()];
    loop {
        for effect in effects {
            match effect {
                Effect::Ask(request) => worker.ask(request),
                Effect::Edit { path, line } => {
                    let edited = edit(&mut screen, &project.join(path), line)?;
                    // Ctrl-C was the editor's.
                    signals.interrupted.store(false, Ordering::Relaxed);
                    worker.ask_all(update(&mut model, Event::Edited(edited)));
                }
                Effect::End(fault) => return fault.map_or(Ok(()), |fault| Err(fault.into())),
            }
        }
        screen.draw(&model)?;
        effects = update(&mut model, next(&worker, &signals)?);
    }
}

/// Leaves the screen to the editor for as long as it runs. What went wrong is answered in words.
fn edit(screen: &mut Screen, path: &Path, line: usize) -> anyhow::Result<Result<(), String>> {
    screen.leave()?;
    let edited = editor::edit(path, line);
    screen.come_back()?;
    Ok(edited)
}

/// What happens next: a signal, an answer, or a key.
fn next(worker: &Worker, signals: &Signals) -> anyhow::Result<Event> {
    loop {
        if signals.are_there() {
            return Ok(Event::Ended);
        }
        if let Some(answer) = worker.answer()? {
            return Ok(Event::Answered(answer));
        }
        if !event::poll(GLANCE).context("cannot read the terminal")? {
            continue;
        }
        match event::read().context("cannot read the terminal")? {
            TerminalEvent::Key(key) if !key.is_release() => return Ok(Event::Key(key)),
            TerminalEvent::Paste(text) => return Ok(Event::Pasted(text)),
            TerminalEvent::Resize(columns, rows) => return Ok(Event::Resized((columns, rows))),
            _ => {}
        }
    }
}

/// What asks the process to end. Ctrl-C is a key while the terminal is ours.
#[derive(Debug, Default)]
struct Signals {
    ended: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let signals = Self::default();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
            for (signal, flag) in [(SIGTERM, &signals.ended), (SIGHUP, &signals.ended), (SIGINT, &signals.interrupted)]
            {
                signal_hook::flag::register(signal, Arc::clone(flag)).context("cannot listen to signals")?;
            }
            hangup::watch(Arc::clone(&signals.ended));
        }
        Ok(signals)
    }

    fn are_there(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }
}
