"""What holds for every text format: it is read back, it is stable, and a small change stays small."""

import difflib
import subprocess
import sys

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from phasewalk.machine.diagram.formats import FORMATS
from phasewalk.machine.diagram.graph import Edge, graph_of
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.table import INTERRUPTIONS, Row, Table
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

GRAPH = graph_of(TURN_TABLE)
EVERY_FORMAT = pytest.mark.parametrize("renderer", FORMATS.values(), ids=FORMATS)
PHASES = st.from_regex(r"[a-zA-Z_]\w{0,8}", fullmatch=True) | st.sampled_from(
    ["state", "note", "default", "node", "Edge", "digraph", "end", "phase", "größe"]
)
NAMES = st.text(min_size=1, max_size=12) | st.sampled_from(
    ["-->", "a : b", "; }", '"', "\\n", "|", "(1)", "T01 x", "_i_"]
)


@st.composite
def tables(draw):
    """Sound tables: a chain of phases with guarded detours, and interruptions that lead to the end."""
    final, *phases = draw(st.lists(PHASES.filter(str.isidentifier), min_size=2, max_size=5, unique=True))
    odd = draw(NAMES)
    ids = [f"{number}{odd}" for number in range(40)]
    rows = []
    for phase, onward in zip(phases, [*phases[1:], final], strict=True):
        event = draw(NAMES.filter(lambda name: name not in INTERRUPTIONS))
        for target in draw(st.lists(st.sampled_from([*phases, final]), max_size=3)):
            guards = draw(st.lists(NAMES, min_size=1, max_size=4))
            rows.append(Row(ids.pop(), phase, event, guards, target))
        rows.append(Row(ids.pop(), phase, event, (), onward))
    rows.extend(Row(ids.pop(), phases, event, (), final) for event in INTERRUPTIONS)
    return Table(draw(NAMES), tuple(phases), tuple(rows), initial=phases[0], final=final, shielded=())


@st.composite
def overlays(draw, graph):
    steps = [(source, row_id, target) for source, target, row_id in sorted(graph.arcs)]
    path = draw(st.lists(st.sampled_from(steps), max_size=20))
    keys = draw(st.sampled_from([steps, [edge.id for edge in graph.edges]]))
    return Overlay(path, draw(st.none() | st.dictionaries(st.sampled_from(keys), st.integers(0, 10_000))))


@pytest.mark.spec("OPS-22")
@EVERY_FORMAT
def test_the_edges_of_the_turn_are_read_back_from_its_picture(renderer):
    expected = {(source, row.target, row.id) for row in TURN_TABLE.rows for source in row.sources}
    assert renderer.edges_in(renderer.render(GRAPH)) == expected


@EVERY_FORMAT
@settings(deadline=None)  # how fast this machine is, is not the question
@given(st.data())
def test_the_edges_of_any_machine_are_read_back_with_any_overlay(renderer, data):
    graph = graph_of(data.draw(tables()))
    overlay = data.draw(overlays(graph))
    assert renderer.edges_in(renderer.render(graph, overlay)) == graph.arcs


@EVERY_FORMAT
@settings(deadline=None)
@given(tables())
def test_the_same_machine_gives_the_same_picture_as_one_utf_8_text(renderer, table):
    text = renderer.render(graph_of(table))
    assert text == renderer.render(graph_of(table))
    assert text.encode("utf-8").endswith(b"\n")
    assert not any(ord(char) < 32 for char in text if char != "\n")


@EVERY_FORMAT
def test_one_more_row_changes_a_few_lines_of_the_picture(renderer):
    extra = Edge("T29", "record", "mirrored", "deliver", ("mirror_wanted",))
    old, new = (renderer.render(g).splitlines() for g in (GRAPH, evolve(GRAPH, edges=(*GRAPH.edges, extra))))
    changes = [line for line in difflib.unified_diff(old, new, n=0) if not line.startswith(("---", "+++", "@@"))]
    assert 1 <= len(changes) <= 2
    assert all(line.startswith("+") for line in changes)


@EVERY_FORMAT
def test_one_row_with_another_target_leaves_every_line_without_it_as_it_was(renderer):
    moved = evolve(GRAPH, edges=tuple(evolve(e, target="record") if e.id == "T09" else e for e in GRAPH.edges))
    lines = set(renderer.render(GRAPH).splitlines()) ^ set(renderer.render(moved).splitlines())
    assert lines
    assert all("build_prompt" in line or "T09" in line for line in lines)


@EVERY_FORMAT
def test_an_order_number_stands_at_the_row_that_was_taken(renderer):
    text = renderer.render(GRAPH, Overlay(path=[("received", "T02", "record"), ("record", "T28", "done")]))
    (line,) = [line for line in text.splitlines() if "T28" in line and ("(2)" in line or line.endswith("| 2 |"))]
    assert "T28" in line


@EVERY_FORMAT
def test_a_row_never_taken_is_marked_unused(renderer):
    text = renderer.render(GRAPH, Overlay(heat={row.id: 9 for row in TURN_TABLE.rows if row.id != "T19"}))
    (line,) = [line for line in text.splitlines() if "unused" in line]
    assert "T19" in line


@EVERY_FORMAT
@given(st.text())
def test_reading_any_text_raises_nothing_and_finds_no_edge_where_none_is(renderer, text):
    assert renderer.edges_in(text.replace("|", "").replace("->", "")) == frozenset()


@pytest.mark.spec("OPS-15")
def test_drawing_imports_neither_a_client_nor_the_state_machine_library():
    code = (
        "import sys, phasewalk.machine.diagram.drift, phasewalk.machine.turn_table\n"
        "print(sorted({'transitions', 'openai', 'discord', 'pydantic', 'sqlite3'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
