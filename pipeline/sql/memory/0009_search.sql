-- Who asks for "storing" means "stored" too: words are indexed by their stems.

DROP TABLE messages_fts;
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    text, content='messages', content_rowid='rowid',
    tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO messages_fts (messages_fts) VALUES ('rebuild');

DROP TABLE claims_fts;
CREATE VIRTUAL TABLE claims_fts USING fts5 (
    text, content='claims', content_rowid='rowid',
    tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO claims_fts (claims_fts) VALUES ('rebuild');
