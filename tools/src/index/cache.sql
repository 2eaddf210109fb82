-- The part of index.db that is kept when the rest is rebuilt: vectors may have been paid for.

CREATE TABLE models (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    dims INTEGER NOT NULL,
    UNIQUE (provider, model, dims)
);

-- Vectors by text hash, so that no text is embedded twice. NULL: the model has no vector for the text; empty: the provider
-- rejects the text.
CREATE TABLE embedding_cache (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    model INTEGER NOT NULL REFERENCES models (id),
    embedding BLOB,
    created_at TEXT NOT NULL,
    -- The file whose passage had it last.
    path TEXT,
    UNIQUE (hash, model)
);
