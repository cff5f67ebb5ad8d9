"""`phasewalk replay`: how turns are named, what is printed, which status says what. What is decided: `tests/cases`."""

import json
import sys
from pathlib import Path

import pytest
from builders import LogBuilder

KEYS = [
    "turn_id", "machine", "started", "outcome", "reason", "verdict", "visits", "compared", "record_ends",
    "differences", "stopped", "untold",
]  # fmt: skip


@pytest.fixture
def walked(process, builder: LogBuilder, tmp_path: Path, monkeypatch) -> list[str]:
    """Two turns that the embedded rules answered, and the configuration by which they did, as that of this folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for text in ("note: bring \x1b[31mmilk", "show my notes"):
        process("turn", text, "--user", "mira")
    return [name for (name,) in builder.log.execute("SELECT turn_id FROM turn ORDER BY turn_id")]


@pytest.mark.spec("OPS-13")
def test_a_turn_that_is_decided_the_same_is_one_line_and_status_0(walked, look):
    answer = look("replay", "last", "--utc")
    assert (answer.status, answer.err, len(answer.lines)) == (0, "", 1)
    assert answer.out.startswith(f"turn {walked[1]} of 20")
    assert answer.out.endswith(" UTC: today's code decides the same, answered (ok); 10 visits compared\n")


@pytest.mark.spec("OPS-10")
def test_turns_are_named_as_everywhere_also_on_standard_input(walked, look):
    assert look("replay", "last~1", walked[1][:-1], "--json").items[0]["turn_id"] == walked[0]
    answer = look("replay", "-", stdin="".join(f"{name} and more\n" for name in walked))
    assert [line.split()[1] for line in answer.lines] == walked
    assert answer.err == "phasewalk: 2 turns: 2 the same, 0 differ, 0 could not be told\n"


@pytest.mark.spec("OPS-10", "OPS-13")
def test_an_unknown_turn_is_one_sentence_and_status_3(walked, look):
    answer = look("replay", "zzzz")
    assert (answer.status, answer.out) == (3, "")
    assert look("replay", "-", stdin="").status == 3


@pytest.mark.spec("OPS-10")
def test_a_prefix_of_several_turns_lists_them(walked, look):
    answer = look("replay", walked[0][:4])
    assert (answer.status, answer.out) == (3, "")
    assert all(name in answer.err for name in walked)


@pytest.mark.spec("OPS-13", "OPS-14")
def test_both_sides_of_a_difference_are_shown_and_harmless(walked, look, tmp_path: Path):
    (tmp_path / "phasewalk.toml").write_text('[bot]\nname = "hel\\u001b[31mper"\n')
    answer = look("replay", "last")
    assert answer.status == 1
    assert answer.lines[1] == "build_prompt: context"
    assert [line[:4] for line in answer.lines[2:4]] == ["  - ", "  + "]
    assert "helper" in answer.lines[2]
    assert "\x1b" not in answer.out


@pytest.mark.spec("OPS-14")
def test_json_is_the_common_object_and_has_every_key(walked, look):
    document = look("replay", "last", "--json").document
    assert list(document) == ["schema_version", "as_of", "coverage", "truncated", "items"]
    (item,) = document["items"]
    assert list(item) == KEYS
    assert (item["turn_id"], item["verdict"], item["visits"], item["compared"]) == (walked[1], "same", 10, 10)
    lines = look("replay", "last", "last~1", "--jsonl").lines
    assert [list(json.loads(line)) for line in lines] == [KEYS, KEYS]


@pytest.mark.spec("OPS-14")
def test_times_are_in_the_zone_that_is_asked_for(walked, look):
    assert " Asia/Tokyo: today's" in look("replay", "last", "--tz", "Asia/Tokyo").out
    assert look("replay", "last", "--json").items[0]["started"].endswith("Z")
    assert look("replay", "last", "--utc", "--tz", "Asia/Tokyo").status == 2
    assert look("replay", "last", "--json", "--jsonl").status == 2


@pytest.mark.spec("OPS-13")
def test_a_turn_without_rows_cannot_be_told_and_one_that_differs_weighs_more(
    walked, builder: LogBuilder, look, tmp_path
):
    lost = builder.turn(age=30)
    answer = look("replay", lost)
    assert (answer.status, answer.lines[1]) == (5, "could not tell: the rows of its walk were lost")
    assert answer.err == f"phasewalk: turn {lost} could not be told whole: the rows of its walk were lost\n"
    (tmp_path / "phasewalk.toml").write_text('[bot]\nname = "other"\n')
    answer = look("replay", lost, walked[1])
    assert answer.status == 1
    assert answer.err.endswith("2 turns: 0 the same, 1 differ, 1 could not be told\n")


@pytest.mark.spec("OPS-13")
def test_a_machine_that_does_not_exist_any_more_cannot_be_told(builder: LogBuilder, look):
    turn = builder.turn(machine="moderation", kind="pass")
    assert "no machine of today is called 'moderation'" in look("replay", turn).err


@pytest.mark.spec("OPS-13")
def test_a_wrong_configuration_is_one_sentence_and_status_2(walked, look, tmp_path: Path):
    (tmp_path / "phasewalk.toml").write_text('[policy]\ndisabled-tools = ["notes_ad"]\n')
    answer = look("replay", "last")
    assert (answer.status, answer.out) == (2, "")
    assert "did you mean" in answer.err


@pytest.mark.spec("OPS-15")
def test_a_log_that_is_none_is_status_4(process, tmp_path: Path):
    (tmp_path / "other.db").write_text("no database")
    answer = process("replay", "last", path=tmp_path / "other.db")
    assert (answer.status, answer.out) == (4, "")
    assert "Traceback" not in answer.err


@pytest.mark.spec("OPS-02")
def test_whether_there_was_a_key_is_taken_from_the_record(walked, look, monkeypatch):
    """No provider is configured: the rules answered, since there was no key; today there is one."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    assert look("replay", "last").status == 0


@pytest.mark.spec("OPS-14")
def test_a_reader_that_goes_away_is_quiet(walked, builder: LogBuilder):
    import subprocess

    program = f"{sys.executable} -m phasewalk.surfaces.cli --db {builder.path} replay last last~1 | head -c 1"
    done = subprocess.run(["bash", "-c", program], check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
