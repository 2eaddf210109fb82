-- index.db: what is derived from Markdown and from the rows of memory.db. Rebuilt when its version or a table differs.

CREATE TABLE files (
    path TEXT PRIMARY KEY,
    -- Of its text; or in which edition a log in step with its rows held no prose.
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

-- The last indexed row of memory.db.
CREATE TABLE progress (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    instance TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    last_removed INTEGER NOT NULL,
    -- Whose vectors `embeddings` has; 0 when nobody makes any.
    model INTEGER NOT NULL
);

-- Candidates of a review: pairs of `memories.seq`, which are the same number for a memory alone.
CREATE TABLE review_candidates (
    pass TEXT NOT NULL,
    newer INTEGER NOT NULL,
    older INTEGER NOT NULL,
    PRIMARY KEY (pass, newer, older)
) WITHOUT ROWID;

-- Keys of the words of memories: texts with similar words have one in common. See `engine/review/similar_texts.rs`.
CREATE TABLE review_keys (
    key INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (key, seq)
) WITHOUT ROWID;

-- The last memory that a pass of the review examined, and by which rules.
CREATE TABLE review_progress (
    pass TEXT PRIMARY KEY,
    rules TEXT NOT NULL,
    last_seq INTEGER NOT NULL
) WITHOUT ROWID;

-- Vectors of documents. Numbers are never reused, so that readers can find new ones.
CREATE TABLE embeddings (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL UNIQUE,
    embedding INTEGER NOT NULL REFERENCES embedding_cache (id),
    -- The script of most of its letters: texts of one script are alike, and nearness is measured among them.
    script INTEGER NOT NULL
);

CREATE INDEX embeddings_by_embedding ON embeddings (embedding);

-- Documents queued for a vector.
CREATE TABLE unembedded (document INTEGER PRIMARY KEY);

-- Documents that lost their vector; NULL means all.
CREATE TABLE unvectored (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER
);

-- Vectors in blocks, ready to compare: those of `embeddings` up to `last_seq`, minus those in `unvectored` after `last_removed`.
-- Little-endian.
CREATE TABLE vector_blocks (
    id INTEGER PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    last_removed INTEGER NOT NULL,
    documents BLOB NOT NULL,
    scripts BLOB NOT NULL,
    scales BLOB NOT NULL,
    bytes BLOB NOT NULL
);
