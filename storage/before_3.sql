-- What lets the questions of today be asked of a file of schema version 1 or 2, which is not written for that: what
-- version 3 brought, as far as the older rows tell it. Laid over the file for one connection only.

CREATE TEMP VIEW ignored_message AS
SELECT process_id, channel_id, reason, last_us - last_us % 3600000000 AS hour_us, count, last_us FROM main.ignored_message;

CREATE TEMP VIEW process AS SELECT *, NULL AS configuration_hash FROM main.process;

CREATE TEMP TABLE configuration (hash TEXT, body TEXT, first_seen_us INTEGER);
