//! Open tasks with the terms that reports are compared with.

use std::cell::OnceCell;

use crate::model::word_list::WordList;
use crate::prose::terms::{terms, terms_and_parts};

/// A task, with its terms once they are needed.
#[derive(Debug, Clone, Default)]
pub(super) struct ComparedTask<'t> {
    pub(super) text: &'t str,
    terms: OnceCell<Vec<String>>,
    terms_and_parts: OnceCell<Vec<String>>,
    unconditional_terms: OnceCell<Vec<String>>,
    head_terms: OnceCell<Vec<String>>,
}

impl<'t> ComparedTask<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, ..Self::default() }
    }

    pub(super) fn terms(&self) -> &[String] {
        self.terms.get_or_init(|| terms(self.text))
    }

    /// The terms and the parts of identifiers.
    pub(super) fn terms_and_parts(&self) -> &[String] {
        self.terms_and_parts.get_or_init(|| terms_and_parts(self.text))
    }

    /// The terms before the time or the condition of its start.
    pub(super) fn unconditional_terms(&self) -> &[String] {
        self.unconditional_terms.get_or_init(|| terms(without_condition(self.text)))
    }

    /// The terms of its [`head`].
    pub(super) fn head_terms(&self) -> &[String] {
        self.head_terms.get_or_init(|| terms(head(self.text)))
    }
}

/// Returns a task without the time or the condition of its start.
fn without_condition(task: &str) -> &str {
    const BEGIN: [&str; 8] = [" after ", " once ", " when ", " until ", " because ", " (", ", it ", ", which "];
    let end = BEGIN.iter().filter_map(|word| task.find(word)).min();
    &task[..end.unwrap_or(task.len())]
}

/// Returns the beginning of a task, which says what to do, without how, when and why.
pub(super) fn head(task: &str) -> &str {
    static ENDS: WordList =
        WordList::phrases(" with | after | once | when | until | so that | because | before | (|, |: | - ");
    // "Windows: paths with …" begins with a label.
    let task = task.split_once(": ").filter(|(label, _)| !label.contains(' ')).map_or(task, |(_, task)| task);
    let end = ENDS.iter().filter_map(|word| task.find(word)).min();
    &task[..end.unwrap_or(task.len())]
}
