"""Everything that `show` tells of one turn, read in one go."""

import json
import sqlite3

from phasewalk.storage.queries import Row, rows
from phasewalk.storage.turn_document import text_of, turn_document


def turn_head(connection: sqlite3.Connection, turn_id: str) -> Row:
    """The turn's row, with the meaning of its reason and its process."""
    return rows(
        connection,
        "SELECT t.*, r.meaning, p.host, p.pid, p.pid_started, p.ended_us AS process_ended_us FROM turn AS t"
        " LEFT JOIN reason AS r ON r.code = t.reason JOIN process AS p ON p.process_id = t.process_id"
        " WHERE t.turn_id = ?",
        (turn_id,),
    )[0]


def visits(connection: sqlite3.Connection, turn_id: str) -> list[Row]:
    """One row a visit: when it began, what ended it, how long it took, and the guards asked at its end."""
    found = rows(
        connection,
        "SELECT seq, phase, visit, kind, event, transition, to_phase, reason, guards, detail, at_us, offset_ms, took_ms"
        " FROM turn_timeline WHERE turn_id = ? ORDER BY seq",
        (turn_id,),
    )
    result: list[Row] = []
    for row in found:
        if row["kind"] == "enter":
            entry = json.loads(str(row["detail"])) if row["detail"] else {}
            fields = ("phase", "visit", "at_us", "offset_ms")
            result.append({**{name: row[name] for name in fields}, "entry": entry, "event": None, "guards": []})
        elif result:
            detail = json.loads(str(row["detail"])) if row["detail"] else {}
            asked = json.loads(str(row["guards"])) if row["guards"] else []
            ended = {name: row[name] for name in ("event", "transition", "to_phase", "reason", "took_ms")}
            result[-1] |= {**ended, "guards": asked, "exit": detail}
    return result


def turn_item(connection: sqlite3.Connection, turn_id: str, *, detail: bool) -> Row:
    """The turn as `show --json` prints it: the object of `turn --json` and what else is known."""
    head = turn_head(connection, turn_id)
    extra = {name: head[name] for name in ("started", "ended", "channel_name", "user_name", "addressed_by", "log_gap")}
    item = {**turn_document(connection, turn_id), **extra, "visits": visits(connection, turn_id)}
    item["question"] = text_of(connection, str(head["text_digest"]))
    item["contract"] = contract_of(connection, head["contract_hash"])
    if detail:
        item["payloads"] = payloads_of(connection, turn_id)
    return item


def contract_of(connection: sqlite3.Connection, digest: object) -> Row | None:
    """The frozen contract as it was stored."""
    row = connection.execute("SELECT body FROM contract WHERE hash = ?", (digest,)).fetchone()
    return None if row is None else dict(json.loads(row[0]))


def attempts(connection: sqlite3.Connection, turn_id: str) -> list[Row]:
    """The model calls, with how long each took."""
    return rows(connection, "SELECT * FROM attempt_tree WHERE turn_id = ? ORDER BY n", (turn_id,))


def payloads_of(connection: sqlite3.Connection, turn_id: str) -> list[Row]:
    """The texts behind the turn's rows, in order: what was asked, returned and said; None where pruned."""
    named = rows(
        connection,
        "SELECT 'attempt ' || n || ' response' AS what, response_digest AS digest FROM attempt WHERE turn_id = ?1"
        " AND response_digest IS NOT NULL"
        " UNION ALL SELECT call_id || ' arguments', arguments_digest FROM tool_call WHERE turn_id = ?1"
        " UNION ALL SELECT call_id || ' result', result_digest FROM tool_call WHERE turn_id = ?1"
        " AND result_digest IS NOT NULL",
        (turn_id,),
    )
    return [{"what": row["what"], "text": text_of(connection, str(row["digest"]))} for row in named]
