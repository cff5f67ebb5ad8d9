"""`phasewalk diff`: what two turns did otherwise, and what counts as the same."""

import pytest
from builders import LogBuilder


def walked(builder: LogBuilder, *phases: tuple[str, str, str], **columns: object) -> str:
    turn = builder.turn(**columns)
    for place, (phase, taken, to_phase) in enumerate(phases):
        builder.enter(turn, phase, place)
        builder.leave(turn, phase, place + 0.5, taken, to_phase)
    return turn


SHORT = (("received", "T01 admitted", "classify"), ("classify", "T04 classified", "done"))


@pytest.mark.spec("OPS-13")
def test_two_turns_that_did_the_same_are_the_same_whenever_they_were(builder: LogBuilder, look):
    one, other = walked(builder, *SHORT, age=900), walked(builder, *SHORT, age=60)
    answer = look("diff", one, other)
    assert (answer.status, answer.lines[0]) == (0, f"turns {one} and {other} did the same")
    assert answer.lines[-1].startswith("time: ")


@pytest.mark.spec("OPS-13")
def test_each_section_that_differs_is_told_with_both_sides(builder: LogBuilder, look):
    one = walked(builder, *SHORT)
    other = walked(builder, SHORT[0], outcome="stopped", reason="candidates_exhausted")
    builder.attempt(other, 1, provider="main", model="m", status="failed", reason="http_5xx")
    answer = look("diff", one, other)
    assert answer.status == 1
    assert answer.lines[0].endswith("differ in outcome, path, model calls")
    assert "  + first main/m failed http_5xx" in answer.lines
    assert "  + stopped, candidates_exhausted" in answer.lines


@pytest.mark.spec("OPS-14")
def test_json_has_an_object_a_section(builder: LogBuilder, look):
    one, other = builder.turn(text="one"), builder.turn(text="two")
    items = look("diff", one, other, "--json").items
    assert items == [{"section": "asked", "one": "one", "other": "two"}]


@pytest.mark.spec("OPS-10", "OPS-13")
def test_an_unknown_turn_is_one_sentence(builder: LogBuilder, look):
    turn = builder.turn()
    answer = look("diff", turn, "zzzz")
    assert (answer.status, answer.out) == (3, "")
