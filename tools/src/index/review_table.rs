//! The candidates of a review and how far each pass got, in `index.db`. They hold no text and no decision, so that they can be lost.

use rusqlite::{OptionalExtension as _, params};

use super::{Index, IndexLock};
use crate::error::ToolError;

/// What a review looks for in each new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewPass {
    /// Earlier memories that say the same, or the same with another value.
    Pairs,
    Secrets,
}

impl ReviewPass {
    fn name(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Secrets => "secrets",
        }
    }
}

impl Index {
    /// The last examined memory, or -1 if none was examined by these rules.
    pub fn reviewed_until(&self, pass: ReviewPass, rules: &str) -> Result<i64, ToolError> {
        let sql = "SELECT last_seq FROM review_progress WHERE pass = ?1 AND rules = ?2";
        let found = self.db.prepare_cached(sql)?.query_row([pass.name(), rules], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or(-1))
    }

    /// Adds candidates, and records that all memories up to `last_seq` were examined. Those of other rules are dropped.
    pub fn add_review_candidates(
        &mut self,
        pass: ReviewPass,
        rules: &str,
        last_seq: i64,
        found: &[(i64, i64)],
        _lock: &IndexLock,
    ) -> Result<(), ToolError> {
        let is_new = self.reviewed_until(pass, rules)? < 0;
        let transaction = self.db.savepoint()?;
        if is_new {
            transaction.execute("DELETE FROM review_candidates WHERE pass = ?1", [pass.name()])?;
        }
        for (newer, older) in found {
            let sql = "INSERT OR IGNORE INTO review_candidates (pass, newer, older) VALUES (?1, ?2, ?3)";
            transaction.prepare_cached(sql)?.execute(params![pass.name(), newer, older])?;
        }
        let sql = "INSERT OR REPLACE INTO review_progress (pass, rules, last_seq) VALUES (?1, ?2, ?3)";
        transaction.execute(sql, params![pass.name(), rules, last_seq])?;
        Ok(transaction.commit()?)
    }

    /// The candidates of a pass as sequence numbers, the newest first.
    pub fn review_candidates(&self, pass: ReviewPass) -> Result<Vec<(i64, i64)>, ToolError> {
        let sql = "SELECT newer, older FROM review_candidates WHERE pass = ?1 ORDER BY newer DESC, older DESC";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([pass.name()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }
}
