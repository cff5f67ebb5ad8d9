"""One turn as the object that `turn --json` prints; read back from the log, so that it says what stands there."""

import json
import sqlite3

from phasewalk.storage.compression import unpacked
from phasewalk.storage.queries import rows

SCHEMA_VERSION = 1


def turn_document(connection: sqlite3.Connection, turn_id: str) -> dict[str, object]:
    """The object of a turn that is in the log; keys as documented for `phasewalk turn --json`."""
    turn = rows(connection, "SELECT * FROM turn WHERE turn_id = ?", (turn_id,))[0]
    speeches = _speeches(connection, turn_id)
    envelope, accepted = _envelope(connection, turn_id)
    done = [speech for speech in speeches if speech["state"] == "done"]
    notices = [speech for speech in speeches if speech["kind"] == "notice"]
    answers = [speech for speech in speeches if speech["kind"] == "answer"]
    return {
        "schema_version": SCHEMA_VERSION,
        "turn_id": turn_id,
        "kind": turn["kind"],
        "outcome": turn["outcome"],
        "reason": turn["reason"],
        "phase": turn["reason_phase"] or turn["phase"],
        "answer": answers[0]["text"] if answers else envelope.get("answer") if accepted else None,
        "channel": answers[0]["target"] if answers else None,
        "staff": envelope.get("staff"),
        "notice": notices[0]["text"] if notices else None,
        "delivered": [{"target": s["target"], "text": s["text"], "receipt": s["receipt"]} for s in done],
        "phases": _phases(connection, turn_id),
        "attempts": rows(
            connection,
            "SELECT n, cause, provider, model, status, reason, http_status FROM attempt WHERE turn_id = ? ORDER BY n",
            (turn_id,),
        ),
        "fallback": _fallback(connection, turn_id),
        "tools": rows(
            connection,
            "SELECT call_id, name, status, reason FROM tool_call WHERE turn_id = ?"
            " ORDER BY round, length(call_id), call_id",
            (turn_id,),
        ),
        "effects": rows(
            connection,
            "SELECT kind, state FROM effects WHERE turn_id = ? ORDER BY position",
            (turn_id,),
        ),
        "owner": turn["owner"],
        "notice_code": turn["notice_code"],
        "first_reason": turn["first_reason"],
    }


def text_of(connection: sqlite3.Connection, digest: str) -> str | None:
    """The text of a payload; None when it was pruned or never stored."""
    row = connection.execute("SELECT encoding, body FROM payload WHERE digest = ?", (digest,)).fetchone()
    if row is None or row[1] is None:
        return None
    return unpacked(row[0], row[1])


def unspilled(connection: sqlite3.Connection, value: object) -> object:
    """A logged detail with its payloads put back where they were taken out."""
    if isinstance(value, dict):
        if value.keys() == {"payload"}:
            return text_of(connection, str(value["payload"]))
        return {key: unspilled(connection, part) for key, part in value.items()}
    if isinstance(value, list):
        return [unspilled(connection, part) for part in value]
    return value


def _phases(connection: sqlite3.Connection, turn_id: str) -> list[dict[str, object]]:
    return rows(
        connection,
        "SELECT phase, visit, event, transition, reason, took_ms AS ms FROM turn_timeline"
        " WHERE turn_id = ? AND kind = 'exit' ORDER BY seq",
        (turn_id,),
    )


def _fallback(connection: sqlite3.Connection, turn_id: str) -> list[dict[str, object]]:
    found = rows(
        connection,
        "SELECT provider || '/' || model AS candidate, decision, reason, rule, \"values\" FROM fallback_step"
        " WHERE turn_id = ? ORDER BY step",
        (turn_id,),
    )
    return [{**row, "values": json.loads(str(row["values"]))} for row in found]


def _speeches(connection: sqlite3.Connection, turn_id: str) -> list[dict[str, object]]:
    """What was said or tried to be said, in order, with text and receipt."""
    found = rows(
        connection,
        "SELECT kind, target, state, intent_detail, settled_detail FROM effects WHERE turn_id = ?"
        " AND kind IN ('answer', 'staff_note', 'notice', 'picture', 'visible_text') ORDER BY position",
        (turn_id,),
    )
    speeches = []
    for row in found:
        intent = unspilled(connection, json.loads(str(row["intent_detail"] or "{}")))
        settled = json.loads(str(row["settled_detail"] or "{}"))
        text = intent.get("text") if isinstance(intent, dict) else None
        speeches.append({**row, "text": text, "receipt": settled.get("receipt")})
    return speeches


def _envelope(connection: sqlite3.Connection, turn_id: str) -> tuple[dict[str, object], bool]:
    """The last valid envelope of the turn, as logged by its validation, and whether it was accepted."""
    ended = connection.execute(
        "SELECT detail, event FROM phase_event WHERE turn_id = ? AND phase = 'validate_envelope' AND kind = 'exit'"
        " AND detail IS NOT NULL ORDER BY seq DESC",
        (turn_id,),
    )
    for detail, event in ended:
        found = unspilled(connection, json.loads(detail).get("envelope"))
        if isinstance(found, dict):
            return found, event == "envelope_accepted"
    return {}, False
