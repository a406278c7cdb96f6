-- When an observation that goes on, a list of things to do, was last changed: what comes late, out
-- of a file in which it waited, must not undo it.

CREATE TABLE lists (
    observation_id   INTEGER PRIMARY KEY REFERENCES observations (id) ON DELETE CASCADE,
    changed_at_epoch INTEGER NOT NULL
);
