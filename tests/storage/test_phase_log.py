"""The phase log over SQLite: claims, fencing, payloads, losses, the process row."""

import asyncio
import json
import random
import sqlite3
import threading
import typing
from pathlib import Path

import pytest

from phasewalk.machine import records
from phasewalk.machine.definition import Definition
from phasewalk.machine.documents import payload_of
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import LeaseLostError, LogWriteError, UnreadableLogError
from phasewalk.machine.limits import Limits
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.reasons import Reason
from phasewalk.machine.runner import Runner
from phasewalk.machine.testing import CountingIds, settle
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.machine.words import Addressed, Cause, Decision, Kind, Outcome
from phasewalk.storage.compression import packed, unpacked
from phasewalk.storage.database import open_for_writing
from phasewalk.storage.history import SqliteMemory
from phasewalk.storage.statements import ROWS

LONG = "a long text " * 100


def text_of(reader: sqlite3.Connection, digest: str) -> str | None:
    encoding, body = reader.execute("SELECT encoding, body FROM payload WHERE digest = ?", (digest,)).fetchone()
    return None if body is None else unpacked(encoding, body)


@pytest.mark.spec("TURN-10")
async def test_two_logs_on_one_file_claim_a_trigger_once(log, another):
    second = await another(log.path).start()
    found = await asyncio.gather(
        log.log.open(log.opened("turn-a", trigger_key="discord:1"), "token-a", log.entered(1)),
        second.log.open(second.opened("turn-b", trigger_key="discord:1"), "token-b", second.entered(1)),
    )
    assert [claimed is None for claimed in found].count(True) == 1
    winner = "turn-a" if found[0] else "turn-b"
    assert log.rows("SELECT turn_id FROM turn") == [(winner,)]
    assert log.rows("SELECT turn_id, phase, kind FROM phase_event") == [(winner, "received", "enter")]
    assert await log.log.find("discord:1") == await second.log.find("discord:1") == winner
    await second.close()


@pytest.mark.spec("TURN-10")
async def test_a_trigger_without_a_turn_is_not_found(log):
    assert await log.log.find("discord:1") is None
    await log.turn("turn-1", trigger_key="discord:1")
    assert (log.log.knows("turn-1"), log.log.knows("turn-2")) == (True, False)


@pytest.mark.spec("LOG-03")
async def test_a_turn_id_that_exists_already_is_an_error_and_no_known_trigger(log):
    await log.turn("turn-1")
    with pytest.raises(LogWriteError, match=r"UNIQUE constraint failed: turn\.turn_id"):
        await log.log.open(log.opened("turn-1", trigger_key="other"), "token")


@pytest.mark.spec("TURN-13")
async def test_a_writer_that_lost_its_lease_changes_nothing_and_disturbs_no_other_turn(log):
    lost, kept = await log.turn("turn-1"), await log.turn("turn-2")
    other = log.other()
    other.execute("UPDATE turn SET lease_token = 'new' WHERE turn_id = 'turn-1'")
    other.close()
    before = log.writer.groups
    found = await asyncio.gather(
        lost.write(log.moved(), log.exited(2, "received", "admitted", "T01", "classify"), log.entered(3, "classify")),
        kept.write(log.moved(), log.exited(2, "received", "admitted", "T01", "classify"), log.entered(3, "classify")),
        return_exceptions=True,
    )
    assert isinstance(found[0], LeaseLostError)
    assert str(found[0]) == "turn turn-1 belongs to another process or has ended"
    assert found[1] is None
    assert log.rows("SELECT turn_id, phase FROM turn ORDER BY turn_id") == [
        ("turn-1", "received"),
        ("turn-2", "classify"),
    ]
    assert log.rows("SELECT turn_id, count(*) FROM phase_event GROUP BY turn_id") == [("turn-1", 1), ("turn-2", 3)]
    assert log.writer.groups - before <= 2


@pytest.mark.spec("TURN-13", "LOG-03")
@pytest.mark.parametrize("what", ["intent", "rows", "end"])
async def test_without_the_lease_neither_intent_nor_end_is_written(log, what: str):
    turn = await log.turn("turn-1")
    other = log.other()
    other.execute("UPDATE turn SET lease_token = 'new'")
    other.close()
    record = {
        "intent": records.EffectIntended("e1", EffectKind.ANSWER, "key", "general", 1),
        "rows": log.entered(2, "classify"),
        "end": log.ended(),
    }[what]
    with pytest.raises(LeaseLostError):
        await turn.write(record, durable=what == "intent")
    assert log.rows("SELECT (SELECT count(*) FROM effect), (SELECT count(*) FROM phase_event), ended_us FROM turn") == [
        (0, 1, None)
    ]


@pytest.mark.spec("TURN-04", "TURN-13")
async def test_a_turn_that_has_ended_takes_no_further_row(log):
    turn = await log.turn("turn-1", log.ended())
    for record in (log.moved(), log.ended(), log.entered(9)):
        with pytest.raises(LeaseLostError):
            await turn.write(record)
    assert log.rows("SELECT outcome, phase FROM turn") == [("answered", "done")]


@pytest.mark.spec("LOG-12")
async def test_a_payload_is_stored_once_however_often_it_is_used(log, another):
    payload = payload_of(LONG)
    turn = await log.turn("turn-1", log.entered(2, payloads=(payload,)))
    await turn.write(log.entered(3, payloads=(payload, payload_of("short"))))
    second = await another(log.path).start()
    await second.turn("turn-2", second.entered(2, payloads=(payload,)))
    await second.close()
    assert log.rows("SELECT count(*) FROM payload WHERE digest = ?", payload.digest) == [(1,)]
    assert text_of(log.reader, payload.digest) == LONG
    assert log.rows("SELECT length(body) < chars FROM payload WHERE digest = ?", payload.digest) == [(1,)]


@pytest.mark.spec("LOG-12")
async def test_a_pruned_payload_comes_back_when_its_text_is_used_again(log, another):
    payload = payload_of(LONG)
    await log.turn("turn-1", log.entered(2, payloads=(payload,)))
    other = log.other()
    other.execute("UPDATE payload SET body = NULL, pruned_us = 1")
    other.close()
    assert text_of(log.reader, payload.digest) is None
    second = await another(log.path).start()
    await second.turn("turn-2", second.entered(2, payloads=(payload,)))
    await second.close()
    assert text_of(log.reader, payload.digest) == LONG
    assert log.rows("SELECT pruned_us FROM payload WHERE digest = ?", payload.digest) == [(None,)]


@pytest.mark.spec("LOG-12")
async def test_a_payload_whose_commit_failed_is_not_taken_for_stored(log):
    payload = payload_of(LONG)
    turn = await log.turn("turn-1")
    with pytest.raises(LogWriteError):
        await turn.write(log.entered(1, payloads=(payload,)))
    await settle()
    await turn.write(log.entered(2, payloads=(payload,)))
    assert text_of(log.reader, payload.digest) == LONG


@pytest.mark.spec("LOG-12")
async def test_only_so_many_payloads_are_remembered(log, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("phasewalk.storage.phase_log.KNOWN_PAYLOADS", 2)
    turn = await log.turn("turn-1")
    for n in range(5):
        await turn.write(log.entered(n + 2, payloads=(payload_of(f"text {n}"),)))
    await settle()
    assert list(log.log._stored) == [payload_of("text 3").digest, payload_of("text 4").digest]


@pytest.mark.spec("LOG-02")
async def test_a_heavy_payload_does_not_hold_up_the_loop(log):
    big = payload_of(random.Random(1).randbytes(100_000).hex())
    turn = await log.turn("turn-1")
    commit = turn.write(log.entered(2, payloads=(big,)))
    assert not commit.done()
    await commit
    assert text_of(log.reader, big.digest) == big.text


@pytest.mark.spec("LOG-03")
async def test_descriptive_rows_that_cannot_be_written_are_counted_as_lost(log):
    turn = await log.turn("turn-1")
    ended = records.ToolEnded("call-1", "failed", None, 5)
    started = records.ToolStarted(1, "call-1", "", "dice", "read", payload_of("{}"), 1)
    await turn.write(started)
    await turn.describe(ended, log.entered(2))
    await log.log.heartbeat()
    assert log.rows("SELECT turn_id, rows, what FROM log_loss") == [
        (
            "turn-1",
            2,
            "the log refused a row: CHECK constraint failed: status IS NULL OR status = 'ok' OR reason IS NOT NULL",
        )
    ]
    assert log.rows("SELECT log_gap, (SELECT count(*) FROM phase_event) FROM turn") == [(2, 1)]


@pytest.mark.spec("LOG-03", "TURN-08")
async def test_what_comes_too_late_is_written_without_a_lease_and_its_loss_counted(log):
    started = records.ToolStarted(1, "call-1", "", "dice", "read", payload_of("{}"), 1)
    turn = await log.turn("turn-1", started)
    await turn.write(log.ended())
    await turn.afterwards(records.ToolEnded("call-1", "late", Reason.TOOL_TIMED_OUT, 9, payload_of("6")))
    assert log.rows("SELECT status, reason, ended_us FROM tool_call") == [("late", "tool_timed_out", 9)]
    await turn.afterwards(records.ToolEnded("call-1", "lost", Reason.TOOL_FAILED, 9))
    await log.log.heartbeat()
    assert log.rows("SELECT log_gap, outcome FROM turn") == [(1, "answered")]


@pytest.mark.spec("TURN-13")
async def test_describing_without_the_lease_is_no_loss_but_the_end(log):
    turn = await log.turn("turn-1", log.ended())
    with pytest.raises(LeaseLostError):
        await turn.describe(log.entered(2))
    assert log.rows("SELECT count(*) FROM log_loss") == [(0,)]


def test_every_record_has_a_statement():
    written_by_the_log = {records.TurnOpened, records.TurnMoved, records.TurnEnded, records.HistoryTrimmed}
    assert set(ROWS) | written_by_the_log == set(typing.get_args(records.Record))
    assert set(ROWS) & written_by_the_log == set()


@pytest.mark.spec("LOG-01", "LOG-05")
async def test_each_record_becomes_its_row(log):
    text = payload_of("{}")
    turn = await log.turn(
        "turn-1",
        records.ContractFrozen("c1", '{"offered":[]}', 5),
        records.ContractFrozen("c1", '{"offered":[]}', 6),
        records.AttemptStarted(1, Cause.FIRST, "one", "m", "chat", 10, "wire"),
        records.AttemptEnded(1, "failed", Reason.HTTP_429, 20, http_status=429, retry_after_ms=2000),
        records.FallbackConsidered(1, 10, "one", "m", Decision.TAKEN, Reason.OK, "FB-10", '{"position":1}'),
        records.ToolStarted(1, "call-1", "p-1", "dice", "read", text, 30),
        records.ToolEnded("call-1", "ok", None, 40, payload_of("6")),
        records.EffectIntended("e1", EffectKind.ANSWER, "key", "general", 50, '{"text":"hi"}'),
        records.EffectSettled("e1", "receipt", 60, '{"receipt":"9"}'),
        records.Said("2", "user", "3", "ann", "hello", 70, message_id="4"),
    )
    await turn.write(log.moved("deliver"), log.exited(2, "received", "admitted", "T01", "classify", reason=Reason.OK))
    one = {
        "SELECT hash, first_seen_us FROM contract": ("c1", 5),
        "SELECT n, cause, provider, model, api, status, reason, http_status, retry_after_ms, ended_us FROM attempt": (
            1, "first", "one", "m", "chat", "failed", "http_429", 429, 2000, 20,
        ),
        'SELECT step, decision, reason, rule, "values" FROM fallback_step': (
            1, "taken", "ok", "FB-10", '{"position":1}',
        ),
        "SELECT round, call_id, provider_call_id, name, effect, status, reason FROM tool_call": (
            1, "call-1", "p-1", "dice", "read", "ok", None,
        ),
        "SELECT effect_id, kind, idempotency_key, target, state, intended_us, settled_us FROM effects": (
            "e1", "answer", "key", "general", "done", 50, 60,
        ),
        "SELECT channel_id, role, author, text, message_id, state FROM message": (
            "2", "user", "ann", "hello", "4", None,
        ),
        "SELECT phase, kind, addressed, addressed_by, lease_token FROM turn": (
            "deliver", "user", 1, "mention", "token",
        ),
        "SELECT phase, event, transition, to_phase, reason FROM phase_event WHERE kind = 'exit'": (
            "received", "admitted", "T01", "classify", "ok",
        ),
    }  # fmt: skip
    for query, expected in one.items():
        assert log.rows(query) == [expected]


@pytest.mark.spec("LOG-01", "TURN-04")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE turn SET ended_us = 1",
        "UPDATE turn SET outcome = 'stopped'",
        "UPDATE turn SET phase = 'done', ended_us = 1, outcome = 'stopped'",
        "UPDATE turn SET phase = 'done', ended_us = 1, outcome = 'stopped', reason = 'ok'",
        "UPDATE turn SET phase = 'done', ended_us = 1, outcome = 'bored', reason = 'ok', reason_phase = 'record'",
        "UPDATE turn SET phase = 'done', ended_us = 1, outcome = 'stopped', reason = 'bored', reason_phase = 'record'",
    ],
)
async def test_the_database_refuses_an_end_without_outcome_and_reason(log, change: str):
    await log.turn("turn-1")
    other = log.other()
    other.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(sqlite3.IntegrityError):
        other.execute(change)
    other.close()


@pytest.mark.spec("LOG-02")
async def test_a_row_of_a_turn_that_does_not_exist_is_refused(log):
    with pytest.raises(LogWriteError, match="FOREIGN KEY constraint failed"):
        await log.log.write_afterwards("turn-9", (log.entered(1),))


@pytest.mark.spec("LOG-02")
def test_foreign_keys_are_on(tmp_path: Path):
    connection = open_for_writing(tmp_path / "log.db")
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connection.close()


async def test_the_process_row_tells_who_runs_since_when_and_how_it_ended(log):
    began = log.clock.now_us()
    assert log.rows("SELECT command, version, started_us, heartbeat_us, ended_us FROM process") == [
        ("feed", "0.1.0", began, began, None)
    ]
    await log.clock.advance(60.0)
    await log.log.heartbeat()
    await log.clock.advance(1.0)
    await log.log.end("finished")
    assert log.rows("SELECT heartbeat_us - started_us, ended_us - started_us, end_reason FROM process") == [
        (61_000_000, 61_000_000, "finished")
    ]
    assert log.log.process_id == 1


@pytest.mark.spec("TURN-13")
async def test_the_heartbeat_keeps_the_leases_of_its_own_running_turns(log, another):
    await log.turn("turn-1")
    await log.turn("turn-2", log.ended())
    second = await another(log.path).start()
    await second.turn("turn-3")
    await log.clock.advance(60.0)
    await log.log.heartbeat()
    leases = dict(log.rows("SELECT turn_id, (lease_until_us - started_us) / 1000000 FROM turn"))
    assert leases == {"turn-1": 360, "turn-2": 300, "turn-3": 300}
    await second.close()


async def test_the_machine_is_kept_once_so_that_old_turns_are_drawn_on_their_own(log):
    await log.log.start([TURN_TABLE], "bot", "0.1.0")
    kept = log.rows("SELECT name, body FROM machine")
    assert [(name, json.loads(body)) for name, body in kept] == [
        ("turn", json.loads(json.dumps(TURN_TABLE.as_document())))
    ]


async def test_messages_that_open_no_turn_are_counted_by_the_hour(log):
    for _ in range(3):
        await log.log.count_ignored("2", Reason.BOT_AUTHOR)
    await log.log.count_ignored("2", Reason.OWN_MESSAGE)
    await log.clock.advance(3600)
    await log.log.count_ignored("2", Reason.OWN_MESSAGE)
    hour = log.clock.now_us() // 3_600_000_000 * 3_600_000_000
    assert log.rows("SELECT channel_id, reason, hour_us, count FROM ignored_message ORDER BY hour_us, reason") == [
        ("2", "bot_author", hour - 3_600_000_000, 3),
        ("2", "own_message", hour - 3_600_000_000, 1),
        ("2", "own_message", hour, 1),
    ]


@pytest.mark.spec("ENV-07", "ENV-36", "ENV-11")
async def test_trimming_is_part_of_the_commit_that_adds_and_the_rows_stay(log):
    said = [records.Said("2", "user", "3", "ann", f"text {n}", n) for n in range(5)]
    turn = await log.turn("turn-1", *said)
    call = records.Said(
        "2",
        "tool",
        "",
        "dice",
        "6",
        9,
        unit="u",
        call='{"call_id":"c","provider_id":"","name":"dice","arguments":"{}"}',
    )
    await turn.write(log.moved(), call, records.HistoryTrimmed(3, 3, 77))
    window = await SqliteMemory(log.reader).window()
    assert [(e.text, e.role, e.call.name if e.call else None) for e in window] == [
        ("text 3", "user", None),
        ("text 4", "user", None),
        ("6", "tool", "dice"),
    ]
    assert log.rows("SELECT count(*), sum(trimmed_us = 77) FROM message") == [(6, 3)]


@pytest.mark.spec("ENV-32")
async def test_the_window_knows_what_people_have_seen(log):
    states = [None, "sent", "failed", "in_doubt"]
    await log.turn("turn-1", *(records.Said("2", "assistant", "", "helper", str(s), 1, state=s) for s in states))
    assert [(e.text, e.seen) for e in await SqliteMemory(log.reader).window()] == [
        ("None", True),
        ("sent", True),
        ("failed", False),
        ("in_doubt", False),
    ]


def noop_runner(log) -> Runner:
    """A runner whose turns take the short path."""

    def phase(name: str) -> Phase:
        event = {"received": "short_path_matched", "record": "recorded", "deliver": "delivered"}.get(name, "")

        async def run(_turn, _ports):
            return Report(event)

        return Phase(name, run, {event} if event else ())

    machine = Definition(TURN_TABLE, {name: phase(name) for name in TURN_TABLE.phases})
    return Runner(machine, log.log, log.clock, CountingIds(), lambda *_: None)


def trigger(key: str = "discord:1") -> Trigger:
    return Trigger(key, Kind.USER, "hello", "2", "general", "3", "ann", addressed=Addressed.MENTION)


@pytest.mark.spec("TURN-04", "TURN-10")
async def test_a_turn_cancelled_while_its_trigger_is_claimed_ends_all_the_same(log):
    log.locked(0.2)
    task = asyncio.ensure_future(noop_runner(log).run(trigger(), Limits()))
    await settle()
    assert log.rows("SELECT count(*) FROM turn") == [(0,)]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    rows = log.rows("SELECT outcome, reason FROM turn")
    assert rows in ([("cancelled", "cancelled")], [("short_path", "short_path")])
    assert log.rows("SELECT count(*) FROM phase_event WHERE to_phase = 'done'") == [(1,)]


@pytest.mark.spec("TURN-04", "TURN-10")
async def test_a_cancelled_claim_of_a_known_trigger_leaves_nothing_behind(log):
    await log.turn("turn-0", trigger_key="discord:1")
    log.locked(0.2)
    task = asyncio.ensure_future(noop_runner(log).run(trigger(), Limits()))
    await settle()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert log.rows("SELECT turn_id FROM turn") == [("turn-0",)]


@pytest.mark.spec("TURN-10")
async def test_the_runner_walks_a_trigger_once_over_the_real_log(log):
    first = await noop_runner(log).run(trigger(), Limits())
    second = await noop_runner(log).run(trigger(), Limits())
    assert (first.known, second.known, second.turn_id) == (False, True, first.turn_id)
    assert log.rows("SELECT outcome, reason FROM turn") == [(Outcome.SHORT_PATH, Reason.SHORT_PATH)]


async def test_what_a_model_answered_is_kept_by_content(log):
    long = "an answer " * 100
    await log.turn(
        "turn-1",
        records.AttemptStarted(1, Cause.FIRST, "one", "m", "chat", 10, "wire"),
        records.AttemptEnded(1, "ok", None, 20, response=payload_of(long)),
    )
    digest = log.rows("SELECT response_digest FROM attempt")[0][0]
    assert text_of(log.reader, digest) == long


def test_a_stored_body_is_read_back_and_an_unknown_encoding_refused():
    for text in ("", "short", "é🙂" * 500):
        assert unpacked(*packed(text.encode())) == text
    noise = random.Random(1).randbytes(500)
    assert packed(noise) == ("utf-8", noise)
    with pytest.raises(UnreadableLogError, match="payload encoding 'zlib-9'"):
        unpacked("zlib-9", b"")


async def test_a_turn_log_without_records_writes_nothing(log):
    turn = await log.turn("turn-1")
    await turn.write()
    assert log.rows("SELECT count(*) FROM phase_event") == [(1,)]


@pytest.mark.spec("LOG-02")
async def test_a_large_payload_is_packed_off_the_loop(log, monkeypatch: pytest.MonkeyPatch):
    packing: list[bool] = []

    def watched(body: bytes) -> tuple[str, bytes]:
        packing.append(threading.current_thread() is threading.main_thread())
        return packed(body)

    monkeypatch.setattr("phasewalk.storage.statements.packed", watched)
    turn = await log.turn("turn-1", text=payload_of("small"))
    await turn.write(log.entered(2, payloads=(payload_of("words " * 20_000),)))
    assert packing == [True, False]
