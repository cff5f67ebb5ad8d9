"""The extract that every picture is drawn from."""

import json

import pytest

from phasewalk.machine.diagram.graph import Edge, Graph, graph_of, graph_of_document
from phasewalk.machine.errors import TableError
from phasewalk.machine.turn_table import THINK, TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")


def document(**changes):
    row = {"id": "A1", "from": ["one"], "event": ["moved"], "guards": [], "to": "end", "cause": None}
    return {"name": "tiny", "phases": ["one"], "initial": "one", "final": "end", "rows": [row], **changes}


def row(**changes):
    return {**document()["rows"][0], **changes}


def test_a_row_with_several_phases_and_events_becomes_an_edge_for_each_pair():
    wide = row(**{"from": ["one", "two"], "event": ["moved", "left"], "guards": ["is_open"]})
    graph = graph_of_document(document(phases=["one", "two"], rows=[wide]))
    assert graph == Graph(
        name="tiny",
        phases=("one", "two"),
        initial="one",
        final="end",
        edges=(
            Edge("A1", "one", "moved", "end", ("is_open",)),
            Edge("A1", "one", "left", "end", ("is_open",)),
            Edge("A1", "two", "moved", "end", ("is_open",)),
            Edge("A1", "two", "left", "end", ("is_open",)),
        ),
    )


def test_the_lane_of_the_turn_is_the_order_of_its_phases():
    graph = graph_of(TURN_TABLE)
    assert graph.nodes == (*THINK, "deliver", "record", "done")
    assert (graph.name, graph.initial, graph.final) == ("turn", "received", "done")


def test_the_edges_of_the_turn_are_those_of_its_table():
    assert [(e.id, e.source, e.event, e.target, e.guards) for e in graph_of(TURN_TABLE).edges] == [
        (r.id, source, event, r.target, r.guards) for r in TURN_TABLE.rows for source in r.sources for event in r.events
    ]


def test_a_machine_kept_as_json_is_drawn_as_the_table_itself():
    assert graph_of_document(json.loads(json.dumps(TURN_TABLE.as_document()))) == graph_of(TURN_TABLE)


def test_edges_of_a_phase_stand_in_the_order_in_which_they_are_tried():
    edges = graph_of(TURN_TABLE).edges_of("validate_envelope")
    assert [e.id for e in edges][:6] == ["T19", "T20", "T21", "T22", "T23", "T24"]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (document(name=""), "the document: 'name' is '', a text that is not empty is needed"),
        (document(phases="one"), "table 'tiny': 'phases' is 'one', a list of texts that are not empty is needed"),
        (document(phases=["one phase"]), "table 'tiny': phase 'one phase' cannot be drawn, an identifier is needed"),
        (document(rows=None), "table 'tiny': 'rows' is None, a list of objects is needed"),
        (document(rows=[row(), row()]), "table 'tiny': row id 'A1' is used twice, ids that differ are needed"),
        (document(rows=[row(to="two")]), "table 'tiny': unknown phases two; known are one, end"),
        (document(initial="two"), "table 'tiny': unknown phases two; known are one, end"),
        (
            document(rows=[row(event=[""])]),
            "table 'tiny', row A1: 'event' is [''], a list of texts that are not empty is needed",
        ),
        (document(rows=[row(to=3)]), "table 'tiny', row A1: 'to' is 3, a text that is not empty is needed"),
    ],
)
def test_a_document_of_another_form_is_refused_with_what_is_needed(broken, message):
    with pytest.raises(TableError) as caught:
        graph_of_document(broken)
    assert str(caught.value) == message
