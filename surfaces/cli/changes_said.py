"""What a start changed, in words: for the first screen and the report (OPS-11).

Owns how many changes are told and how a value is cut. Asks nothing.
"""

from collections.abc import Sequence

from phasewalk.storage.changes import Change
from phasewalk.surfaces.cli.render import clip, plain

TOLD = 2
VALUE = 24


def changes_said(changes: Sequence[Change]) -> str:
    """The first changes and how many more there are; none is told as well."""
    told = [f"{change.what} {_change(change)}" for change in changes[:TOLD]]
    rest = len(changes) - TOLD
    return "; ".join([*told, *([f"{rest} more"] if rest > 0 else [])]) or "neither version nor configuration"


def _change(change: Change) -> str:
    """`1 -> 2`; of a list what went and what came."""
    before, after = change.before, change.after
    if isinstance(before, list) and isinstance(after, list) and set(map(plain, before)) != set(map(plain, after)):
        went = [f"-{_value(part)}" for part in before if part not in after]
        return " ".join([*went, *(f"+{_value(part)}" for part in after if part not in before)])
    return f"{_value(before)} -> {_value(after)}"


def _value(value: object) -> str:
    return "nothing" if value is None else clip(plain(value), VALUE)
