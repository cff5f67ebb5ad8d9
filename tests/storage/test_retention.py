"""Pruning: bodies first, then whole turns, never part of one; a running writer keeps what it relies on (LOG-11)."""

import json
import sqlite3
import time
from pathlib import Path

import pytest
from builders import GONE, LogBuilder

from phasewalk.machine.documents import payload_of
from phasewalk.storage import retention, retention_prune
from phasewalk.storage.database import open_for_reading, open_for_writing
from phasewalk.storage.phase_log import SqlitePhaseLog
from phasewalk.storage.retention_prune import Plan, Pruned, planned
from phasewalk.storage.turn_view import turn_item
from phasewalk.storage.writer import Writer

DAY = 86_400.0
OF_A_TURN = ("phase_event", "attempt", "fallback_step", "tool_call", "effect", "message", "approval", "circuit_failure", "summary")  # fmt: skip


def whole(builder: LogBuilder, age: float, text: str, **columns: object) -> str:
    """A turn with a row in every table that belongs to turns."""
    turn = builder.turn(age=age, text=text, **columns)
    builder.enter(turn, "build_prompt", 0, detail={"persona": {"payload": builder.payload("the persona " * 30)}})
    builder.leave(turn, "build_prompt", 1, "T9 prompt_built", "model_attempt", detail={"deep": [{"payload": builder.payload(f"prompt of {text}")}]})  # fmt: skip
    builder.attempt(turn, 1, response_digest=builder.payload(f"response to {text}"))
    builder.step(turn, 1, "skipped no_model", "rule", {})
    builder.insert("tool_call", turn_id=turn, round=1, call_id="call-1", provider_call_id="a", name="notes_add", effect="mutating",
                   started_us=1, arguments_digest=builder.payload(f"arguments of {text}"), result_digest=builder.payload(f"result of {text}"))  # fmt: skip
    builder.effect(turn, "answer", "general", "receipt", {"text": {"payload": builder.payload(f"answer to {text}")}})
    builder.insert("message", turn_id=turn, channel_id="200", role="user", author_id="77", author="mira", text=text, at_us=1, trimmed_us=2)  # fmt: skip
    builder.insert("approval", approval_id=f"A-{turn}", turn_id=turn, tool="t", arguments="{}", arguments_digest="d", user_id="77", user_name="mira", channel_id="200", asked_us=1)  # fmt: skip
    builder.log.execute("INSERT OR IGNORE INTO circuit (provider) VALUES ('one')")
    builder.insert("circuit_failure", provider="one", turn_id=turn, at_us=1, reason="http_5xx")
    builder.insert("summary", channel_id="200", upto_entry_id=1, turn_id=turn, text="in short", at_us=1)
    builder.insert("log_loss", at_us=1, turn_id=turn, rows=1, what="busy")
    return turn


def bodies(builder: LogBuilder) -> dict[str, bool]:
    """Each text that has a row, and whether its body is there."""
    rows = builder.log.execute("SELECT digest, body IS NOT NULL FROM payload").fetchall()
    return {digest: bool(there) for digest, there in rows}


def has(builder: LogBuilder, text: str) -> bool | None:
    """Whether a text is there; None when its row is gone too."""
    return bodies(builder).get(payload_of(text).digest)


def prune(builder: LogBuilder, keep: float = 30, keep_payloads: float = 14) -> tuple[Plan, Pruned]:
    now = time.time_ns() // 1000
    return retention_prune.prune(builder.path, now - int(keep * DAY * 1e6), now - int(keep_payloads * DAY * 1e6), "eve")


def turns(builder: LogBuilder) -> list[str]:
    return [name for (name,) in builder.log.execute("SELECT turn_id FROM turn ORDER BY turn_id")]


@pytest.fixture
def gone(builder: LogBuilder) -> LogBuilder:
    """A log whose process is gone."""
    builder.process(pid=GONE)
    return builder


@pytest.mark.spec("LOG-11")
def test_old_bodies_go_and_their_rows_stay_marked(gone: LogBuilder):
    old, new = whole(gone, 20 * DAY, "old"), whole(gone, 1 * DAY, "new")
    _, done = prune(gone)
    assert done == Pruned(turns=0, bodies=6)
    assert [has(gone, f"{what} old") for what in ("prompt of", "response to", "arguments of", "result of", "answer to")] == [False] * 5  # fmt: skip
    assert (has(gone, "old"), has(gone, "new"), has(gone, "prompt of new"), has(gone, "the persona " * 30)) == (False, True, True, True)  # fmt: skip
    assert gone.log.execute("SELECT count(*) FROM payload WHERE body IS NULL AND pruned_us > 0").fetchone() == (6,)
    assert turns(gone) == [old, new]
    shown = turn_item(gone.log, old, detail=True)
    assert (shown["pruned"], shown["question"]) == (6, None)


@pytest.mark.spec("LOG-11")
def test_old_turns_go_with_every_row_of_theirs_and_no_row_of_others(gone: LogBuilder):
    old, new = whole(gone, 40 * DAY, "old"), whole(gone, 1 * DAY, "new")
    before = {table: gone.log.execute(f"SELECT * FROM {table} WHERE turn_id = ?", (new,)).fetchall() for table in OF_A_TURN}  # fmt: skip
    _, done = prune(gone)
    assert (done.turns, turns(gone)) == (1, [new])
    for table in OF_A_TURN:
        assert gone.log.execute(f"SELECT count(*) FROM {table} WHERE turn_id = ?", (old,)).fetchone() == (0,), table
        assert gone.log.execute(f"SELECT * FROM {table} WHERE turn_id = ?", (new,)).fetchall() == before[table], table
    assert gone.log.execute("SELECT count(*) FROM effect_event").fetchone() == (2,)
    assert gone.log.execute("SELECT sum(rows), count(turn_id) FROM log_loss").fetchone() == (2, 1)
    assert (has(gone, "old"), has(gone, "prompt of old"), has(gone, "new")) == (None, None, True)
    assert gone.log.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.spec("LOG-11")
def test_a_text_that_a_younger_turn_uses_too_stays(gone: LogBuilder):
    gone.turn(age=40 * DAY, text="hello")
    gone.turn(age=1 * DAY, text="hello")
    prune(gone)
    assert has(gone, "hello") is True


@pytest.mark.spec("LOG-11")
def test_a_turn_that_runs_and_a_family_with_a_young_member_stay_whole(gone: LogBuilder):
    running = gone.turn(age=40 * DAY, outcome=None, phase="classify", text="running")
    parent = gone.turn(age=40 * DAY, text="parent")
    child = gone.turn(age=35 * DAY, parent_turn_id=parent)
    grandchild = gone.turn(age=1 * DAY, parent_turn_id=child)
    other = gone.turn(age=40 * DAY)
    other_child = gone.turn(age=35 * DAY, parent_turn_id=other)
    _, done = prune(gone)
    assert done.turns == 2
    assert set(turns(gone)) == {running, parent, child, grandchild}
    assert has(gone, "running") is True
    assert other_child not in turns(gone)


@pytest.mark.spec("LOG-11")
def test_an_interruption_leaves_whole_turns_and_a_true_count(gone: LogBuilder, monkeypatch: pytest.MonkeyPatch):
    names = [whole(gone, (60 - n) * DAY, f"old {n}") for n in range(9)]
    monkeypatch.setattr(retention_prune, "BATCH", 3)
    delete, seen = retention.delete_turns, []

    def stop_at_the_third(connection: sqlite3.Connection, some: list[str]) -> int:
        seen.append(some)
        count = delete(connection, some)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return count

    monkeypatch.setattr(retention_prune, "delete_turns", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        prune(gone)
    assert turns(gone) == names[6:]
    for name in names[6:]:
        assert gone.log.execute("SELECT count(*) FROM phase_event WHERE turn_id = ?", (name,)).fetchone() == (2,)
    assert gone.log.execute("SELECT rows FROM prune_log WHERE what = 'turns'").fetchone() == (6,)
    assert gone.log.execute("SELECT count(*) FROM operator_action").fetchone() == (1,)
    monkeypatch.undo()
    assert prune(gone)[1].turns == 3
    assert (turns(gone), bodies(gone)) == ([], {})


@pytest.mark.spec("LOG-11", "LOG-15")
def test_what_was_pruned_and_by_whom_stands_in_the_log(gone: LogBuilder):
    whole(gone, 40 * DAY, "old")
    whole(gone, 20 * DAY, "middle")
    made, _ = prune(gone)
    rows = gone.log.execute("SELECT what, before_us, rows, detail FROM prune_log ORDER BY prune_id").fetchall()
    assert rows == [
        ("payloads", None, 13, json.dumps({"unused_since_us": made.bodies_before_us}, separators=(",", ":"))),
        ("turns", made.turns_before_us, 1, None),
    ]
    audit = gone.log.execute("SELECT who, what, before, after FROM operator_action").fetchall()
    assert audit == [("eve", "prune the log", '{"turns":2,"bodies":13}', '{"turns":1,"bodies":0}')]
    assert gone.log.execute("SELECT pruned_before_us FROM log_coverage").fetchone() == (made.turns_before_us,)


@pytest.mark.spec("LOG-11")
def test_where_all_is_young_nothing_is_written(gone: LogBuilder):
    whole(gone, 1 * DAY, "new")
    made, done = prune(gone)
    assert (made.nothing, done) == (True, Pruned(0, 0))
    assert gone.log.execute("SELECT (SELECT count(*) FROM prune_log) + (SELECT count(*) FROM operator_action)").fetchone() == (0,)  # fmt: skip


@pytest.mark.spec("LOG-11")
def test_a_dry_run_tells_the_same_and_touches_nothing(gone: LogBuilder):
    whole(gone, 40 * DAY, "old")
    whole(gone, 20 * DAY, "middle")
    gone.log.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before, now = gone.path.read_bytes(), time.time_ns() // 1000
    told = planned(gone.path, now - int(30 * DAY * 1e6), now - int(14 * DAY * 1e6))
    assert gone.path.read_bytes() == before
    assert not gone.path.with_name(gone.path.name + "-wal").read_bytes()
    done = prune(gone)[1]
    assert (told.turns, len(told.bodies)) == (done.turns, done.bodies) == (1, 13)


@pytest.mark.spec("LOG-08", "LOG-11")
def test_what_was_pruned_is_not_found_any_more_and_the_rest_is(gone: LogBuilder):
    from phasewalk.storage.search import candidates, waiting

    whole(gone, 40 * DAY, "the brass key of old")
    whole(gone, 1 * DAY, "the brass key of today")
    retention.fill_index(gone.log)
    prune(gone)
    assert [text for (text,) in candidates(gone.log, "m.text", ["brass"])] == ["the brass key of today"]
    assert gone.log.execute("SELECT count(*) FROM message_index WHERE message_index MATCH '\"bra\"'").fetchone() == (1,)
    assert waiting(gone.log) == 0


@pytest.mark.spec("LOG-11", "LOG-08")
def test_the_number_of_the_newest_message_is_not_given_again(gone: LogBuilder):
    whole(gone, 40 * DAY, "secret words of old")
    prune(gone)
    gone.insert("message", channel_id="200", role="user", author_id="1", author="a", text="next", at_us=gone.now_us)
    assert gone.log.execute("SELECT entry_id, role, text, author FROM message").fetchall() == [
        (1, "tool", "", ""), (2, "user", "next", "a"),
    ]  # fmt: skip
    whole(gone, 39 * DAY, "old as well")
    prune(gone)
    assert gone.log.execute("SELECT entry_id, role FROM message").fetchall() == [(2, "user"), (3, "tool")]


@pytest.mark.spec("LOG-11")
def test_counts_of_messages_that_opened_no_turn_go_with_the_turns_of_their_time(gone: LogBuilder):
    ignored = {"process_id": 1, "channel_id": "200", "reason": "paused", "count": 3}
    for age in (31, 29):
        gone.insert("ignored_message", hour_us=gone.at(age * DAY), last_us=gone.at(age * DAY), **ignored)
    prune(gone)
    assert gone.log.execute("SELECT hour_us FROM ignored_message").fetchall() == [(gone.at(29 * DAY),)]


@pytest.mark.spec("LOG-11")
def test_old_messages_of_no_turn_go_too(gone: LogBuilder):
    for age, text in ((40, "old"), (1, "new")):
        gone.insert(
            "message", channel_id="200", role="user", author_id="1", author="a", text=text, at_us=gone.at(age * DAY)
        )
    prune(gone)
    assert gone.log.execute("SELECT text FROM message").fetchall() == [("new",)]


@pytest.mark.spec("LOG-11")
def test_the_queue_of_summaries_counts_what_is_left(gone: LogBuilder):
    whole(gone, 40 * DAY, "old")
    whole(gone, 1 * DAY, "new")
    gone.insert("summary_queue", channel_id="200", entries=2, first_entry_id=1)
    prune(gone)
    assert gone.log.execute("SELECT channel_id, entries FROM summary_queue").fetchall() == [("200", 1)]


def test_contracts_of_no_turn_go(gone: LogBuilder):
    for name in ("a", "b"):
        gone.insert("contract", hash=name, body="{}", first_seen_us=1)
    gone.turn(age=40 * DAY, contract_hash="a")
    gone.turn(age=1 * DAY, contract_hash="b")
    prune(gone)
    assert gone.log.execute("SELECT hash FROM contract").fetchall() == [("b",)]


@pytest.mark.spec("LOG-11")
def test_texts_that_a_running_process_may_refer_to_stay_until_it_is_gone(builder: LogBuilder, monkeypatch):
    process = builder.process(command="bot")
    whole(builder, 40 * DAY, "old")
    made, done = prune(builder)
    assert (done, turns(builder)) == (Pruned(turns=1, bodies=0), [])
    assert has(builder, "prompt of old") is True
    assert {p.process_id for p in made.left.values()} == {process}
    made, done = prune(builder)  # its turn is gone, and still it is known
    assert (len(made.left), done.bodies, has(builder, "prompt of old")) == (7, 0, True)
    builder.log.execute("UPDATE process SET ended_us = 9, end_reason = 'restart'")
    assert prune(builder)[1].bodies == 7
    assert bodies(builder) == {}
    assert builder.log.execute("SELECT count(*) FROM payload_left").fetchone() == (0,)


@pytest.mark.spec("LOG-11")
def test_what_a_process_used_long_ago_it_has_forgotten(builder: LogBuilder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "REMEMBERED", 60)
    builder.process()
    whole(builder, 20 * DAY, "long ago")
    for number in range(100):
        builder.turn(age=20 * DAY - number, text=f"later {number}")
    prune(builder)
    assert (has(builder, "prompt of long ago"), has(builder, "later 99")) == (False, True)


@pytest.mark.spec("LOG-11")
async def test_a_writer_that_runs_never_refers_to_a_text_without_a_body(log, tmp_path: Path):
    """A real writer with its memory of stored texts, and the same words said again after a pruning."""
    await log.turn("1old0000000000", log.moved(), text=payload_of("the same words"), started_us=1_700_000_000_000_000)
    log.rows("SELECT 1")
    await log.writer.call(lambda c: c.execute("UPDATE turn SET phase='done', ended_us=1, outcome='answered', reason='ok', reason_phase='record'"))  # fmt: skip
    now = time.time_ns() // 1000
    _, done = retention_prune.prune(log.path, now - 10**12, now - 10**12, "eve")
    assert done.turns == 1
    await log.turn("1new0000000000", text=payload_of("the same words"))
    assert log.rows("SELECT body IS NOT NULL FROM payload AS p JOIN turn AS t ON t.text_digest = p.digest") == [(1,)]


@pytest.mark.spec("LOG-11")
async def test_a_writer_that_began_anew_stores_a_pruned_text_again(builder: LogBuilder):
    from phasewalk.machine.testing import ManualClock
    from phasewalk.machine.turn_table import TURN_TABLE

    builder.process(pid=GONE)
    builder.turn(age=20 * DAY, text="the same words")
    prune(builder)
    assert has(builder, "the same words") is False
    writer = Writer(open_for_writing(builder.path), builder.path)
    phases = SqlitePhaseLog(writer, open_for_reading(builder.path), ManualClock(wall_us=builder.now_us))
    await phases.start([TURN_TABLE], "bot", "0")
    rows: list = []
    phases._payload_rows(rows, [payload_of("the same words")])
    from phasewalk.storage.statements import execute_all

    await writer.call(lambda connection: execute_all(connection, rows))
    await writer.close()
    phases._reader.close()
    assert has(builder, "the same words") is True


@pytest.mark.spec("LOG-11")
def test_what_came_into_use_after_the_plan_stays(gone: LogBuilder, monkeypatch: pytest.MonkeyPatch):
    whole(gone, 20 * DAY, "old")
    plan = retention_prune.plan

    def planned_then_used(*arguments):
        made = plan(*arguments)
        gone.turn(age=0, text="prompt of old")
        return made

    monkeypatch.setattr(retention_prune, "plan", planned_then_used)
    prune(gone)
    assert (has(gone, "prompt of old"), has(gone, "response to old")) == (True, False)


@pytest.mark.spec("LOG-11", "LOG-14")
async def test_a_bot_that_writes_goes_on_while_its_log_is_pruned(log):
    import asyncio

    for number in range(300):
        await log.turn(f"1old{number:010}", started_us=1_700_000_000_000_000)
    await log.writer.call(lambda c: c.execute("UPDATE turn SET phase='done', ended_us=1, outcome='answered', reason='ok', reason_phase='record'"))  # fmt: skip
    now = time.time_ns() // 1000
    pruning = asyncio.ensure_future(
        asyncio.to_thread(retention_prune.prune, log.path, now - 10**12, now - 10**12, "eve")
    )
    number = 0
    while not pruning.done():
        number += 1
        await log.turn(f"1new{number:010}")
        await asyncio.sleep(0)
    assert pruning.result()[1].turns == 300
    assert log.rows("SELECT count(*) FROM turn") == [(number,)]
    assert log.rows("PRAGMA foreign_key_check") == []
