//! The state of the browser.

use chrono::TimeDelta;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;

use super::line_editor::LineEditor;
use super::message::{BrowseEffect, BrowseRequest, ListItem, OpenedItem, ReadMode};
use crate::cli::terminal_text::one_line;

#[derive(Debug)]
pub(super) struct BrowseModel {
    pub(super) query: LineEditor,
    pub(super) kind: Option<MemoryType>,
    pub(super) time_span: TimeSpan,
    pub(super) items: Vec<ListItem>,
    pub(super) selected: usize,
    /// Whether the next result is for a new query, so that its best hit is selected.
    pub(super) is_new_query: bool,
    pub(super) focus: Focus,
    /// The text of the selected item.
    pub(super) opened: Option<OpenedItem>,
    /// Lines scrolled off the top.
    pub(super) scroll: usize,
    pub(super) overlay: Option<Overlay>,
    pub(super) status: Option<StatusMessage>,
    /// The memory that is being replaced, while the user chooses the new one.
    pub(super) replacing: Option<ListItem>,
    /// Number of the last search, which identifies late results.
    pub(super) generation: u64,
    pub(super) is_searching: bool,
    /// The notice of the last search.
    pub(super) notice: Option<String>,
    pub(super) size: (u16, u16),
}

/// The target of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Query,
    List,
    /// The text fills the screen.
    Text,
}

/// A dialog over the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    /// The list of keys, scrolled to this line.
    Help(usize),
    Menu(Menu),
    /// A question, and the action for yes.
    Ask {
        question: String,
        then: BrowseRequest,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) title: &'static str,
    pub(super) choices: Vec<MenuChoice>,
    pub(super) selected: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MenuChoice {
    Kind(Option<MemoryType>),
    TimeSpan(TimeSpan),
    Promote { id: String, kind: MemoryType },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeSpan {
    Ever,
    Day,
    Week,
    Month,
    Year,
}

/// The status line, shown until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatusMessage {
    Done(String),
    Fault(String),
}

impl TimeSpan {
    pub(super) const ALL: [Self; 5] = [Self::Ever, Self::Day, Self::Week, Self::Month, Self::Year];

    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Ever => "any time",
            Self::Day => "last 24 hours",
            Self::Week => "last 7 days",
            Self::Month => "last 30 days",
            Self::Year => "last year",
        }
    }

    fn since(self, now: &Moment) -> Option<Moment> {
        let days = match self {
            Self::Ever => return None,
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 30,
            Self::Year => 365,
        };
        Moment::from_unix(now.unix() - TimeDelta::days(days).num_seconds(), Some(now.offset_seconds()))
    }
}

impl MenuChoice {
    pub(super) fn label(&self) -> String {
        match self {
            Self::Kind(None) => "all types".to_owned(),
            Self::Kind(Some(kind)) => kind.label().to_owned(),
            Self::TimeSpan(span) => span.label().to_owned(),
            Self::Promote { kind, .. } => kind.label().to_owned(),
        }
    }
}

impl BrowseModel {
    pub(super) fn new(query: &str, size: (u16, u16)) -> Self {
        Self {
            query: LineEditor::new(query),
            kind: None,
            time_span: TimeSpan::Ever,
            items: Vec::new(),
            selected: 0,
            is_new_query: true,
            focus: Focus::Query,
            opened: None,
            scroll: 0,
            overlay: None,
            status: None,
            replacing: None,
            generation: 0,
            is_searching: true,
            notice: None,
            size,
        }
    }

    pub(super) fn item(&self) -> Option<&ListItem> {
        self.items.get(self.selected)
    }

    /// Starts a search with the current query and filters.
    pub(super) fn search_effect(&mut self) -> BrowseEffect {
        self.generation += 1;
        self.is_searching = true;
        BrowseEffect::Ask(BrowseRequest::Find {
            generation: self.generation,
            query: self.query.text().trim().to_owned(),
            kind: self.kind,
            since: self.time_span.since(&Moment::now()),
        })
    }

    /// Shows results. The selection stays if the query is the same and the item is still there.
    pub(super) fn show_items(&mut self, items: Vec<ListItem>, notice: Option<&str>) {
        let selected = self.item().filter(|_| !self.is_new_query).map(|item| item.id.clone());
        self.is_new_query = false;
        let place = selected.and_then(|id| items.iter().position(|item| item.id == id));
        self.selected = place.unwrap_or(self.selected).min(items.len().saturating_sub(1));
        self.items = items;
        self.notice = notice.map(one_line);
        self.is_searching = false;
    }

    /// Requests the text of the selected item.
    pub(super) fn open_effect(&mut self, mode: ReadMode) -> Option<BrowseEffect> {
        let id = self.item()?.id.clone();
        if self.opened.as_ref().is_none_or(|opened| opened.id != id) {
            self.scroll = 0;
        }
        Some(BrowseEffect::Ask(BrowseRequest::Open { id, mode }))
    }
}
