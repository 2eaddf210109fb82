//! The state of the browser.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::TimeDelta;
use crossterm::event::KeyCode;
use schema::model::memory::MemoryType;
use schema::model::moment::Moment;

use super::line_editor::LineEditor;
use super::message::{BrowseEffect, BrowseRequest, FindRequest, ListItem, ListKind, OpenedItem, ReadMode};
use crate::cli::terminal_text::one_line;

/// How long a deletion can be undone.
const UNDO_TIME: Duration = Duration::from_secs(30);

/// Rows that a page key moves the selection.
const PAGE_ROWS: isize = 10;

#[derive(Debug, Default)]
pub(super) struct BrowseModel {
    pub(super) list: ListKind,
    /// The session whose memories are listed, and its title.
    pub(super) session: Option<(String, String)>,
    pub(super) query: LineEditor,
    pub(super) kind: Option<MemoryType>,
    pub(super) time_span: TimeSpan,
    pub(super) items: Vec<ListItem>,
    pub(super) selected: usize,
    /// The memory to select when the list is shown next, such as one whose deletion was undone.
    pub(super) select_next: Option<String>,
    /// The ids of chosen items, which are all in the list.
    pub(super) marked: BTreeSet<String>,
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
    pub(super) deletion: Option<PendingDeletion>,
    /// Number of the last search, which identifies late results.
    pub(super) generation: u64,
    pub(super) is_searching: bool,
    /// The notice of the last search.
    pub(super) notice: Option<String>,
    pub(super) size: (u16, u16),
}

/// Memories that are hidden now and deleted soon. Nothing is written until then, so an undo leaves no trace in files or hashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PendingDeletion {
    pub(super) ids: Vec<String>,
    pub(super) deadline: Instant,
}

/// The target of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Focus {
    Query,
    #[default]
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
pub(super) struct TimeSpan {
    pub(super) label: &'static str,
    days: Option<i64>,
}

/// The status line, shown until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StatusMessage {
    Done(String),
    Error(String),
}

impl TimeSpan {
    pub(super) const ALL: [Self; 5] = [
        Self { label: "any time", days: None },
        Self { label: "last 24 hours", days: Some(1) },
        Self { label: "last 7 days", days: Some(7) },
        Self { label: "last 30 days", days: Some(30) },
        Self { label: "last year", days: Some(365) },
    ];

    fn since(self, now: &Moment) -> Option<Moment> {
        let seconds = TimeDelta::days(self.days?).num_seconds();
        Moment::from_unix(now.unix() - seconds, Some(now.offset_seconds()))
    }
}

impl Default for TimeSpan {
    fn default() -> Self {
        Self::ALL[0]
    }
}

impl MenuChoice {
    pub(super) fn label(&self) -> String {
        match self {
            Self::Kind(None) => "all types".to_owned(),
            Self::Kind(Some(kind)) | Self::Promote { kind, .. } => kind.to_string(),
            Self::TimeSpan(span) => span.label.to_owned(),
        }
    }
}

impl BrowseModel {
    pub(super) fn new(query: &str, size: (u16, u16)) -> Self {
        let query = LineEditor::new(query);
        Self { query, is_new_query: true, is_searching: true, size, ..Self::default() }
    }

    pub(super) fn item(&self) -> Option<&ListItem> {
        self.items.get(self.selected)
    }

    /// The marked items, or else the selected one.
    pub(super) fn chosen_items(&self) -> Vec<&ListItem> {
        if self.marked.is_empty() {
            return self.item().into_iter().collect();
        }
        self.items.iter().filter(|item| self.marked.contains(&item.id)).collect()
    }

    /// The words of the query, in lower case.
    pub(super) fn query_words(&self) -> Vec<String> {
        self.query.text().split_whitespace().map(str::to_lowercase).collect()
    }

    pub(super) fn open_help(&mut self) -> Vec<BrowseEffect> {
        self.overlay = Some(Overlay::Help(0));
        Vec::new()
    }

    pub(super) fn show_error(&mut self, text: &str) -> Vec<BrowseEffect> {
        self.status = Some(StatusMessage::Error(text.to_owned()));
        Vec::new()
    }

    /// Selects another item and shows its text.
    pub(super) fn select_by_key(&mut self, key: KeyCode) -> Vec<BrowseEffect> {
        self.move_selection(key);
        self.open_effect(ReadMode::Preview).into_iter().collect()
    }

    pub(super) fn move_selection(&mut self, key: KeyCode) {
        self.is_new_query = false;
        let last = self.items.len().saturating_sub(1);
        let by = |rows: isize| self.selected.saturating_add_signed(rows).min(last);
        self.selected = match key {
            KeyCode::Up => by(-1),
            KeyCode::Down => by(1),
            KeyCode::PageUp => by(-PAGE_ROWS),
            KeyCode::PageDown => by(PAGE_ROWS),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => self.selected,
        };
    }

    /// Starts a search with the current query and filters.
    pub(super) fn search_effect(&mut self) -> BrowseEffect {
        self.generation += 1;
        self.is_searching = true;
        BrowseEffect::Ask(BrowseRequest::Find(FindRequest {
            generation: self.generation,
            list: self.list,
            query: self.query.text().trim().to_owned(),
            kind: self.kind,
            since: self.time_span.since(&Moment::now()),
            session: self.session.as_ref().map(|(id, _)| id.clone()),
        }))
    }

    /// Shows results without those that are being deleted. The selection stays if the query is the same and the item is still there.
    pub(super) fn show_items(&mut self, mut items: Vec<ListItem>, notice: Option<&str>) {
        if let Some(deletion) = &self.deletion {
            items.retain(|item| !deletion.ids.contains(&item.id));
        }
        let selected = self.item().filter(|_| !self.is_new_query).map(|item| item.id.clone());
        self.is_new_query = false;
        let place = self.select_next.take().or(selected).and_then(|id| items.iter().position(|item| item.id == id));
        self.selected = place.unwrap_or(self.selected).min(items.len().saturating_sub(1));
        self.marked.retain(|id| items.iter().any(|item| item.id == *id));
        self.items = items;
        self.notice = notice.map(one_line);
        self.is_searching = false;
    }

    /// Requests the text of the selected item.
    pub(super) fn open_effect(&mut self, mode: ReadMode) -> Option<BrowseEffect> {
        let item = self.item()?.reference();
        if self.opened.as_ref().is_none_or(|opened| opened.id != item.id) {
            self.scroll = 0;
        }
        Some(BrowseEffect::Ask(BrowseRequest::Open { item, mode }))
    }

    /// Lists something else, without the filters that do not apply to it.
    pub(super) fn switch_list(&mut self, list: ListKind, session: Option<(String, String)>) -> BrowseEffect {
        self.list = list;
        self.session = session;
        self.kind = None;
        self.query.clear();
        self.marked.clear();
        self.replacing = None;
        self.selected = 0;
        self.is_new_query = true;
        self.focus = Focus::List;
        self.search_effect()
    }

    /// Hides memories that are deleted at the deadline. Returns the request for an earlier deletion, which cannot be undone any more.
    pub(super) fn begin_deletion(&mut self, ids: Vec<String>, now: Instant) -> Option<BrowseEffect> {
        let earlier = self.finish_deletion();
        self.items.retain(|item| !ids.contains(&item.id));
        self.marked.clear();
        self.selected = self.selected.min(self.items.len().saturating_sub(1));
        self.opened = None;
        self.deletion = Some(PendingDeletion { ids, deadline: now + UNDO_TIME });
        earlier
    }

    /// The request for the pending deletion.
    pub(super) fn finish_deletion(&mut self) -> Option<BrowseEffect> {
        let PendingDeletion { ids, .. } = self.deletion.take()?;
        Some(BrowseEffect::Ask(BrowseRequest::Delete { ids }))
    }
}
