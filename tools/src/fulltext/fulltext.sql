-- The full-text index: terms of documents, in segments that are written once and merged into larger ones.

-- Documents by an ascending number, so that segments never overlap.
CREATE TABLE IF NOT EXISTS fulltext_documents (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL UNIQUE,
    -- Tokens, title and body together.
    length INTEGER NOT NULL
);

CREATE TABLE IF NOT EXISTS fulltext_totals (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    documents INTEGER NOT NULL,
    tokens INTEGER NOT NULL
);

INSERT OR IGNORE INTO fulltext_totals VALUES (1, 0, 0);

CREATE TABLE IF NOT EXISTS fulltext_segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The numbers of its documents lie between these two, inclusively.
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    documents INTEGER NOT NULL,
    -- 0: being merged from those in between; 1: searched; 2: merged into another, about to be deleted.
    state INTEGER NOT NULL
);

-- Posting lists of a segment's terms; list.rs has the format. Clustered by segment, so that a new one is written in one place.
CREATE TABLE IF NOT EXISTS fulltext_postings (
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    count INTEGER NOT NULL,
    list BLOB NOT NULL,
    PRIMARY KEY (segment, term)
) WITHOUT ROWID;

-- Removed documents that are still in their segment. A merge marks those that it drops with its segment.
CREATE TABLE IF NOT EXISTS fulltext_removed (
    number INTEGER PRIMARY KEY,
    merge INTEGER
);
