"""The picture as a Markdown table, one line for each row of the transition table.

Owns the format `table` and its reader. An overlay adds a column.
Invariant: `edges_in_markdown(render(graph, overlay)) == graph.arcs`.
"""

from collections.abc import Mapping, Sequence

from phasewalk.machine.diagram.graph import Arc, Edge, Graph
from phasewalk.machine.diagram.labels import decoded, encoded, listed
from phasewalk.machine.diagram.overlay import PLAIN, Mark, Overlay, marks_of, times

_HEAD = ("id", "from", "event", "guards, all must hold", "to")


def render(graph: Graph, overlay: Overlay = PLAIN) -> str:
    """The table, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
    marks = marks_of(graph, overlay)
    head = [*_HEAD, *(["steps"] if overlay.path else []), *(["taken"] if overlay.heat is not None else [])]
    lines = [
        f"# Machine {encoded(graph.name)}",
        "",
        f"From {encoded(graph.initial)} to {encoded(graph.final)}. Rows are tried from top to bottom.",
        "",
        _line(head),
        _line(["---"] * len(head)),
        *(_line(_cells(edges, overlay, marks)) for edges in graph.rows()),
    ]
    return "\n".join(lines) + "\n"


def edges_in_markdown(text: str) -> frozenset[Arc]:
    """The arcs of the first table of a text; a line with fewer than five cells is passed over."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    found = set()
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) >= len(_HEAD):
            for source in cells[1].split(", "):
                found.add((decoded(source), decoded(cells[4]), decoded(cells[0])))
    return frozenset(found)


def _line(cells: Sequence[str]) -> str:
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _cells(edges: Sequence[Edge], overlay: Overlay, marks: Mapping[Arc, Mark]) -> list[str]:
    first = edges[0]
    row_marks = {edge.source: marks[edge.arc] for edge in edges}
    cells = [
        encoded(first.id),
        listed(row_marks),
        listed(dict.fromkeys(edge.event for edge in edges)),
        listed(first.guards),
        encoded(first.target),
    ]
    if overlay.path:
        cells.append(_steps(row_marks))
    if overlay.heat is not None:
        cells.append(times(_total(list(row_marks.values()))))
    return cells


def _steps(row_marks: Mapping[str, Mark]) -> str:
    """The order numbers; where the row has several phases, each number with its phase."""
    several = len(row_marks) > 1
    steps = sorted((step, source) for source, mark in row_marks.items() for step in mark.steps)
    return ", ".join(f"{step} from {encoded(source)}" if several else str(step) for step, source in steps)


def _total(marks: Sequence[Mark]) -> int:
    shared = [mark.count or 0 for mark in marks if mark.shared]
    return max(shared) if shared else sum(mark.count or 0 for mark in marks)
