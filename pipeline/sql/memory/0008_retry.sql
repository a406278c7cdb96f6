-- What second tries cost is told apart.

ALTER TABLE model_calls ADD COLUMN retry INTEGER NOT NULL DEFAULT 0; -- 1 for a second try or a later one
