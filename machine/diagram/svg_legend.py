"""The legend below the SVG picture: what each id stands for.

Owns its cells and their columns. Knows no position. Invariant: every row of the table has an entry, in its order.
"""

from collections.abc import Sequence
from itertools import zip_longest

from attrs import frozen

from phasewalk.machine.diagram.graph import Edge, Graph
from phasewalk.machine.diagram.svg_words import columns, listed, shown, wrapped

HEAD = ("id", "event", "guards, all must hold", "from", "to")
_LIMITS = (12, 24, 40, 40, 24)
_STEP = 4


@frozen
class Legend:
    """`entries` hold lines of cells; `starts` tell in which column of the font each cell begins."""

    entries: tuple[tuple[tuple[str, ...], ...], ...]
    starts: tuple[int, ...]
    width: int

    @property
    def height(self) -> int:
        """In lines of text, the head not counted."""
        return sum(map(len, self.entries))


def legend_of(graph: Graph) -> Legend:
    """The legend of a machine."""
    entries = tuple(_entry(edges) for edges in graph.rows())
    lines = [HEAD, *(line for entry in entries for line in entry)]
    widths = [-(-(max(map(columns, cells)) + 2) // _STEP) * _STEP for cells in zip(*lines, strict=True)]
    starts = tuple(sum(widths[:number]) for number in range(len(widths)))
    return Legend(entries, starts, sum(widths))


def _entry(edges: Sequence[Edge]) -> tuple[tuple[str, ...], ...]:
    first = edges[0]
    cells = (
        [shown(first.id)],
        listed(dict.fromkeys(edge.event for edge in edges)),
        listed(first.guards),
        listed(dict.fromkeys(edge.source for edge in edges)),
        [shown(first.target)],
    )
    wrapped_cells = [wrapped(words, limit) for words, limit in zip(cells, _LIMITS, strict=True)]
    return tuple(zip_longest(*wrapped_cells, fillvalue=""))
