-- What version 4 brought, for a file that is older: nothing was paused, and no channel had a cursor. Laid over the file
-- for one connection only.

CREATE TEMP TABLE runner_flag (name TEXT, since_us INTEGER, set_by TEXT, note TEXT, since TEXT);

CREATE TEMP TABLE channel_cursor (
    channel_id TEXT, guild_id TEXT, channel_name TEXT, message_id TEXT, at_us INTEGER, at TEXT
);
