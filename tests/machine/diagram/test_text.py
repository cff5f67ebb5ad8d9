"""The indented list for a terminal."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.diagram.graph import Edge, Graph, graph_of
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.diagram.text import edges_in_text, render
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

EDGES = (Edge("A1", "one", "moved", "two", ("is_open",)), Edge("A2", "two", "moved", "end"))
TINY = Graph("tiny", ("one", "two"), "one", "end", EDGES)
WORDS = st.text("abc_", min_size=1, max_size=40)


def test_a_small_machine_is_phases_with_their_rows():
    assert render(TINY) == (
        "machine tiny, from one to end\n"
        "\n"
        "one\n"
        "  A1 moved -> two\n"
        "      if is_open\n"
        "\n"
        "two\n"
        "  A2 moved -> end\n"
    )  # fmt: skip


def test_a_row_on_the_path_is_numbered_and_starts_with_an_arrow_head():
    lines = render(TINY, Overlay(path=[("one", "A1", "two")])).splitlines()
    assert "> A1 moved -> two (1)" in lines
    assert "  A2 moved -> end" in lines


def test_many_guards_are_wrapped_below_their_row():
    many = evolve(TINY, edges=(Edge("A1", "one", "moved", "two", tuple(f"question_number_{n}" for n in range(5))),))
    assert (
        "  A1 moved -> two\n"
        "      if question_number_0, question_number_1, question_number_2,\n"
        "         question_number_3, question_number_4\n"
    ) in render(many)


def test_the_turn_fits_80_columns_with_a_long_path_laid_over():
    path = [("model_attempt", "T14", "model_attempt")] * 40
    overlay = Overlay(path, heat={row.id: 123_456 for row in TURN_TABLE.rows})
    text = render(graph_of(TURN_TABLE), overlay)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert edges_in_text(text) == graph_of(TURN_TABLE).arcs


@given(WORDS, WORDS, st.lists(WORDS, max_size=6))
def test_names_of_up_to_40_characters_fit_80_columns_and_are_read_back(row_id, event, guards):
    graph = evolve(TINY, edges=(Edge(row_id, "one", event, "two", tuple(guards)),))
    text = render(graph)
    assert all(len(line) <= 80 or "&#95;" in line for line in text.splitlines())
    assert edges_in_text(text) == graph.arcs


def test_a_row_too_long_for_one_line_is_wrapped_and_read_back_as_one():
    row_id, event = "R" * 40, "e" * 36
    graph = evolve(TINY, edges=(Edge(row_id, "one", event, "two"),))
    assert f"\none\n  {row_id} {event}\n      -> two\n" in render(graph)
    assert edges_in_text(render(graph)) == {("one", "two", row_id)}
