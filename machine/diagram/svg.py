"""The picture as SVG, drawn without any other program.

Owns the format `svg`: how the places of `svg_layout` become shapes. One line of text for each box, route and row.
Strokes differ in width and dash only, so that black and white will do; where the reader prefers dark, ground and ink
change places. No script, no font and no address of anything else. All names of classes live under `.phasewalk`, so
that a page may hold several pictures.
Invariant: `edges_in_svg(render(graph, overlay)) == graph.arcs`.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from phasewalk.machine.diagram.graph import Arc, Edge, Graph
from phasewalk.machine.diagram.overlay import PLAIN, Mark, Overlay, marks_of
from phasewalk.machine.diagram.svg_layout import MARGIN, layout
from phasewalk.machine.diagram.svg_legend import HEAD, Legend, legend_of
from phasewalk.machine.diagram.svg_read import edge_data
from phasewalk.machine.diagram.svg_shapes import LINE, Box, Label, Layout, Pair, Point, Route
from phasewalk.machine.diagram.svg_style import STYLE, WIDTHS
from phasewalk.machine.diagram.svg_words import LABEL_COLUMNS, columns, label_lines, listed, shown, wrapped
from phasewalk.machine.table import INTERRUPTIONS

_TOP = 76
_BASELINE = 11
_COLUMN, _TITLE_COLUMN = 6.7, 9.1
_ROW = 17
_HEIGHT_STEP = 4 * _ROW
_RADIUS = 4
_HEAD_LENGTH, _HEAD_HALF = 10, 4
_FRAME = 6
_START_X, _START_UP = 20, 22


def render(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The picture, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
    return _picture(graph, overlay, alone=True)


def inline(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The same for a page of several pictures, which holds the style sheet once and tells the rows by itself."""
    return _picture(graph, overlay, alone=False)


def _picture(graph: Graph, overlay: Overlay, *, alone: bool) -> str:
    marks = marks_of(graph, overlay)
    pairs = _pairs(graph)
    labels = {pair: label_lines(_marked(edges, marks)) for pair, edges in pairs.items()}
    nodes = tuple(dict.fromkeys(graph.nodes))
    places = layout(nodes, labels, _endings(graph), _TOP)
    looks = _looks(pairs, marks)
    body = [
        *(_node(graph, node, box, overlay) for node, box in places.nodes.items()),
        *(_route(route, pairs[(route.source, route.target)], looks) for route in places.routes),
        *_note(places),
    ]
    return "\n".join([*_framed(graph, overlay, places, body, alone=alone), "</svg>"]) + "\n"


def _framed(graph: Graph, overlay: Overlay, places: Layout, body: Sequence[str], *, alone: bool) -> Iterable[str]:
    """The body between head and legend, in a frame that both fit in."""
    rows, keys = legend_of(graph) if alone else None, list(_keys(graph, overlay))
    top = places.bottom + 2 * MARGIN
    height = top + (len(keys) + (2 + rows.height if rows else 0)) * _ROW
    height += -height % _HEIGHT_STEP + MARGIN
    name, initial, final = map(shown, (graph.name, graph.initial, graph.final))
    title = escape(f"machine {name}, from {initial} to {final}")
    widest = max(rows.width if rows else 0, *map(columns, keys), 0) * _COLUMN
    width = max(places.width, 2 * MARGIN + round(max(widest, columns(title) * _TITLE_COLUMN)))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="phasewalk" role="img" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    )
    yield f"<title>{title}</title>"
    yield f"<desc>{escape('Phases from top to bottom: ' + ', '.join(graph.nodes))}. Arrows bear the ids of rows.</desc>"
    if alone:
        yield f"<style>{STYLE}</style>"
    yield '<rect class="ground" width="100%" height="100%"/>'
    yield f'<text class="title" x="{MARGIN}" y="32">{title}</text>'
    yield from body
    yield from _legend(rows, keys, top)


def _pairs(graph: Graph) -> dict[Pair, list[Edge]]:
    """The edges by the pair of phases that they join: each pair is one route."""
    found: dict[Pair, list[Edge]] = {}
    for edge in graph.edges:
        found.setdefault((edge.source, edge.target), []).append(edge)
    return found


def _marked(edges: Iterable[Edge], marks: Mapping[Arc, Mark]) -> list[tuple[str, Mark]]:
    return [(edge.id, marks[edge.arc]) for edge in {edge.id: edge for edge in edges}.values()]


def _endings(graph: Graph) -> tuple[str, ...]:
    """The ways to the end, as the table knows them: by which row, on which event."""
    lines: list[str] = []
    for edges in graph.rows():
        if edges[0].target == graph.final:
            words = [shown(edges[0].id), *listed(dict.fromkeys(edge.event for edge in edges))]
            lines += wrapped(words, LABEL_COLUMNS)
    return ("ends by", *lines) if lines else ()


def _looks(pairs: Mapping[Pair, Sequence[Edge]], marks: Mapping[Arc, Mark]) -> dict[Pair, str]:
    """The classes of each route. A shared count says nothing of one route, so it makes no width."""
    of_pair = {pair: [mark for _, mark in _marked(edges, marks)] for pair, edges in pairs.items()}
    counts = {pair: sum(mark.count or 0 for mark in found if not mark.shared) for pair, found in of_pair.items()}
    busiest = max(counts.values(), default=0)
    return {pair: " ".join(_classes(pairs[pair], of_pair[pair], counts[pair], busiest)) for pair in pairs}


def _classes(edges: Sequence[Edge], marks: Sequence[Mark], count: int, busiest: int) -> Iterable[str]:
    yield "edge"
    if all(edge.event in INTERRUPTIONS for edge in edges):
        yield "side"
    if all(mark.count == 0 for mark in marks):
        yield "idle"
    if count:
        yield f"heat{-(-WIDTHS * count // busiest)}"
    if any(mark.steps for mark in marks):
        yield "path"


def _node(graph: Graph, node: str, box: Box, overlay: Overlay) -> str:
    look = "node visited" if node in overlay.visited else "node"
    x, y = box.middle
    parts = [_rect(box)]
    if node == graph.final:
        parts.append(_rect(Box(box.left + _FRAME, box.top + _FRAME, box.width - 2 * _FRAME, box.height - 2 * _FRAME)))
    if node == graph.initial:
        start = (box.left + _START_X, box.top - _START_UP)
        parts.append(f'<circle class="head" cx="{start[0]}" cy="{start[1]}" r="5"/>')
        parts.append(_arrow([start, (start[0], box.top)]))
    parts.append(f'<text class="name" x="{x}" y="{y + 5}">{escape(shown(node))}</text>')
    return f'<g class="{look}">{"".join(parts)}</g>'


def _rect(box: Box) -> str:
    return f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="3"/>'


def _route(route: Route, edges: Sequence[Edge], looks: Mapping[Pair, str]) -> str:
    data = edge_data(route.source, route.target, dict.fromkeys(edge.id for edge in edges))
    rows = dict.fromkeys(f"{shown(edge.id)} {shown(edge.event)}" for edge in edges)
    tip = escape(f"{shown(route.source)} to {shown(route.target)}: {', '.join(rows)}")
    look = looks[(route.source, route.target)]
    return f'<g class="{look}" {data}><title>{tip}</title>{_arrow(route.points)}{_text(route.label)}</g>'


def _arrow(points: Sequence[Point]) -> str:
    """A line with round corners that ends in an arrow head."""
    (x, y), (dx, dy) = points[-1], _direction(points[-2], points[-1])
    base = (x - dx * _HEAD_LENGTH, y - dy * _HEAD_LENGTH)
    wings = [(base[0] + side * dy * _HEAD_HALF, base[1] + side * dx * _HEAD_HALF) for side in (-1, 1)]
    head = " ".join(f"{px} {py}" for px, py in ((x, y), *wings))
    return f'<path class="line" d="{_way([*points[:-1], base])}"/><path class="head" d="M{head}z"/>'


def _way(points: Sequence[Point]) -> str:
    steps = [f"M{points[0][0]} {points[0][1]}"]
    for (before, corner), (_, after) in pairwise(pairwise(points)):
        (ax, ay), (bx, by) = _direction(before, corner), _direction(corner, after)
        x, y = corner
        steps.append(f"L{x - ax * _RADIUS} {y - ay * _RADIUS}Q{x} {y} {x + bx * _RADIUS} {y + by * _RADIUS}")
    return "".join([*steps, f"L{points[-1][0]} {points[-1][1]}"])


def _direction(start: Point, end: Point) -> Point:
    (x, y), (to_x, to_y) = start, end
    return ((to_x > x) - (to_x < x), (to_y > y) - (to_y < y))


def _text(label: Label) -> str:
    x = label.box.right - 3 if label.flush_right else label.box.left + 3
    look = ' class="end"' if label.flush_right else ""
    lines = "".join(
        f'<tspan x="{x}" y="{label.box.top + _BASELINE + number * LINE}">{escape(line)}</tspan>'
        for number, line in enumerate(label.lines)
    )
    return f"<text{look}>{lines}</text>"


def _note(places: Layout) -> Iterable[str]:
    """The ways to the end, in a frame that a line joins to its box."""
    if places.note is not None:
        box = places.note.box
        y = box.middle[1]
        end = list(places.nodes.values())[-1].left
        yield f'<g class="note">{_rect(box)}<path class="line" d="M{box.right} {y}H{end}"/>{_text(places.note)}</g>'


def _keys(graph: Graph, overlay: Overlay) -> Iterable[str]:
    """What the marks mean, one sentence each."""
    if any(edge.event in INTERRUPTIONS for edge in graph.edges):
        yield f"thin: only what comes from outside a phase ({', '.join(INTERRUPTIONS)})"
    yield from overlay.legend()
    if overlay.path:
        yield "thick: the way of the turn"
    if overlay.heat is not None:
        yield f"width: share of the busiest arrow, in {WIDTHS} steps; dashed: never taken"


def _legend(legend: Legend | None, keys: Sequence[str], top: int) -> Iterable[str]:
    """Each line is placed from the one before, so that a new row adds a line and changes none."""
    yield f'<text class="legend" y="{top}">'
    yield from (f'<tspan x="{MARGIN}" dy="{_ROW}">{escape(key)}</tspan>' for key in keys)
    if legend is not None:
        yield f'<tspan class="strong">{_cells(HEAD, legend, 2 * _ROW)}</tspan>'
        for entry in legend.entries:
            yield "".join(_cells(line, legend, _ROW) for line in entry)
    yield "</text>"


def _cells(line: Sequence[str], legend: Legend, down: int) -> str:
    found, first = "", f' dy="{down}"'
    for cell, start in zip(line, legend.starts, strict=True):
        if cell:
            found += f'<tspan x="{MARGIN + round(start * _COLUMN)}"{first}>{escape(cell)}</tspan>'
            first = ""
    return found
