"""`phasewalk tail`: events in the order in which they were written, and what comes after them."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from builders import LogBuilder

from phasewalk.storage.database import open_for_writing

PROGRAM = (sys.executable, "-m", "phasewalk.surfaces.cli")


def walked(builder: LogBuilder, **columns: object) -> str:
    """A turn of two phases."""
    turn = builder.turn(**columns)
    builder.enter(turn, "classify", 0)
    builder.leave(turn, "classify", 0.5, "T04 classified", "freeze_contract")
    builder.enter(turn, "freeze_contract", 0.5)
    builder.leave(turn, "freeze_contract", 0.5, "T42 phase_crashed", "record", reason="internal_error")
    builder.enter(turn, "done", 2)
    return turn


@contextmanager
def followed(builder: LogBuilder, *options: str):
    """`tail -f` as a real process, ended at the end."""
    running = subprocess.Popen(
        [*PROGRAM, "--db", str(builder.path), "tail", "-f", "--utc", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


@pytest.mark.spec("OPS-14")
def test_each_event_is_a_line_with_time_turn_phase_and_what_happened(builder: LogBuilder, look):
    turn = walked(builder, outcome="stopped", reason="internal_error")
    lines = look("tail", "--utc").lines
    assert lines[0].split() == ["TIME,", "UTC", "TURN", "PHASE", "WHAT"]
    assert [line[:23].split()[0][:2] for line in lines[1:]] == ["20"] * 5
    assert all(line[25:39] == turn for line in lines[1:])
    assert [line[41:] for line in lines[1:]] == [
        "classify           begins: user turn of mira in #general",
        "classify           T04 classified -> freeze_contract, 500 ms",
        "freeze_contract    begins",
        "freeze_contract    T42 phase_crashed -> record, internal_error, 0.0 ms",
        "done               stopped, internal_error",
    ]


@pytest.mark.spec("OPS-14")
def test_the_newest_lines_are_told_oldest_first(builder: LogBuilder, look):
    walked(builder, age=50)
    newest = walked(builder, age=40)
    items = look("tail", "-n", "3", "--json").items
    assert [(item["turn_id"], item["phase"], item["kind"]) for item in items] == [
        (newest, "freeze_contract", "enter"), (newest, "freeze_contract", "exit"), (newest, "done", "enter"),
    ]  # fmt: skip


@pytest.mark.spec("OPS-14")
def test_who_goes_on_after_an_id_misses_nothing_and_sees_nothing_twice(builder: LogBuilder, look):
    for _ in range(10):
        walked(builder)
    told, since = [], "0"
    for count in (7, 30, 13):
        events = [json.loads(line) for line in look("tail", "--since-id", since, "--jsonl").lines][:count]
        told += [event["event_id"] for event in events]
        since = told[-1]
    assert told == [str(number) for number in range(1, 51)]
    assert look("tail", "--since-id", since, "--jsonl").lines == []


@pytest.mark.spec("OPS-14")
def test_one_channel_alone_can_be_told_by_name_or_id(builder: LogBuilder, look):
    walked(builder)
    other = walked(builder, channel_id="999", channel_name="help")
    walked(builder)
    for name in ("#help", "help", "999"):
        assert {item["turn_id"] for item in look("tail", "--channel", name, "--json").items} == {other}
    assert [item["phase"] for item in look("tail", "--channel", "help", "-n", "1", "--json").items] == ["done"]


@pytest.mark.spec("OPS-13")
def test_nothing_is_told_with_what_the_log_covers(builder: LogBuilder, look):
    answer = look("tail")
    assert (answer.status, answer.out) == (0, "nothing happened; the log holds no turns\n")
    walked(builder)
    answer = look("tail", "--since-id", "77")
    assert answer.err == "phasewalk: there is no event 77 yet; the newest is 5\n"
    assert answer.lines[0].startswith("nothing happened; the log covers 1 turn from ")


@pytest.mark.spec("OPS-13")
def test_events_that_are_gone_are_named(builder: LogBuilder, look):
    walked(builder)
    builder.log.execute("DELETE FROM phase_event WHERE event_id < 4")
    answer = look("tail", "--since-id", "1", "--jsonl")
    assert [json.loads(line)["event_id"] for line in answer.lines] == ["4", "5"]
    assert answer.err.startswith("phasewalk: events before 4 are gone; the log covers 1 turn")


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize("options", [["--json", "-f"], ["--json", "--jsonl"]])
def test_two_forms_of_one_answer_are_refused(builder: LogBuilder, look, options):
    assert look("tail", *options).status == 2


@pytest.mark.spec("OPS-14")
def test_following_tells_what_comes_until_it_is_interrupted(builder: LogBuilder):
    walked(builder)
    with followed(builder) as running:
        assert "TIME," in [running.stdout.readline().split()[0] for _ in range(6)]
        turn = walked(builder)
        lines = [running.stdout.readline() for _ in range(5)]
        assert all(turn in line for line in lines)
        assert lines[-1].rstrip().endswith("answered, ok")
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
        assert (running.returncode, out, err.strip()) == (130, "", "")


@pytest.mark.spec("OPS-14")
def test_following_as_json_tells_one_object_a_line(builder: LogBuilder):
    with followed(builder, "--jsonl", "--since-id", "0") as running:
        turn = walked(builder)
        events = [json.loads(running.stdout.readline()) for _ in range(5)]
        assert [event["event_id"] for event in events] == ["1", "2", "3", "4", "5"]
        assert (events[4]["turn_id"], events[4]["outcome"], events[4]["ended_by"]) == (turn, "answered", "ok")


@pytest.mark.spec("OPS-14", "LOG-13")
def test_following_goes_on_in_the_file_that_takes_the_place_of_the_log(builder: LogBuilder, tmp_path, look):
    builder.now_us -= 90_000_000
    walked(builder)
    copy = tmp_path / "copy.db"
    assert look("backup", str(copy)).status == 0
    walked(builder)
    with followed(builder, "-n", "1") as running:
        assert "answered" in [running.stdout.readline() for _ in range(2)][1]
        builder.close()
        while builder.path.with_name(f"{builder.path.name}-wal").exists():  # somebody was just looking
            open_for_writing(builder.path).close()
        other = LogBuilder(copy)
        turn = walked(other, trigger_key="other:1")  # its events have the ids of events that were told
        other.close()
        copy.replace(builder.path)
        assert all(turn in running.stdout.readline() for _ in range(5))


@pytest.mark.spec("OPS-14")
def test_following_ends_quietly_when_nobody_reads_any_more(builder: LogBuilder):
    walked(builder)
    with followed(builder) as running:
        for _ in range(6):
            running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=20) == 0
        assert running.stderr.read() == ""
        running.stdout = None
