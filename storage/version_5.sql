-- Version 5: jobs, which walk a turn when they are due, and what has been reminded of. A due time that came is owed until
-- a turn was opened for it, which is noted in the transaction that opens it: so that it is neither lost nor run twice.

CREATE TABLE job (
    job_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('one_off', 'recurring')),
    cron TEXT NOT NULL DEFAULT '',
    zone TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'done')),
    due_us INTEGER,
    owed_us INTEGER,
    last_due_us INTEGER,
    missed INTEGER NOT NULL DEFAULT 0,
    missed_us INTEGER,
    guild_id TEXT NOT NULL DEFAULT '',
    channel_id TEXT NOT NULL,
    channel_name TEXT NOT NULL DEFAULT '',
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL,
    families TEXT NOT NULL,
    created_us INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    due TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', due_us / 1000000.0, 'unixepoch')) VIRTUAL,
    owed TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', owed_us / 1000000.0, 'unixepoch')) VIRTUAL,
    last_due TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', last_due_us / 1000000.0, 'unixepoch')) VIRTUAL,
    missed_at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', missed_us / 1000000.0, 'unixepoch')) VIRTUAL,
    created TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', created_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((kind = 'recurring') = (cron <> '')),
    CHECK (state <> 'active' OR due_us IS NOT NULL)
) STRICT;

CREATE INDEX job_due ON job (due_us) WHERE state = 'active';

ALTER TABLE task ADD COLUMN reminded_us INTEGER;

ALTER TABLE task ADD COLUMN
    reminded TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', reminded_us / 1000000.0, 'unixepoch')) VIRTUAL;

-- What was due before anybody was reminded is not reminded of now, all at once.
UPDATE task SET reminded_us = due_us WHERE due_us <= unixepoch('now') * 1000000;

CREATE TRIGGER scheduled_turn AFTER INSERT ON turn WHEN NEW.kind = 'scheduled' BEGIN
    UPDATE job SET owed_us = NULL
        WHERE owed_us IS NOT NULL AND NEW.trigger_key = 'schedule:' || name || ':' || owed_us;
    UPDATE task SET reminded_us = NEW.started_us
        WHERE done_us IS NULL AND due_us IS NOT NULL AND NEW.trigger_key = 'schedule:task' || number || ':' || due_us;
END;

-- Turns whose end may leave an effect in doubt, so that what is in doubt is found without reading all of them.
CREATE INDEX turn_may_doubt ON turn (turn_id) WHERE outcome IN ('in_doubt', 'expired', 'cancelled');
