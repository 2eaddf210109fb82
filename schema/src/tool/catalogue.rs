//! The list of tools: what a model reads before it calls one, and what a host needs to know about each.

/// The server's instructions and the snippet for `CLAUDE.md` both use this text.
pub const MEMORY_FIRST: &str = include_str!("memory_first.md");

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    Search,
    Get,
    Load,
    Save,
    Stats,
    Reindex,
}

impl Tool {
    /// The order in which hosts list the tools.
    pub const ALL: [Self; 6] = [Self::Search, Self::Get, Self::Load, Self::Save, Self::Stats, Self::Reindex];

    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "memory_search",
            Self::Get => "memory_get",
            Self::Load => "memory_load",
            Self::Save => "memory_save",
            Self::Stats => "memory_stats",
            Self::Reindex => "memory_reindex",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The name that a host shows to people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Search => "Search memory",
            Self::Get => "Open a memory",
            Self::Load => "Load memory",
            Self::Save => "Save a memory",
            Self::Stats => "Memory statistics",
            Self::Reindex => "Rebuild the index",
        }
    }

    /// The first sentence says when to use the tool.
    pub fn description(self) -> &'static str {
        match self {
            Self::Search => {
                "Use whenever this session may not hold what was decided, learned, asked or done before. Searches \
                 earlier sessions and project notes by words in any language; hits open with memory_get. \
                 If wording or language may differ, also give synonyms, a translation and the likely answer in `also`."
            }
            Self::Get => "Use to read a search hit whole, by id, or lines of a memory file, by path.",
            Self::Load => {
                "Returns long-term memory. Call it at the first message, unless the session began with a brief. `source: full` adds today's log."
            }
            Self::Save => {
                "Use as soon as something is decided, learned or preferred, one self-contained fact per call. Saving \
                 the same text again confirms that it still holds. Types: decision (choice and reason), learning (finding), error_fix (error \
                 and remedy), preference (of the user), convention (how it is done here), task (open step)."
            }
            Self::Stats => "Use to see what memory holds and whether something is wrong with it.",
            Self::Reindex => "Use when search misses what a memory file says.",
        }
    }

    /// The JSON Schemas of the arguments and of the result, generated from the types.
    pub fn schemas(self) -> (&'static str, &'static str) {
        macro_rules! made {
            ($name:literal) => {
                (
                    include_str!(concat!("../../generated/", $name, ".input.json")),
                    include_str!(concat!("../../generated/", $name, ".output.json")),
                )
            };
        }
        match self {
            Self::Search => made!("memory_search"),
            Self::Get => made!("memory_get"),
            Self::Load => made!("memory_load"),
            Self::Save => made!("memory_save"),
            Self::Stats => made!("memory_stats"),
            Self::Reindex => made!("memory_reindex"),
        }
    }

    /// A read-only tool changes no memory.
    pub fn is_read_only(self) -> bool {
        !matches!(self, Self::Save | Self::Reindex)
    }
}
