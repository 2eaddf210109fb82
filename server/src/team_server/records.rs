//! Receiving and handing out the lines of the team's files.

use schema::log::{TeamAction, TeamFile};
use schema::model::memory::content_hash;
use schema::privacy::sanitizer::Sanitizer;
use serde::{Deserialize, Serialize};
use tokio_postgres::Transaction;
use tools::engine::personal_data;

use super::database::{Member, Role, note};
use super::error::ServerError;

/// The most lines of a request and of an answer, and bytes of an answer.
const LINES: usize = 500;
const ANSWER: usize = 2 * 1024 * 1024;

/// The most keys of a request.
const KEYS: usize = 5_000;

/// The most lines that a member may add in a day.
const LINES_A_DAY: i64 = 20_000;

/// The lines of a member's own file.
#[derive(Debug, Deserialize)]
pub(super) struct Push {
    lines: Vec<String>,
}

/// A line that was not taken.
#[derive(Debug, Serialize)]
pub(super) struct RefusedLine {
    /// Its number in the request, from 0.
    line: usize,
    why: String,
}

#[derive(Debug, Default, Serialize)]
pub(super) struct Pushed {
    added: usize,
    refused: Vec<RefusedLine>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Keys {
    keys: Vec<String>,
}

/// Where a client continues: after the record with this number and key.
#[derive(Debug, Deserialize)]
#[serde(default)]
#[derive(Default)]
pub(super) struct Cursor {
    after: i64,
    key: String,
}

#[derive(Debug, Serialize)]
pub(super) struct PulledRecord {
    seq: i64,
    key: String,
    author: String,
    line: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Pulled {
    /// Whether the records begin at the first one, because the cursor belongs to another state of the database.
    restarted: bool,
    records: Vec<PulledRecord>,
    /// Whether there are more after these.
    more: bool,
}

/// What a line says.
struct Record {
    memory: String,
    act: Option<TeamAction>,
}

impl Record {
    /// Reads a line, or says why nobody may have it.
    fn read(line: &str, sanitizer: &Sanitizer) -> Result<Self, String> {
        if line.contains(['\n', '\r', '\0']) {
            return Err("it is more than one line".to_owned());
        }
        let file = TeamFile::parse(line);
        let record = match (file.entries.as_slice(), file.notes.as_slice()) {
            ([entry], []) => Self { memory: entry.memory.id.to_string(), act: None },
            ([], [note]) => Self { memory: note.about.to_string(), act: Some(note.act) },
            _ => return Err("it is no record of a team".to_owned()),
        };
        if sanitizer.redact(line).count > 0 {
            return Err("it has a secret".to_owned());
        }
        match personal_data(line) {
            Some(what) => Err(format!("it has {what}")),
            None => Ok(record),
        }
    }
}

/// Returns which of these keys the project does not have.
pub(super) async fn missing(transaction: &Transaction<'_>, Keys { keys }: Keys) -> Result<Vec<String>, ServerError> {
    if keys.len() > KEYS {
        return Err(ServerError::Invalid(format!("at most {KEYS} keys at once")));
    }
    let sql = "SELECT key FROM unnest($1::text[]) AS asked (key) WHERE NOT EXISTS (SELECT FROM jikime.record WHERE project = \
               jikime.current_project() AND record.key = asked.key)";
    Ok(transaction.query(sql, &[&keys]).await?.iter().map(|row| row.get(0)).collect())
}

/// Adds lines to the file of a member. A line that is there already counts as taken. Lines that break a rule are refused one by one.
pub(super) async fn push(
    transaction: &Transaction<'_>,
    member: &Member,
    Push { lines }: Push,
) -> Result<Pushed, ServerError> {
    member.require(Role::Writer)?;
    if lines.len() > LINES {
        return Err(ServerError::Invalid(format!("at most {LINES} lines at once")));
    }
    // Others wait for this row, so the numbers of records grow in the order in which they appear.
    let sql = "SELECT last_seq FROM jikime.project WHERE id = jikime.current_project() FOR UPDATE";
    let mut seq: i64 = transaction.query_one(sql, &[]).await?.get(0);
    let sql = "SELECT count(*) FROM jikime.record WHERE project = jikime.current_project() AND author = $1 AND received_at > \
               now() - interval '1 day'";
    let mut of_today: i64 = transaction.query_one(sql, &[&member.name]).await?.get(0);
    let sanitizer = Sanitizer::default();
    let mut pushed = Pushed::default();
    for (number, line) in lines.iter().enumerate() {
        let key = key_of(&member.name, line);
        let sql = "SELECT FROM jikime.record WHERE project = jikime.current_project() AND key = $1";
        if transaction.query_opt(sql, &[&key]).await?.is_some() {
            continue;
        }
        let checked = match Record::read(line, &sanitizer) {
            Ok(_) if of_today >= LINES_A_DAY => Err(format!("more than {LINES_A_DAY} lines in a day")),
            Ok(record) => may_add(transaction, member, &record).await?.map(|()| record),
            Err(why) => Err(why),
        };
        let record = match checked {
            Ok(record) => record,
            Err(why) => {
                pushed.refused.push(RefusedLine { line: number, why });
                continue;
            }
        };
        seq += 1;
        of_today += 1;
        let act = record.act.map(act_name);
        let sql = "INSERT INTO jikime.record (project, seq, author, key, memory, act, line) VALUES \
                   (jikime.current_project(), $1, $2, $3, $4, $5, $6)";
        transaction.execute(sql, &[&seq, &member.name, &key, &record.memory, &act, line]).await?;
        if record.act == Some(TeamAction::Forget) {
            let sql = "UPDATE jikime.record SET line = '' WHERE project = jikime.current_project() AND memory = $1 AND act IS \
                       NULL";
            transaction.execute(sql, &[&record.memory]).await?;
        }
        note(transaction, &member.name, act.unwrap_or("share"), &record.memory).await?;
        pushed.added += 1;
    }
    let sql = "UPDATE jikime.project SET last_seq = $1 WHERE id = jikime.current_project()";
    transaction.execute(sql, &[&seq]).await?;
    Ok(pushed)
}

/// Whether a member may add a record, or why not.
async fn may_add(
    transaction: &Transaction<'_>,
    member: &Member,
    record: &Record,
) -> Result<Result<(), String>, ServerError> {
    let sql = "SELECT act, author FROM jikime.record WHERE project = jikime.current_project() AND memory = $1";
    let known = transaction.query(sql, &[&record.memory]).await?;
    let is_forgotten = known.iter().any(|row| row.get::<_, Option<&str>>(0) == Some("forget"));
    let sharers =
        || known.iter().filter(|row| row.get::<_, Option<&str>>(0).is_none()).map(|row| row.get::<_, &str>(1));
    let is_own = sharers().any(|author| author == member.name);
    let may_decide = member.role >= Role::Approver;
    let refusal = match record.act {
        None if is_forgotten => Some("the team forgot it"),
        None => None,
        Some(_) if sharers().next().is_none() => Some("the server does not know the memory that it is about"),
        Some(TeamAction::Approve) if !may_decide => Some("only an approver may approve"),
        Some(TeamAction::Approve) => None,
        Some(TeamAction::Retire | TeamAction::Forget) if !is_own && !may_decide => {
            Some("only who shared it, or an approver, may do that")
        }
        Some(TeamAction::Retire | TeamAction::Forget) => None,
    };
    Ok(refusal.map_or(Ok(()), |why| Err(why.to_owned())))
}

/// Returns the records after a cursor, oldest first, without forgotten texts.
pub(super) async fn pull(transaction: &Transaction<'_>, cursor: Cursor) -> Result<Pulled, ServerError> {
    let sql = "SELECT FROM jikime.record WHERE project = jikime.current_project() AND seq = $1 AND key = $2";
    let is_known = cursor.after == 0 || transaction.query_opt(sql, &[&cursor.after, &cursor.key]).await?.is_some();
    let after = if is_known { cursor.after } else { 0 };
    let sql = "SELECT seq, key, author, line FROM jikime.record WHERE project = jikime.current_project() AND seq > $1 ORDER BY \
               seq LIMIT $2";
    let rows = transaction.query(sql, &[&after, &(LINES as i64)]).await?;
    let mut more = rows.len() == LINES;
    let (mut records, mut size) = (Vec::new(), 0);
    for row in &rows {
        let record = PulledRecord { seq: row.get(0), key: row.get(1), author: row.get(2), line: row.get(3) };
        size += record.line.len();
        if size > ANSWER && !records.is_empty() {
            more = true;
            break;
        }
        records.push(record);
    }
    Ok(Pulled { restarted: !is_known, records, more })
}

/// The key of a line in the file of an author.
pub(super) fn key_of(author: &str, line: &str) -> String {
    content_hash(&format!("{author}\n{line}"))
}

fn act_name(act: TeamAction) -> &'static str {
    match act {
        TeamAction::Approve => "approve",
        TeamAction::Retire => "retire",
        TeamAction::Forget => "forget",
    }
}
