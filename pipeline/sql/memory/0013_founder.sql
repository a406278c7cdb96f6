-- Once a topic is joined to another, no chunk tells any more by which conversation it was named.

ALTER TABLE buckets ADD COLUMN founder TEXT NOT NULL DEFAULT ''; -- conversation that a night founded it by, '' if not known
