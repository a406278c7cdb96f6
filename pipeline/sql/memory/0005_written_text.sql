-- A sentence the user deleted is looked for under every topic.

CREATE INDEX written_sentences_text ON written_sentences (text);
