"""Marks of a path and of traffic, before any format shows them."""

import pytest

from phasewalk.machine.diagram.graph import graph_of
from phasewalk.machine.diagram.overlay import Overlay, marks_of
from phasewalk.machine.errors import CallerError
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

GRAPH = graph_of(TURN_TABLE)
ADMITTED = ("received", "classify", "T01")
RETRIED = ("model_attempt", "model_attempt", "T14")
LATE = ("classify", "deliver", "T30")


def text(overlay, arc):
    return marks_of(GRAPH, overlay)[arc].text


def test_without_an_overlay_nothing_is_marked():
    assert {mark.text for mark in marks_of(GRAPH, Overlay()).values()} == {""}


def test_a_step_walked_twice_has_both_order_numbers():
    retry = ("model_attempt", "T14", "model_attempt")
    overlay = Overlay(path=[("build_prompt", "T08", "model_attempt"), retry, retry])
    assert text(overlay, RETRIED) == " (2, 3)"
    assert text(overlay, ADMITTED) == ""


def test_a_step_marks_its_own_phase_of_a_row_with_several():
    overlay = Overlay(path=[("classify", "T30", "deliver")])
    assert text(overlay, LATE) == " (1)"
    assert text(overlay, ("received", "deliver", "T30")) == ""


def test_heat_shows_counts_and_names_unused_rows():
    overlay = Overlay(heat={"T01": 123})
    assert text(overlay, ADMITTED) == " (123x)"
    assert text(overlay, RETRIED) == " (unused)"


def test_no_traffic_at_all_marks_every_row_unused():
    assert {mark.text for mark in marks_of(GRAPH, Overlay(heat={})).values()} == {" (unused)"}


def test_the_count_of_a_row_with_several_phases_is_said_to_be_that_of_all_of_them():
    assert text(Overlay(heat={"T30": 7}), LATE) == " (7x in all)"


def test_counts_by_step_are_exact_for_each_phase_of_a_row():
    overlay = Overlay(heat={("classify", "T30", "deliver"): 7})
    assert text(overlay, LATE) == " (7x)"
    assert text(overlay, ("received", "deliver", "T30")) == " (unused)"


def test_path_and_heat_can_be_laid_over_together():
    overlay = Overlay(path=[("received", "T01", "classify")], heat={"T01": 5})
    assert text(overlay, ADMITTED) == " (1, 5x)"


@pytest.mark.parametrize(
    ("overlay", "what"),
    [
        (Overlay(path=[("received", "T01", "deliver")]), "step T01 from received to deliver"),
        (Overlay(heat={"T99": 1}), "row T99"),
        (Overlay(heat={("record", "T01", "done"): 1}), "step T01 from record to done"),
    ],
)
def test_a_step_or_row_of_another_machine_is_refused_and_not_lost(overlay, what):
    with pytest.raises(CallerError) as caught:
        marks_of(GRAPH, overlay)
    assert str(caught.value) == (
        f"{what} is not part of machine 'turn'; an overlay fits only the machine that its turns were walked on"
    )


def test_changing_the_counts_afterwards_changes_no_overlay():
    counts = {"T01": 1}
    overlay = Overlay(heat=counts)
    counts["T01"] = 2
    assert text(overlay, ADMITTED) == " (1x)"
