"""Instants, texts and lists as the offline tools take and show them.

Owns their limits. Does not know what is listed. Invariant: what `listed` returns fits into one tool result whole, and
says when something is not shown.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from phasewalk.machine.text import clipped

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

KeptText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
"""What may be kept: not blank, at most 4,000 characters, without blanks around it."""

Query = Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)]
"""Words to look for, at most 300 characters."""

Number = Annotated[int, Field(ge=1, le=10**15)]
"""A number that the shelf has given."""

Item = dict[str, object]
"""One entry of a list; its `text` is what a person wrote."""

ROOM = 6000
"""Characters of JSON that a list may take; a result holds 8,000."""

TEXT_IN_LIST = 500
"""Characters of each text in a list of several; a single one is shown whole."""


def iso(at_us: int) -> str:
    """Microseconds since the epoch as an RFC 3339 instant in UTC, to the second."""
    return (EPOCH + timedelta(microseconds=at_us)).isoformat(timespec="seconds").replace("+00:00", "Z")


def listed(name: str, items: Sequence[Item]) -> dict[str, object]:
    """The last of `items` that there is room for, in their order, under `name`; `left_out` counts the earlier ones."""
    most = TEXT_IN_LIST if len(items) > 1 else ROOM
    kept: list[Item] = []
    left = ROOM
    for item in reversed(items):
        shown = {**item, "text": clipped(str(item["text"]), most)}
        left -= len(json.dumps(shown, ensure_ascii=False)) + 2
        if kept and left < 0:
            break
        kept.insert(0, shown)
    missing = len(items) - len(kept)
    return {name: kept, **({"left_out": missing} if missing else {})}
