"""How each record of the machine becomes rows: one SQL text a record type, its parameters made once.

Owns the mapping; knows no connection and no order. A test holds that every record type has an entry.
"""

import sqlite3
from collections.abc import Callable

from phasewalk.machine import records as r
from phasewalk.machine.documents import Payload
from phasewalk.storage.circuits import noted
from phasewalk.storage.compression import packed

Statement = tuple[str, tuple[object, ...]]
Rows = list[Statement]

PAYLOAD = (
    "INSERT INTO payload (digest, chars, encoding, body) VALUES (?, ?, ?, ?) ON CONFLICT (digest)"
    " DO UPDATE SET encoding = excluded.encoding, body = excluded.body, pruned_us = NULL WHERE body IS NULL"
)


def payload_row(payload: Payload) -> Statement:
    """The row of a payload, still to be packed; the same content is stored once."""
    return PAYLOAD, (payload,)


def execute_all(connection: sqlite3.Connection, statements: Rows) -> None:
    """Execute in order. Payloads are packed here: of a heavy unit that is in the writer's thread, not on the loop."""
    for sql, values in statements:
        first = values[0]
        connection.execute(sql, _packed(first) if isinstance(first, Payload) else values)


def _packed(payload: Payload) -> tuple[object, ...]:
    return payload.digest, len(payload.text), *packed(payload.text.encode())


ENTER = (
    "INSERT INTO phase_event (turn_id, seq, phase, visit, kind, at_us, mono_ns, budget_ms, detail)"
    " VALUES (?, ?, ?, ?, 'enter', ?, ?, ?, ?)"
)


def _entered(rows: Rows, turn_id: str, e: r.PhaseEntered) -> None:
    rows.append((ENTER, (turn_id, e.seq, e.phase, e.visit, e.at_us, e.mono_ns, e.budget_ms, e.detail)))


EXIT = (
    "INSERT INTO phase_event (turn_id, seq, phase, visit, kind, at_us, mono_ns, event, transition, to_phase,"
    " guards, reason, detail) VALUES (?, ?, ?, ?, 'exit', ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _exited(rows: Rows, turn_id: str, e: r.PhaseExited) -> None:
    visit = (turn_id, e.seq, e.phase, e.visit, e.at_us, e.mono_ns)
    rows.append((EXIT, (*visit, e.event, e.transition, e.to_phase, e.guards, e.reason, e.detail)))


CONTRACT = "INSERT OR IGNORE INTO contract (hash, body, first_seen_us) VALUES (?, ?, ?)"


def _contract(rows: Rows, _turn_id: str, c: r.ContractFrozen) -> None:
    rows.append((CONTRACT, (c.digest, c.body, c.at_us)))


ATTEMPT = (
    "INSERT INTO attempt (turn_id, n, cause, provider, model, api, status, started_us, request_digest)"
    " VALUES (?, ?, ?, ?, ?, ?, 'running', ?, ?)"
)


def _attempt_started(rows: Rows, turn_id: str, a: r.AttemptStarted) -> None:
    rows.append((ATTEMPT, (turn_id, a.n, a.cause, a.provider, a.model, a.api, a.started_us, a.request_digest)))


ATTEMPT_END = (
    "UPDATE attempt SET status = ?, reason = ?, http_status = ?, retry_after_ms = ?, finish_reason = ?,"
    " input_tokens = ?, output_tokens = ?, ended_us = ?, request_id = ?, message = ?, response_digest = ?"
    " WHERE turn_id = ? AND n = ?"
)


def _attempt_ended(rows: Rows, turn_id: str, a: r.AttemptEnded) -> None:
    if a.response is not None:
        rows.append(payload_row(a.response))
    digest = a.response.digest if a.response else None
    said = (a.status, a.reason, a.http_status, a.retry_after_ms, a.finish_reason, a.input_tokens, a.output_tokens)
    rows.append((ATTEMPT_END, (*said, a.ended_us, a.request_id, a.message, digest, turn_id, a.n)))


STEP = (
    'INSERT INTO fallback_step (turn_id, step, at_us, provider, model, decision, reason, rule, "values")'
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _considered(rows: Rows, turn_id: str, f: r.FallbackConsidered) -> None:
    rows.append((STEP, (turn_id, f.step, f.at_us, f.provider, f.model, f.decision, f.reason, f.rule, f.values)))


TOOL = (
    "INSERT INTO tool_call (turn_id, round, call_id, provider_call_id, name, effect, started_us, arguments_digest)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def _tool_started(rows: Rows, turn_id: str, t: r.ToolStarted) -> None:
    rows.append(payload_row(t.arguments))
    call = (turn_id, t.round, t.call_id, t.provider_call_id, t.name, t.effect)
    rows.append((TOOL, (*call, t.started_us, t.arguments.digest)))


TOOL_END = (
    "UPDATE tool_call SET status = ?, reason = ?, ended_us = ?, result_digest = coalesce(?, result_digest)"
    " WHERE turn_id = ? AND call_id = ?"
)


def _tool_ended(rows: Rows, turn_id: str, t: r.ToolEnded) -> None:
    if t.result is not None:
        rows.append(payload_row(t.result))
    digest = t.result.digest if t.result else None
    rows.append((TOOL_END, (t.status, t.reason, t.ended_us, digest, turn_id, t.call_id)))


EFFECT = "INSERT INTO effect (effect_id, turn_id, kind, idempotency_key, target) VALUES (?, ?, ?, ?, ?)"
EFFECT_EVENT = "INSERT INTO effect_event (effect_id, kind, at_us, detail) VALUES (?, ?, ?, ?)"


def _intended(rows: Rows, turn_id: str, e: r.EffectIntended) -> None:
    rows.append((EFFECT, (e.effect_id, turn_id, e.kind, e.idempotency_key, e.target)))
    rows.append((EFFECT_EVENT, (e.effect_id, "intent", e.at_us, e.detail)))


def _settled(rows: Rows, _turn_id: str, e: r.EffectSettled) -> None:
    rows.append((EFFECT_EVENT, (e.effect_id, e.kind, e.at_us, e.detail)))


MESSAGE = (
    "INSERT INTO message (turn_id, channel_id, role, author_id, author, text, at_us, message_id, unit, state, call)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def _said(rows: Rows, turn_id: str, m: r.Said) -> None:
    who = (turn_id, m.channel_id, m.role, m.author_id, m.author)
    rows.append((MESSAGE, (*who, m.text, m.at_us, m.message_id, m.unit, m.state, m.call)))


SUMMARY = "INSERT INTO summary (channel_id, upto_entry_id, turn_id, text, at_us) VALUES (?, ?, ?, ?, ?)"
SUMMED = "DELETE FROM summary_queue WHERE channel_id = ?"
NOT_SUMMED = (
    "INSERT INTO summary_queue (channel_id, entries, first_entry_id) SELECT channel_id, count(*), min(entry_id)"
    " FROM message WHERE entry_id > ? AND channel_id = ? AND trimmed_us IS NOT NULL GROUP BY channel_id"
)


def _summarised(rows: Rows, turn_id: str, s: r.Summarised) -> None:
    rows.append((SUMMARY, (s.channel_id, s.upto_entry_id, turn_id, s.text, s.at_us)))
    rows.append((SUMMED, (s.channel_id,)))
    rows.append((NOT_SUMMED, (s.upto_entry_id, s.channel_id)))


MOVED = (
    "UPDATE turn SET phase = ?, attempts = ?, rounds = ?, effects = ?, contract_hash = coalesce(?, contract_hash)"
    " WHERE turn_id = ? AND lease_token = ? AND ended_us IS NULL"
)


def moved(turn_id: str, token: str, m: r.TurnMoved) -> Statement:
    """The summary follows; changes one row, or the lease is lost."""
    return MOVED, (m.phase, m.attempts, m.rounds, m.effects, m.contract_hash, turn_id, token)


ENDED = (
    "UPDATE turn SET phase = 'done', ended_us = ?, outcome = ?, reason = ?, reason_phase = ?, first_reason = ?,"
    " owner = ?, notice_code = ?, reply_message_id = ?, attempts = ?, rounds = ?, effects = ?,"
    " contract_hash = coalesce(?, contract_hash), flags = ? WHERE turn_id = ? AND lease_token = ? AND ended_us IS NULL"
)


def ended(turn_id: str, token: str, e: r.TurnEnded) -> Statement:
    """The one end; changes one row, or the lease is lost."""
    return ENDED, (
        e.at_us,
        e.outcome,
        e.reason,
        e.reason_phase,
        e.first_reason,
        e.owner,
        e.notice_code,
        e.reply_message_id,
        e.attempts,
        e.rounds,
        e.effects,
        e.contract_hash,
        e.flags,
        turn_id,
        token,
    )


OPENED = (
    "INSERT INTO turn (turn_id, machine, kind, trigger_key, guild_id, channel_id, channel_name, user_id,"
    " user_name, trigger_message_id, text_digest, started_us, deadline_us, phase, addressed, addressed_by,"
    " machine_hash, process_id, parent_turn_id, lease_token, lease_until_us)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trigger_key) DO NOTHING"
)


def opened(o: r.TurnOpened, phase: str, process_id: int, token: str, lease_us: int) -> Statement:
    """The claim of a trigger; changes no row when the trigger has a turn already (TURN-10)."""
    return OPENED, (
        o.turn_id,
        o.machine,
        o.kind,
        o.trigger_key,
        o.guild_id,
        o.channel_id,
        o.channel_name,
        o.user_id,
        o.user_name,
        o.trigger_message_id,
        o.text.digest,
        o.started_us,
        o.deadline_us,
        phase,
        int(o.addressed is not None),
        o.addressed,
        o.machine_hash,
        process_id,
        o.parent_turn_id,
        token,
        o.started_us + lease_us,
    )


CLAIMED = (
    "UPDATE turn SET lease_token = ?, lease_until_us = ?, process_id = ?, claims = claims + 1, deadline_us = ?"
    " WHERE turn_id = ? AND lease_token = ? AND ended_us IS NULL"
)


def claimed(turn_id: str, held: str, token: str, process_id: int, until: tuple[int, int]) -> Statement:
    """Another claim of a turn that has not ended; changes no row when somebody was faster.

    `until` holds the end of the lease and the deadline.
    """
    lease_us, deadline_us = until
    return CLAIMED, (token, lease_us, process_id, deadline_us, turn_id, held)


ROWS: dict[type, Callable[..., None]] = {
    r.PhaseEntered: _entered,
    r.PhaseExited: _exited,
    r.ContractFrozen: _contract,
    r.AttemptStarted: _attempt_started,
    r.AttemptEnded: _attempt_ended,
    r.FallbackConsidered: _considered,
    r.CircuitNoted: noted,
    r.ToolStarted: _tool_started,
    r.ToolEnded: _tool_ended,
    r.EffectIntended: _intended,
    r.EffectSettled: _settled,
    r.Said: _said,
    r.Summarised: _summarised,
}
"""The rows of every record that only appends or follows its own row; the others are written by the log itself."""
