//! Finds the statements that may replace an older one.

use std::collections::HashMap;

use super::Statement;

/// Dated statements that may replace older ones, by their terms and numbers.
#[derive(Debug, Default)]
pub struct StatementIndex {
    /// Oldest first.
    statements: Vec<((i64, i64), Statement)>,
    by_key: HashMap<String, Vec<usize>>,
}

/// How many statements are compared with a sentence: those that share its rarest terms.
pub(super) const COMPARED: usize = 64;

impl StatementIndex {
    /// Indexes statements by their [`MemoryRow::order`](crate::store::MemoryRow::order).
    pub fn new(statements: impl IntoIterator<Item = ((i64, i64), Statement)>) -> Self {
        let mut statements: Vec<_> = statements.into_iter().filter(|(_, statement)| statement.can_replace()).collect();
        statements.sort_by_key(|(order, _)| *order);
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, (_, statement)) in statements.iter().enumerate() {
            for key in statement.keys() {
                by_key.entry(key).or_default().push(at);
            }
        }
        Self { statements, by_key }
    }

    /// Returns statements since a point in time that share a term or a number with an older one.
    pub(super) fn related(&self, older: &Statement, since: (i64, i64)) -> Vec<&Statement> {
        let mut shared: Vec<&Vec<usize>> = older.keys().filter_map(|key| self.by_key.get(&key)).collect();
        shared.sort_by_key(|at| at.len());
        let first = self.statements.partition_point(|(order, _)| *order <= since);
        let mut found: Vec<usize> = Vec::new();
        for at in shared.into_iter().flat_map(|at| at.iter().rev().take_while(|at| **at >= first)) {
            if found.len() == COMPARED {
                break;
            }
            if !found.contains(at) {
                found.push(*at);
            }
        }
        found.into_iter().map(|at| &self.statements[at].1).collect()
    }
}
