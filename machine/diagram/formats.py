"""The formats in which a machine can be drawn as text, by name.

Owns the list; each format is a file of its own. Invariant: whatever a format renders, its reader reads back.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from attrs import frozen

from phasewalk.machine.diagram import dot, markdown, mermaid, svg, svg_read, text
from phasewalk.machine.diagram.graph import Arc, Graph
from phasewalk.machine.diagram.overlay import PLAIN, Overlay


class Render(Protocol):
    """Draws a graph with an overlay; same input, same text."""

    def __call__(self, graph: Graph, overlay: Overlay = PLAIN) -> str:
        """The picture, ending in a line break. Raises `CallerError` if the overlay does not fit the graph."""
        ...


@frozen
class Renderer:
    """One format: the suffix of its files with the dot, how it is drawn, how its edges are read back."""

    suffix: str
    render: Render
    edges_in: Callable[[str], frozenset[Arc]]


FORMATS: Mapping[str, Renderer] = {
    "mermaid": Renderer(".mmd", mermaid.render, mermaid.edges_in_mermaid),
    "dot": Renderer(".dot", dot.render, dot.edges_in_dot),
    "table": Renderer(".md", markdown.render, markdown.edges_in_markdown),
    "svg": Renderer(".svg", svg.render, svg_read.edges_in_svg),
    "text": Renderer(".txt", text.render, text.edges_in_text),
}
