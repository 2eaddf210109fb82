//! The terminal: taken for the whole screen, and given back as it was, however the program ends.

use std::io::{self, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::model::Model;
use super::view;

const CANNOT: &str = "cannot use the terminal";

/// Whether the terminal is ours now: given back twice, the cursor would jump.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(super) fn enter() -> anyhow::Result<Self> {
        // A panic is told on the screen that people come back to.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = give_back();
            before(panic);
        }));
        take().inspect_err(|_| drop(give_back())).context(CANNOT)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).context(CANNOT)?;
        Ok(Self { terminal })
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> anyhow::Result<(u16, u16)> {
        let size = self.terminal.size().context(CANNOT)?;
        Ok((size.width, size.height))
    }

    pub(super) fn draw(&mut self, model: &Model) -> anyhow::Result<()> {
        self.terminal.draw(|frame| view::draw(frame, model)).map(drop).context(CANNOT)
    }

    /// Gives the terminal to another program.
    pub(super) fn leave(&mut self) -> anyhow::Result<()> {
        give_back().context(CANNOT)
    }

    /// Takes it again, and draws everything anew.
    pub(super) fn come_back(&mut self) -> anyhow::Result<()> {
        take().context(CANNOT)?;
        // Not its `clear`, which asks the terminal where the cursor is, and not every one answers.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout())).context(CANNOT)?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = give_back();
    }
}

fn take() -> io::Result<()> {
    IS_OURS.store(true, Ordering::Relaxed);
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

pub(super) fn give_back() -> io::Result<()> {
    if !IS_OURS.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show)?;
    io::stdout().flush()?;
    terminal::disable_raw_mode()
}
