-- Version 4: what a bot that runs for weeks keeps between its starts: whether it is paused, and up to which message it
-- has heard each channel. Turns say how often they were claimed.

CREATE TABLE runner_flag (
    name TEXT PRIMARY KEY CHECK (name IN ('paused')),
    since_us INTEGER NOT NULL,
    set_by TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    since TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', since_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT, WITHOUT ROWID;

CREATE TABLE channel_cursor (
    channel_id TEXT PRIMARY KEY,
    guild_id TEXT NOT NULL DEFAULT '',
    channel_name TEXT NOT NULL DEFAULT '',
    message_id TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT, WITHOUT ROWID;
