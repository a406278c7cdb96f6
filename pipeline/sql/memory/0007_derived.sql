-- What was worked out from a text, so that a night does not read what did not change.

CREATE TABLE derived (
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    digest TEXT NOT NULL,            -- sha256 of the text
    stamp  TEXT NOT NULL DEFAULT '', -- of the file it was read from
    value  BLOB NOT NULL,
    PRIMARY KEY (kind, name)
);

-- What is left to do, and what stands beside a chunk or an article, is found without a look at the
-- rest of what was ever done.
CREATE INDEX chunks_to_cluster ON chunks (conv) WHERE clustered = 0;
CREATE INDEX chunks_to_claim ON chunks (conv) WHERE claimed = 0;
CREATE INDEX conversations_to_chunk ON conversations (updated_at)
    WHERE chunked_at IS NULL OR updated_at > chunked_at;
CREATE INDEX synthesized_chunk ON synthesized_bucket_chunks (chunk_id);
CREATE INDEX synthesized_article ON synthesized_bucket_chunks (article);
CREATE INDEX changes_article ON changes (article);
