-- What changed since it was last written to the journal beside the archive; triggers keep it.

CREATE TABLE journal_marks (
    tab TEXT NOT NULL,
    key TEXT NOT NULL,                    -- JSON list: the primary key of the row
    PRIMARY KEY (tab, key)
) WITHOUT ROWID;

CREATE TABLE journal_number (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL               -- of the newest journal file this database wrote
);
INSERT INTO journal_number VALUES (1, 0);

-- What the user had forgotten, so that it is not read from the source again: hashes alone.
CREATE TABLE forgotten (
    hash TEXT PRIMARY KEY,                -- of a session's source and id, or a message's id
    at   TEXT NOT NULL
);

-- Conversations that are being forgotten: what a kill interrupts is finished the next time.
CREATE TABLE forgetting (
    conv TEXT PRIMARY KEY
);
