//! `browse`: a full-screen browser of memories, sessions and tasks, to search as you type, read, edit, delete, promote and replace.
//!
//! `model` is the state, `update` handles events, `view` draws. None of them uses the terminal. The engine runs in its own thread
//! (`worker`), so typing never waits for a search.

mod line_editor;
mod message;
mod model;
mod terminal_screen;
mod update;
mod view;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use crossterm::event::{self, Event as TerminalEvent};
use tools::error::ToolError;

use super::editor::run_editor;
use message::BrowseEffect;
use model::BrowseModel;
use terminal_screen::TerminalScreen;
use update::{BrowseEvent, update};
use worker::BrowseWorker;

/// How long to wait for a key before the worker and signals are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

#[derive(Debug, Args)]
pub(crate) struct BrowseArguments {
    /// The first search
    #[arg(value_name = "QUERY")]
    query: Vec<String>,
}

pub(crate) fn browse(project: &Path, arguments: &BrowseArguments) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let text = "browse needs a terminal; use search, list or timeline instead";
        return Err(ToolError::Invalid(text.to_owned()).into());
    }
    let signals = SignalFlags::listen()?;
    let worker = BrowseWorker::start(project.to_owned())?;
    let mut screen = TerminalScreen::enter()?;
    let mut model = BrowseModel::new(&arguments.query.join(" "), screen.size()?);
    let mut effects = VecDeque::from([model.search_effect()]);
    loop {
        while let Some(effect) = effects.pop_front() {
            match effect {
                BrowseEffect::Ask(request) => worker.send(request),
                BrowseEffect::Edit { path, line } => {
                    screen.leave()?;
                    let edited = run_editor(&project.join(path), line);
                    screen.resume()?;
                    // Ctrl-C was meant for the editor.
                    signals.interrupted.store(false, Ordering::Relaxed);
                    effects.extend(update(&mut model, BrowseEvent::Edited(edited)));
                }
                BrowseEffect::Copy(text) => screen.copy(&text)?,
                BrowseEffect::End(error) => return error.map_or(Ok(()), |error| Err(error.into())),
            }
        }
        screen.draw(&model)?;
        let deadline = model.deletion.as_ref().map(|deletion| deletion.deadline);
        effects.extend(update(&mut model, next_event(&worker, &signals, deadline)?));
    }
}

/// Waits for a signal, a response of the worker, a key, or the deadline of an undo.
fn next_event(worker: &BrowseWorker, signals: &SignalFlags, deadline: Option<Instant>) -> anyhow::Result<BrowseEvent> {
    loop {
        if signals.is_any_set() {
            return Ok(BrowseEvent::Ended);
        }
        if let Some(answer) = worker.try_receive()? {
            return Ok(BrowseEvent::Answered(answer));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(BrowseEvent::UndoExpired);
        }
        if !event::poll(POLL_INTERVAL).context("cannot read the terminal")? {
            continue;
        }
        match event::read().context("cannot read the terminal")? {
            TerminalEvent::Key(key) if !key.is_release() => return Ok(BrowseEvent::Key(key)),
            TerminalEvent::Paste(text) => return Ok(BrowseEvent::Pasted(text)),
            TerminalEvent::Resize(columns, rows) => return Ok(BrowseEvent::Resized((columns, rows))),
            _ => {}
        }
    }
}

/// Signals that end the process. In raw mode Ctrl-C is a key.
#[derive(Debug, Default)]
struct SignalFlags {
    ended: Arc<AtomicBool>,
    interrupted: Arc<AtomicBool>,
}

impl SignalFlags {
    fn listen() -> anyhow::Result<Self> {
        let signals = Self::default();
        #[cfg(unix)]
        {
            use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
            for (signal, flag) in [(SIGTERM, &signals.ended), (SIGHUP, &signals.ended), (SIGINT, &signals.interrupted)]
            {
                signal_hook::flag::register(signal, Arc::clone(flag)).context("cannot listen to signals")?;
            }
            terminal_screen::watch_terminal(Arc::clone(&signals.ended));
        }
        Ok(signals)
    }

    fn is_any_set(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || self.interrupted.load(Ordering::Relaxed)
    }
}
