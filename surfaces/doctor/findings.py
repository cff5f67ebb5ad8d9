"""One finding of an examination: how it stands, what is so, and how to put it right.

Owns the three levels. Invariant: whatever is not ok says what to do about it.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Level = Literal["ok", "warn", "bad"]
LEVELS: tuple[Level, ...] = ("bad", "warn", "ok")


class Finding(NamedTuple):
    """What was found in one `area`; `fix` says what to do, and is empty where nothing has to be done."""

    area: str
    level: Level
    what: str
    fix: str = ""

    @property
    def said(self) -> str:
        """Both in one sentence."""
        return f"{self.what}; {self.fix}" if self.fix else self.what


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """How many there are of each level, the worst first."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in LEVELS}


def few(names: Iterable[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"{', '.join(listed[:most])}{more}"
