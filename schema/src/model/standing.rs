//! The standing of a memory: how often somebody said that it holds. It follows from pins and notes, never from reading.

/// The sessions after which a confirmed memory counts as one of the core.
const CORE_SESSIONS: u64 = 3;

/// The standing of a memory, the lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Standing {
    /// It was said once.
    #[default]
    Noted,
    /// It was confirmed, or saved again.
    Confirmed,
    /// It is pinned, or was confirmed in three sessions.
    Core,
}

impl Standing {
    /// Returns the standing of a memory that was confirmed in this number of sessions.
    pub fn of(is_pinned: bool, sessions: u64) -> Self {
        match sessions {
            _ if is_pinned => Self::Core,
            0 => Self::Noted,
            1..CORE_SESSIONS => Self::Confirmed,
            _ => Self::Core,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Noted => "noted",
            Self::Confirmed => "confirmed",
            Self::Core => "core",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standing_follows_from_pins_and_sessions() {
        for (is_pinned, sessions, expected) in [
            (false, 0, "noted"),
            (false, 1, "confirmed"),
            (false, 2, "confirmed"),
            (false, 3, "core"),
            (true, 0, "core"),
        ] {
            assert_eq!(Standing::of(is_pinned, sessions).name(), expected, "{is_pinned} {sessions}");
        }
    }
}
