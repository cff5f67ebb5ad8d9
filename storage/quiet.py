"""Conversations between a person and the bot that went quiet, and what was tried about it (TURN-17).

Owns what quiet means. Reads only. Invariants: a conversation is quiet when the last thing that its person said in the
channel was answered; it is followed up again only after a failure that is known and came before any side effect.
"""

import sqlite3
from collections.abc import Collection

from attrs import evolve, frozen

from phasewalk.machine.trigger import idle_key
from phasewalk.machine.turn_ids import floor_of

LONGEST_US = 86_400_000_000
"""What went quiet longer ago than a day is left alone."""

TRIES = 5
_LONGEST_TURN_US = 3_600_000_000

_QUIET = (
    "WITH latest AS (SELECT max(turn_id) AS turn_id FROM turn WHERE turn_id >= :floor AND kind = 'user'"
    "  AND user_id <> '' GROUP BY channel_id, user_id)"
    " SELECT t.channel_id, t.channel_name, t.guild_id, t.user_id, t.user_name, t.trigger_message_id"
    " FROM latest AS l JOIN turn AS t ON t.turn_id = l.turn_id WHERE t.outcome = 'answered' AND t.addressed = 1"
    " AND t.trigger_message_id <> '' AND t.ended_us BETWEEN :oldest AND :newest ORDER BY t.ended_us"
)
_LAST_TRY = (
    "SELECT trigger_key, outcome, effects FROM turn WHERE trigger_key >= ? AND trigger_key < ?"
    " ORDER BY trigger_key DESC LIMIT 1"
)
_FAILED = frozenset({"stopped", "expired", "abandoned", "unavailable", "unclear"})
"""Ends of a follow-up that are known failures; they count where nothing was done that cannot be taken back."""


@frozen
class Quiet:
    """A conversation to follow up, for the `attempt`th time; `activity` is the id of the person's last message."""

    channel_id: str
    channel_name: str
    guild_id: str
    user_id: str
    user_name: str
    activity: str
    attempt: int = 1

    @property
    def key(self) -> str:
        """The key of the follow-up."""
        return idle_key(self.channel_id, self.user_id, self.activity, self.attempt)


def quiet(log: sqlite3.Connection, now_us: int, after_us: int, channels: Collection[str]) -> list[Quiet]:
    """The conversations to follow up in these channels, by name or id, that are quiet for `after_us` at least."""
    floor = floor_of(max((now_us - LONGEST_US - _LONGEST_TURN_US) // 1_000_000, 0))
    values = {"floor": floor, "oldest": now_us - LONGEST_US, "newest": now_us - after_us}
    found = []
    for row in log.execute(_QUIET, values).fetchall():
        one = Quiet(*row)
        named = one.channel_id in channels or one.channel_name in channels
        if named and (attempt := _attempt(log, one)) is not None:
            found.append(evolve(one, attempt=attempt))
    return found


def _attempt(log: sqlite3.Connection, one: Quiet) -> int | None:
    """Which try would be next; None when there is none."""
    before = one.key.removesuffix("1")
    last = log.execute(_LAST_TRY, (before, before[:-1] + ";")).fetchone()
    if last is None:
        return 1
    key, outcome, effects = last
    tried = int(str(key).removeprefix(before))
    return tried + 1 if outcome in _FAILED and not effects and tried < TRIES else None
