//! SQL on `memories` and `meta`: a method for each statement. Touches no files.

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Params, Row as SqlRow, params, params_from_iter};

use super::memory_row::{AND_OWN, COLUMNS, EntryState, MemoryFilter, MemoryRow, conversion_error, read_row};
use crate::log::LONG_TERM_FILE;
use crate::model::memory::{Memory, MemoryId, MemoryType, content_hash};
use crate::model::moment::Moment;

/// The statements, over a connection or a transaction.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'c>(pub(crate) &'c Connection);

/// The meta key of the number of removed secrets.
const REDACTIONS: &str = "redactions";
/// How many digits of a text's hash are stored.
const HASH_DIGITS: usize = 32;
/// The condition that a row has the text whose whole hash is the first value.
const HOLDS_TEXT: &str = "content_hash = substr(?1, 1, 32)";

impl Rows<'_> {
    /// Returns the memories that a query selects. `rest` follows `SELECT … FROM memories`.
    fn select(&self, rest: &str, values: impl Params) -> rusqlite::Result<Vec<MemoryRow>> {
        let sql = format!("SELECT {COLUMNS} FROM memories {rest}");
        self.0.prepare_cached(&sql)?.query_map(values, read_row)?.collect()
    }

    /// Returns the first memory that a query selects.
    fn select_one(&self, rest: &str, values: impl Params) -> rusqlite::Result<Option<MemoryRow>> {
        let sql = format!("SELECT {COLUMNS} FROM memories {rest}");
        self.0.prepare_cached(&sql)?.query_row(values, read_row).optional()
    }

    /// Returns the first memory that a query selects, if there is one, which is seldom. A query for one column is prepared faster.
    fn select_rare(&self, rest: &str, values: impl Params) -> rusqlite::Result<Option<MemoryRow>> {
        let sql = format!("SELECT seq FROM memories {rest}");
        let seq = self.value(&sql, values).optional()?;
        seq.map_or(Ok(None), |seq| self.by_seq(seq))
    }

    /// Returns the only column of the first row that a query selects.
    pub(super) fn value<T: FromSql>(&self, sql: &str, values: impl Params) -> rusqlite::Result<T> {
        self.0.prepare_cached(sql)?.query_row(values, |row| row.get(0))
    }

    /// Returns the only column of all rows that a query selects.
    pub(super) fn column<T: FromSql>(&self, sql: &str, values: impl Params) -> rusqlite::Result<Vec<T>> {
        self.0.prepare_cached(sql)?.query_map(values, |row| row.get(0))?.collect()
    }

    /// Returns the only number that a query selects.
    pub(super) fn count(&self, sql: &str, values: impl Params) -> rusqlite::Result<u64> {
        self.0.query_row(sql, values, |row| row.get(0)).map(i64::unsigned_abs)
    }

    /// Counts the memories of each value of a column or an expression.
    pub(super) fn count_groups(&self, sql: &str) -> rusqlite::Result<Vec<(String, u64)>> {
        let mut statement = self.0.prepare_cached(sql)?;
        statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?.collect()
    }

    /// Executes a statement that returns no rows.
    pub(super) fn execute(&self, sql: &str, values: impl Params) -> rusqlite::Result<()> {
        self.0.prepare_cached(sql)?.execute(values).map(drop)
    }

    /// Inserts a memory and returns its sequence number.
    pub(crate) fn insert(&self, memory: &Memory, path: &str, entry: EntryState) -> rusqlite::Result<i64> {
        let attributes = &memory.attributes;
        let metadata = (!attributes.metadata.is_empty()).then(|| serde_json::Value::from(attributes.metadata.clone()));
        self.0
            .prepare_cached(
                "INSERT INTO memories (id, session_id, project_dir, type, content, content_hash, metadata, importance,
                     pinned, origin, supersedes, path, created_at, utc_offset, done, written_at, waiting, auto, source, also)
                 VALUES (?1, ?2, '', ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
            )?
            .execute(params![
                memory.id.as_str(),
                memory.session_id,
                memory.kind.as_str(),
                memory.content,
                &content_hash(&memory.content)[..HASH_DIGITS],
                metadata.map(|object| object.to_string()),
                attributes.importance,
                attributes.pinned,
                attributes.origin,
                attributes.supersedes.as_ref().map(MemoryId::as_str),
                path,
                memory.at.utc(),
                memory.at.offset_seconds(),
                attributes.done,
                entry.written_at(),
                entry.waiting(),
                attributes.auto,
                attributes.source.as_ref().map(MemoryId::as_str),
                attributes.also,
            ])?;
        let seq = self.0.last_insert_rowid();
        self.derive_first_state(&memory.id)?;
        Ok(seq)
    }

    /// Records where the entry of a memory is, and how it got there.
    pub(crate) fn set_entry_state(&self, seq: i64, path: &str, entry: EntryState) -> rusqlite::Result<()> {
        let sql = "UPDATE memories SET path = ?2, written_at = ?3, waiting = ?4 WHERE seq = ?1";
        self.execute(sql, params![seq, path, entry.written_at(), entry.waiting()])
    }

    pub fn delete(&self, seq: i64) -> rusqlite::Result<()> {
        self.execute("DELETE FROM memories WHERE seq = ?1", [seq])
    }

    /// Carries an access count over to the row that replaces another.
    pub fn set_access_count(&self, seq: i64, count: i64) -> rusqlite::Result<()> {
        self.execute("UPDATE memories SET access_count = ?2 WHERE seq = ?1", params![seq, count])
    }

    /// Records that a memory was read.
    pub fn record_access(&self, id: &MemoryId, now: &Moment) -> rusqlite::Result<()> {
        let sql = "UPDATE memories SET access_count = access_count + 1, accessed_at = ?2 WHERE id = ?1";
        self.execute(sql, params![id.as_str(), now.utc()])
    }

    pub fn by_id(&self, id: &MemoryId) -> rusqlite::Result<Option<MemoryRow>> {
        self.select_one("WHERE id = ?1", [id.as_str()])
    }

    /// Returns the memories whose entries claim an id: the one that has it, and copies with ids derived from it.
    pub(crate) fn claimants(&self, claim: &MemoryId) -> rusqlite::Result<Vec<MemoryRow>> {
        let stem = claim.copy_stem();
        // `/` follows `.`, which begins the mark of a copy.
        let bounds = params![claim.as_str(), format!("{stem}."), format!("{stem}/")];
        let mut found = self.select("WHERE id = ?1 OR (id > ?2 AND id < ?3)", bounds)?;
        found.retain(|row| row.memory.id == *claim || row.memory.id == claim.for_copy(&row.path));
        Ok(found)
    }

    /// Gives a memory another id. Nothing else changes, so whatever is derived from the memory stays valid.
    pub(crate) fn set_id(&self, seq: i64, id: &MemoryId) -> rusqlite::Result<()> {
        self.execute("UPDATE memories SET id = ?2 WHERE seq = ?1", params![seq, id.as_str()])?;
        self.derive_state(id)
    }

    /// Returns at most two ids that begin like this, in order.
    pub fn ids_beginning_with(&self, beginning: &str) -> rusqlite::Result<Vec<String>> {
        // A range can use the index of the ids.
        let sql = "SELECT id FROM memories WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT 2";
        self.column(sql, [beginning])
    }

    /// Returns the memory that a text names by its id, or by four or more hexadecimal digits with which no other id begins.
    pub fn named_by_id(&self, text: &str) -> rusqlite::Result<Option<MemoryRow>> {
        let Some(id) = MemoryId::parse(text) else { return Ok(None) };
        let whole = self.by_id(&id)?;
        if whole.is_some()
            || text.len() < MemoryId::SHORTEST_BEGINNING
            || !text.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Ok(whole);
        }
        match &self.ids_beginning_with(&text.to_ascii_lowercase())?[..] {
            [only] => MemoryId::parse(only).map_or(Ok(None), |only| self.by_id(&only)),
            _ => Ok(None),
        }
    }

    /// Returns the ids that begin like this, newest memories first.
    pub fn newest_ids(&self, beginning: &str, limit: usize) -> rusqlite::Result<Vec<String>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql =
            "SELECT id FROM memories WHERE substr(id, 1, length(?1)) = ?1 ORDER BY created_at DESC, seq DESC LIMIT ?2";
        self.column(sql, params![beginning, limit])
    }

    pub fn by_seq(&self, seq: i64) -> rusqlite::Result<Option<MemoryRow>> {
        self.select_one("WHERE seq = ?1", [seq])
    }

    /// Returns the memories with these sequence numbers, in the same order, with `None` for those that are gone.
    pub fn by_seqs(&self, seqs: &[i64]) -> rusqlite::Result<Vec<Option<MemoryRow>>> {
        let mut statement = self.0.prepare_cached(&format!("SELECT {COLUMNS} FROM memories WHERE seq = ?1"))?;
        // In the order of the file, so that each page is looked up once.
        let mut order: Vec<usize> = (0..seqs.len()).collect();
        order.sort_unstable_by_key(|place| seqs[*place]);
        let mut found = vec![None; seqs.len()];
        for place in order {
            found[place] = statement.query_row([seqs[place]], read_row).optional()?;
        }
        Ok(found)
    }

    /// Returns the memories whose entries wait to be written, oldest first.
    pub(crate) fn pending_rows(&self) -> rusqlite::Result<Vec<MemoryRow>> {
        // SQLite would read all rows in their order, although almost none waits.
        self.select("INDEXED BY memories_waiting WHERE waiting > 0 ORDER BY seq", [])
    }

    /// Whether the entry of any memory waits to be written.
    pub fn has_pending(&self) -> rusqlite::Result<bool> {
        self.value("SELECT EXISTS (SELECT 1 FROM memories WHERE waiting > 0)", [])
    }

    /// Returns all memories of one file in the order of their insertion.
    pub fn by_path(&self, path: &str) -> rusqlite::Result<Vec<MemoryRow>> {
        self.select("WHERE path = ?1 ORDER BY seq", [path])
    }

    /// Returns the memories of a file whose entries capture appended since a moment, in milliseconds since 1970, last one first.
    pub(crate) fn written_since(&self, path: &str, from: i64) -> rusqlite::Result<Vec<MemoryRow>> {
        self.select("WHERE path = ?1 AND written_at >= ?2 ORDER BY seq DESC", params![path, from])
    }

    /// Returns the files that have memories.
    pub(super) fn paths(&self) -> rusqlite::Result<Vec<String>> {
        self.column("SELECT DISTINCT path FROM memories", [])
    }

    /// Returns the memories that were inserted after a watermark, oldest first.
    pub fn inserted_after(&self, seq: i64, limit: usize) -> rusqlite::Result<Vec<MemoryRow>> {
        self.select("WHERE seq > ?1 ORDER BY seq LIMIT ?2", params![seq, limit as i64])
    }

    /// Returns the removals after a watermark: the number of each, and the sequence number that was removed.
    pub fn removed_after(&self, n: i64) -> rusqlite::Result<Vec<(i64, i64)>> {
        let mut statement = self.0.prepare_cached("SELECT n, seq FROM removed WHERE n > ?1 ORDER BY n")?;
        statement.query_map([n], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// Returns the newest memories that pass a filter.
    pub fn list(&self, filter: &MemoryFilter, limit: usize) -> rusqlite::Result<Vec<MemoryRow>> {
        // SQLite does not know the sizes of a session and of a type, and might read all prompts of a year.
        let index = if filter.session_id.is_some() { "INDEXED BY memories_by_session" } else { "" };
        let (conditions, mut values) = filter.sql_conditions();
        let sql = format!(
            "SELECT {COLUMNS} FROM memories {index} WHERE 1{conditions} ORDER BY created_at DESC, seq DESC LIMIT ?"
        );
        values.push(Box::new(limit as i64));
        self.0.prepare(&sql)?.query_map(params_from_iter(values), read_row)?.collect()
    }

    /// Counts the memories that pass a filter.
    pub fn count_listed(&self, filter: &MemoryFilter) -> rusqlite::Result<u64> {
        let (conditions, values) = filter.sql_conditions();
        let sql = format!("SELECT count(*) FROM memories WHERE 1{conditions}");
        self.count(&sql, params_from_iter(values))
    }

    /// Returns a memory with the same text, type and session in long-term memory or in the logs, captured between two moments in UTC.
    pub fn find_duplicate(
        &self,
        memory: &Memory,
        long_term: bool,
        from: &str,
        to: &str,
    ) -> rusqlite::Result<Option<MemoryRow>> {
        let query = format!(
            "INDEXED BY memories_by_content
             WHERE {HOLDS_TEXT} AND session_id = ?2 AND type = ?3
                 AND (path = ?4) = ?5{AND_OWN} AND created_at BETWEEN ?6 AND ?7
             ORDER BY created_at, seq LIMIT 1"
        );
        let hash = content_hash(&memory.content);
        let values = params![hash, memory.session_id, memory.kind.as_str(), LONG_TERM_FILE, long_term, from, to];
        self.select_rare(&query, values)
    }

    /// Returns the sequence numbers and texts of the newest failures up to a moment whose entries are written.
    pub(crate) fn failures(&self, until: &Moment, limit: usize) -> rusqlite::Result<Vec<(i64, String)>> {
        let sql = "SELECT seq, content FROM memories INDEXED BY memories_by_type
             WHERE type = 'error' AND created_at <= ?1 AND waiting = 0 ORDER BY created_at DESC, seq DESC LIMIT ?2";
        let mut statement = self.0.prepare_cached(sql)?;
        statement.query_map(params![until.utc(), limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// Returns the newest pinned memories of a type.
    pub fn pinned(&self, kind: MemoryType, limit: usize) -> rusqlite::Result<Vec<MemoryRow>> {
        self.select(
            "INDEXED BY memories_pinned
             WHERE pinned > 0 AND type = ?1 ORDER BY created_at DESC, seq DESC LIMIT ?2",
            params![kind.as_str(), limit as i64],
        )
    }

    /// Returns the newest open tasks up to a moment.
    pub fn open_tasks(&self, until: &Moment, limit: usize) -> rusqlite::Result<Vec<MemoryRow>> {
        let condition = "INDEXED BY memories_by_type
             WHERE type = 'task' AND created_at <= ?1 AND done = 0 AND phase IS NULL
             ORDER BY created_at DESC, seq DESC LIMIT ?2";
        let mut found = self.select(condition, params![until.utc(), limit as i64])?;
        found.retain(MemoryRow::is_open_task);
        Ok(found)
    }

    /// Returns the last prompt or answer of a session.
    pub fn last_utterance(&self, session_id: &str) -> rusqlite::Result<Option<MemoryRow>> {
        self.select_one(
            "INDEXED BY memories_by_session
             WHERE session_id = ?1 AND type IN ('user_prompt', 'assistant_response')
             ORDER BY created_at DESC, seq DESC LIMIT 1",
            [session_id],
        )
    }

    /// Whether a session has a prompt that was inserted after a row.
    pub(crate) fn has_prompt_since(&self, session_id: &str, seq: i64) -> rusqlite::Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM memories INDEXED BY memories_by_session
             WHERE session_id = ?1 AND seq > ?2 AND type = 'user_prompt')";
        self.value(sql, params![session_id, seq])
    }

    /// Returns the last prompt or answer of a session up to a moment, as its type and the hash of its text.
    pub fn utterance_before(&self, session_id: &str, at: &Moment) -> rusqlite::Result<Option<(MemoryType, String)>> {
        let sql = "SELECT type, content_hash FROM memories INDEXED BY memories_by_session
             WHERE session_id = ?1 AND created_at <= ?2 AND type IN ('user_prompt', 'assistant_response')
             ORDER BY created_at DESC, seq DESC LIMIT 1";
        let read = |row: &SqlRow<'_>| {
            let kind = row.get_ref(0)?.as_str()?.parse().map_err(|error| conversion_error(0, error))?;
            Ok((kind, row.get(1)?))
        };
        self.0.prepare_cached(sql)?.query_row(params![session_id, at.utc()], read).optional()
    }

    /// Whether any session has the same text of the same type between two moments in UTC.
    pub fn has_text_between(&self, memory: &Memory, from: &str, to: &str) -> rusqlite::Result<bool> {
        let sql = format!(
            "SELECT EXISTS (SELECT 1 FROM memories INDEXED BY memories_by_content
             WHERE {HOLDS_TEXT} AND type = ?2 AND created_at BETWEEN ?3 AND ?4)"
        );
        let values = params![content_hash(&memory.content), memory.kind.as_str(), from, to];
        self.value(&sql, values)
    }

    /// Returns the newest prompt of a session up to a moment.
    pub fn prompt_before(&self, session_id: &str, at: &Moment) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT content FROM memories WHERE session_id = ?1 AND created_at <= ?2 AND type = 'user_prompt'
             ORDER BY created_at DESC, seq DESC LIMIT 1";
        self.value(sql, params![session_id, at.utc()]).optional()
    }

    /// Returns the sequence numbers of the utterances before and after a memory in its session.
    pub fn neighbour_seqs(&self, row: &MemoryRow) -> rusqlite::Result<(Option<i64>, Option<i64>)> {
        let neighbour = |order: &str, direction: &str| {
            let sql = format!(
                "SELECT seq FROM memories WHERE session_id = ?1 AND (created_at, seq) {order} (?2, ?3)
                 AND (type = 'user_prompt' OR type = 'assistant_response' OR type = 'error' OR type = 'subagent_result')
                 ORDER BY created_at {direction}, seq {direction} LIMIT 1"
            );
            let values = params![row.memory.session_id, row.memory.at.utc(), row.seq];
            self.value(&sql, values).optional()
        };
        Ok((neighbour("<", "DESC")?, neighbour(">", "ASC")?))
    }

    /// Returns the newest memory with the same text and type, in long-term memory or in the logs, that has not been replaced.
    pub fn find_same_conclusion(&self, memory: &Memory, long_term: bool) -> rusqlite::Result<Option<MemoryRow>> {
        let query = format!(
            "INDEXED BY memories_by_content
             WHERE {HOLDS_TEXT} AND type = ?2 AND (path = ?3) = ?4{AND_OWN}
                 AND NOT EXISTS (SELECT 1 FROM memories newer WHERE newer.supersedes = memories.id)
             ORDER BY created_at DESC LIMIT 1"
        );
        let values = params![content_hash(&memory.content), memory.kind.as_str(), LONG_TERM_FILE, long_term];
        self.select_rare(&query, values)
    }

    pub fn count_by_type(&self) -> rusqlite::Result<Vec<(MemoryType, u64)>> {
        let counted = self.count_groups("SELECT type, count(*) FROM memories GROUP BY type")?.into_iter();
        let mut counts: Vec<_> = counted.filter_map(|(name, count)| Some((name.parse().ok()?, count))).collect();
        counts.sort_unstable();
        Ok(counts)
    }

    pub fn count_sessions(&self) -> rusqlite::Result<u64> {
        self.count("SELECT count(*) FROM sessions", [])
    }

    /// Counts the memories that were inserted after a watermark.
    pub fn count_after(&self, seq: i64) -> rusqlite::Result<u64> {
        self.count("SELECT count(*) FROM memories WHERE seq > ?1", [seq])
    }

    pub fn meta(&self, key: &str) -> rusqlite::Result<Option<String>> {
        self.value("SELECT value FROM meta WHERE key = ?1", [key]).optional()
    }

    pub fn set_meta(&self, key: &str, value: &str) -> rusqlite::Result<()> {
        // An update in place leaves the index of the keys alone. This runs for every memory.
        let sql =
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
        self.execute(sql, [key, value])
    }

    /// Deletes the values whose keys begin like this.
    pub fn delete_meta(&self, beginning: &str) -> rusqlite::Result<()> {
        self.execute("DELETE FROM meta WHERE substr(key, 1, length(?1)) = ?1", [beginning])
    }

    /// Returns the number of removed secrets.
    pub fn redactions(&self) -> rusqlite::Result<u64> {
        Ok(self.meta(REDACTIONS)?.and_then(|count| count.parse().ok()).unwrap_or_default())
    }

    pub fn add_redactions(&self, more: usize) -> rusqlite::Result<()> {
        self.set_meta(REDACTIONS, &(self.redactions()? + more as u64).to_string())
    }
}
