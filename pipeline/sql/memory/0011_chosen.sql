-- What the user put under a topic stays there when its conversation goes on: it is not cut again.

ALTER TABLE chunk_buckets ADD COLUMN chosen INTEGER NOT NULL DEFAULT 0; -- 1: by the user
