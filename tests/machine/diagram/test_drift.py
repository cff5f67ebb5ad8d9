"""A committed picture against its machine."""

from pathlib import Path

import pytest
from attrs import evolve

from phasewalk.machine.diagram.drift import drift
from phasewalk.machine.diagram.formats import FORMATS
from phasewalk.machine.diagram.graph import Edge, graph_of
from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-22")

GRAPH = graph_of(TURN_TABLE)
DIAGRAMS = Path(__file__).parents[3] / "diagrams"
EVERY_TABLE = pytest.mark.parametrize("table", [TURN_TABLE, SUMMARY_TABLE], ids=lambda table: table.name)
EVERY_FORMAT = pytest.mark.parametrize("name", FORMATS)


def without(row_id):
    return evolve(GRAPH, edges=tuple(edge for edge in GRAPH.edges if edge.id != row_id))


@EVERY_FORMAT
@EVERY_TABLE
def test_a_committed_picture_has_the_edges_of_its_table(name, table):
    graph = graph_of(table)
    text = (DIAGRAMS / f"{table.name}{FORMATS[name].suffix}").read_text("utf-8")
    drawn = FORMATS[name].edges_in(text)
    assert (graph.arcs - drawn, drawn - graph.arcs) == (frozenset(), frozenset())


@EVERY_FORMAT
@EVERY_TABLE
def test_a_committed_picture_is_what_would_be_drawn_now_byte_for_byte(name, table):
    text = (DIAGRAMS / f"{table.name}{FORMATS[name].suffix}").read_bytes().decode("utf-8")
    assert drift(table, text, name) == []


@pytest.mark.parametrize(
    ("name", "suffix"), [("mermaid", "mmd"), ("dot", "dot"), ("table", "md"), ("svg", "svg"), ("text", "txt")]
)
def test_a_missing_edge_is_named_with_the_command_that_mends_it(name, suffix):
    (message,) = drift(TURN_TABLE, FORMATS[name].render(without("T14")), name)
    assert message == (
        f"diagrams/turn.{suffix}: missing edge T14 from model_attempt to model_attempt, the table has it; "
        f"mend it: phasewalk diagram turn --format {name} > diagrams/turn.{suffix}"
    )


@EVERY_FORMAT
def test_an_extra_edge_is_named(name):
    more = evolve(GRAPH, edges=(*GRAPH.edges, Edge("T99", "record", "mirrored", "deliver")))
    (message,) = drift(GRAPH, FORMATS[name].render(more), name)
    assert ": extra edge T99 from record to deliver, the table does not have it; mend it: phasewalk diagram" in message


@EVERY_FORMAT
def test_a_moved_row_is_one_missing_and_one_extra_edge(name):
    moved = evolve(GRAPH, edges=tuple(evolve(e, target="record") if e.id == "T09" else e for e in GRAPH.edges))
    messages = drift(GRAPH, FORMATS[name].render(moved), name)
    assert [message.split(": ")[1].split(",")[0] for message in messages] == [
        "missing edge T09 from build_prompt to deliver",
        "extra edge T09 from build_prompt to record",
    ]


@EVERY_FORMAT
def test_another_guard_is_seen_although_the_edges_agree(name):
    other = evolve(GRAPH, edges=tuple(evolve(e, guards=("is_late",)) if e.id == "T19" else e for e in GRAPH.edges))
    (message,) = drift(GRAPH, FORMATS[name].render(other), name)
    assert ": the edges agree but line " in message
    assert "is_late" in message.split(" and would be drawn as ")[0]


def test_a_line_that_is_gone_is_said_to_be_not_there():
    text = FORMATS["text"].render(GRAPH)
    (message,) = drift(GRAPH, text.removesuffix("\n") + "\n\n", "text")
    assert f"line {text.count(chr(10)) + 1} is '\\n' and would be drawn as not there" in message


def test_an_empty_file_lacks_every_edge():
    assert len(drift(TURN_TABLE, "", "mermaid")) == len(GRAPH.arcs)
