-- Version 3: messages that open no turn are counted by the hour, so that "everything is ignored since 2 o'clock" can
-- be said; the configuration of each process, so that what changed can be said; every instant of a table stands beside
-- itself as text; what the first screen asks is found by an index.

CREATE TABLE ignored_by_hour (
    process_id INTEGER NOT NULL REFERENCES process (process_id),
    channel_id TEXT NOT NULL,
    reason TEXT NOT NULL REFERENCES reason (code),
    hour_us INTEGER NOT NULL,
    count INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    hour TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', hour_us / 1000000.0, 'unixepoch')) VIRTUAL,
    last TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', last_us / 1000000.0, 'unixepoch')) VIRTUAL,
    PRIMARY KEY (hour_us, process_id, channel_id, reason)
) STRICT, WITHOUT ROWID;

INSERT INTO ignored_by_hour (process_id, channel_id, reason, hour_us, count, last_us)
SELECT process_id, channel_id, reason, last_us - last_us % 3600000000, count, last_us FROM ignored_message;

DROP TABLE ignored_message;

ALTER TABLE ignored_by_hour RENAME TO ignored_message;

CREATE INDEX fallback_stop ON fallback_step (turn_id) WHERE decision IN ('refused', 'exhausted');

CREATE INDEX payload_pruned ON payload (pruned_us) WHERE pruned_us IS NOT NULL;

DROP VIEW silent_turns;

CREATE VIEW silent_turns AS
SELECT t.turn_id, t.channel_id, t.channel_name, t.user_id, t.user_name, t.outcome, t.reason, t.reason_phase,
    t.trigger_message_id, t.started_us, t.started
FROM turn AS t
WHERE t.addressed = 1 AND t.ended_us IS NOT NULL AND t.outcome <> 'short_path' AND t.reply_message_id IS NULL
    AND NOT EXISTS (
        SELECT 1 FROM effects AS e
        WHERE e.turn_id = t.turn_id AND e.kind IN ('answer', 'notice', 'picture', 'visible_text') AND e.state = 'done');

ALTER TABLE process ADD COLUMN
    ended TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE machine ADD COLUMN
    first_seen TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', first_seen_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE contract ADD COLUMN
    first_seen TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', first_seen_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE payload ADD COLUMN
    pruned TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', pruned_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE turn ADD COLUMN
    deadline TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', deadline_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE turn ADD COLUMN
    lease_until TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', lease_until_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE attempt ADD COLUMN
    ended TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE tool_call ADD COLUMN
    ended TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE message ADD COLUMN
    trimmed TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', trimmed_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE note ADD COLUMN
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE fact ADD COLUMN
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE task ADD COLUMN
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE task ADD COLUMN
    done TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', done_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE circuit ADD COLUMN
    cleared TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', cleared_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE circuit ADD COLUMN
    probe_until TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', probe_until_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE approval ADD COLUMN
    approved TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', approved_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE approval ADD COLUMN
    used TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', used_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE log_loss ADD COLUMN
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL;

CREATE TABLE configuration (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    first_seen_us INTEGER NOT NULL,
    first_seen TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', first_seen_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT, WITHOUT ROWID;

ALTER TABLE process ADD COLUMN configuration_hash TEXT REFERENCES configuration (hash);
