"""Where the parts of the SVG picture stand: nothing covers anything, and a small change stays small."""

import re
from itertools import combinations, pairwise
from math import ceil

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from phasewalk.machine.diagram.graph import graph_of
from phasewalk.machine.diagram.svg_layout import channel, layout
from phasewalk.machine.diagram.svg_shapes import Box
from phasewalk.machine.diagram.svg_style import STYLE
from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-22")

EVERY_TABLE = pytest.mark.parametrize("table", [TURN_TABLE, SUMMARY_TABLE], ids=lambda table: table.name)
LINES = st.lists(st.text("ab 1界", min_size=1, max_size=50), min_size=1, max_size=4).map(tuple)


def of(table, lines=("T01 T02 (3x)",), note=("ends by", "T28 recorded")):
    graph = graph_of(table)
    return layout(graph.nodes, dict.fromkeys(((e.source, e.target) for e in graph.edges), lines), note, 60)


@st.composite
def layouts(draw):
    """Lanes of any length, also longer than those that keep room for unused channels, with any pairs joined."""
    nodes = [f"n{number}" for number in range(draw(st.integers(1, 20)))]
    pairs = st.tuples(st.sampled_from(nodes), st.sampled_from(nodes))
    return layout(nodes, draw(st.dictionaries(pairs, LINES, max_size=40)), draw(st.just(()) | LINES), 60)


def labels(picture):
    return [route.label for route in picture.routes] + ([picture.note] if picture.note else [])


def segments(picture):
    return [
        (route, Box(min(a, c), min(b, d), abs(a - c), abs(b - d)))
        for route in picture.routes
        for (a, b), (c, d) in pairwise(route.points)
    ]


def crosses(segment, box):
    """Whether a line, which has no height or no width, enters the inside of a box."""
    return (
        box.left < max(segment.right, segment.left + 1)
        and segment.left < box.right
        and box.top < max(segment.bottom, segment.top + 1)
        and segment.top < box.bottom
    )


def covered(picture):
    """Every label box that lies on the box of a phase or on another label."""
    boxes = [label.box for label in labels(picture)]
    on_nodes = [box for box in boxes for node in picture.nodes.values() if box.overlaps(node)]
    return on_nodes + [one for one, other in combinations(boxes, 2) if one.overlaps(other)]


def shared(picture):
    """Every pair of segments that lie on one another or touch end to end."""
    found = []
    for (one, a), (other, b) in combinations(segments(picture), 2):
        along_x = a.height == b.height == 0 and a.top == b.top and a.left <= b.right and b.left <= a.right
        along_y = a.width == b.width == 0 and a.left == b.left and a.top <= b.bottom and b.top <= a.bottom
        if along_x or along_y:
            found.append((one, other))
    return found


def in_the_way(picture):
    """Every segment that runs through a phase or through a label."""
    boxes = [*picture.nodes.values(), *(label.box for label in labels(picture))]
    return [(route, box) for route, segment in segments(picture) for box in boxes if crosses(segment, box)]


@EVERY_TABLE
def test_no_label_lies_on_a_box_or_on_another_label(table):
    assert covered(of(table)) == []
    assert covered(of(table, ("T01 (1, 2, 3) · T02 (123456x in all)", "T03 (unused)"))) == []


@EVERY_TABLE
def test_no_two_routes_share_a_segment_and_none_runs_through_a_box_or_a_label(table):
    assert shared(of(table)) == []
    assert in_the_way(of(table)) == []


@settings(deadline=None)
@given(layouts())
def test_any_lane_is_free_of_covered_labels_and_shared_segments(picture):
    assert covered(picture) == []
    assert shared(picture) == []
    assert in_the_way(picture) == []


@settings(deadline=None)
@given(layouts())
def test_every_route_goes_from_the_edge_of_its_phase_to_that_of_its_target(picture):
    for route in picture.routes:
        for (x, y), box in (
            (route.points[0], picture.nodes[route.source]),
            (route.points[-1], picture.nodes[route.target]),
        ):
            assert (x in (box.left, box.right) and box.top < y < box.bottom) or (
                y in (box.top, box.bottom) and box.left < x < box.right
            )
        assert all(a == c or b == d for (a, b), (c, d) in pairwise(route.points))


@settings(deadline=None)
@given(layouts())
def test_everything_lies_inside_the_frame(picture):
    frame = Box(0, 0, picture.width, picture.bottom + 1)
    inside = [box for _, box in segments(picture)] + [label.box for label in labels(picture)]
    for box in [*inside, *picture.nodes.values()]:
        assert frame.left < box.left
        assert frame.top < box.top
        assert box.right < frame.right
        assert box.bottom < frame.bottom


@settings(deadline=None)
@given(layouts())
def test_not_even_the_thickest_line_touches_a_label(picture):
    widest = max(float(width) for width in re.findall(r"stroke-width:([\d.]+)", STYLE))
    reach = ceil(widest / 2)
    for route, line in segments(picture):
        thick = Box(line.left - reach, line.top - reach, line.width + 2 * reach, line.height + 2 * reach)
        assert [label for label in labels(picture) if label.box.overlaps(thick)] == [], route


@pytest.mark.spec("OPS-21")
def test_phases_stand_below_each_other_in_one_straight_lane():
    boxes = list(of(TURN_TABLE).nodes.values())
    assert len({(box.left, box.width) for box in boxes}) == 1
    assert all(upper.bottom < lower.top for upper, lower in pairwise(boxes))


@pytest.mark.spec("OPS-21")
def test_forward_edges_run_on_the_right_and_backward_edges_on_the_left():
    picture = of(TURN_TABLE)
    order = list(picture.nodes)
    for route in picture.routes:
        box = picture.nodes[route.source]
        span = order.index(route.target) - order.index(route.source)
        furthest = max(route.points, key=lambda point: abs(point[0] - box.middle[0]))[0]
        if span > 1:
            assert furthest > box.right, route
        elif span < 1:
            assert furthest < box.left, route


@pytest.mark.spec("OPS-21")
@given(st.integers(2, 16))
def test_overlapping_ways_have_channels_of_their_own(count):
    ways = [(a, b) for a in range(count) for b in range(a + 2, count)]
    for one, other in combinations(ways, 2):
        if one[0] < other[1] and other[0] < one[1]:
            assert channel(*one, count) != channel(*other, count), (one, other)


@pytest.mark.spec("OPS-21")
def test_one_more_edge_moves_only_routes_of_its_own_phase():
    graph = graph_of(TURN_TABLE)
    old = dict.fromkeys(((e.source, e.target) for e in graph.edges), ("T01",))
    for pair in [("classify", "done"), ("deliver", "classify"), ("tool_rounds", "validate_envelope")]:
        before, after = (layout(graph.nodes, labels, (), 60) for labels in (old, {**old, pair: ("T99",)}))
        assert before.nodes == after.nodes
        moved = set(before.routes) ^ set(after.routes)
        assert moved
        assert {route.source for route in moved} == {pair[0]}


@pytest.mark.spec("OPS-21")
def test_another_label_of_the_same_length_moves_nothing():
    graph = graph_of(TURN_TABLE)
    pairs = [(e.source, e.target) for e in graph.edges]
    one, other = (layout(graph.nodes, dict.fromkeys(pairs, (text,)), (), 60) for text in ("T01 T02", "T03 T04"))
    assert one.nodes == other.nodes
    assert [route.points for route in one.routes] == [route.points for route in other.routes]


@pytest.mark.spec("OPS-21")
def test_a_long_lane_keeps_no_room_for_channels_that_nothing_uses():
    nodes = [f"n{number}" for number in range(30)]
    picture = layout(nodes, {("n0", "n29"): ("A1",), ("n20", "n3"): ("A2",)}, (), 60)
    assert picture.width < 400


def test_boxes_that_touch_do_not_overlap():
    box = Box(0, 0, 10, 10)
    assert not box.overlaps(Box(10, 0, 10, 10))
    assert box.overlaps(Box(9, 9, 10, 10))
    assert not box.overlaps(evolve(box, top=10))
