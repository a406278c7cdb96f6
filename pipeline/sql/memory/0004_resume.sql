-- A grown file is read on from where it was left, if what stands before that is as it was.

ALTER TABLE source_files ADD COLUMN fingerprint TEXT NOT NULL DEFAULT ''; -- of the bytes before read_offset

-- Exports the user imported: files that are looked at again every night, like a source's own.
CREATE TABLE imported (
    path   TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    at     TEXT NOT NULL
);
