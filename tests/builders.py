"""A log made row by row, for questions about logs: every row stands where a test says, at the time that it says.

`LogBuilder` writes into a real file with the real schema; each method adds one thing and returns what names it.
Times are seconds before now, so `age=60` is a minute ago.
"""

import json
import os
import socket
import sqlite3
import time
from pathlib import Path

from phasewalk.machine.documents import json_of, payload_of
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.storage.database import open_for_writing
from phasewalk.storage.process import started_mark

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
GONE = 4_194_304
"""A pid that no process has: over the largest that Linux gives."""


def base32(number: int, digits: int) -> str:
    """As turn ids are made."""
    text = ""
    for _ in range(digits):
        number, last = divmod(number, 32)
        text = ALPHABET[last] + text
    return text


class LogBuilder:
    """A log in the making; `close` it, or let a command read beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_us = time.time_ns() // 1000
        self.log: sqlite3.Connection = open_for_writing(path)
        self.log.execute(
            "INSERT OR IGNORE INTO machine (hash, name, body, first_seen_us) VALUES (?, 'turn', ?, 1)",
            (TURN_TABLE.digest, json_of(TURN_TABLE.as_document())),
        )
        self._turns = 0
        self._effects = 0
        self._process: int | None = None

    def insert(self, table: str, **values: object) -> None:
        """One row."""
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        self.log.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))

    def at(self, age: float) -> int:
        """The instant so many seconds ago."""
        return self.now_us - int(age * 1_000_000)

    def process(
        self,
        age: float = 3600.0,
        *,
        pid: int | None = None,
        command: str = "bot",
        silent: float = 0.0,
        ended: str | None = None,
        host: str | None = None,
    ) -> int:
        """A process; by default this one, alive. `pid=GONE` is none that lives."""
        own = os.getpid()
        self.insert(
            "process",
            host=socket.gethostname() if host is None else host,
            pid=own if pid is None else pid,
            pid_started=started_mark(own) if pid is None else "",
            command=command,
            version="0.1.0",
            started_us=self.at(age),
            heartbeat_us=self.at(silent),
            ended_us=None if ended is None else self.at(silent),
            end_reason=ended,
        )
        self._process = self.log.execute("SELECT max(process_id) FROM process").fetchone()[0]
        return int(str(self._process))

    def payload(self, text: str) -> str:
        """A text, by its digest."""
        payload = payload_of(text)
        self.log.execute(
            "INSERT OR IGNORE INTO payload (digest, chars, encoding, body) VALUES (?, ?, 'utf-8', ?)",
            (payload.digest, len(payload.text), payload.text.encode()),
        )
        return payload.digest

    def turn(
        self,
        age: float = 60.0,
        *,
        outcome: str | None = "answered",
        reason: str = "ok",
        phase: str = "record",
        text: str = "hello",
        took: float = 2.0,
        turn_id: str | None = None,
        **columns: object,
    ) -> str:
        """A turn, by its id. `outcome=None` runs still, in `phase`; else its reason arose there."""
        if self._process is None:
            self.process()
        self._turns += 1
        started = self.at(age)
        made = base32((started // 1_000_000 << 35) | ((started // 1000 % 1000) << 25) | self._turns, 14)
        name = turn_id or made
        ended = outcome is not None
        values = {
            "turn_id": name, "machine": "turn", "kind": "user", "trigger_key": f"test:{self._turns}", "guild_id": "1",
            "channel_id": "200", "channel_name": "general", "user_id": "77", "user_name": "mira",
            "trigger_message_id": str(1_100_000_000_000_000_000 + self._turns), "text_digest": self.payload(text),
            "started_us": started, "deadline_us": started + 360_000_000,
            "ended_us": started + int(took * 1e6) if ended else None, "phase": "done" if ended else phase,
            "outcome": outcome, "reason": reason if ended else None, "reason_phase": phase if ended else None,
            "addressed": 1, "addressed_by": "direct", "machine_hash": TURN_TABLE.digest, "process_id": self._process,
            "lease_token": "token", "lease_until_us": started + 300_000_000,
        }  # fmt: skip
        self.insert("turn", **{**values, **columns})
        return name

    def turns(self, count: int, **columns: object) -> list[str]:
        """So many turns alike."""
        return [self.turn(**columns) for _ in range(count)]

    def damage(self) -> None:
        """Close the log and spoil its last pages, as a failing disk would."""
        self.close()
        data = bytearray(self.path.read_bytes())
        for page in range(len(data) // 4096 - 30, len(data) // 4096):
            data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
        self.path.write_bytes(data)

    def enter(self, turn_id: str, phase: str, at: float, *, visit: int = 1, **columns: object) -> None:
        """A visit begins `at` seconds after the start of its turn."""
        self._event(turn_id, phase, visit, "enter", at, **{"budget_ms": 360_000, **columns})

    def leave(
        self, turn_id: str, phase: str, at: float, taken: str, to: str, *, visit: int = 1, **columns: object
    ) -> None:
        """A visit ends; `taken` is transition and event, as in `T12 output_received`."""
        transition, event = taken.split()
        self._event(turn_id, phase, visit, "exit", at, transition=transition, event=event, to_phase=to, **columns)

    def _event(self, turn_id: str, phase: str, visit: int, kind: str, at: float, **columns: object) -> None:
        seq, started = self.log.execute(
            "SELECT (SELECT coalesce(max(seq), 0) + 1 FROM phase_event WHERE turn_id = ?1), started_us FROM turn"
            " WHERE turn_id = ?1",
            (turn_id,),
        ).fetchone()
        given = {name: json.dumps(v) if isinstance(v, list | dict) else v for name, v in columns.items()}
        values = {"turn_id": turn_id, "seq": seq, "phase": phase, "visit": visit, "kind": kind}
        times = {"at_us": started + int(at * 1e6), "mono_ns": int(at * 1e9)}
        self.insert("phase_event", **{**values, **times, **given})

    def attempt(self, turn_id: str, n: int, **columns: object) -> None:
        """A model call that succeeded, unless the columns say otherwise."""
        values = {
            "turn_id": turn_id, "n": n, "cause": "first", "provider": "one", "model": "m-one", "api": "chat",
            "status": "ok", "started_us": self.at(59), "ended_us": self.at(58),
        }  # fmt: skip
        self.insert("attempt", **{**values, **columns})

    def step(self, turn_id: str, step: int, decided: str, rule: str, values: dict[str, object]) -> None:
        """A candidate that was considered; `decided` is decision and reason, as in `skipped no_model`."""
        decision, reason = decided.split()
        self.insert(
            "fallback_step", turn_id=turn_id, step=step, at_us=self.at(58), provider="two", model="m-two",
            decision=decision, reason=reason, rule=rule, values=json.dumps(values),
        )  # fmt: skip

    def effect(
        self, turn_id: str, kind: str, target: str, settled: str | None, detail: object = None, *, why: object = None
    ) -> str:
        """An effect: its intent, and what settled it (`receipt`, `failed` or None), `why` where it says so."""
        self._effects += 1
        name = f"effect-{self._effects}"
        self.insert("effect", effect_id=name, turn_id=turn_id, kind=kind, idempotency_key=f"key-{name}", target=target)
        text = None if detail is None else json.dumps(detail)
        self.insert("effect_event", effect_id=name, kind="intent", at_us=self.at(57), detail=text)
        if settled is not None:
            self.insert(
                "effect_event",
                effect_id=name,
                kind=settled,
                at_us=self.at(56),
                detail=json.dumps(why or {"receipt": "log:1"}),
            )
        self.log.execute("UPDATE turn SET effects = effects + 1 WHERE turn_id = ?", (turn_id,))
        return name

    def prune(self, digest: str) -> None:
        """The body of a text is taken away."""
        self.log.execute("UPDATE payload SET body = NULL, pruned_us = ? WHERE digest = ?", (self.now_us, digest))

    def close(self) -> None:
        """Close the file."""
        self.log.close()
