"""The picture as a Graphviz DOT graph.

Owns the format `dot` and its reader. The phases stand in one lane from left to right; what comes from outside a
phase (deadline, cancellation, crash, recovery) is one dashed edge for each pair of phases; the legend below
names event and guards of every row. Lines differ in width and dash only, so that black and white will do.
Invariant: `edges_in_dot(render(graph, overlay)) == graph.arcs`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from phasewalk.machine.diagram.graph import Arc, Edge, Graph
from phasewalk.machine.diagram.labels import encoded, listed, words_in
from phasewalk.machine.diagram.overlay import PLAIN, Mark, Overlay, marks_of
from phasewalk.machine.table import INTERRUPTIONS

# The first line of a label holds the ids and nothing else.
_EDGE = re.compile(r'^\s*"(\w+)" -> "(\w+)" \[label="([^"\\]*)', re.MULTILINE)
_THICK = 3.0
_THICKEST = 6.0


def render(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The picture, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
    marks = marks_of(graph, overlay)
    body = [*_lane(graph, overlay), *_arrows(graph, marks), *_legend(graph, overlay)]
    return "\n".join([f'digraph "{encoded(graph.name)}" {{', *(f"    {line}" for line in body), "}"]) + "\n"


def edges_in_dot(text: str) -> frozenset[Arc]:
    """The arcs of a picture; lines that are no edge, or have no label, are passed over."""
    return frozenset(
        (source, target, row_id) for source, target, label in _EDGE.findall(text) for row_id in words_in(label)
    )


def _lane(graph: Graph, overlay: Overlay) -> Iterable[str]:
    # Names are always quoted: a phase may be called as a keyword of DOT is.
    yield "rankdir=TB;"
    yield "node [shape=box];"
    yield f'"{graph.final}" [peripheries=2];'
    yield from (f'"{node}" [penwidth={_THICK}];' for node in graph.nodes if node in overlay.visited)
    yield "{ rank=same; " + " ".join(f'"{node}";' for node in graph.nodes) + " }"
    yield " -> ".join(f'"{node}"' for node in graph.nodes) + " [style=invis, weight=100];"


def _arrows(graph: Graph, marks: Mapping[Arc, Mark]) -> Iterable[str]:
    busiest = max((mark.count or 0 for mark in marks.values() if not mark.shared), default=0)
    for edges in _merged(graph):
        first = edges[0]
        side = first.event in INTERRUPTIONS
        label = " ".join(encoded(row_id) + mark for row_id, mark in _ids(edges, marks).items())
        if not side:
            label += rf"\n{encoded(first.event)}"
        looks = ", ".join([f'label="{label}"', *_look([marks[edge.arc] for edge in edges], busiest, side=side)])
        yield f'"{first.source}" -> "{first.target}" [{looks}];'


def _ids(edges: Iterable[Edge], marks: Mapping[Arc, Mark]) -> dict[str, str]:
    return {edge.id: marks[edge.arc].text for edge in edges}


def _merged(graph: Graph) -> list[list[Edge]]:
    """Interruptions by pair of phases; every other edge by itself."""
    found: dict[tuple[str, ...], list[Edge]] = {}
    for edge in graph.edges:
        side = edge.event in INTERRUPTIONS
        key = (edge.source, edge.target) if side else (edge.source, edge.target, edge.id, edge.event)
        found.setdefault(key, []).append(edge)
    return list(found.values())


def _look(marks: Sequence[Mark], busiest: int, *, side: bool) -> Iterable[str]:
    if all(mark.count == 0 for mark in marks):
        yield "style=dotted"
    elif side:
        yield "style=dashed"
    if side:
        yield "constraint=false"
    width = max(_width(mark, busiest) for mark in marks)
    if width > 1:
        yield f"penwidth={width:.1f}"


def _width(mark: Mark, busiest: int) -> float:
    """In points. A shared count says nothing of this one arc, so it makes no width."""
    on_path = _THICK if mark.steps else 1.0
    if not mark.count or mark.shared:
        return on_path
    return max(on_path, 1.0 + (_THICKEST - 1.0) * mark.count / busiest)


def _legend(graph: Graph, overlay: Overlay) -> Iterable[str]:
    yield "labelloc=b;"
    yield "labeljust=l;"
    yield rf'label="{encoded(graph.name)}\l"'
    for line in (*overlay.legend(), *_row_lines(graph)):
        yield rf'    + "{line}\l"'
    yield ";"


def _row_lines(graph: Graph) -> Iterable[str]:
    for edges in graph.rows():
        events = listed(dict.fromkeys(edge.event for edge in edges))
        guards = edges[0].guards
        yield f"{encoded(edges[0].id)} {events}" + (f" if {listed(guards)}" if guards else "")
