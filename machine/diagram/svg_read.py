"""The edges of an SVG picture, read back from the data attributes of its edge groups.

Owns the reader and the form of these attributes. Invariant: `edges_in_svg(render(graph, overlay)) == graph.arcs`.
"""

import re
from collections.abc import Iterable

from phasewalk.machine.diagram.graph import Arc
from phasewalk.machine.diagram.labels import decoded, encoded

_SIGN = "#"  # `&` would be read by XML itself
_EDGE = re.compile(r'<g class="edge\b[^"<>]*" data-from="([^"<>]*)" data-to="([^"<>]*)" data-ids="([^"<>]*)"')


def edge_data(source: str, target: str, ids: Iterable[str]) -> str:
    """The attributes of the group that draws all edges between two phases, in the order that the reader expects."""
    names = " ".join(encoded(row_id, _SIGN) for row_id in ids)
    return f'data-from="{encoded(source, _SIGN)}" data-to="{encoded(target, _SIGN)}" data-ids="{names}"'


def edges_in_svg(text: str) -> frozenset[Arc]:
    """The arcs of a picture; groups that are no edge are passed over."""
    return frozenset(
        (decoded(source, _SIGN), decoded(target, _SIGN), decoded(row_id, _SIGN))
        for source, target, ids in _EDGE.findall(text)
        for row_id in ids.split()
    )
