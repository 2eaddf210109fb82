//! Receiving and handing out the lines of the team's files.

use std::collections::{HashMap, HashSet};

use schema::log::{LogEntry, TEAM_FILE_LIMIT, TeamAction, TeamFile, render_shared};
use schema::model::memory::content_hash;
use schema::model::sharing::TAGS;
use schema::privacy::sanitizer::Sanitizer;
use serde_json::Value;
use tokio_postgres::Transaction;
use tools::engine::{TeamLine, personal_data};

use super::database::{Role, TeamMember};
use super::error::ServerError;
use crate::team_wire::{Cursor, MissingRequest, PullResponse, PulledRecord, PushRequest, PushResponse, RefusedLine};

/// The most lines of a request and of an answer, and bytes of an answer.
const LINES: usize = 500;
const ANSWER: usize = 2 * 1024 * 1024;

/// The most keys of a request.
const KEYS: usize = 5_000;

/// The most lines that a member may add in a day.
const LINES_A_DAY: i64 = 20_000;

/// The content of a line.
#[derive(Debug)]
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
        let (record, canonical, texts) = match (file.entries.as_slice(), file.notes.as_slice()) {
            ([LogEntry { memory, .. }], []) => {
                let tags = memory.attributes.metadata.get(TAGS).map(Value::to_string);
                let texts = [Some(memory.content.clone()), memory.attributes.also.clone(), tags];
                (Self { memory: memory.id.to_string(), act: None }, render_shared(memory), texts)
            }
            ([], [note]) => {
                (Self { memory: note.about.to_string(), act: Some(note.act) }, note.render(), Default::default())
            }
            _ => return Err("it is not a record".to_owned()),
        };
        // Other spellings of the same record could hide a text, and fields that nobody reads could hold one.
        if canonical.trim_end() != line {
            return Err("it is not a record as this program writes it".to_owned());
        }
        for text in texts.iter().flatten() {
            if sanitizer.redact(text).count > 0 {
                return Err("it has a secret".to_owned());
            }
            if let Some(what) = personal_data(text) {
                return Err(format!("it has {what}"));
            }
        }
        Ok(record)
    }
}

/// Returns which of these keys the project does not have.
pub(super) async fn missing(
    transaction: &Transaction<'_>,
    MissingRequest { keys }: MissingRequest,
) -> Result<Vec<String>, ServerError> {
    if keys.len() > KEYS {
        return Err(ServerError::Invalid(format!("at most {KEYS} keys at once")));
    }
    Ok(lacking_keys(transaction, &keys).await?.into_iter().collect())
}

async fn lacking_keys(transaction: &Transaction<'_>, keys: &[String]) -> Result<HashSet<String>, ServerError> {
    let sql = "SELECT key FROM unnest($1::text[]) AS asked (key) WHERE NOT EXISTS (SELECT FROM jikime.record WHERE project = \
               jikime.current_project() AND record.key = asked.key)";
    Ok(transaction.query(sql, &[&keys]).await?.iter().map(|row| row.get(0)).collect())
}

/// Adds lines to the file of a member. A line that is there already counts as taken. Lines that break a rule are refused one by one.
pub(super) async fn push(
    transaction: &Transaction<'_>,
    member: &TeamMember,
    PushRequest { lines }: PushRequest,
) -> Result<PushResponse, ServerError> {
    member.require(Role::Writer)?;
    if lines.len() > LINES {
        return Err(ServerError::Invalid(format!("at most {LINES} lines at once")));
    }
    let lines: Vec<TeamLine> = lines.into_iter().map(|line| TeamLine { author: member.name.clone(), line }).collect();
    let keys: Vec<String> = lines.iter().map(TeamLine::key).collect();
    let lacking = lacking_keys(transaction, &keys).await?;
    let sanitizer = Sanitizer::default();
    let (mut pushed, mut records) = (PushResponse::default(), Vec::new());
    for (number, line) in lines.iter().enumerate().filter(|(number, _)| lacking.contains(&keys[*number])) {
        match Record::read(&line.line, &sanitizer) {
            Ok(record) => records.push((number, record)),
            Err(why) => pushed.refused.push(RefusedLine { line: number, why }),
        }
    }

    // From here on others wait, so the numbers of records grow in the order in which they appear.
    let sql = "SELECT last_seq, last_chain FROM jikime.project WHERE id = jikime.current_project() FOR UPDATE";
    let last = transaction.query_one(sql, &[]).await?;
    let mut added = NewRecords { seq: last.get(0), chain: last.get(1), ..NewRecords::default() };
    let mut room = Room::of(transaction, member).await?;
    let mut lacking = lacking_keys(transaction, &keys).await?;
    let mut known = known_memories(transaction, &records).await?;
    for (number, record) in records {
        // Another request may have added it meanwhile, and a line may be there twice.
        if !lacking.remove(&keys[number]) {
            continue;
        }
        let of_memory = known.entry(record.memory.clone()).or_default();
        let line = lines[number].line.as_str();
        match of_memory.refusal(member, &record).or_else(|| room.take(line)) {
            Some(why) => pushed.refused.push(RefusedLine { line: number, why: why.to_owned() }),
            None => {
                of_memory.add(&member.name, record.act);
                added.add(record, &keys[number], line);
            }
        }
    }
    pushed.refused.sort_by_key(|refused| refused.line);
    pushed.added = added.lines.len();
    added.insert(transaction, member).await?;
    Ok(pushed)
}

/// How much a member may still add.
#[derive(Debug)]
struct Room {
    lines: i64,
    bytes: i64,
}

impl Room {
    async fn of(transaction: &Transaction<'_>, member: &TeamMember) -> Result<Self, ServerError> {
        let sql = "SELECT count(*) FILTER (WHERE received_at > now() - interval '1 day'), coalesce(sum(octet_length(line) + 1), \
                   0)::bigint FROM jikime.record WHERE project = jikime.current_project() AND author = $1";
        let row = transaction.query_one(sql, &[&member.name]).await?;
        // A heading comes before the lines.
        let file = TEAM_FILE_LIMIT as i64 - 1_024;
        Ok(Self { lines: LINES_A_DAY - row.get::<_, i64>(0), bytes: file - row.get::<_, i64>(1) })
    }

    /// Takes the room of a line, or returns why the line does not fit.
    fn take(&mut self, line: &str) -> Option<&'static str> {
        if self.lines <= 0 {
            return Some("too many lines in a day");
        }
        let bytes = line.len() as i64 + 1;
        if self.bytes < bytes {
            return Some("the member's file would be too large to be read");
        }
        self.lines -= 1;
        self.bytes -= bytes;
        None
    }
}

/// The records of a project about a memory.
#[derive(Debug, Default)]
struct KnownMemory {
    /// The member that shared it first.
    owner: Option<String>,
    is_forgotten: bool,
}

impl KnownMemory {
    fn add(&mut self, author: &str, act: Option<TeamAction>) {
        match act {
            None => drop(self.owner.get_or_insert_with(|| author.to_owned())),
            Some(act) => self.is_forgotten |= act == TeamAction::Forget,
        }
    }

    /// Why a member may not add a record about it.
    fn refusal(&self, member: &TeamMember, record: &Record) -> Option<&'static str> {
        let may_decide = member.role >= Role::Approver;
        match record.act {
            None if self.is_forgotten => Some("the team forgot it"),
            // The approval of a memory must not pass to a line with another successor or last day.
            None if self.owner.as_ref().is_some_and(|owner| *owner != member.name) => Some("somebody else shares it"),
            None => None,
            Some(_) if self.owner.is_none() => Some("the server does not know the memory that it is about"),
            Some(TeamAction::Approve) if !may_decide => Some("only an approver may approve"),
            Some(TeamAction::Retire | TeamAction::Forget)
                if !may_decide && self.owner.as_ref() != Some(&member.name) =>
            {
                Some("only its author or an approver may do that")
            }
            Some(_) => None,
        }
    }
}

/// Returns what the project has about the memories of some records.
async fn known_memories(
    transaction: &Transaction<'_>,
    records: &[(usize, Record)],
) -> Result<HashMap<String, KnownMemory>, ServerError> {
    let memories: Vec<&str> = records.iter().map(|(_, record)| record.memory.as_str()).collect();
    let sql = "SELECT memory, author, act FROM jikime.record WHERE project = jikime.current_project() AND memory = ANY ($1) ORDER BY \
               seq";
    let mut known: HashMap<String, KnownMemory> = HashMap::new();
    for row in transaction.query(sql, &[&memories]).await? {
        known.entry(row.get(0)).or_default().add(row.get(1), row.get::<_, Option<&str>>(2).and_then(act_of_name));
    }
    Ok(known)
}

/// Records to insert, as columns.
#[derive(Debug, Default)]
struct NewRecords<'l> {
    /// Those of the last record.
    seq: i64,
    chain: String,
    seqs: Vec<i64>,
    keys: Vec<&'l str>,
    chains: Vec<String>,
    memories: Vec<String>,
    acts: Vec<Option<&'static str>>,
    lines: Vec<&'l str>,
}

impl<'l> NewRecords<'l> {
    fn add(&mut self, record: Record, key: &'l str, line: &'l str) {
        self.seq += 1;
        self.chain = content_hash(&format!("{}{key}", self.chain));
        self.seqs.push(self.seq);
        self.keys.push(key);
        self.chains.push(self.chain.clone());
        self.memories.push(record.memory);
        self.acts.push(record.act.map(act_name));
        self.lines.push(line);
    }

    async fn insert(self, transaction: &Transaction<'_>, member: &TeamMember) -> Result<(), ServerError> {
        let Self { seq, chain, seqs, keys, chains, memories, acts, lines } = &self;
        if lines.is_empty() {
            return Ok(());
        }
        let sql = "INSERT INTO jikime.record (project, seq, author, key, chain, memory, act, line) SELECT \
                   jikime.current_project(), seq, $1, key, chain, memory, act, line FROM unnest($2::bigint[], $3::text[], \
                   $4::text[], $5::text[], $6::text[], $7::text[]) AS new (seq, key, chain, memory, act, line)";
        transaction.execute(sql, &[&member.name, seqs, keys, chains, memories, acts, lines]).await?;
        let sql = "UPDATE jikime.record SET line = '' WHERE project = jikime.current_project() AND act IS NULL AND memory IN \
                   (SELECT memory FROM unnest($1::text[], $2::text[]) AS new (memory, act) WHERE act = 'forget')";
        transaction.execute(sql, &[memories, acts]).await?;
        let sql = "INSERT INTO jikime.audit (project, member, act, about) SELECT jikime.current_project(), $1, coalesce(act, \
                   'share'), memory FROM unnest($2::text[], $3::text[]) AS new (memory, act)";
        transaction.execute(sql, &[&member.name, memories, acts]).await?;
        let sql = "UPDATE jikime.project SET last_seq = $1, last_chain = $2 WHERE id = jikime.current_project()";
        transaction.execute(sql, &[seq, chain]).await?;
        Ok(())
    }
}

/// Returns the records after a cursor, oldest first, without forgotten texts.
pub(super) async fn pull(transaction: &Transaction<'_>, cursor: Cursor) -> Result<PullResponse, ServerError> {
    let sql = "SELECT FROM jikime.record WHERE project = jikime.current_project() AND seq = $1 AND chain = $2";
    let is_known = cursor.after == 0 || transaction.query_opt(sql, &[&cursor.after, &cursor.chain]).await?.is_some();
    let after = if is_known { cursor.after } else { 0 };
    let sql = "SELECT seq, chain, author, line FROM jikime.record WHERE project = jikime.current_project() AND seq > $1 ORDER BY \
               seq LIMIT $2";
    let rows = transaction.query(sql, &[&after, &(LINES as i64)]).await?;
    let mut more = rows.len() == LINES;
    let (mut records, mut size) = (Vec::new(), 0);
    for row in &rows {
        let record = PulledRecord { seq: row.get(0), chain: row.get(1), author: row.get(2), line: row.get(3) };
        size += record.line.len();
        if size > ANSWER && !records.is_empty() {
            more = true;
            break;
        }
        records.push(record);
    }
    Ok(PullResponse { restarted: !is_known, records, more })
}

fn act_name(act: TeamAction) -> &'static str {
    match act {
        TeamAction::Approve => "approve",
        TeamAction::Retire => "retire",
        TeamAction::Forget => "forget",
    }
}

fn act_of_name(name: &str) -> Option<TeamAction> {
    [TeamAction::Approve, TeamAction::Retire, TeamAction::Forget].into_iter().find(|act| act_name(*act) == name)
}
