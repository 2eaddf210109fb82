//! Owns the terminal for the full screen, restores it however the program ends, and ends the program when the terminal is gone.

use std::io::{self, Stdout, Write as _};
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(unix)]
use std::time::Duration;
#[cfg(unix)]
use std::{process, thread};

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

    /// Sends a text to the clipboard of the terminal with the sequence OSC 52, also over SSH. Not every terminal allows it, and none answers.
    pub(super) fn copy(&mut self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout();
        write!(out, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes())).context(TERMINAL_ERROR)?;
        out.flush().context(TERMINAL_ERROR)
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

fn restore_terminal() -> io::Result<()> {
    if !IS_ACTIVE.swap(false, Ordering::Relaxed) {
        return Ok(());
    }
    execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, Show)?;
    io::stdout().flush()?;
    terminal::disable_raw_mode()
}

/// Ends the process when the terminal is gone or `ended` is set, if the main thread does not do it in time. The key library would read a
/// closed terminal in a loop and never return to the check for signals.
#[cfg(unix)]
pub(super) fn watch_terminal(ended: Arc<AtomicBool>) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
    /// Time for the screen to end by itself.
    const GRACE: Duration = Duration::from_millis(300);

    let watching = move || {
        loop {
            let stdin = io::stdin();
            // A closed terminal is reported even without requested events.
            let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
            let is_gone = poll(&mut terminal, Some(&POLL_INTERVAL)).is_ok_and(|found| found > 0);
            if is_gone || ended.load(Ordering::Relaxed) {
                ended.store(true, Ordering::Relaxed);
                thread::sleep(GRACE);
                let _ = restore_terminal();
                process::exit(0);
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("hangup".to_owned()).spawn(watching) {
        tracing::warn!("cannot start a thread: {error}");
    }
}

/// The standard encoding, with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let byte = |at: usize| u32::from(part.get(at).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= part.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn clipboard_text_is_encoded() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("웹훅?", "7Ju57ZuFPw=="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected, "{text}");
        }
    }
}
