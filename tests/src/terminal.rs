//! A program in a pseudo-terminal: sends keys and reads the screen.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pty_process::blocking;
use vt100::Parser;

use crate::polling::{eventually, poll};
use crate::sandbox::Sandbox;

/// The time limit for a text to appear.
const DEADLINE: Duration = Duration::from_secs(30);

/// Kills the program on drop.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keys: File,
    output: Arc<Mutex<TerminalOutput>>,
    reader: Option<JoinHandle<()>>,
}

struct TerminalOutput {
    parser: Parser,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for TerminalOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.parser.screen().contents())
    }
}

impl Sandbox {
    /// `jikime-memory` with `arguments` in a terminal of this size.
    pub fn terminal<S: AsRef<OsStr>>(&self, size: (u16, u16), arguments: &[S]) -> Terminal {
        let mut command = self.memory_command();
        command.args(arguments);
        Terminal::start(&command, size)
    }
}

impl Terminal {
    /// Starts a program with only the arguments, directory and variables of `command`.
    pub fn start(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let (pty, inside) = blocking::open().expect("this system has terminals");
        pty.resize(pty_process::Size::new(rows, columns)).expect("a terminal has a size");
        let mut program = blocking::Command::new(command.get_program()).args(command.get_args()).env_clear();
        program = program.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        program = program.env("TERM", "xterm-256color");
        if let Some(directory) = command.get_current_dir() {
            program = program.current_dir(directory);
        }
        let child = program.spawn(inside).unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let file = || File::from(pty.as_fd().try_clone_to_owned().expect("a descriptor can be duplicated"));
        let (mut screen, keys) = (file(), file());
        let size = |number| NonZeroU16::new(number).expect("a terminal has columns and rows");
        let parser = Parser::new(size(rows), size(columns), 1_000);
        let seen = Arc::new(Mutex::new(TerminalOutput { parser, bytes: Vec::new() }));
        let told = Arc::clone(&seen);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At the end of the program, reading fails on some systems and returns nothing on others.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let mut seen = told.lock().expect("no thread panics while holding it");
                seen.parser.process(&bytes[..count]);
                seen.bytes.extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, output: seen, reader: Some(reader) }
    }

    fn lock_output(&self) -> MutexGuard<'_, TerminalOutput> {
        self.output.lock().expect("no thread panics while holding it")
    }

    pub fn screen(&self) -> String {
        self.lock_output().parser.screen().contents()
    }

    /// Inspects the screen with its colours.
    pub fn inspect_screen<T>(&self, at: impl FnOnce(&vt100::Screen) -> T) -> T {
        at(self.lock_output().parser.screen())
    }

    /// Returns all output so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.lock_output().bytes).into_owned()
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    pub fn press(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).unwrap_or_else(|error| panic!("{error} on {}", self.screen()));
        self
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> &mut Self {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen does not show a text.
    #[track_caller]
    pub fn wait_without(&mut self, text: &str) -> &mut Self {
        self.wait_until(text, |screen| !screen.contains(text))
    }

    #[track_caller]
    fn wait_until(&mut self, text: &str, is_so: impl Fn(&str) -> bool) -> &mut Self {
        let came = poll(DEADLINE, || is_so(&self.screen()).then_some(()));
        assert!(came.is_some(), "about {text:?} the screen still shows:\n{}", self.screen());
        self
    }

    /// Waits for the program's exit and the rest of its output.
    #[track_caller]
    pub fn end(&mut self) -> ExitStatus {
        let mut status = None;
        eventually(DEADLINE, || {
            status = self.child.try_wait().expect("a child of this process can be waited for");
            status.is_some()
        });
        self.reader.take().map(JoinHandle::join).transpose().expect("the reader does not panic");
        status.expect("it was waited for")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
