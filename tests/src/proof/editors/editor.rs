//! The programs that rewrite Markdown.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Editor {
    /// Truncates a file, waits, and writes back what it read.
    InPlace,
    /// Reads all files, adds or removes a blank line, and writes them in place, like `prettier --write`.
    Formatter,
    /// Writes the same old buffer in place every 200 ms, like a script with `writeFileSync`.
    StaleWriter,
    /// Saves a growing buffer in place every second.
    Autosave,
    /// Writes a temporary file and renames it.
    Atomic,
    /// `git checkout -f` between commits with different `MEMORY.md` and log, and `git merge`.
    Git,
}

impl Editor {
    pub const ALL: [Self; 6] =
        [Self::InPlace, Self::Formatter, Self::StaleWriter, Self::Autosave, Self::Atomic, Self::Git];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InPlace => "an editor that truncates and writes",
            Self::Formatter => "a formatter",
            Self::StaleWriter => "a script with an old buffer",
            Self::Autosave => "an autosave every second",
            Self::Atomic => "an editor that renames",
            Self::Git => "git checkout -f and git merge",
        }
    }

    /// Returns the number of rounds in a loop. With git, only events after the last round can be checked, so its loops are short.
    pub fn rounds_of_a_loop(self) -> usize {
        match self {
            Self::InPlace | Self::Formatter | Self::Atomic => 50,
            // Longer than the ten seconds after which a day may continue in another file.
            Self::StaleWriter => 70,
            Self::Autosave => 25,
            Self::Git => 15,
        }
    }
}
