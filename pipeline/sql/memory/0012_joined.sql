-- Topics that a night founded twice are joined, while the user has said nothing of them.

ALTER TABLE buckets ADD COLUMN ours INTEGER NOT NULL DEFAULT 0;  -- 1: founded by a night, and the user said nothing of it
ALTER TABLE buckets ADD COLUMN grown INTEGER NOT NULL DEFAULT 0; -- 1: chunks came since it was compared with the others
