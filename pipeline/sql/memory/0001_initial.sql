-- memory.sqlite: derived state; the archive and the vault's commits can rebuild it.
-- Times are ISO 8601 UTC with milliseconds ("2000-01-01T00:00:00.000Z"), so they sort as text.

CREATE TABLE conversations (
    conv         TEXT PRIMARY KEY,
    source       TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    title        TEXT NOT NULL,
    project      TEXT NOT NULL,
    started_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    chunked_at   TEXT,                    -- updated_at as it was when last chunked; NULL = never
    content_hash TEXT NOT NULL,
    archived_at  TEXT,
    UNIQUE (source, session_id)
);
CREATE INDEX conversations_updated ON conversations (updated_at);

CREATE TABLE messages (
    conv       TEXT NOT NULL REFERENCES conversations (conv) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    message_id TEXT NOT NULL UNIQUE,
    role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    at         TEXT NOT NULL,
    text       TEXT NOT NULL,
    actions    TEXT NOT NULL DEFAULT '[]',
    project    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (conv, position)
);

CREATE TABLE source_files (
    path        TEXT PRIMARY KEY,
    source      TEXT NOT NULL,
    size        INTEGER NOT NULL,
    mtime_ns    INTEGER NOT NULL,
    read_offset INTEGER NOT NULL DEFAULT 0,
    conv        TEXT,
    failures    INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT NOT NULL DEFAULT ''
);

CREATE TABLE watermarks (
    source     TEXT PRIMARY KEY,
    cursor     TEXT NOT NULL,             -- time of the newest message read from this source
    updated_at TEXT NOT NULL
);

CREATE TABLE chunks (
    id      TEXT PRIMARY KEY,             -- hash over its message ids
    conv    TEXT NOT NULL REFERENCES conversations (conv) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    first   INTEGER NOT NULL,
    last    INTEGER NOT NULL,
    label   TEXT NOT NULL,
    keep    INTEGER NOT NULL,
    project TEXT NOT NULL DEFAULT '',
    claimed INTEGER NOT NULL DEFAULT 0,   -- 1 once its claims were extracted, also when there were none
    clustered INTEGER NOT NULL DEFAULT 0, -- 1 once it was routed, also when to nowhere
    UNIQUE (conv, first)
);

CREATE TABLE buckets (
    name        TEXT PRIMARY KEY,
    article     TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    aliases     TEXT NOT NULL DEFAULT '[]',
    state       TEXT NOT NULL CHECK (state IN ('captured', 'article', 'ignored', 'merged')),
    merged_into TEXT NOT NULL DEFAULT '',
    created_at  TEXT NOT NULL
);

CREATE TABLE chunk_buckets (
    chunk_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    bucket   TEXT NOT NULL REFERENCES buckets (name) ON UPDATE CASCADE,
    score    REAL NOT NULL,
    PRIMARY KEY (chunk_id, bucket)
);
CREATE INDEX chunk_buckets_bucket ON chunk_buckets (bucket);

CREATE TABLE claims (
    id             TEXT PRIMARY KEY,
    chunk_id       TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    ordinal        INTEGER NOT NULL,
    text           TEXT NOT NULL,
    messages       TEXT NOT NULL,         -- JSON list of positions
    kind           TEXT NOT NULL,
    support        REAL NOT NULL,
    dropped_reason TEXT NOT NULL DEFAULT '',
    UNIQUE (chunk_id, ordinal)
);

-- A chunk is folded into a bucket's article once. No reference to chunks: the ledger outlives them.
CREATE TABLE synthesized_bucket_chunks (
    bucket   TEXT NOT NULL,
    chunk_id TEXT NOT NULL,
    run      TEXT NOT NULL,
    article  TEXT NOT NULL,
    "commit" TEXT NOT NULL,               -- '' when nothing had to be written
    outcome  TEXT NOT NULL,               -- 'folded' or 'nothing new'
    at       TEXT NOT NULL,
    PRIMARY KEY (bucket, chunk_id)
);

CREATE TABLE attempts (
    stage       TEXT NOT NULL,
    job         TEXT NOT NULL,
    count       INTEGER NOT NULL,
    last_reason TEXT NOT NULL,
    next_try_at TEXT NOT NULL,
    parked      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stage, job)
);

CREATE TABLE holds (
    id              INTEGER PRIMARY KEY,
    run             TEXT NOT NULL,
    article         TEXT NOT NULL,
    draft           TEXT NOT NULL,
    reasons         TEXT NOT NULL,
    decided         TEXT NOT NULL DEFAULT '',
    decision_reason TEXT NOT NULL DEFAULT ''
);

CREATE TABLE articles (
    stem         TEXT PRIMARY KEY,
    written_hash TEXT NOT NULL,           -- sha256 of the bytes we last wrote
    run          TEXT NOT NULL,
    linked       INTEGER NOT NULL DEFAULT 0 -- 1 once wikify has seen these bytes
);

-- Words of an article as of each night it changed: the floor looks back, so it cannot compound.
CREATE TABLE article_words (
    stem  TEXT NOT NULL,
    run   TEXT NOT NULL,
    at    TEXT NOT NULL,
    words TEXT NOT NULL,                  -- JSON: section heading -> words, "" = lead
    PRIMARY KEY (stem, run)
);

-- Sentences as the pipeline wrote them: one that still stands so is ours to supersede, one that is
-- gone was deleted by the user and must not come back.
CREATE TABLE written_sentences (
    stem TEXT NOT NULL,
    text TEXT NOT NULL,                   -- without footnote marks
    run  TEXT NOT NULL,
    PRIMARY KEY (stem, text)
);

-- Written before the page is touched, removed with the ledger rows: what a killed run was about to
-- publish.
CREATE TABLE intents (
    id       INTEGER PRIMARY KEY,
    run      TEXT NOT NULL,
    file     TEXT NOT NULL,               -- JSON: {path, before_hash, content}
    subject  TEXT NOT NULL,
    trailers TEXT NOT NULL,               -- JSON object
    folding  TEXT NOT NULL                -- JSON: what the ledger gets once it is committed
);

CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    started_at   TEXT NOT NULL,
    finished_at  TEXT,
    status       TEXT NOT NULL,           -- running, done, nothing, partial, stopped, failed, interrupted
    model        TEXT NOT NULL,
    prompts      TEXT NOT NULL,           -- JSON: prompt name -> digest
    vault_before TEXT NOT NULL DEFAULT '',
    vault_after  TEXT NOT NULL DEFAULT '',
    results      TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE changes (
    id       INTEGER PRIMARY KEY,
    run      TEXT NOT NULL,
    article  TEXT NOT NULL,
    "commit" TEXT NOT NULL,
    change   TEXT NOT NULL,               -- JSON of records.Change
    reported INTEGER NOT NULL DEFAULT 0   -- 1 once it stands in the changelog
);

CREATE TABLE model_calls (
    run           TEXT NOT NULL,
    stage         TEXT NOT NULL,
    purpose       TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds       REAL NOT NULL,
    finish        TEXT NOT NULL
);
CREATE INDEX model_calls_run ON model_calls (run);

CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content='messages', content_rowid='rowid', tokenize='unicode61 remove_diacritics 2'
);
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, text) VALUES (new.rowid, new.text);
END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
END;
CREATE TRIGGER messages_fts_update AFTER UPDATE OF text ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
    INSERT INTO messages_fts (rowid, text) VALUES (new.rowid, new.text);
END;

CREATE VIRTUAL TABLE chunks_fts USING fts5 (
    label, content='chunks', content_rowid='rowid', tokenize='unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunks_fts_insert AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts (rowid, label) VALUES (new.rowid, new.label);
END;
CREATE TRIGGER chunks_fts_delete AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, label) VALUES ('delete', old.rowid, old.label);
END;
CREATE TRIGGER chunks_fts_update AFTER UPDATE OF label ON chunks BEGIN
    INSERT INTO chunks_fts (chunks_fts, rowid, label) VALUES ('delete', old.rowid, old.label);
    INSERT INTO chunks_fts (rowid, label) VALUES (new.rowid, new.label);
END;

CREATE VIRTUAL TABLE claims_fts USING fts5 (
    text, content='claims', content_rowid='rowid', tokenize='unicode61 remove_diacritics 2'
);
CREATE TRIGGER claims_fts_insert AFTER INSERT ON claims BEGIN
    INSERT INTO claims_fts (rowid, text) VALUES (new.rowid, new.text);
END;
CREATE TRIGGER claims_fts_delete AFTER DELETE ON claims BEGIN
    INSERT INTO claims_fts (claims_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
END;
CREATE TRIGGER claims_fts_update AFTER UPDATE OF text ON claims BEGIN
    INSERT INTO claims_fts (claims_fts, rowid, text) VALUES ('delete', old.rowid, old.text);
    INSERT INTO claims_fts (rowid, text) VALUES (new.rowid, new.text);
END;
