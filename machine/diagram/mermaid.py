"""The picture as a Mermaid state diagram.

Owns the format `mermaid` and its reader. Mermaid shows one edge at most between two states, in each direction,
so parallel rows are merged into one edge with a line for each event. Its guards stand in comments.
Invariant: `edges_in_mermaid(render(graph, overlay)) == graph.arcs`.
"""

import re
from collections.abc import Iterable, Mapping

from phasewalk.machine.diagram.graph import Arc, Edge, Graph
from phasewalk.machine.diagram.labels import encoded, listed, words_in
from phasewalk.machine.diagram.overlay import PLAIN, Mark, Overlay, marks_of

_ENTITY = "#"
_BREAK = "<br/>"
# Words that start another statement of the format; it does not tell small letters from capitals.
_KEYWORDS = frozenset(
    {"accdescr", "acctitle", "class", "classdef", "click", "default", "direction"}
    | {"hide", "href", "note", "scale", "state", "statediagram", "style"}
)
_ALIAS = re.compile(r'^\s*state "(\w+)" as (\w+)$', re.MULTILINE)
_EDGE = re.compile(r"^\s*(\w+) --> (\w+) : (.+)$", re.MULTILINE)


def render(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The picture, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
    marks = marks_of(graph, overlay)
    ids = _ids(graph)
    lines = ["stateDiagram-v2", *(f"    {line}" for line in _head(graph, overlay, ids))]
    lines.append(f"    [*] --> {ids[graph.initial]}")
    for (source, target), edges in _parallel(graph).items():
        lines.append(f"    {ids[source]} --> {ids[target]} : {_label(edges, marks)}")
    lines.append(f"    {ids[graph.final]} --> [*]")
    lines.extend(f"    {line}" for line in _tail(graph, overlay, ids))
    return "\n".join(lines) + "\n"


def edges_in_mermaid(text: str) -> frozenset[Arc]:
    """The arcs of a picture; lines that are no edge are passed over."""
    names = {alias: name for name, alias in _ALIAS.findall(text)}
    found = set()
    for source, target, label in _EDGE.findall(text):
        for line in label.split(_BREAK):
            for row_id in words_in(line, _ENTITY)[:-1]:
                found.add((names.get(source, source), names.get(target, target), row_id))
    return frozenset(found)


def _ids(graph: Graph) -> dict[str, str]:
    """How each phase is called in the text: as it is, unless Mermaid would take the word for something else.

    The other name starts with a digit, as no phase does.
    """
    return {
        node: node if node.isascii() and node.lower() not in _KEYWORDS else f"{number}_phase"
        for number, node in enumerate(graph.nodes)
    }


def _head(graph: Graph, overlay: Overlay, ids: Mapping[str, str]) -> Iterable[str]:
    yield f"%% machine {encoded(graph.name, _ENTITY)}"
    yield from (f"%% {line}" for line in overlay.legend())
    yield "direction LR"
    yield from (f'state "{node}" as {ids[node]}' for node in graph.nodes if ids[node] != node)


def _tail(graph: Graph, overlay: Overlay, ids: Mapping[str, str]) -> Iterable[str]:
    if overlay.path:
        yield "classDef visited font-weight:bold,stroke-width:4px"
        yield f"class {','.join(ids[node] for node in graph.nodes if node in overlay.visited)} visited"
    for edge, *_ in graph.rows():
        if edge.guards:
            yield f"%% {encoded(edge.id, _ENTITY)} if {listed(edge.guards, _ENTITY)}"


def _parallel(graph: Graph) -> dict[tuple[str, str], list[Edge]]:
    found: dict[tuple[str, str], list[Edge]] = {}
    for phase in graph.phases:
        for edge in graph.edges_of(phase):
            found.setdefault((edge.source, edge.target), []).append(edge)
    return found


def _label(edges: Iterable[Edge], marks: Mapping[Arc, Mark]) -> str:
    """A line for each event: the ids, each with its mark, then the event."""
    lines: dict[str, list[str]] = {}
    for edge in edges:
        lines.setdefault(edge.event, []).append(encoded(edge.id, _ENTITY) + marks[edge.arc].text)
    return _BREAK.join(f"{' '.join(ids)} {encoded(event, _ENTITY)}" for event, ids in lines.items())
