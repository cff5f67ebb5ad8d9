"""The SVG picture as it is written."""

import re
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from phasewalk.machine.diagram.graph import Edge, Graph, graph_of
from phasewalk.machine.diagram.overlay import Mark, Overlay
from phasewalk.machine.diagram.svg import render
from phasewalk.machine.diagram.svg_legend import legend_of
from phasewalk.machine.diagram.svg_read import edges_in_svg
from phasewalk.machine.diagram.svg_words import columns, label_lines, shown
from phasewalk.machine.errors import CallerError
from phasewalk.machine.summary_table import SUMMARY_TABLE
from phasewalk.machine.turn_table import TURN_TABLE

pytestmark = pytest.mark.spec("OPS-21")

SVG = "{http://www.w3.org/2000/svg}"
TURN = graph_of(TURN_TABLE)
EVERY_TABLE = pytest.mark.parametrize("table", [TURN_TABLE, SUMMARY_TABLE], ids=lambda table: table.name)
EDGES = (
    Edge("A1", "one", "moved", "two", ("is_open", "is_late")),
    Edge("A2", "two", "moved", "end"),
    Edge("A3", "one", "crashed", "end"),
    Edge("A4", "two", "again", "two"),
)
TINY = Graph("tiny", ("one", "two"), "one", "end", EDGES)
ANY_NAME = st.text(st.characters(), min_size=1, max_size=12)
HOSTILE = 'a"<b>&'


def line_of(text, source, target):
    (line,) = [line for line in text.splitlines() if f'data-from="{source}" data-to="{target}"' in line]
    return line


def classes(text, source, target):
    return re.search(r'<g class="([^"]*)"', line_of(text, source, target))[1].split()


def label(text, source, target):
    return " ".join(re.findall(r"<tspan [^>]*>([^<]*)</tspan>", line_of(text, source, target)))


def groups(text, name):
    root = ET.fromstring(text)
    return [group for group in root.iter(f"{SVG}g") if name in group.get("class", "").split()]


def border(rect):
    left, top, width, height = (int(rect.get(key)) for key in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


def on_border(point, rect):
    (x, y), (left, top, right, bottom) = point, border(rect)
    return (x in (left, right) and top <= y <= bottom) or (y in (top, bottom) and left <= x <= right)


@pytest.mark.spec("OPS-22")
@EVERY_TABLE
def test_the_drawn_arrows_lead_from_the_box_of_their_phase_to_that_of_their_target(table):
    text = render(graph_of(table))
    boxes = {group.find(f"{SVG}text").text: group.find(f"{SVG}rect") for group in groups(text, "node")}
    assert list(boxes) == list(graph_of(table).nodes)
    for group in groups(text, "edge"):
        line, head = (path.get("d") for path in group.findall(f"{SVG}path"))
        start, tip = (tuple(map(int, re.findall(r"\d+", d)[:2])) for d in (line, head))
        assert on_border(start, boxes[group.get("data-from")])
        assert on_border(tip, boxes[group.get("data-to")])


@EVERY_TABLE
def test_every_label_shows_the_ids_that_its_arrow_stands_for(table):
    for group in groups(render(graph_of(table)), "edge"):
        words = [span.text for span in group.iter(f"{SVG}tspan")]
        assert " ".join(words) == group.get("data-ids")


@EVERY_TABLE
def test_every_row_is_explained_below_the_picture_in_the_order_of_the_table(table):
    (legend,) = [text for text in ET.fromstring(render(graph_of(table))) if text.get("class") == "legend"]
    words = [span.text for span in legend.iter(f"{SVG}tspan") if span.text]
    ids = [row.id for row in table.rows]
    assert [word for word in words if word in ids] == ids
    for row in table.rows:
        assert {*row.events, *row.guards, *row.sources, row.target} <= set(re.split(r", | |,", " ".join(words)))


def test_the_legend_of_a_row_tells_event_guards_and_phases():
    assert legend_of(TINY).entries[0] == (("A1", "moved", "is_open, is_late", "one", "two"),)


@settings(deadline=None)
@given(ANY_NAME, ANY_NAME, ANY_NAME, ANY_NAME)
def test_any_names_make_well_formed_xml_and_are_read_back(name, row_id, event, guard):
    edge = Edge(row_id, "one", event, "two", (guard,))
    graph = Graph(name, ("one", "two"), "one", "end", (edge, Edge(row_id + "x", "two", event, "end")))
    text = render(graph)
    assert ET.fromstring(text).tag == f"{SVG}svg"
    assert edges_in_svg(text) == graph.arcs


def test_names_that_look_like_mark_up_are_shown_and_open_no_element():
    edges = (Edge(HOSTILE, "one", HOSTILE, "end", (HOSTILE,)), Edge("]]>", "one", "--><script>", "end"))
    text = render(Graph(HOSTILE, ("one",), "one", "end", edges))
    root = ET.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "tspan", "g", "path", "circle",
    }  # fmt: skip
    assert [span.text for span in groups(text, "edge")[0].iter(f"{SVG}tspan")] == [f"{HOSTILE} ]]>"]
    assert root.find(f"{SVG}title").text == f"machine {HOSTILE}, from one to end"


def test_nothing_is_fetched_and_nothing_runs():
    text = render(TURN, Overlay(heat={"T01": 1}))
    assert text.count("http") == 1  # the name of the format itself
    assert not re.search(r"<script|<image|<use|<foreignObject|href|url\(|@import|\son\w+=", text)


def test_where_the_reader_prefers_dark_ground_and_ink_change_places():
    light, dark = render(TINY).split("@media (prefers-color-scheme:dark)")
    assert ".phasewalk .head{fill:#111}" in light
    assert ".phasewalk rect{fill:#fff}" in light
    assert ".phasewalk .head{fill:#eee}" in dark
    assert ".phasewalk rect{fill:#111}" in dark


def test_colours_are_shades_of_grey_so_that_black_and_white_will_do():
    colours = set(re.findall(r"(?:fill|stroke):([^;}]+)", render(TURN, Overlay(heat={"T01": 1}))))
    assert colours == {"#111", "#fff", "#eee", "none"}


def test_title_and_description_tell_what_is_seen():
    root = ET.fromstring(render(TINY))
    assert (root[0].tag, root[0].text) == (f"{SVG}title", "machine tiny, from one to end")
    assert root[1].text == "Phases from top to bottom: one, two, end. Arrows bear the ids of rows."
    assert root.get("role") == "img"
    assert "<title>one to two: A1 moved</title>" in line_of(render(TINY), "one", "two")


def test_the_end_has_a_double_frame_and_tells_by_which_rows_it_is_reached():
    text = render(TINY)
    (end,) = [group for group in groups(text, "node") if len(group.findall(f"{SVG}rect")) == 2]
    assert end.find(f"{SVG}text").text == "end"
    (note,) = groups(text, "note")
    assert [span.text for span in note.iter(f"{SVG}tspan")] == ["ends by", "A2 moved", "A3 crashed"]


def test_the_start_has_a_dot_of_its_own_wherever_it_stands():
    for initial in TINY.phases:
        text = render(evolve(TINY, initial=initial))
        (start,) = [group for group in groups(text, "node") if group.find(f"{SVG}circle") is not None]
        assert start.find(f"{SVG}text").text == initial


def test_an_arrow_of_interruptions_alone_is_thin():
    text = render(TINY)
    assert classes(text, "one", "end") == ["edge", "side"]
    assert classes(text, "two", "end") == ["edge"]
    assert "thin: only what comes from outside a phase (deadline_passed, cancelled, crashed, interrupted)" in text


def test_the_path_of_a_turn_is_thick_and_numbered_in_its_order():
    path = [("one", "A1", "two"), ("two", "A4", "two"), ("two", "A4", "two"), ("two", "A2", "end")]
    text = render(TINY, Overlay(path=path))
    assert [label(text, *pair) for pair in (("one", "two"), ("two", "two"), ("two", "end"))] == [
        "A1 (1)", "A4 (2, 3)", "A2 (4)",
    ]  # fmt: skip
    assert classes(text, "two", "two") == ["edge", "path"]
    assert "path" not in classes(text, "one", "end")
    assert ".path .line,.phasewalk .visited rect{stroke-width:4}" in text
    assert len(groups(text, "visited")) == 3
    assert "(1, 2): order of the steps of one turn" in text


def test_a_phase_that_the_turn_did_not_enter_keeps_its_thin_frame():
    text = render(TINY, Overlay(path=[("one", "A3", "end")]))
    assert [group.find(f"{SVG}text").text for group in groups(text, "visited")] == ["one", "end"]


def test_heat_is_width_in_five_steps_with_counts_and_what_is_unused_is_dashed():
    text = render(TINY, Overlay(heat={"A1": 100, "A2": 41, "A3": 1}))
    assert classes(text, "one", "two") == ["edge", "heat5"]
    assert classes(text, "two", "end") == ["edge", "heat3"]
    assert classes(text, "one", "end") == ["edge", "side", "heat1"]
    assert classes(text, "two", "two") == ["edge", "idle"]
    assert [label(text, "one", "two"), label(text, "two", "two")] == ["A1 (100x)", "A4 (unused)"]
    widths = re.findall(r"\.heat\d \.line\{stroke-width:([\d.]+)\}", text)
    assert [float(width) for width in widths] == [1.4, 2.4, 3.4, 4.4, 5.4]
    assert re.search(r"\.idle \.line\{[^}]*stroke-dasharray:4 4", text)


def test_a_count_shared_by_several_phases_makes_no_width():
    text = render(TURN, Overlay(heat={"T30": 100, "T01": 1}))
    assert classes(text, "classify", "deliver") == ["edge", "side"]
    assert label(text, "classify", "deliver") == "T30 (100x in all) · T32 T34 T41 (unused)"
    assert classes(text, "received", "classify") == ["edge", "heat5"]


def test_no_traffic_at_all_leaves_every_arrow_dashed():
    text = render(TURN, Overlay(heat={}))
    assert len(groups(text, "idle")) == len(groups(text, "edge"))


def test_a_step_of_another_machine_is_refused():
    with pytest.raises(CallerError, match="row T99 is not part of machine 'turn'"):
        render(TURN, Overlay(heat={"T99": 1}))


@pytest.mark.parametrize(
    ("ids", "lines"),
    [
        ([("A1", Mark()), ("A2", Mark())], ("A1 A2",)),
        ([("A1", Mark()), ("A2", Mark((1, 2)))], ("A1 · A2 (1, 2)",)),
        ([("A1", Mark(count=0)), ("A2", Mark(count=7)), ("A3", Mark(count=0))], ("A1 A3 (unused) · A2 (7x)",)),
        ([("A1", Mark(count=7)), ("A2", Mark(count=7))], ("A1 (7x) · A2 (7x)",)),
        (
            [("A1", Mark(tuple(range(1, 16)))), ("A2", Mark((16,)))],
            ("A1 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,", "13, 14, 15) · A2 (16)"),
        ),
    ],
)
def test_a_label_names_each_id_with_its_mark(ids, lines):
    assert label_lines(ids) == lines


@given(st.text(st.characters(), max_size=20))
def test_a_shown_word_is_one_word_that_can_be_printed(name):
    assert shown(name).isprintable()
    assert " " not in shown(name)


def test_what_xml_forbids_is_shown_as_its_escape():
    odd = "\x00\ud800\uffff\n\u202e"
    text = render(Graph("tiny", ("one",), "one", "end", (Edge(odd, "one", "moved", "end"),)))
    assert label(text, "one", "end") == r"\x00\ud800\uffff\n\u202e"
    assert ET.fromstring(text.encode()) is not None
    assert edges_in_svg(text) == {("one", "end", odd)}


def test_wide_characters_take_two_columns():
    assert columns("a界") == 3


def test_the_picture_is_wide_enough_for_a_long_name():
    text = render(evolve(TINY, name="n" * 200))
    assert int(re.search(r'viewBox="0 0 (\d+)', text)[1]) > 200 * 9


def test_another_row_of_the_same_arrow_changes_its_line_and_adds_one_to_the_legend():
    more = evolve(TURN, edges=(*TURN.edges, Edge("T98", "received", "dropped", "classify")))
    old, new = (render(graph).splitlines() for graph in (TURN, more))
    assert [line for line in old if line not in new] == [line_of("\n".join(old), "received", "classify")]
    assert len([line for line in new if line not in old]) == 2
