-- The public questions, as views. Columns are only added within a major version.

CREATE VIEW effects AS
SELECT e.effect_id, e.turn_id, e.kind, e.idempotency_key, e.target,
    CASE
        WHEN last.kind = 'receipt' OR (last.kind = 'resolved' AND json_extract(last.detail, '$.state') = 'done') THEN 'done'
        WHEN last.kind IN ('failed', 'resolved') THEN 'failed'
        WHEN t.ended_us IS NOT NULL THEN 'in_doubt'
        ELSE 'intended'
    END AS state,
    first.at_us AS intended_us, first.at AS intended,
    CASE WHEN last.kind <> 'intent' THEN last.at_us END AS settled_us,
    CASE WHEN last.kind <> 'intent' THEN last.at END AS settled,
    first.detail AS intent_detail,
    CASE WHEN last.kind <> 'intent' THEN last.detail END AS settled_detail,
    first.effect_event_id AS position
FROM effect AS e
JOIN turn AS t ON t.turn_id = e.turn_id
JOIN effect_event AS first ON first.effect_event_id = (
    SELECT min(effect_event_id) FROM effect_event WHERE effect_id = e.effect_id)
JOIN effect_event AS last ON last.effect_event_id = (
    SELECT max(effect_event_id) FROM effect_event WHERE effect_id = e.effect_id);

CREATE VIEW effects_in_doubt AS
SELECT effect_id, turn_id, kind, target, state, intended_us, intended FROM effects WHERE state = 'in_doubt';

CREATE VIEW stuck_turns AS
SELECT turn_id, phase, rule, value, threshold, since_us,
    strftime('%Y-%m-%dT%H:%M:%fZ', since_us / 1000000.0, 'unixepoch') AS since,
    kind, channel_id, channel_name, user_id, user_name, addressed, process_id, host, pid, pid_started
FROM (
    SELECT o.*,
        CASE
            WHEN o.process_over THEN 'process_gone'
            WHEN o.heartbeat_age > 180.0 THEN 'heartbeat_lost'
            WHEN o.past_deadline > 35.0 THEN 'deadline_passed'
            WHEN o.over_budget > 35.0 THEN 'phase_over_budget'
        END AS rule,
        CASE
            WHEN o.process_over THEN o.heartbeat_age
            WHEN o.heartbeat_age > 180.0 THEN o.heartbeat_age
            WHEN o.past_deadline > 35.0 THEN o.past_deadline
            ELSE o.over_budget
        END AS value,
        CASE
            WHEN o.process_over THEN 0.0
            WHEN o.heartbeat_age > 180.0 THEN 180.0
            ELSE 35.0
        END AS threshold
    FROM (
        SELECT t.turn_id, t.phase, t.kind, t.channel_id, t.channel_name, t.user_id, t.user_name, t.addressed,
            t.process_id, p.host, p.pid, p.pid_started,
            coalesce(e.at_us, t.started_us) AS since_us,
            p.ended_us IS NOT NULL OR EXISTS (
                SELECT 1 FROM process AS q
                WHERE q.host = p.host AND q.pid = p.pid AND q.process_id > p.process_id
            ) AS process_over,
            round(n.us / 1000000.0 - p.heartbeat_us / 1000000.0, 3) AS heartbeat_age,
            round(n.us / 1000000.0 - t.deadline_us / 1000000.0, 3) AS past_deadline,
            round((n.us - e.at_us) / 1000000.0 - e.budget_ms / 1000.0, 3) AS over_budget
        FROM turn AS t
        JOIN process AS p ON p.process_id = t.process_id
        JOIN (SELECT CAST((julianday('now') - 2440587.5) * 86400000000.0 AS INTEGER) AS us) AS n
        LEFT JOIN phase_event AS e ON e.turn_id = t.turn_id AND e.seq = (
            SELECT max(seq) FROM phase_event WHERE turn_id = t.turn_id AND kind = 'enter')
        WHERE t.ended_us IS NULL
    ) AS o
)
WHERE rule IS NOT NULL;

CREATE VIEW turn_timeline AS
SELECT e.turn_id, e.seq, e.phase, e.visit, e.kind, e.event, e.transition, e.to_phase, e.reason, e.guards, e.detail,
    e.at_us, e.at,
    round((e.mono_ns - first.mono_ns) / 1000000.0, 3) AS offset_ms,
    CASE WHEN e.kind = 'exit' THEN round((e.mono_ns - entry.mono_ns) / 1000000.0, 3) END AS took_ms
FROM phase_event AS e
JOIN phase_event AS first ON first.turn_id = e.turn_id AND first.seq = 1
LEFT JOIN phase_event AS entry
    ON e.kind = 'exit' AND entry.turn_id = e.turn_id AND entry.seq = (
        SELECT max(seq) FROM phase_event WHERE turn_id = e.turn_id AND seq < e.seq AND kind = 'enter');

CREATE VIEW attempt_tree AS
SELECT a.turn_id, a.n,
    CASE WHEN a.n > 1 THEN a.n - 1 END AS after_n,
    a.cause, a.provider, a.model, a.api, a.status, a.reason, a.http_status, a.retry_after_ms, a.finish_reason,
    a.input_tokens, a.output_tokens, a.message, a.started_us, a.started,
    round((a.ended_us - a.started_us) / 1000.0, 3) AS took_ms,
    a.n = (SELECT min(n) FROM attempt WHERE turn_id = a.turn_id AND status = 'failed') AS first_failure
FROM attempt AS a;

CREATE VIEW fallback_stops AS
SELECT s.turn_id, s.step, s.provider, s.model, s.decision, s.reason, s.rule, s."values",
    json_extract(s."values", '$.time_left') AS time_left,
    t.outcome, t.reason AS turn_reason, t.channel_id, t.user_id, s.at_us, s.at
FROM fallback_step AS s
JOIN turn AS t ON t.turn_id = s.turn_id
WHERE s.decision IN ('refused', 'exhausted');

CREATE VIEW silent_turns AS
SELECT t.turn_id, t.channel_id, t.channel_name, t.user_id, t.user_name, t.outcome, t.reason, t.reason_phase,
    t.trigger_message_id, t.started_us, t.started
FROM turn AS t
WHERE t.addressed = 1 AND t.ended_us IS NOT NULL AND t.outcome <> 'short_path'
    AND NOT EXISTS (
        SELECT 1 FROM effects AS e
        WHERE e.turn_id = t.turn_id AND e.kind IN ('answer', 'notice', 'picture', 'visible_text') AND e.state = 'done');

CREATE VIEW failure_groups AS
SELECT t.reason, t.reason_phase, coalesce(t.first_reason, t.reason) AS first_reason, t.outcome,
    count(*) AS turns, count(DISTINCT t.user_id) AS people,
    min(t.started_us) AS first_seen_us, min(t.started) AS first_seen,
    max(t.started_us) AS last_seen_us, max(t.started) AS last_seen
FROM turn AS t
WHERE t.outcome IN ('stopped', 'partial', 'undelivered', 'expired', 'cancelled', 'in_doubt', 'abandoned', 'unavailable')
GROUP BY t.reason, t.reason_phase, coalesce(t.first_reason, t.reason), t.outcome;

CREATE VIEW transition_heat AS
SELECT rows.machine, rows.transition, rows.from_phase, rows.event, rows.to_phase, coalesce(used.count, 0) AS count,
    used.last_us, strftime('%Y-%m-%dT%H:%M:%fZ', used.last_us / 1000000.0, 'unixepoch') AS last
FROM (
    SELECT DISTINCT m.name AS machine, json_extract(r.value, '$.id') AS transition, source.value AS from_phase,
        happening.value AS event, json_extract(r.value, '$.to') AS to_phase
    FROM machine AS m, json_each(m.body, '$.rows') AS r, json_each(r.value, '$.from') AS source,
        json_each(r.value, '$.event') AS happening
    WHERE m.first_seen_us = (SELECT max(first_seen_us) FROM machine WHERE name = m.name)
) AS rows
LEFT JOIN (
    SELECT t.machine, e.transition, e.phase, e.event, count(*) AS count, max(e.at_us) AS last_us
    FROM phase_event AS e JOIN turn AS t ON t.turn_id = e.turn_id
    WHERE e.kind = 'exit'
    GROUP BY t.machine, e.transition, e.phase, e.event
) AS used
    ON used.machine = rows.machine AND used.transition = rows.transition
    AND used.phase = rows.from_phase AND used.event = rows.event;

CREATE VIEW log_coverage AS
SELECT first.started_us AS from_us, first.started AS "from", last.started_us AS to_us, last.started AS "to",
    (SELECT count(*) FROM turn) AS turns,
    (SELECT max(before_us) FROM prune_log) AS pruned_before_us,
    (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', max(before_us) / 1000000.0, 'unixepoch') FROM prune_log) AS pruned_before,
    (SELECT count(*) FROM payload WHERE pruned_us IS NOT NULL) AS payloads_pruned,
    (SELECT coalesce(sum(rows), 0) FROM log_loss) AS rows_lost
FROM (SELECT 1) AS one
LEFT JOIN (SELECT started_us, started FROM turn ORDER BY turn_id LIMIT 1) AS first
LEFT JOIN (SELECT started_us, started FROM turn ORDER BY turn_id DESC LIMIT 1) AS last;
