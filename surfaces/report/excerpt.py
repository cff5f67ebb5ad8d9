"""What of a turn is shown: as much as a page can bear, and how much that leaves out.

Owns the limits. Knows no HTML. Invariant: the size of an excerpt is bounded whatever the turn holds, and everything
that is left out is counted in it.
"""

from typing import Any, NamedTuple

from phasewalk.storage.queries import Row
from phasewalk.storage.worst import Worst
from phasewalk.surfaces.cli.render import plain
from phasewalk.surfaces.cli.times import Zone
from phasewalk.surfaces.cli.why_lines import why_item

TEXT_CHARS = 500
"""Longer texts are cut."""

EACH_END = 10
"""So many visits, calls or lines are shown from the beginning, and as many from the end."""

VALUE_CHARS = 1000
"""A larger value inside a row is told by the beginning of its JSON."""

GUARDS = 10
"""So many guards of a visit that refused are shown."""

LONGEST_PATH = 40
"""A longer path is drawn by how often each step was taken, since nobody can follow its numbers."""

Item = dict[str, Any]
Step = tuple[str, str, str]

_HEAD = (
    "turn_id", "machine", "kind", "outcome", "reason", "reason_meaning", "phase", "first_reason",
    "first_reason_meaning", "started", "started_us", "deadline_us", "took_ms", "channel_id", "channel_name", "user_id",
    "user_name", "addressed_by", "claims", "flags", "log_gap", "pruned", "question", "answer", "notice", "staff",
    "owner",
)  # fmt: skip
_LISTS = ("visits", "attempts", "fallback", "tools", "effects", "lost")


class Excerpt(NamedTuple):
    """A turn as it is shown; of `lists` that are cut, `missing` counts what stood between both ends."""

    worst: Worst
    head: Item
    why: Item
    lists: dict[str, list[Any]]
    missing: dict[str, int]
    document: Item
    path: list[Step]

    def row(self) -> Row:
        """The excerpt as one object of the lines at the end of a page."""
        told = {"because": self.worst.because, "alike": self.worst.alike}
        return {**told, **self.head, "why": self.why, **self.lists, "left_out": self.missing}


def excerpt_of(worst: Worst, item: Item, document: Item, path: list[Step], zone: Zone) -> Excerpt:
    """The excerpt of a turn, given as `turn_item` gives it, with the machine and the path that it walked."""
    why = why_item(item, 0, zone)
    causes = _both_ends(why.pop("causes"))
    lists = {name: _both_ends(item[name]) for name in _LISTS}
    missing = {"causes": causes[1], **{name: more for name, (_, more) in lists.items()}}
    return Excerpt(
        worst=worst,
        head=bounded({key: item[key] for key in _HEAD}),
        why={**bounded(why), "causes": [_part(cause) for cause in causes[0]]},
        lists={name: [_entry(name, row) for row in rows] for name, (rows, _) in lists.items()},
        missing={name: more for name, more in missing.items() if more},
        document=document,
        path=path,
    )


def _entry(name: str, row: Any) -> Any:
    """A row with what is shown of it; of a visit, the guards that refused and the error that ended it."""
    if name == "lost":
        return _part(row)
    if name != "visits":
        return bounded(row)
    told = {key: value for key, value in row.items() if key not in ("guards", "entry", "exit")}
    error = {key: row["exit"][key] for key in ("error", "message") if key in row["exit"]}
    refused = [bounded(guard) for guard in row["guards"] if not guard["held"]]
    return {**bounded({**told, **error}), "refused": refused[:GUARDS]}


def _both_ends(rows: list[Any]) -> tuple[list[Any], int]:
    """The first and the last of a list, and how many stood between."""
    more = len(rows) - 2 * EACH_END
    return (rows, 0) if more <= 0 else ([*rows[:EACH_END], *rows[-EACH_END:]], more)


def bounded(row: Row) -> Item:
    """A row with its texts cut; of a large value inside, the beginning of its JSON."""
    return {name: _part(value) for name, value in row.items()}


def _part(value: object) -> object:
    if isinstance(value, str):
        return cut(value)
    if not isinstance(value, dict | list):
        return value
    told = plain(value)
    if len(told) <= VALUE_CHARS:
        return value
    return {"beginning": cut(told)} if isinstance(value, dict) else [cut(told)]


def cut(text: str) -> str:
    """The beginning of a text, and how much of it is not shown."""
    more = len(text) - TEXT_CHARS
    return text if more <= 0 else f"{text[:TEXT_CHARS]} … ({more:,} more characters are not shown)"
