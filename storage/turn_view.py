"""Everything that `show` tells of one turn, read in one go: the object of `turn --json` and what else is known.

Owns the sections of a turn and what of it is pruned or lost. Knows no way of printing.
Invariant: every key is always there; a text that was pruned is null and its digest is counted.
"""

import json
import sqlite3

from phasewalk.storage.queries import Row, rows, stuck_turns
from phasewalk.storage.turn_document import text_of, turn_document, unspilled
from phasewalk.storage.turn_visits import Visit, visits


def turn_item(log: sqlite3.Connection, turn_id: str, *, detail: bool) -> Row:
    """The turn as `show --json` prints it; with `detail` also the texts behind its rows."""
    head = _head(log, turn_id)
    question = head.pop("text_digest")
    walked = visits(log, turn_id)
    named = _named(log, turn_id) if detail else []
    shown: list[object] = [_spoken(log, turn_id)]
    if detail:
        shown += [[visit.entry, visit.exit] for visit in walked]
    digests = [question, *(row["digest"] for row in named), *_digests(shown)]
    return {
        **turn_document(log, turn_id),
        **head,
        "process": _process(log, turn_id),
        "stuck": next((row for row in _stuck(log, head) if row["turn_id"] == turn_id), None),
        "question": text_of(log, str(question)),
        "contract": _contract(log, turn_id),
        "visits": [_visit(log, visit, detail=detail) for visit in walked],
        "attempts": _attempts(log, turn_id),
        "tools": _tools(log, turn_id),
        "effects": _effects(log, turn_id),
        "lost": [str(row["what"]) for row in rows(log, "SELECT what FROM log_loss WHERE turn_id = ?", (turn_id,))],
        "pruned": _pruned(log, digests),
        "payloads": [_payload(log, row) for row in named] if detail else None,
    }


def _head(log: sqlite3.Connection, turn_id: str) -> Row:
    """The turn's own columns that its object does not have yet, with the meaning of its reasons."""
    head = rows(
        log,
        "SELECT t.machine, t.started, t.started_us, t.ended, t.ended_us, t.deadline_us,"
        " round((t.ended_us - t.started_us) / 1000.0, 3) AS took_ms, t.guild_id, t.channel_id, t.channel_name,"
        " t.user_id, t.user_name, t.addressed_by, t.trigger_key, t.trigger_message_id, t.reply_message_id,"
        " t.parent_turn_id, t.claims, t.flags, t.log_gap, t.text_digest, r.meaning AS reason_meaning,"
        " f.meaning AS first_reason_meaning FROM turn AS t LEFT JOIN reason AS r ON r.code = t.reason"
        " LEFT JOIN reason AS f ON f.code = t.first_reason WHERE t.turn_id = ?",
        (turn_id,),
    )[0]
    return {**head, "flags": json.loads(str(head["flags"] or "[]"))}


def _process(log: sqlite3.Connection, turn_id: str) -> Row:
    return rows(
        log,
        "SELECT CAST(p.process_id AS TEXT) AS process_id, p.host, p.pid, p.command, p.version FROM turn AS t"
        " JOIN process AS p ON p.process_id = t.process_id WHERE t.turn_id = ?",
        (turn_id,),
    )[0]


def _stuck(log: sqlite3.Connection, head: Row) -> list[Row]:
    return stuck_turns(log) if head["ended_us"] is None else []


def _contract(log: sqlite3.Connection, turn_id: str) -> Row | None:
    """The frozen contract as it was stored; None before it was frozen."""
    sql = "SELECT c.hash, c.body FROM turn AS t JOIN contract AS c ON c.hash = t.contract_hash WHERE t.turn_id = ?"
    row = log.execute(sql, (turn_id,)).fetchone()
    return None if row is None else {"hash": row[0], **json.loads(row[1])}


def _visit(log: sqlite3.Connection, visit: Visit, *, detail: bool) -> Row:
    told: Row = {**visit._asdict(), "guards": [guard._asdict() for guard in visit.guards]}
    if detail:
        told |= {"entry": unspilled(log, visit.entry), "exit": unspilled(log, visit.exit)}
    return told


def _attempts(log: sqlite3.Connection, turn_id: str) -> list[Row]:
    found = rows(log, "SELECT * FROM attempt_tree WHERE turn_id = ? ORDER BY n", (turn_id,))
    return [{**row, "first_failure": bool(row["first_failure"])} for row in found]


def _tools(log: sqlite3.Connection, turn_id: str) -> list[Row]:
    return rows(
        log,
        "SELECT call_id, name, status, reason, round, effect, started_us, started,"
        " round((ended_us - started_us) / 1000.0, 3) AS took_ms FROM tool_call WHERE turn_id = ?"
        " ORDER BY round, length(call_id), call_id",
        (turn_id,),
    )


def _effects(log: sqlite3.Connection, turn_id: str) -> list[Row]:
    found = rows(
        log,
        "SELECT kind, state, target, intended, settled, idempotency_key, settled_detail FROM effects"
        " WHERE turn_id = ? ORDER BY position",
        (turn_id,),
    )
    return [{**row, "settled_detail": json.loads(str(row["settled_detail"] or "{}"))} for row in found]


def _spoken(log: sqlite3.Connection, turn_id: str) -> list[object]:
    """What was to be said, as the intents hold it."""
    sql = "SELECT intent_detail FROM effects WHERE turn_id = ? AND intent_detail IS NOT NULL"
    return [json.loads(detail) for (detail,) in log.execute(sql, (turn_id,))]


def _named(log: sqlite3.Connection, turn_id: str) -> list[Row]:
    """The texts behind the turn's model calls and tool calls, in order."""
    return rows(
        log,
        "SELECT 'attempt ' || n || ' response' AS what, response_digest AS digest FROM attempt WHERE turn_id = ?1"
        " AND response_digest IS NOT NULL"
        " UNION ALL SELECT call_id || ' arguments', arguments_digest FROM tool_call WHERE turn_id = ?1"
        " AND arguments_digest IS NOT NULL"
        " UNION ALL SELECT call_id || ' result', result_digest FROM tool_call WHERE turn_id = ?1"
        " AND result_digest IS NOT NULL",
        (turn_id,),
    )


def _payload(log: sqlite3.Connection, named: Row) -> Row:
    return {"what": named["what"], "text": text_of(log, str(named["digest"]))}


def _digests(value: object) -> list[str]:
    """The payloads that a logged detail refers to."""
    if isinstance(value, dict):
        if value.keys() == {"payload"}:
            return [str(value["payload"])]
        return [digest for part in value.values() for digest in _digests(part)]
    return [digest for part in value for digest in _digests(part)] if isinstance(value, list) else []


def _pruned(log: sqlite3.Connection, digests: list[object]) -> int:
    """How many of these texts are not there any more."""
    there = "SELECT 1 FROM payload WHERE digest = ? AND body IS NOT NULL"
    asked = {str(digest) for digest in digests if digest is not None}
    return sum(log.execute(there, (digest,)).fetchone() is None for digest in asked)
