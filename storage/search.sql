-- Version 2: the full-text index over what was said; which texts a running process may still refer to although
-- they are old enough to be pruned; times as text in the log of what was pruned.
-- The index holds every three characters in a row of each text, folded by the function searchable (search.py), and
-- no text. It is filled in batches and reaches up to one entry; what came later is read row by row until then.
-- Who changes or deletes a message needs that function: phasewalk's own writing connections have it.

CREATE VIRTUAL TABLE message_index USING fts5 (
    text, content = '', detail = 'none', columnsize = 0, tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE message_indexed (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    upto_entry_id INTEGER NOT NULL
) STRICT;

INSERT INTO message_indexed (only, upto_entry_id) SELECT 1, coalesce(max(entry_id), 0) FROM message;

INSERT INTO message_index (rowid, text) SELECT entry_id, searchable(text) FROM message WHERE role <> 'tool';

CREATE TRIGGER message_added AFTER INSERT ON message
WHEN new.entry_id <= (SELECT upto_entry_id FROM message_indexed) AND new.role <> 'tool' BEGIN
    INSERT INTO message_index (rowid, text) VALUES (new.entry_id, searchable(new.text));
END;

CREATE TRIGGER message_deleted AFTER DELETE ON message
WHEN old.entry_id <= (SELECT upto_entry_id FROM message_indexed) AND old.role <> 'tool' BEGIN
    INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', old.entry_id, searchable(old.text));
END;

CREATE TRIGGER message_to_be_changed BEFORE UPDATE OF entry_id, role, text ON message
WHEN old.entry_id <= (SELECT upto_entry_id FROM message_indexed) AND old.role <> 'tool' BEGIN
    INSERT INTO message_index (message_index, rowid, text) VALUES ('delete', old.entry_id, searchable(old.text));
END;

CREATE TRIGGER message_changed AFTER UPDATE OF entry_id, role, text ON message
WHEN new.entry_id <= (SELECT upto_entry_id FROM message_indexed) AND new.role <> 'tool' BEGIN
    INSERT INTO message_index (rowid, text) VALUES (new.entry_id, searchable(new.text));
END;

CREATE TABLE payload_left (
    digest TEXT PRIMARY KEY,
    process_id INTEGER NOT NULL REFERENCES process (process_id)
) STRICT, WITHOUT ROWID;

ALTER TABLE prune_log ADD COLUMN
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL;

ALTER TABLE prune_log ADD COLUMN
    before TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', before_us / 1000000.0, 'unixepoch')) VIRTUAL;
