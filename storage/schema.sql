-- The log, version 1. One file tells the whole story of every turn; see views.sql for the questions.
-- Times: *_us are microseconds since the epoch, beside each stands the same as ISO text; mono_ns is monotonic.
-- Ids of Discord are strings of digits.

CREATE TABLE reason (
    code TEXT PRIMARY KEY,
    severity TEXT NOT NULL CHECK (severity IN ('info', 'warning', 'error')),
    meaning TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE process (
    process_id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    pid_started TEXT NOT NULL DEFAULT '',
    command TEXT NOT NULL,
    version TEXT NOT NULL,
    started_us INTEGER NOT NULL,
    heartbeat_us INTEGER NOT NULL,
    ended_us INTEGER,
    end_reason TEXT,
    started TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', started_us / 1000000.0, 'unixepoch')) VIRTUAL,
    heartbeat TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', heartbeat_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((ended_us IS NULL) = (end_reason IS NULL))
) STRICT;

CREATE TABLE machine (
    hash TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    first_seen_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE contract (
    hash TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    first_seen_us INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE payload (
    digest TEXT PRIMARY KEY,
    chars INTEGER NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('utf-8', 'zlib-1')),
    body BLOB,
    pruned_us INTEGER,
    CHECK ((body IS NULL) = (pruned_us IS NOT NULL))
) STRICT;

CREATE TABLE turn (
    turn_id TEXT PRIMARY KEY,
    machine TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('user', 'scheduled', 'idle', 'pass')),
    trigger_key TEXT NOT NULL UNIQUE,
    guild_id TEXT NOT NULL DEFAULT '',
    channel_id TEXT NOT NULL,
    channel_name TEXT NOT NULL DEFAULT '',
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL DEFAULT '',
    trigger_message_id TEXT NOT NULL DEFAULT '',
    reply_message_id TEXT,
    text_digest TEXT,
    started_us INTEGER NOT NULL,
    deadline_us INTEGER NOT NULL,
    ended_us INTEGER,
    phase TEXT NOT NULL,
    outcome TEXT CHECK (outcome IN ('answered', 'silent', 'short_path', 'refused', 'unavailable', 'unclear', 'stopped',
        'partial', 'undelivered', 'expired', 'cancelled', 'in_doubt', 'abandoned', 'completed', 'nothing_to_do')),
    reason TEXT REFERENCES reason (code),
    reason_phase TEXT,
    first_reason TEXT REFERENCES reason (code),
    attempts INTEGER NOT NULL DEFAULT 0,
    rounds INTEGER NOT NULL DEFAULT 0,
    effects INTEGER NOT NULL DEFAULT 0,
    addressed INTEGER NOT NULL DEFAULT 0 CHECK (addressed IN (0, 1)),
    addressed_by TEXT CHECK (addressed_by IN ('direct', 'mention', 'reply')),
    owner TEXT CHECK (owner IN ('model', 'tool', 'notice')),
    notice_code TEXT,
    flags TEXT,
    contract_hash TEXT REFERENCES contract (hash) DEFERRABLE INITIALLY DEFERRED,
    machine_hash TEXT NOT NULL REFERENCES machine (hash),
    process_id INTEGER NOT NULL REFERENCES process (process_id),
    parent_turn_id TEXT REFERENCES turn (turn_id),
    lease_token TEXT NOT NULL,
    lease_until_us INTEGER NOT NULL,
    claims INTEGER NOT NULL DEFAULT 1,
    log_gap INTEGER NOT NULL DEFAULT 0,
    started TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', started_us / 1000000.0, 'unixepoch')) VIRTUAL,
    ended TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', ended_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((phase = 'done') = (ended_us IS NOT NULL)),
    CHECK ((ended_us IS NULL) = (outcome IS NULL)),
    CHECK ((outcome IS NULL) = (reason IS NULL)),
    CHECK ((reason IS NULL) = (reason_phase IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX turn_open ON turn (turn_id) WHERE ended_us IS NULL;
CREATE INDEX turn_by_question ON turn (trigger_message_id) WHERE trigger_message_id <> '';
CREATE INDEX turn_by_reply ON turn (reply_message_id) WHERE reply_message_id IS NOT NULL;
CREATE INDEX turn_by_parent ON turn (parent_turn_id) WHERE parent_turn_id IS NOT NULL;

CREATE TABLE phase_event (
    event_id INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    seq INTEGER NOT NULL,
    phase TEXT NOT NULL,
    visit INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('enter', 'exit')),
    at_us INTEGER NOT NULL,
    mono_ns INTEGER NOT NULL,
    budget_ms INTEGER,
    event TEXT,
    transition TEXT,
    to_phase TEXT,
    guards TEXT,
    reason TEXT REFERENCES reason (code),
    detail TEXT,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((kind = 'exit') = (event IS NOT NULL)),
    CHECK ((event IS NULL) = (transition IS NULL)),
    CHECK ((event IS NULL) = (to_phase IS NULL))
) STRICT;

CREATE UNIQUE INDEX phase_event_of_turn ON phase_event (turn_id, seq);

CREATE TABLE attempt (
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    n INTEGER NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('first', 'retry', 'retry_model', 'shrunk', 'tool_results', 'fallback', 'probe')),
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    api TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'ok', 'failed', 'cancelled')),
    reason TEXT REFERENCES reason (code),
    http_status INTEGER,
    retry_after_ms INTEGER,
    finish_reason TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    started_us INTEGER NOT NULL,
    ended_us INTEGER,
    request_id TEXT,
    message TEXT,
    request_digest TEXT,
    response_digest TEXT,
    started TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', started_us / 1000000.0, 'unixepoch')) VIRTUAL,
    PRIMARY KEY (turn_id, n),
    CHECK ((status = 'running') = (ended_us IS NULL)),
    CHECK (status <> 'failed' OR reason IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE TABLE fallback_step (
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    step INTEGER NOT NULL,
    at_us INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('taken', 'skipped', 'refused', 'exhausted')),
    reason TEXT NOT NULL REFERENCES reason (code),
    rule TEXT NOT NULL,
    "values" TEXT NOT NULL,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL,
    PRIMARY KEY (turn_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_call (
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    round INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    provider_call_id TEXT NOT NULL,
    name TEXT NOT NULL,
    effect TEXT NOT NULL,
    status TEXT CHECK (status IN ('ok', 'failed', 'timed_out', 'refused', 'interrupted', 'not_executed', 'late')),
    reason TEXT REFERENCES reason (code),
    started_us INTEGER NOT NULL,
    ended_us INTEGER,
    arguments_digest TEXT,
    result_digest TEXT,
    started TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', started_us / 1000000.0, 'unixepoch')) VIRTUAL,
    PRIMARY KEY (turn_id, call_id),
    CHECK ((status IS NULL) = (ended_us IS NULL)),
    CHECK (status IS NULL OR status = 'ok' OR reason IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE TABLE effect (
    effect_id TEXT PRIMARY KEY,
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'answer', 'staff_note', 'notice', 'picture', 'visible_text', 'state', 'sanction')),
    idempotency_key TEXT NOT NULL UNIQUE,
    target TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX effect_of_turn ON effect (turn_id);

CREATE TABLE effect_event (
    effect_event_id INTEGER PRIMARY KEY,
    effect_id TEXT NOT NULL REFERENCES effect (effect_id),
    kind TEXT NOT NULL CHECK (kind IN ('intent', 'receipt', 'failed', 'resolved')),
    at_us INTEGER NOT NULL,
    detail TEXT,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT;

CREATE INDEX effect_event_of_effect ON effect_event (effect_id, effect_event_id);

CREATE TABLE message (
    entry_id INTEGER PRIMARY KEY,
    turn_id TEXT REFERENCES turn (turn_id),
    channel_id TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
    author_id TEXT NOT NULL,
    author TEXT NOT NULL,
    text TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    message_id TEXT NOT NULL DEFAULT '',
    unit TEXT NOT NULL DEFAULT '',
    state TEXT CHECK (state IN ('sent', 'in_doubt', 'failed')),
    call TEXT,
    trimmed_us INTEGER,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT;

CREATE INDEX message_window ON message (entry_id) WHERE trimmed_us IS NULL;
CREATE INDEX message_of_turn ON message (turn_id);

CREATE TABLE note (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    text TEXT NOT NULL,
    at_us INTEGER NOT NULL
) STRICT;

CREATE INDEX note_of_user ON note (user_id, number);

CREATE TABLE fact (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    text TEXT NOT NULL,
    at_us INTEGER NOT NULL
) STRICT;

CREATE INDEX fact_of_user ON fact (user_id, number);

CREATE TABLE task (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    text TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    due_us INTEGER,
    done_us INTEGER,
    due TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', due_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT;

CREATE INDEX task_of_user ON task (user_id, number);
CREATE INDEX task_due ON task (due_us) WHERE done_us IS NULL AND due_us IS NOT NULL;

CREATE TABLE circuit (
    provider TEXT PRIMARY KEY,
    opened_us INTEGER,
    open_until_us INTEGER,
    cleared_us INTEGER NOT NULL DEFAULT 0,
    probe_turn_id TEXT,
    probe_until_us INTEGER,
    opened TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', opened_us / 1000000.0, 'unixepoch')) VIRTUAL,
    open_until TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', open_until_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((opened_us IS NULL) = (open_until_us IS NULL)),
    CHECK ((probe_turn_id IS NULL) = (probe_until_us IS NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE circuit_failure (
    provider TEXT NOT NULL REFERENCES circuit (provider),
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    at_us INTEGER NOT NULL,
    reason TEXT NOT NULL REFERENCES reason (code),
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL,
    PRIMARY KEY (provider, turn_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX circuit_failure_by_time ON circuit_failure (provider, at_us);
CREATE INDEX circuit_failure_of_turn ON circuit_failure (turn_id);

CREATE TABLE approval (
    approval_id TEXT PRIMARY KEY,
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    arguments_digest TEXT NOT NULL,
    user_id TEXT NOT NULL,
    user_name TEXT NOT NULL,
    channel_id TEXT NOT NULL,
    asked_us INTEGER NOT NULL,
    approved_us INTEGER,
    approved_by TEXT,
    used_us INTEGER,
    used_turn_id TEXT REFERENCES turn (turn_id),
    asked TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', asked_us / 1000000.0, 'unixepoch')) VIRTUAL,
    CHECK ((approved_us IS NULL) = (approved_by IS NULL)),
    CHECK ((used_us IS NULL) = (used_turn_id IS NULL)),
    CHECK (used_us IS NULL OR approved_us IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX approval_open ON approval (user_id, tool) WHERE used_us IS NULL;
CREATE INDEX approval_of_turn ON approval (turn_id);
CREATE INDEX approval_used_by ON approval (used_turn_id) WHERE used_turn_id IS NOT NULL;

CREATE TABLE summary (
    summary_id INTEGER PRIMARY KEY,
    channel_id TEXT NOT NULL,
    upto_entry_id INTEGER NOT NULL,
    turn_id TEXT NOT NULL REFERENCES turn (turn_id),
    text TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT;

CREATE INDEX summary_of_channel ON summary (channel_id, upto_entry_id);
CREATE INDEX summary_of_turn ON summary (turn_id);

CREATE TABLE summary_queue (
    channel_id TEXT PRIMARY KEY,
    entries INTEGER NOT NULL,
    first_entry_id INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE operator_action (
    action_id INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    who TEXT NOT NULL,
    what TEXT NOT NULL,
    target TEXT NOT NULL,
    before TEXT,
    after TEXT,
    at TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')) VIRTUAL
) STRICT;

CREATE TABLE ignored_message (
    process_id INTEGER NOT NULL REFERENCES process (process_id),
    channel_id TEXT NOT NULL,
    reason TEXT NOT NULL REFERENCES reason (code),
    count INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    PRIMARY KEY (process_id, channel_id, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE prune_log (
    prune_id INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    what TEXT NOT NULL,
    before_us INTEGER,
    rows INTEGER NOT NULL,
    detail TEXT
) STRICT;

CREATE TABLE log_loss (
    loss_id INTEGER PRIMARY KEY,
    at_us INTEGER NOT NULL,
    turn_id TEXT,
    rows INTEGER NOT NULL,
    what TEXT NOT NULL
) STRICT;
