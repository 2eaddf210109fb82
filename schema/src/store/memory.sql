-- memory.db: what hooks and servers write. All of it but access counts is rebuilt from Markdown.

-- project_dir is empty: a store is of one project, which may be moved. content_hash has the first 32 digits of SHA-256, or, in rows that
-- were written before, all 64.
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
    origin TEXT,
    supersedes TEXT,
    path TEXT NOT NULL,
    created_at TEXT NOT NULL,
    utc_offset INTEGER NOT NULL,
    accessed_at TEXT,
    access_count INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX memories_by_content ON memories (content_hash, created_at);
CREATE INDEX memories_by_session ON memories (session_id, created_at, type);
CREATE INDEX memories_by_time ON memories (created_at);
CREATE INDEX memories_by_type ON memories (type, created_at);
CREATE INDEX memories_by_path ON memories (path);
CREATE INDEX memories_by_supersedes ON memories (supersedes) WHERE supersedes IS NOT NULL;

-- Where in its file each memory stands: its lines, less what its section has moved.
CREATE TABLE places (
    seq INTEGER PRIMARY KEY,
    section INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL
);

CREATE INDEX places_by_line ON places (section, start_line);

-- The memories of one type in one file, which mostly stand together. What is put before all of them moves all by one change.
CREATE TABLE sections (
    section INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    holds TEXT NOT NULL,
    moved INTEGER NOT NULL DEFAULT 0,
    UNIQUE (file, holds)
);

-- What was put between the entries of a log lately: lines from the first on moved by so many. Who has just read the log as it was before
-- moves what it read as well.
CREATE TABLE shifts (
    file TEXT NOT NULL,
    generation INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    PRIMARY KEY (file, generation)
) WITHOUT ROWID;

-- What the full-text index has still to forget.
CREATE TABLE removed (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    seq INTEGER NOT NULL
);

CREATE TRIGGER memory_removed AFTER DELETE ON memories BEGIN
    INSERT INTO removed (seq) VALUES (old.seq);
    DELETE FROM places WHERE seq = old.seq;
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

-- The logs whose entries the rows above are in step with.
CREATE TABLE files (
    path TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    mtime INTEGER NOT NULL,
    size INTEGER NOT NULL,
    indexed_at TEXT NOT NULL
);

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

-- Which database this is: an index made over another one starts anew.
INSERT INTO meta (key, value) VALUES ('instance', lower(hex(randomblob(8))));
