-- Times: created_at and ended_at are ISO 8601 in UTC, created_at_epoch is in milliseconds.
-- AUTOINCREMENT, so that an id once cited never comes to name another row.

CREATE TABLE sessions (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    claude_session_id    TEXT UNIQUE,
    request              TEXT NOT NULL DEFAULT '',
    summary              TEXT NOT NULL DEFAULT '',
    project              TEXT NOT NULL DEFAULT '',
    branch               TEXT NOT NULL DEFAULT '',
    worktree             TEXT NOT NULL DEFAULT '',
    linear_issue         TEXT,
    context_peak_percent REAL,
    checkpoint_triggered INTEGER NOT NULL DEFAULT 0,
    created_at           TEXT NOT NULL,
    ended_at             TEXT
);
CREATE INDEX sessions_by_project ON sessions (project);
CREATE INDEX sessions_by_linear_issue ON sessions (linear_issue);
CREATE INDEX sessions_by_created_at ON sessions (created_at);

CREATE TABLE checkpoints (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id        INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    level             TEXT NOT NULL CHECK (level IN ('L1', 'L2', 'L3')),
    context_percent   REAL,
    trigger           TEXT NOT NULL
                      CHECK (trigger IN ('automatic', 'manual', 'ralph', 'auto-compact')),
    handoff_file      TEXT,
    resume_summary    TEXT NOT NULL DEFAULT '',
    files_in_progress TEXT NOT NULL DEFAULT '[]',  -- [{"path": …, "lines": …}]
    current_task      TEXT NOT NULL DEFAULT '',
    task_progress     TEXT NOT NULL DEFAULT '',
    linear_issue      TEXT,
    created_at        TEXT NOT NULL
);
CREATE INDEX checkpoints_by_session ON checkpoints (session_id);
CREATE INDEX checkpoints_by_linear_issue ON checkpoints (linear_issue);
CREATE INDEX checkpoints_by_created_at ON checkpoints (created_at);

CREATE TABLE observations (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    type             TEXT NOT NULL,
    title            TEXT NOT NULL,
    subtitle         TEXT NOT NULL DEFAULT '',
    content          TEXT NOT NULL DEFAULT '',
    file_path        TEXT NOT NULL DEFAULT '',     -- the first of files
    files            TEXT NOT NULL DEFAULT '[]',
    concepts         TEXT NOT NULL DEFAULT '[]',
    project          TEXT NOT NULL DEFAULT '',
    session_id       INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    checkpoint_id    INTEGER REFERENCES checkpoints (id) ON DELETE SET NULL,
    linear_issue     TEXT,
    tokens_read      INTEGER NOT NULL DEFAULT 0,   -- that reading it whole takes
    tokens_work      INTEGER NOT NULL DEFAULT 0,   -- that finding it out took, 0 if unknown
    content_hash     TEXT NOT NULL,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL
);
CREATE INDEX observations_by_type ON observations (type, created_at_epoch);
CREATE INDEX observations_by_project ON observations (project);
CREATE INDEX observations_by_session ON observations (session_id, created_at_epoch);
CREATE INDEX observations_by_checkpoint ON observations (checkpoint_id);
CREATE INDEX observations_by_linear_issue ON observations (linear_issue, created_at_epoch);
CREATE INDEX observations_by_created_at_epoch ON observations (created_at_epoch);

CREATE TABLE ralph_iterations (
    id                   INTEGER PRIMARY KEY AUTOINCREMENT,
    ralph_session_id     TEXT NOT NULL,
    iteration            INTEGER NOT NULL,
    context_peak_percent REAL,
    checkpoint_triggered INTEGER NOT NULL DEFAULT 0,
    checkpoint_id        INTEGER REFERENCES checkpoints (id) ON DELETE SET NULL,
    todo_items_start     INTEGER,
    todo_items_end       INTEGER,
    items_completed      TEXT NOT NULL DEFAULT '[]',
    status               TEXT NOT NULL CHECK (status IN ('completed', 'checkpoint', 'error')),
    created_at           TEXT NOT NULL,
    ended_at             TEXT,
    UNIQUE (ralph_session_id, iteration)
);
CREATE INDEX ralph_iterations_by_checkpoint ON ralph_iterations (checkpoint_id);
CREATE INDEX ralph_iterations_by_created_at ON ralph_iterations (created_at);

CREATE TABLE prompts (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER REFERENCES sessions (id) ON DELETE SET NULL,
    prompt     TEXT NOT NULL,
    project    TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL
);
CREATE INDEX prompts_by_session ON prompts (session_id);
CREATE INDEX prompts_by_project ON prompts (project);
CREATE INDEX prompts_by_created_at ON prompts (created_at);

CREATE VIRTUAL TABLE observations_fts USING fts5 (
    title, subtitle, content, file_path, concepts,
    content = 'observations', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2',
    prefix = '2 3'
);
-- A word in the title tells more of what it is about than one in the text.
INSERT INTO observations_fts (observations_fts, rank)
VALUES ('rank', 'bm25(8.0, 4.0, 1.0, 4.0, 2.0)');

CREATE VIRTUAL TABLE sessions_fts USING fts5 (
    request, summary,
    content = 'sessions', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE prompts_fts USING fts5 (
    prompt,
    content = 'prompts', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);

CREATE TRIGGER observations_inserted AFTER INSERT ON observations BEGIN
    INSERT INTO observations_fts (rowid, title, subtitle, content, file_path, concepts)
    VALUES (new.id, new.title, new.subtitle, new.content, new.file_path, new.concepts);
END;
CREATE TRIGGER observations_deleted AFTER DELETE ON observations BEGIN
    INSERT INTO observations_fts
        (observations_fts, rowid, title, subtitle, content, file_path, concepts)
    VALUES ('delete', old.id, old.title, old.subtitle, old.content, old.file_path, old.concepts);
END;
CREATE TRIGGER observations_updated
AFTER UPDATE OF title, subtitle, content, file_path, concepts ON observations BEGIN
    INSERT INTO observations_fts
        (observations_fts, rowid, title, subtitle, content, file_path, concepts)
    VALUES ('delete', old.id, old.title, old.subtitle, old.content, old.file_path, old.concepts);
    INSERT INTO observations_fts (rowid, title, subtitle, content, file_path, concepts)
    VALUES (new.id, new.title, new.subtitle, new.content, new.file_path, new.concepts);
END;

CREATE TRIGGER sessions_inserted AFTER INSERT ON sessions BEGIN
    INSERT INTO sessions_fts (rowid, request, summary) VALUES (new.id, new.request, new.summary);
END;
CREATE TRIGGER sessions_deleted AFTER DELETE ON sessions BEGIN
    INSERT INTO sessions_fts (sessions_fts, rowid, request, summary)
    VALUES ('delete', old.id, old.request, old.summary);
END;
CREATE TRIGGER sessions_updated AFTER UPDATE OF request, summary ON sessions BEGIN
    INSERT INTO sessions_fts (sessions_fts, rowid, request, summary)
    VALUES ('delete', old.id, old.request, old.summary);
    INSERT INTO sessions_fts (rowid, request, summary) VALUES (new.id, new.request, new.summary);
END;

CREATE TRIGGER prompts_inserted AFTER INSERT ON prompts BEGIN
    INSERT INTO prompts_fts (rowid, prompt) VALUES (new.id, new.prompt);
END;
CREATE TRIGGER prompts_deleted AFTER DELETE ON prompts BEGIN
    INSERT INTO prompts_fts (prompts_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);
END;
CREATE TRIGGER prompts_updated AFTER UPDATE OF prompt ON prompts BEGIN
    INSERT INTO prompts_fts (prompts_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt);
    INSERT INTO prompts_fts (rowid, prompt) VALUES (new.id, new.prompt);
END;
