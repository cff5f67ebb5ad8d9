"""The picture as an indented list for a terminal: each phase with its rows, in the order in which they are tried.

Owns the format `text` and its reader. Lines have 80 characters at most, unless a single name is longer than that.
A row on the path of a turn starts with `>`.
Invariant: `edges_in_text(render(graph, overlay)) == graph.arcs`.
"""

import re
import textwrap
from collections.abc import Iterable

from phasewalk.machine.diagram.graph import Arc, Edge, Graph
from phasewalk.machine.diagram.labels import decoded, encoded, listed
from phasewalk.machine.diagram.overlay import PLAIN, Mark, Overlay, marks_of

WIDTH = 80
_DEEP = " " * 6
_ARROW = "->"


def render(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The list, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
    marks = marks_of(graph, overlay)
    title = f"machine {encoded(graph.name)}, from {encoded(graph.initial)} to {encoded(graph.final)}"
    lines = [line for sentence in (title, *overlay.legend()) for line in _wrapped(sentence, "", "")]
    for phase in graph.phases:
        lines += ["", encoded(phase)]
        for edge in graph.edges_of(phase):
            lines += _row(edge, marks[edge.arc])
    return "\n".join(lines) + "\n"


def edges_in_text(text: str) -> frozenset[Arc]:
    """The arcs of a list; lines that are neither a phase nor a row of one are passed over."""
    phase, found = "", set()
    for entry in re.split(rf"\n(?!{_DEEP})", text):
        if not entry.startswith(("  ", "> ")):
            heading = entry.split()
            phase = decoded(heading[0]) if len(heading) == 1 else phase
            continue
        words = entry[2:].split()
        if phase and _ARROW in words[:-1]:
            found.add((phase, decoded(words[words.index(_ARROW) + 1]), decoded(words[0])))
    return frozenset(found)


def _row(edge: Edge, mark: Mark) -> Iterable[str]:
    words = f"{encoded(edge.id)} {encoded(edge.event)} {_ARROW} {encoded(edge.target)}{mark.text}"
    yield from _wrapped(words, "> " if mark.steps else "  ", _DEEP)
    if edge.guards:
        yield from _wrapped(f"if {listed(edge.guards)}", _DEEP, f"{_DEEP}   ")


def _wrapped(words: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
