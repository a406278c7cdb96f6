-- Messages go into their index together once those of a conversation are written: from a trigger
-- FTS5 writes a segment for every single one, which takes several times as long.

DROP TRIGGER messages_fts_insert;
