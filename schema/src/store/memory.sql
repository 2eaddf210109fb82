-- memory.db: what hooks and servers write. All of it but access counts is rebuilt from Markdown.

-- project_dir is empty: a store is of one project, which may be moved. content_hash has the first 32 digits of SHA-256. written_at is
-- when capture appended the entry, in milliseconds since 1970; it has none when the entry was read from the log. waiting is 1 while the
-- entry is in the spool because another program is writing the log, and 2 while it is there because another program wrote over it. phase,
-- settled_by, settled_at, repeats and repeated_at are derived from the notes about the memory; a memory that asks for something has no phase.
CREATE TABLE memories (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL,
    project_dir TEXT NOT NULL,
    type TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    metadata TEXT,
    importance INTEGER,
    pinned INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    origin TEXT,
    auto INTEGER NOT NULL DEFAULT 0,
    source TEXT,
    also TEXT,
    supersedes TEXT,
    path TEXT NOT NULL,
    created_at TEXT NOT NULL,
    utc_offset INTEGER NOT NULL,
    accessed_at TEXT,
    access_count INTEGER NOT NULL DEFAULT 0,
    written_at INTEGER,
    waiting INTEGER NOT NULL DEFAULT 0,
    phase TEXT,
    settled_by TEXT,
    settled_at TEXT,
    repeats INTEGER NOT NULL DEFAULT 0,
    repeated_at TEXT
);

CREATE INDEX memories_by_content ON memories (content_hash, created_at);
CREATE INDEX memories_by_session ON memories (session_id, created_at, type);
CREATE INDEX memories_by_time ON memories (created_at);
CREATE INDEX memories_by_type ON memories (type, created_at);
CREATE INDEX memories_by_path ON memories (path, written_at);
CREATE INDEX memories_waiting ON memories (waiting) WHERE waiting > 0;
CREATE INDEX memories_pinned ON memories (type, created_at) WHERE pinned > 0;
CREATE INDEX memories_by_supersedes ON memories (supersedes) WHERE supersedes IS NOT NULL;

-- The notes of the logs: changes of the states of memories. path is the log with the note, which may be another one than that of the memory.
-- value is JSON. position orders the notes of a log as they are in the file.
CREATE TABLE notes (
    about TEXT NOT NULL,
    at TEXT NOT NULL,
    change TEXT NOT NULL,
    value TEXT NOT NULL,
    path TEXT NOT NULL,
    utc_offset INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (about, at, change, value, path)
) WITHOUT ROWID;

CREATE INDEX notes_by_path ON notes (path, position);

-- What the full-text index has still to forget.
CREATE TABLE removed (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL
);

CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
    INSERT INTO removed (seq) VALUES (old.seq);
END;

-- Derived from the memories of a session: its title is the first prompt, tools counts changes and commands, duration is in seconds.
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    started_at TEXT NOT NULL,
    ended_at TEXT NOT NULL,
    duration INTEGER NOT NULL,
    title TEXT,
    prompts INTEGER NOT NULL,
    files TEXT NOT NULL,
    tools INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    summary TEXT
) WITHOUT ROWID;

CREATE INDEX sessions_by_end ON sessions (ended_at, started_at);

-- Of each log: its stamp when the rows above were in step with it, or a state of -1 with the size that it had last; the state after our
-- own last change; the mark of its last reading; and, in milliseconds since 1970, since when another program has been writing it, and when
-- another program had saved it last before our own last change.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    state INTEGER NOT NULL,
    size INTEGER NOT NULL,
    own_state INTEGER,
    reading TEXT NOT NULL DEFAULT '',
    read_at TEXT,
    disturbed_at INTEGER,
    saved_at INTEGER
);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Which database this is: an index made over another one starts anew.
INSERT INTO meta (key, value) VALUES ('instance', lower(hex(randomblob(8))));
