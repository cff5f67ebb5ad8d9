"""The Graphviz DOT graph."""

import re

import pytest
from attrs import evolve

from phasewalk.machine.diagram.dot import edges_in_dot, render
from phasewalk.machine.diagram.graph import Edge, Graph, graph_of
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

EDGES = (
    Edge("A1", "one", "moved", "end", ("is_open",)),
    Edge("A2", "one", "crashed", "end"),
    Edge("A3", "one", "cancelled", "end"),
)
TINY = Graph("tiny", ("one",), "one", "end", EDGES)
TURN = graph_of(TURN_TABLE)


def line_with(text, part):
    (line,) = [line.strip() for line in text.splitlines() if part in line and "->" in line]
    return line


def statements(text):
    """The tokens of a DOT text, quoted strings as they are; a character outside every token fails."""
    token = re.compile(r'"(?:[^"\\]|\\.)*"|->|[\[\]{};=,+]|[A-Za-z_]\w*|-?\d+(?:\.\d+)?|\s+')
    place, found = 0, []
    while place < len(text):
        match = token.match(text, place)
        assert match, f"no DOT token at {text[place : place + 20]!r}"
        place = match.end()
        found.append(match[0])
    return [word for word in found if not word.isspace()]


def test_a_small_machine_is_drawn_as_lane_edges_and_legend():
    assert render(TINY) == (
        'digraph "tiny" {\n'
        "    rankdir=TB;\n"
        "    node [shape=box];\n"
        '    "end" [peripheries=2];\n'
        '    { rank=same; "one"; "end"; }\n'
        '    "one" -> "end" [style=invis, weight=100];\n'
        '    "one" -> "end" [label="A1\\nmoved"];\n'
        '    "one" -> "end" [label="A2 A3", style=dashed, constraint=false];\n'
        "    labelloc=b;\n"
        "    labeljust=l;\n"
        '    label="tiny\\l"\n'
        '        + "A1 moved if is_open\\l"\n'
        '        + "A2 crashed\\l"\n'
        '        + "A3 cancelled\\l"\n'
        "    ;\n"
        "}\n"
    )


def test_the_turn_is_made_of_dot_tokens_with_every_bracket_closed():
    heat = {row.id: 3 for row in TURN_TABLE.rows}
    words = statements(render(TURN, Overlay([("record", "T28", "done")], heat)))
    assert words[:3] == ["digraph", '"turn"', "{"]
    assert words[-1] == "}"
    assert words.count("{") == words.count("}") == 2
    assert words.count("[") == words.count("]")


def test_quotes_and_backslashes_of_an_event_do_not_end_its_label():
    text = render(evolve(TINY, edges=(Edge('"]; x', "one", "a\\", "end"),)))
    assert line_with(text, "label=") == '"one" -> "end" [label="&#34;&#93;&#59;&#32;x\\na&#92;"];'
    assert statements(text)
    assert edges_in_dot(text) == {("one", "end", '"]; x')}


def test_a_step_of_the_path_is_thick_and_numbered():
    text = render(TURN, Overlay(path=[("received", "T01", "classify")]))
    assert line_with(text, "T01") == '"received" -> "classify" [label="T01 (1)\\nadmitted", penwidth=3.0];'
    assert '    "received" [penwidth=3.0];\n    "classify" [penwidth=3.0];\n' in text


@pytest.mark.parametrize(
    ("row_id", "expected"),
    [
        ("T01", '"received" -> "classify" [label="T01 (100x)\\nadmitted", penwidth=6.0];'),
        ("T02", '"received" -> "record" [label="T02 (20x)\\nshort_path_matched", penwidth=2.0];'),
        ("T03", '"received" -> "deliver" [label="T03 (unused)\\nadmission_refused", style=dotted];'),
    ],
)
def test_traffic_is_width_and_count_and_an_unused_edge_is_dotted(row_id, expected):
    assert line_with(render(TURN, Overlay(heat={"T01": 100, "T02": 20})), f'"{row_id}') == expected


def test_a_count_shared_by_several_phases_makes_no_edge_thick():
    line = line_with(render(TURN, Overlay(heat={"T30": 100, "T01": 1})), '"classify" -> "deliver"')
    assert line.endswith("style=dashed, constraint=false];")
    assert "T30 (100x in all)" in line
