//! Messages between the screen and the engine's thread.

use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use tools::error::ToolError;

/// Maximum number of items in a list.
pub(super) const MAX_ITEMS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrowseRequest {
    Find { generation: u64, query: String, kind: Option<MemoryType>, since: Option<Moment> },
    Open { id: String, mode: ReadMode },
    Locate { id: String },
    Delete { id: String },
    Promote { id: String, kind: Option<MemoryType> },
    Supersede { old: String, new: String },
    Pin { id: String, pinned: bool },
}

/// A preview or reading. Only reading counts as an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadMode {
    Preview,
    Read,
}

/// A response. All texts are sanitized.
#[derive(Debug)]
pub(super) enum BrowseReply {
    Results {
        generation: u64,
        items: Vec<ListItem>,
        notice: Option<String>,
    },
    Opened(OpenedItem),
    /// The place of a memory, relative to the project.
    Location {
        path: String,
        line: usize,
    },
    Done(String),
    Failed(String),
    Ended(ToolError),
}

/// An action that an update requests.
#[derive(Debug)]
pub(super) enum BrowseEffect {
    Ask(BrowseRequest),
    Edit { path: String, line: usize },
    End(Option<ToolError>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListItem {
    pub(super) id: String,
    /// `None` for a passage of a note.
    pub(super) kind: Option<MemoryType>,
    pub(super) date: String,
    /// One line, sanitized.
    pub(super) text: String,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
    pub(super) is_long_term: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenedItem {
    pub(super) id: String,
    /// Place and properties.
    pub(super) about: String,
    pub(super) content: String,
}
