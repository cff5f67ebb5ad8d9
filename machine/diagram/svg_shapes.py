"""The parts of the SVG picture as data: boxes, labels and routes, in whole pixels.

Owns what they are and how large a text is. Knows neither SVG nor where a part belongs.
"""

from collections.abc import Mapping

from attrs import frozen

from phasewalk.machine.diagram.svg_words import columns

Point = tuple[int, int]
Pair = tuple[str, str]
Lines = tuple[str, ...]

LINE = 14
"""The height of a line of a label."""


@frozen
class Box:
    """A rectangle."""

    left: int
    top: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """The right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> int:
        """The lower edge."""
        return self.top + self.height

    @property
    def middle(self) -> Point:
        """The centre."""
        return (self.left + self.width // 2, self.top + self.height // 2)

    def overlaps(self, other: "Box") -> bool:
        """Whether the two share more than an edge."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


@frozen
class Label:
    """Lines of text in their box, written from the left or up to the right."""

    box: Box
    lines: Lines
    flush_right: bool = False


@frozen
class Route:
    """The way of all edges of one pair of phases: corners from box to box, and the label on it."""

    source: str
    target: str
    points: tuple[Point, ...]
    label: Label


@frozen
class Layout:
    """The whole picture; `note` tells the ways to the end and stands beside it."""

    nodes: Mapping[str, Box]
    routes: tuple[Route, ...]
    note: Label | None
    width: int
    bottom: int


def width_of(text: str) -> int:
    """In pixels at the size of a label, with a little air on both sides."""
    return -(-columns(text) * 67 // 10) + 6


def label_at(x: int, top: int, lines: Lines, *, flush_right: bool = False) -> Label:
    """The label that starts, or ends, at `x`."""
    width = max(map(width_of, lines))
    return Label(Box(x - width if flush_right else x, top, width, len(lines) * LINE), lines, flush_right)
