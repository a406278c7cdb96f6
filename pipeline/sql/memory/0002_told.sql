-- What wikify and synthesize did once and, taken back by the user, do not do again.

-- Entries written to Talk pages, as read. One that is gone was settled.
CREATE TABLE told (
    stem  TEXT NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (stem, entry)
);

-- Sentences that went into others, which say the same: missing, but not deleted by the user. Where
-- the user took that back, it is not done again.
CREATE TABLE merged (
    stem   TEXT NOT NULL,
    text   TEXT NOT NULL,
    run    TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stem, text)
);

-- Sentences that led an article until another one was put in their place. One that leads again was
-- put back by the user.
CREATE TABLE led (
    stem TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (stem, text)
);
