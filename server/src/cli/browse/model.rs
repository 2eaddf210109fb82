//! What the screen shows: the query, what was found, what is read, and what is asked.

use chrono::TimeDelta;
use schema::memory::MemoryType;
use schema::moment::Moment;

use super::input::Input;
use super::update::Effect;
use super::worker::{Look, Request};
use crate::cli::text::one_line;

#[derive(Debug)]
pub(super) struct Model {
    pub(super) query: Input,
    pub(super) kind: Option<MemoryType>,
    pub(super) span: Span,
    pub(super) items: Vec<Item>,
    pub(super) selected: usize,
    /// Whether the next answer is one to another query, whose best hit is to be selected.
    pub(super) is_new_query: bool,
    pub(super) focus: Focus,
    /// The text of what is selected.
    pub(super) opened: Option<Opened>,
    /// Lines of that text above the first that is shown.
    pub(super) scroll: usize,
    pub(super) overlay: Option<Overlay>,
    pub(super) status: Option<Status>,
    /// The memory for which another one is chosen that replaces it.
    pub(super) replacing: Option<Item>,
    /// Counts searches, so that a late answer is told from the last one.
    pub(super) generation: u64,
    pub(super) is_searching: bool,
    /// What the search had to say.
    pub(super) notice: Option<String>,
    /// Columns and rows.
    pub(super) size: (u16, u16),
}

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    /// Letters are the query.
    Query,
    /// Letters are commands.
    List,
    /// The text has the whole screen.
    Text,
}

/// A memory or a passage of a note in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: String,
    /// `None` for a passage of a note, which is no memory.
    pub(super) kind: Option<MemoryType>,
    /// Local date and time.
    pub(super) date: String,
    /// On one line, harmless.
    pub(super) text: String,
    pub(super) is_pinned: bool,
    pub(super) is_superseded: bool,
    pub(super) is_long_term: bool,
}

/// The text of an item, harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) id: String,
    /// Where it stands and what is known of it.
    pub(super) about: String,
    pub(super) content: String,
}

/// What lies over the rest until it is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Overlay {
    /// The keys, from this line on.
    Help(usize),
    Menu(Menu),
    /// A question and what is done on yes.
    Ask {
        question: String,
        then: Request,
    },
}

/// One of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Menu {
    pub(super) title: &'static str,
    pub(super) choices: Vec<Choice>,
    pub(super) selected: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    Kind(Option<MemoryType>),
    Span(Span),
    /// As what to promote.
    Promote {
        id: String,
        kind: MemoryType,
    },
}

/// How far back the list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Span {
    Ever,
    Day,
    Week,
    Month,
    Year,
}

/// What is told at the bottom until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Status {
    Done(String),
    Fault(String),
}

impl Span {
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

    /// The first moment that counts.
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

impl Choice {
    pub(super) fn label(&self) -> String {
        match self {
            Self::Kind(None) => "all types".to_owned(),
            Self::Kind(Some(kind)) => kind.label().to_owned(),
            Self::Span(span) => span.label().to_owned(),
            Self::Promote { kind, .. } => kind.label().to_owned(),
        }
    }
}

impl Model {
    pub(super) fn new(query: &str, size: (u16, u16)) -> Self {
        Self {
            query: Input::new(query),
            kind: None,
            span: Span::Ever,
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

    pub(super) fn item(&self) -> Option<&Item> {
        self.items.get(self.selected)
    }

    /// Asks for what fits the query and the filters.
    pub(super) fn find(&mut self) -> Effect {
        self.generation += 1;
        self.is_searching = true;
        Effect::Ask(Request::Find {
            generation: self.generation,
            query: self.query.text().trim().to_owned(),
            kind: self.kind,
            since: self.span.since(&Moment::now()),
        })
    }

    /// Takes over what was found; what was selected stays so, if it is still there and the query is the same.
    pub(super) fn show(&mut self, items: Vec<Item>, notice: Option<&str>) {
        let selected = self.item().filter(|_| !self.is_new_query).map(|item| item.id.clone());
        self.is_new_query = false;
        let place = selected.and_then(|id| items.iter().position(|item| item.id == id));
        self.selected = place.unwrap_or(self.selected).min(items.len().saturating_sub(1));
        self.items = items;
        self.notice = notice.map(one_line);
        self.is_searching = false;
    }

    /// Asks for the text of what is selected.
    pub(super) fn open(&mut self, look: Look) -> Option<Effect> {
        let id = self.item()?.id.clone();
        if self.opened.as_ref().is_none_or(|opened| opened.id != id) {
            self.scroll = 0;
        }
        Some(Effect::Ask(Request::Open { id, look }))
    }
}
