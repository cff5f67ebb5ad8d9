"""The Markdown table."""

import pytest
from attrs import evolve

from phasewalk.machine.diagram.graph import Edge, Graph, graph_of
from phasewalk.machine.diagram.markdown import edges_in_markdown, render
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

TINY = Graph("tiny", ("one",), "one", "end", (Edge("A1", "one", "moved", "end", ("is_open", "is_late")),))
TURN = graph_of(TURN_TABLE)


def cells_of(text):
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")]


def test_a_small_machine_is_one_table():
    assert render(TINY) == (
        "# Machine tiny\n"
        "\n"
        "From one to end. Rows are tried from top to bottom.\n"
        "\n"
        "| id | from | event | guards, all must hold | to |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| A1 | one | moved | is_open, is_late | end |\n"
    )


@pytest.mark.spec("OPS-22")
def test_the_table_of_the_turn_says_everything_that_the_transition_table_says():
    assert cells_of(render(TURN))[2:] == [
        [row.id, ", ".join(row.sources), ", ".join(row.events), ", ".join(row.guards), row.target]
        for row in TURN_TABLE.rows
    ]


def test_an_overlay_adds_its_columns():
    path = [("received", "T01", "classify"), ("classify", "T30", "deliver")]
    cells = cells_of(render(TURN, Overlay(path, heat={"T01": 2, "T30": 7})))
    by_id = {row[0]: row[5:] for row in cells}
    assert by_id["id"] == ["steps", "taken"]
    assert by_id["T01"] == ["1", "2x"]
    assert by_id["T30"] == ["2 from classify", "7x"]
    assert by_id["T43"] == ["", "unused"]


def test_counts_by_step_are_added_up_for_a_row_with_several_phases():
    heat = {("classify", "T30", "deliver"): 3, ("received", "T30", "deliver"): 4}
    assert {row[0]: row[5] for row in cells_of(render(TURN, Overlay(heat=heat)))}["T30"] == "7x"


def test_a_bar_or_comma_in_a_name_makes_no_new_cell_or_name():
    odd = evolve(TINY, edges=(Edge("A|1", "one", "a, b", "end"),))
    assert "| A&#124;1 | one | a&#44;&#32;b | | end |" in render(odd).splitlines()
    assert edges_in_markdown(render(odd)) == {("one", "end", "A|1")}
