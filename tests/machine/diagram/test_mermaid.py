"""The Mermaid state diagram."""

import re

import pytest
from attrs import evolve

from phasewalk.machine.diagram.graph import Edge, Graph, graph_of
from phasewalk.machine.diagram.mermaid import edges_in_mermaid, render
from phasewalk.machine.diagram.overlay import Overlay
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

TINY = Graph("tiny", ("one",), "one", "end", (Edge("A1", "one", "moved", "end", ("is_open",)),))


def test_a_small_machine_is_drawn_with_start_end_and_its_guards_in_a_comment():
    assert render(TINY) == (
        "stateDiagram-v2\n"
        "    %% machine tiny\n"
        "    direction LR\n"
        "    [*] --> one\n"
        "    one --> end : A1 moved\n"
        "    end --> [*]\n"
        "    %% A1 if is_open\n"
    )


def test_parallel_rows_are_one_edge_with_all_ids():
    lines = render(graph_of(TURN_TABLE)).splitlines()
    assert "    model_attempt --> model_attempt : T14 T15 attempt_failed" in lines
    assert "    model_attempt --> validate_envelope : T11 tools_requested<br/>T12 output_received" in lines


def test_no_two_edges_join_the_same_two_phases():
    pairs = re.findall(r"^    (\S+) --> (\S+)", render(graph_of(TURN_TABLE)), re.MULTILINE)
    assert len(pairs) == len(set(pairs))


def test_marks_stand_behind_each_id_of_a_merged_edge():
    overlay = Overlay(path=[("model_attempt", "T15", "model_attempt")], heat={"T14": 3})
    expected = "    model_attempt --> model_attempt : T14 (3x) T15 (1, unused) attempt_failed"
    assert expected in render(graph_of(TURN_TABLE), overlay).splitlines()


def test_the_phases_of_a_path_are_drawn_bold():
    text = render(TINY, Overlay(path=[("one", "A1", "end")]))
    assert "    classDef visited font-weight:bold,stroke-width:4px\n    class one,end visited\n" in text


def test_characters_that_end_a_label_are_written_as_entities():
    odd = evolve(TINY, edges=(Edge("A1", "one", "a:b;c", "end"),))
    assert "    one --> end : A1 a#58;b#59;c" in render(odd).splitlines()


def test_a_phase_named_as_a_keyword_gets_another_name_in_the_text_and_its_own_in_the_picture():
    keyword = Graph("tiny", ("Note",), "Note", "end", (Edge("A1", "Note", "moved", "end"),))
    text = render(keyword)
    assert '    state "Note" as 0_phase\n    [*] --> 0_phase\n    0_phase --> end : A1 moved\n' in text
    assert edges_in_mermaid(text) == {("Note", "end", "A1")}
