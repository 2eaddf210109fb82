//! Owns the terminal for the full screen, and restores it however the program ends.

use std::io::{self, Stdout, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::model::BrowseModel;
use super::view;

const TERMINAL_ERROR: &str = "cannot use the terminal";

/// Restoring twice would move the cursor.
static IS_ACTIVE: AtomicBool = AtomicBool::new(false);

pub(super) struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl TerminalScreen {
    pub(super) fn enter() -> anyhow::Result<Self> {
        // Restores the terminal first, so that the panic message stays visible.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = restore_terminal();
            before(panic);
        }));
        enter_raw_mode().inspect_err(|_| drop(restore_terminal())).context(TERMINAL_ERROR)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).context(TERMINAL_ERROR)?;
        Ok(Self { terminal })
    }

    pub(super) fn size(&self) -> anyhow::Result<(u16, u16)> {
        let size = self.terminal.size().context(TERMINAL_ERROR)?;
        Ok((size.width, size.height))
    }

    pub(super) fn draw(&mut self, model: &BrowseModel) -> anyhow::Result<()> {
        self.terminal.draw(|frame| view::draw_screen(frame, model)).map(drop).context(TERMINAL_ERROR)
    }

    /// Restores the terminal for another program.
    pub(super) fn leave(&mut self) -> anyhow::Result<()> {
        restore_terminal().context(TERMINAL_ERROR)
    }

    /// Takes the terminal again and redraws everything.
    pub(super) fn resume(&mut self) -> anyhow::Result<()> {
        enter_raw_mode().context(TERMINAL_ERROR)?;
        // Not `clear`, which asks the terminal for the cursor position, and not all terminals answer.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout())).context(TERMINAL_ERROR)?;
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        let _ = restore_terminal();
    }
}

fn enter_raw_mode() -> io::Result<()> {
    IS_ACTIVE.store(true, Ordering::Relaxed);
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)
}

pub(super) fn restore_terminal() -> io::Result<()> {
    if !IS_ACTIVE.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show)?;
    io::stdout().flush()?;
    terminal::disable_raw_mode()
}
