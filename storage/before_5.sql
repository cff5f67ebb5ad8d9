-- What version 5 brought, for a file that is older: there were no jobs. Laid over the file for one connection only.

CREATE TEMP TABLE job (
    job_id INTEGER, name TEXT, kind TEXT, cron TEXT, zone TEXT, state TEXT, due_us INTEGER, owed_us INTEGER,
    last_due_us INTEGER, missed INTEGER, missed_us INTEGER, guild_id TEXT, channel_id TEXT, channel_name TEXT,
    user_id TEXT, user_name TEXT, text TEXT, families TEXT, created_us INTEGER, created_by TEXT, due TEXT, owed TEXT,
    last_due TEXT, missed_at TEXT, created TEXT
);
