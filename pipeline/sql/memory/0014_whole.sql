-- A file in which a secret was met, or a message that has neither a time nor an id, is read whole from now on: in the part
-- that is read on, what was said before it would not be known. Which files those are nobody noted, so each is read once.

UPDATE source_files SET fingerprint = '';
