-- Held drafts are decided by the user; what was published can be taken back.

ALTER TABLE holds ADD COLUMN bucket TEXT NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN chunks TEXT NOT NULL DEFAULT '[]'; -- JSON: not drafted again while it is open
ALTER TABLE holds ADD COLUMN at TEXT NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN decided_at TEXT NOT NULL DEFAULT ''; -- decided: '', accepted, rejected, dropped, stale

ALTER TABLE changes ADD COLUMN undone INTEGER NOT NULL DEFAULT 0; -- 1 once the user took it back

-- What the user has against drafts on a topic, in their words: shown to later drafts.
CREATE TABLE objections (
    id     INTEGER PRIMARY KEY,
    bucket TEXT NOT NULL,
    reason TEXT NOT NULL,
    at     TEXT NOT NULL
);
CREATE INDEX objections_bucket ON objections (bucket);
