-- The full text: which documents hold which terms, in segments that are written once and merged into larger ones.

-- The documents by a number of their own, which only grows: no two segments overlap.
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

-- How strongly a term occurs in the documents of a segment (list.rs has the form). Ordered by segment, so that a new one is
-- written in one place.
CREATE TABLE IF NOT EXISTS fulltext_postings (
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    count INTEGER NOT NULL,
    list BLOB NOT NULL,
    PRIMARY KEY (segment, term)
) WITHOUT ROWID;

-- Documents that are gone but still in their segment. Those a merge leaves out are marked with its segment.
CREATE TABLE IF NOT EXISTS fulltext_removed (
    number INTEGER PRIMARY KEY,
    merge INTEGER
);
