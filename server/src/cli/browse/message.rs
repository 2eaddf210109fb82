//! Messages between the screen and the engine's thread.

use schema::model::memory::MemoryType;
use schema::model::moment::Moment;
use tools::error::ToolError;

/// Maximum number of items in a list.
pub(super) const MAX_ITEMS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BrowseRequest {
    Find(FindRequest),
    Open {
        item: ItemRef,
        mode: ReadMode,
    },
    Locate {
        id: String,
    },
    Delete {
        ids: Vec<String>,
    },
    Promote {
        id: String,
        kind: Option<MemoryType>,
    },
    Supersede {
        old: String,
        new: String,
    },
    Pin {
        ids: Vec<String>,
        pinned: bool,
    },
    /// Closes or reopens a task.
    Close {
        id: String,
        closed: bool,
    },
    Copy {
        items: Vec<ItemRef>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FindRequest {
    /// Identifies late results.
    pub(super) generation: u64,
    pub(super) list: ListKind,
    pub(super) query: String,
    pub(super) kind: Option<MemoryType>,
    pub(super) since: Option<Moment>,
    /// Only memories of this session.
    pub(super) session: Option<String>,
}

/// What the list contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ListKind {
    #[default]
    Memories,
    Sessions,
    Tasks,
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
    /// A text for the clipboard, and the number of items in it.
    Copied {
        text: String,
        count: usize,
    },
    Done(String),
    Failed(String),
    /// A change failed, so the list may show it wrongly.
    ChangeFailed(String),
    Ended(ToolError),
}

/// An action that an update requests.
#[derive(Debug)]
pub(super) enum BrowseEffect {
    Ask(BrowseRequest),
    Edit { path: String, line: usize },
    Copy(String),
    End(Option<ToolError>),
}

/// The kind of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemKind {
    Memory(MemoryType),
    /// A passage of a note.
    Note,
    Session,
}

/// An item and its kind, which decides how its text is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ItemRef {
    pub(super) id: String,
    pub(super) kind: ItemKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListItem {
    pub(super) id: String,
    pub(super) kind: ItemKind,
    /// How old it is, such as `3h`.
    pub(super) age: String,
    /// The type of a memory, the state of a task, or the size of a session.
    pub(super) label: String,
    /// One line, sanitized.
    pub(super) text: String,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
    pub(super) is_long_term: bool,
    /// Whether it is a task that is done.
    pub(super) is_done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenedItem {
    pub(super) id: String,
    /// Place and properties.
    pub(super) about: String,
    pub(super) content: String,
}

impl ListItem {
    pub(super) fn memory_type(&self) -> Option<MemoryType> {
        let ItemKind::Memory(kind) = self.kind else { return None };
        Some(kind)
    }

    pub(super) fn reference(&self) -> ItemRef {
        ItemRef { id: self.id.clone(), kind: self.kind }
    }
}

impl ListKind {
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Memories => "memories",
            Self::Sessions => "sessions",
            Self::Tasks => "tasks",
        }
    }
}
