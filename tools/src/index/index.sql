-- index.db: what is derived from Markdown and from the rows of memory.db. Rebuilt whenever its version differs.

CREATE TABLE files (
    path TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    mtime INTEGER NOT NULL,
    size INTEGER NOT NULL,
    indexed_at TEXT NOT NULL
);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL,
    path TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    text TEXT NOT NULL,
    hash TEXT NOT NULL,
    heading TEXT NOT NULL
);

CREATE INDEX chunks_by_path ON chunks (path);
CREATE INDEX chunks_by_uid ON chunks (uid);

-- How far the rows of memory.db have been taken in.
CREATE TABLE progress (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    instance TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    last_removed INTEGER NOT NULL
);
