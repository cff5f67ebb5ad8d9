"""`phasewalk pause` and `resume`: the flag that every runner obeys, and how the first screen tells of it."""

import getpass
import json
import re

import pytest
from builders import GONE, LogBuilder

from phasewalk.storage.database import open_for_reading
from phasewalk.storage.flags import Flag, SqliteFlags

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
ME = getpass.getuser()


def audit(builder: LogBuilder) -> list[tuple]:
    return builder.log.execute("SELECT who, what, target, before, after FROM operator_action").fetchall()


@pytest.mark.spec("OPS-13", "LOG-15")
def test_a_pause_is_told_with_its_note_and_what_ends_it(builder: LogBuilder, look):
    answer = look("pause", "--note", "the model is being moved", "--utc")
    assert (answer.status, answer.err) == (0, "")
    said, following = answer.lines
    assert re.fullmatch(rf"paused since {TIME} UTC \([\d.]+ m?s ago\) by {ME}: the model is being moved", said)
    assert following == "next: phasewalk resume"


@pytest.mark.spec("LOG-15")
def test_pausing_and_resuming_write_down_who_did_it_and_why(builder: LogBuilder, look):
    look("pause", "--note", "moving")
    look("resume")
    pausing, resuming = audit(builder)
    assert pausing[:4] == (ME, "pause", "bot", "null")
    assert json.loads(pausing[4])["note"] == "moving"
    assert resuming[:3] == (ME, "resume", "bot")
    assert json.loads(resuming[3])["note"] == "moving"
    assert resuming[4] == "null"


@pytest.mark.spec("OPS-13", "LOG-15")
def test_a_second_pause_changes_nothing_and_says_whose_the_first_is(builder: LogBuilder, look):
    builder.insert("runner_flag", name="paused", since_us=builder.at(300), set_by="eve", note="lunch")
    answer = look("pause", "--note", "other", "--utc")
    assert (answer.status, answer.out) == (0, "")
    assert re.fullmatch(
        rf"phasewalk: nothing changed, the bot is paused since {TIME} UTC \(5 min( \d+ s)? ago\) by eve: lunch\n",
        answer.err,
    )
    assert builder.log.execute("SELECT set_by, note FROM runner_flag").fetchall() == [("eve", "lunch")]
    assert audit(builder) == []


@pytest.mark.spec("OPS-13", "LOG-15")
def test_resuming_what_is_not_paused_is_one_sentence(builder: LogBuilder, look):
    answer = look("resume")
    assert (answer.status, answer.out, answer.err) == (0, "", "phasewalk: nothing changed, the bot is not paused\n")
    assert audit(builder) == []


@pytest.mark.spec("OPS-14")
def test_both_tell_programs_what_changed(builder: LogBuilder, look):
    first, second = look("pause", "--note", "n", "--json"), look("pause", "--json")
    assert (first.document["changed"], second.document["changed"]) == (True, False)
    assert first.document["paused"] == second.document["paused"]
    assert (first.document["paused"]["by"], first.document["paused"]["note"]) == (ME, "n")
    third, fourth = look("resume", "--json"), look("resume", "--json")
    assert (third.document["changed"], fourth.document["changed"]) == (True, False)
    assert (third.document["was"]["note"], fourth.document["was"]) == ("n", None)
    assert third.document["paused"] is None


@pytest.mark.spec("OPS-14", "BAR-26")
def test_a_note_is_one_short_harmless_line_without_secrets(builder: LogBuilder, look):
    answer = look("pause", "--note", "line\none \x1b[2J\udcff sk-proj-0123456789abcdefghijklmnop " + "x" * 300)
    ((note,),) = builder.log.execute("SELECT note FROM runner_flag").fetchall()
    assert len(note) == 200
    assert note.startswith("line one \x1b[2J\N{REPLACEMENT CHARACTER} ")
    assert "sk-proj" not in note
    assert r"line one \x1b[2J" in answer.out
    assert "sk-proj" not in "".join(after for *_, after in audit(builder))


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("name", ["pause", "resume"])
def test_without_a_log_there_is_one_sentence_and_no_file_is_made(process, tmp_path, name):
    missing = tmp_path / "missing.db"
    answer = process(name, path=missing)
    assert (answer.status, answer.out) == (4, "")
    assert answer.err == f"phasewalk: {missing}: no such file; there is nothing to change\n"
    assert not missing.exists()


@pytest.mark.spec("TURN-12")
def test_those_who_obey_see_what_another_process_set(builder: LogBuilder, look):
    reader = open_for_reading(builder.path)
    flags = SqliteFlags(reader)
    assert flags.paused() is None
    look("pause", "--note", "n")
    found = flags.paused()
    assert isinstance(found, Flag)
    assert (found.set_by, found.note) == (ME, "n")
    look("resume")
    assert flags.paused() is None
    reader.close()


def paused(builder: LogBuilder, note: str = "the model is being moved") -> None:
    builder.insert("runner_flag", name="paused", since_us=builder.at(300), set_by="eve", note=note)


def answered(builder: LogBuilder) -> None:
    for turn in builder.turns(30):
        builder.effect(turn, "answer", "general", "receipt")


@pytest.mark.spec("OPS-11")
def test_a_paused_bot_is_not_well_and_the_first_screen_says_since_when_by_whom_and_why(builder: LogBuilder, look):
    answered(builder)
    assert look("status").status == 0
    paused(builder)
    answer = look("status", "--utc")
    assert (answer.status, answer.lines[0]) == (1, "PAUSED: no new turn begins")
    assert re.fullmatch(
        rf"paused since {TIME} UTC \(5 min( \d+ s)? ago\) by eve: the model is being moved", answer.lines[1]
    )
    assert answer.lines[-1] == "next: phasewalk resume"
    (item,) = look("status", "--json").items
    assert (item["verdict"], item["paused"]["by"], item["paused"]["note"]) == (
        "PAUSED",
        "eve",
        "the model is being moved",
    )
    checked = look("check")
    assert (checked.status, checked.out.partition(";")[0]) == (1, "PAUSED: no new turn begins")


@pytest.mark.spec("OPS-11")
def test_a_fault_of_a_paused_bot_is_told_before_the_pause(builder: LogBuilder, look):
    answered(builder)
    builder.process(pid=GONE, silent=600)
    paused(builder)
    lines = look("status").lines
    assert lines[0].startswith("NOT WELL: process ")
    assert sum(line.startswith("paused since ") for line in lines) == 1


@pytest.mark.spec("OPS-11")
def test_what_is_ignored_for_the_pause_is_no_fault_beside_it(builder: LogBuilder, look):
    builder.process()
    builder.insert(
        "ignored_message", process_id=1, channel_id="1", reason="paused", count=25, last_us=builder.now_us,
        hour_us=builder.now_us,
    )  # fmt: skip
    assert look("status").lines[0] == "NOT WELL: every message is ignored, 25 of 25 for paused"
    paused(builder)
    assert look("status").lines[0] == "PAUSED: no new turn begins"


@pytest.mark.spec("OPS-11")
def test_the_line_of_a_pause_fits_the_screen(builder: LogBuilder, look, monkeypatch):
    paused(builder, note="long " * 39)
    monkeypatch.setattr("phasewalk.surfaces.cli.status.terminal_width", lambda: 80)
    lines = look("status").lines
    assert max(map(len, lines)) <= 80
    assert lines[1].endswith("…")


@pytest.mark.spec("OPS-16")
@pytest.mark.parametrize("name", ["pause", "resume"])
def test_help_ends_with_examples_and_exit_codes(look, name):
    text = look(name, "--help").out
    assert f"Examples:\n    phasewalk {name}" in text
    assert "4 the log cannot be used." in text.rstrip().splitlines()[-1]
