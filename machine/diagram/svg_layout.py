"""Where everything of the SVG picture stands, as data.

Owns geometry: the phases in one lane from top to bottom, forward edges that skip a phase in channels on its right,
backward edges in channels on its left, loops and the note at the end beside their boxes. Knows no SVG.
A channel is fixed by the places of its two phases alone, also where no edge uses it, and heights and widths grow
in steps, so that a changed row moves nothing but the routes of its own phase (OPS-21). Only in a lane of more than
16 phases are unused channels left out.
Invariant: no two routes share a segment, and a label overlaps neither a box nor another label (OPS-22).
"""

from collections.abc import Iterable, Mapping, Sequence

from phasewalk.machine.diagram.svg_shapes import LINE, Box, Label, Layout, Lines, Pair, Route, label_at, width_of

MARGIN = 24

_RESERVING = 16  # a longer lane would be mostly empty channels
_CHANNEL = 10
_ARRIVAL = 10
_PAD = 10
_LIFT = 4  # a label stands this far above its line, which is never thicker than twice that
_SLOT = _LIFT + 5
_GAP = 40
_LOOP_WIDTH, _LOOP_HEIGHT = 24, 14
_HEIGHT_STEP, _WIDTH_STEP = 24, 48
_BESIDE = 8


def channel(source: int, target: int, count: int) -> int:
    """The number of the channel, 0 nearest to the boxes, between two places of a lane of `count` places.

    Longer ways run further out. Routes of one length share a channel only where one ends above the other's start.
    """
    span, first = abs(target - source), 2 if target > source else 1
    return channels(first, span, count) + min(source, target) % span


def channels(first: int, end: int, count: int) -> int:
    """How many channels the routes have that span `first` places or more, and less than `end`."""
    return sum(min(span, count - span) for span in range(first, end))


def layout(nodes: Sequence[str], labels: Mapping[Pair, Lines], note: Lines, top: int) -> Layout:
    """The picture of `nodes` from `top` downwards, with a route for each of the pairs in `labels`.

    `note` stands beside the last node.
    """
    return _Plan(nodes, labels, note, top).layout()


class _Plan:
    """One layout in the making; the places of a lane are called by number."""

    def __init__(self, nodes: Sequence[str], labels: Mapping[Pair, Lines], note: Lines, top: int) -> None:
        place = {node: number for number, node in enumerate(nodes)}
        self._nodes = nodes
        self._note = note
        self._labels = {(place[source], place[target]): lines for (source, target), lines in labels.items()}
        self._last = len(nodes) - 1
        self._leaving = self._last + any(source == self._last for source, _ in self._labels)
        self._outer = self._channels(2, self._last + 1)
        self._inner = self._channels(1, self._leaving)
        left, right = self._columns()
        width = _stepped(max(map(width_of, nodes)) * 6 // 5 + 48, 16)
        self._left_channel = MARGIN + len(self._inner) * _CHANNEL
        lane_left = self._left_channel + left
        self._right_channel = lane_left + width + right
        self._width = self._right_channel + len(self._outer) * _CHANNEL + MARGIN
        self._boxes = self._lane(lane_left, width, top)

    def layout(self) -> Layout:
        """Everything at its place."""
        found: dict[Pair, Route] = {}
        note = None
        for place, node in enumerate(self._nodes):
            found.update(self._right_side(place))
            routes, label = self._left_side(place)
            found.update(routes)
            note = label or note
            below = (place, place + 1)
            if below in self._labels:
                found[(node, self._nodes[place + 1])] = self._straight(place)
        order = {node: number for number, node in enumerate(self._nodes)}
        routes_in_order = sorted(found.values(), key=lambda route: (order[route.source], order[route.target]))
        boxes = dict(zip(self._nodes, self._boxes, strict=True))
        return Layout(boxes, tuple(routes_in_order), note, self._width, self._boxes[-1].bottom)

    def _channels(self, first: int, count: int) -> dict[int, int]:
        """The distance of each channel on one side, where `first` is the shortest way and `count` places take part."""
        onward = first > 1
        used = {
            channel(source, target, count)
            for source, target in self._labels
            if abs(target - source) >= first and (target > source) is onward
        }
        kept = range(channels(first, count, count)) if self._reserving else sorted(used)
        return {number: distance for distance, number in enumerate(kept)}

    @property
    def _reserving(self) -> bool:
        return self._last < _RESERVING

    def _arriving(self, place: int, sources: Iterable[int]) -> list[int]:
        """Those of `sources` that have a place to arrive at."""
        return [n for n in sources if self._reserving or (n, place) in self._labels]

    def _from_above(self, place: int) -> list[int]:
        """Whence routes arrive on the right, the nearest first."""
        return self._arriving(place, range(place - 2, -1, -1))

    def _from_below(self, place: int) -> list[int]:
        """Whence routes arrive on the left, the nearest first."""
        return self._arriving(place, range(place + 1, self._leaving))

    def _onward(self, place: int) -> list[int]:
        """Where the routes on the right lead, the nearest first."""
        return [n for n in range(place + 2, self._last + 1) if (place, n) in self._labels]

    def _back(self, place: int) -> list[int]:
        """Where the routes on the left lead, the nearest first."""
        return [n for n in range(place - 1, -1, -1) if (place, n) in self._labels]

    def _columns(self) -> tuple[int, int]:
        """How wide the labels beside the lane may be, on its left and right."""
        wide = {pair: max(map(width_of, lines)) + 2 * _BESIDE for pair, lines in self._labels.items()}
        left = [
            width + (_LOOP_WIDTH if source == target else 0)
            for (source, target), width in wide.items()
            if target <= source
        ]
        if self._note:
            left.append(max(map(width_of, self._note)) + 4 * _BESIDE)
        right = [width for (source, target), width in wide.items() if target > source]
        return _stepped(max(left, default=0), _WIDTH_STEP), _stepped(max(right, default=0), _WIDTH_STEP)

    def _lane(self, left: int, width: int, top: int) -> list[Box]:
        boxes: list[Box] = []
        for place in range(self._last + 1):
            boxes.append(Box(left, top, width, self._height(place)))
            lines = self._labels.get((place, place + 1), ("",))
            top = boxes[-1].bottom + _GAP + (len(lines) - 1) * LINE
        return boxes

    def _height(self, place: int) -> int:
        """Room for what leaves and arrives on each side; in a lane that is not long, unused arrivals too."""
        right = sum(_slot(self._labels[(place, n)]) for n in self._onward(place))
        right += _ARRIVAL * len(self._from_above(place))
        left = sum(_slot(self._labels[(place, n)]) for n in self._back(place))
        left += _ARRIVAL * len(self._from_below(place))
        left += sum(_standing(lines) for lines in self._beside(place) if lines)
        return _stepped(max(left, right) + 2 * _PAD, _HEIGHT_STEP)

    def _beside(self, place: int) -> tuple[Lines, Lines]:
        """The label of the loop and the note, both empty where there is none."""
        return self._labels.get((place, place), ()), self._note if place == self._last else ()

    def _straight(self, place: int) -> Route:
        upper, lower = self._boxes[place], self._boxes[place + 1]
        x = upper.middle[0]
        lines = self._labels[(place, place + 1)]
        top = (upper.bottom + lower.top - len(lines) * LINE) // 2 - 2
        label = label_at(x + _BESIDE, top, lines)
        return Route(*self._names(place, place + 1), ((x, upper.bottom), (x, lower.top)), label)

    def _right_side(self, place: int) -> dict[Pair, Route]:
        """Routes leave below the arrivals, the nearest lowest, so that none crosses another of the same box."""
        found = {}
        box = self._boxes[place]
        y = box.bottom - _PAD
        for target in self._onward(place):
            lines = self._labels[(place, target)]
            x = self._right_channel + self._outer[channel(place, target, self._last + 1)] * _CHANNEL
            end = self._boxes[target].top + _PAD + _ARRIVAL * self._from_above(target).index(place)
            points = ((box.right, y), (x, y), (x, end), (self._boxes[target].right, end))
            label = label_at(box.right + _BESIDE, y - _LIFT - len(lines) * LINE, lines)
            names = self._names(place, target)
            found[names] = Route(*names, points, label)
            y -= _slot(lines)
        return found

    def _left_side(self, place: int) -> tuple[dict[Pair, Route], Label | None]:
        """The loop, below it the routes that leave, the nearest highest, then the note, and the arrivals lowest."""
        found = {}
        box = self._boxes[place]
        y = box.top + _PAD
        loop, note = self._beside(place)
        if loop:
            names = self._names(place, place)
            found[names] = self._loop(names, box, y, loop)
            y += _standing(loop)
        for target in self._back(place):
            lines = self._labels[(place, target)]
            y += _slot(lines)
            line = y - _SLOT + _LIFT
            x = self._left_channel - self._inner[channel(place, target, self._leaving)] * _CHANNEL
            end = self._boxes[target].bottom - _PAD - _ARRIVAL * self._from_below(target).index(place)
            points = ((box.left, line), (x, line), (x, end), (self._boxes[target].left, end))
            label = label_at(box.left - _BESIDE, line - _LIFT - len(lines) * LINE, lines, flush_right=True)
            names = self._names(place, target)
            found[names] = Route(*names, points, label)
        return found, _beside(box.left - 2 * _BESIDE, y, note) if note else None

    def _loop(self, names: Pair, box: Box, top: int, lines: Lines) -> Route:
        upper = top + (_standing(lines) - _LOOP_HEIGHT) // 2
        x, lower = box.left - _LOOP_WIDTH, upper + _LOOP_HEIGHT
        points = ((box.left, upper), (x, upper), (x, lower), (box.left, lower))
        return Route(*names, points, _beside(x - _BESIDE, top, lines))

    def _names(self, source: int, target: int) -> Pair:
        return self._nodes[source], self._nodes[target]


def _beside(right: int, top: int, lines: Lines) -> Label:
    return label_at(right, top + (_standing(lines) - len(lines) * LINE) // 2, lines, flush_right=True)


def _slot(lines: Lines) -> int:
    """The height that a route with this label takes at its box."""
    return len(lines) * LINE + _SLOT


def _standing(lines: Lines) -> int:
    """The height that a loop or the note takes beside a box."""
    return max(len(lines) * LINE, _LOOP_HEIGHT) + _SLOT


def _stepped(length: int, step: int) -> int:
    return -(-length // step) * step
