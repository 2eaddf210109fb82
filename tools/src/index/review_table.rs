//! The state of reviews in `index.db`: candidates, keys of similar texts, and how far each pass got. It holds no text
//! and no decision, so that it can be lost.

use rusqlite::{OptionalExtension as _, params};

use super::{Index, IndexLock};
use crate::error::ToolError;

/// A search through the new memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewPass {
    Secrets,
    /// Other memories that say the same, or the same with another value.
    Pairs,
    /// Open tasks that it reports as done.
    Reports,
}

/// The findings of a pass in some new memories.
#[derive(Debug, Default)]
pub struct ReviewFindings {
    /// The last memory that was examined.
    pub last_seq: i64,
    /// Candidates: sequence numbers of a memory and of the other one, or twice that of a memory alone.
    pub candidates: Vec<(i64, i64)>,
    /// Keys of similar texts, with the memory of each.
    pub keys: Vec<(i64, i64)>,
}

impl ReviewPass {
    fn name(self) -> &'static str {
        match self {
            Self::Secrets => "secrets",
            Self::Pairs => "pairs",
            Self::Reports => "reports",
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

    /// Adds the findings of a pass, and drops those of other rules.
    pub fn add_review_findings(
        &mut self,
        pass: ReviewPass,
        rules: &str,
        found: &ReviewFindings,
        _lock: &IndexLock,
    ) -> Result<(), ToolError> {
        let is_new = self.reviewed_until(pass, rules)? < 0;
        let transaction = self.db.savepoint()?;
        if is_new {
            transaction.execute("DELETE FROM review_candidates WHERE pass = ?1", [pass.name()])?;
            transaction.execute("DELETE FROM review_keys WHERE ?1", [pass == ReviewPass::Pairs])?;
        }
        for (newer, older) in &found.candidates {
            let sql = "INSERT OR IGNORE INTO review_candidates (pass, newer, older) VALUES (?1, ?2, ?3)";
            transaction.prepare_cached(sql)?.execute(params![pass.name(), newer, older])?;
        }
        for (key, seq) in &found.keys {
            let sql = "INSERT OR IGNORE INTO review_keys (key, seq) VALUES (?1, ?2)";
            transaction.prepare_cached(sql)?.execute([key, seq])?;
        }
        let sql = "INSERT OR REPLACE INTO review_progress (pass, rules, last_seq) VALUES (?1, ?2, ?3)";
        transaction.execute(sql, params![pass.name(), rules, found.last_seq])?;
        Ok(transaction.commit()?)
    }

    /// The newest memories with a key.
    pub fn with_review_key(&self, key: i64, limit: usize) -> Result<Vec<i64>, ToolError> {
        let sql = "SELECT seq FROM review_keys WHERE key = ?1 ORDER BY seq DESC LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map(params![key, limit as i64], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// The candidates of a pass as sequence numbers, the newest first.
    pub fn review_candidates(&self, pass: ReviewPass) -> Result<Vec<(i64, i64)>, ToolError> {
        let sql = "SELECT newer, older FROM review_candidates WHERE pass = ?1 ORDER BY newer DESC, older DESC";
        let mut statement = self.db.prepare_cached(sql)?;
        Ok(statement.query_map([pass.name()], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }
}
