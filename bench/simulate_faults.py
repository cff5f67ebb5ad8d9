"""What the month is made of: its processes, its changes, and the fault that shapes its last hours (OPS-11).

Owns which story a turn at an instant is. Draws no person and writes nothing.
"""

import random
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from itertools import accumulate

from attrs import define, field, frozen
from simulate_people import DAY_US, HOUR_US, Town, instants
from simulate_stories import IN_DOUBT, SHARES

SECOND_US = 1_000_000
SUMMARIES = 0.073
"""So many of all turns sum a channel up; nobody opens them."""
OPENED_NONE = {"own_message": 0.3, "bot_author": 0.06, "webhook_author": 0.02, "nothing_to_do": 0.01}
"""Messages that open no turn, beside those that do."""
GONE = 4_194_304
"""A pid that no process has: over the largest that Linux gives."""


class Fault(StrEnum):
    """The six faults that the first screen tells apart, two that are harder to see, and a log of hardly any turn."""

    PROCESS_DEAD = "process_dead"
    IGNORING = "ignoring"
    HANGING = "hanging"
    FAILING = "failing"
    UNDELIVERED = "undelivered"
    CANNED = "canned"
    EXPIRING = "expiring"
    CANNED_TEXTS = "canned_texts"
    ALMOST_EMPTY = "almost_empty"


@frozen
class Life:
    """One process: from its start to its end, or to its last sign of life."""

    number: int
    pid: int
    version: str
    from_us: int
    until_us: int
    seen_us: int
    ended: str | None


SPOKEN = {name for name in SHARES if name not in ("short_path", "overheard", "overheard_to_staff")}
_IN_TURN = ("noted", "two_rounds", "tool_refused", "arguments_wrong", "tool_failed", "retried_after_effects")
_ALL_TURNS = {
    Fault.HANGING: ("hangs_after_tool", "hangs", "hangs_overheard"),
    Fault.FAILING: ("key_revoked_in_turn", "key_revoked", "key_revoked_overheard"),
    Fault.EXPIRING: ("expired", "expired", "expired_overheard"),
}
"""What becomes of turns with tools, of others of who speaks to the bot, of what is overheard."""
_ADDRESSED = {
    Fault.UNDELIVERED: (("forbidden", "not_sent", "answered"), (85, 10, 5)),
    Fault.CANNED: (("notes_disabled", "refused", "canned"), (45, 35, 20)),
    Fault.CANNED_TEXTS: (("canned",), (1,)),
}
"""What becomes of the turns of who speaks to the bot; the others are as ever."""


@define(slots=False)
class Plan:
    """The month as planned. `hours` is how long the fault has lasted, `now_us` when somebody looks."""

    turns: int
    days: int
    seed: int
    now_us: int
    fault: Fault | None = None
    hours: float = 3.0
    lives: list[Life] = field(init=False)
    from_us: int = field(init=False)
    fault_us: int = field(init=False)
    hung: set[str] = field(factory=set)
    dropped: Counter[tuple[str, str, int]] = field(factory=Counter)

    def __attrs_post_init__(self) -> None:
        self.chance = random.Random(self.seed + 3)
        self.from_us = self.now_us - self.days * DAY_US
        self.fault_us = self.now_us - int(self.hours * HOUR_US) if self.fault else 2**62
        if self.fault is Fault.ALMOST_EMPTY:
            self.turns, self.fault_us = min(self.turns, 7), 2**62
        self.spoken_turns = round(self.turns * (1 - SUMMARIES))
        self.lives = self._lives()
        self._names = list(SHARES)
        self._weights = list(accumulate(SHARES.values()))
        well = {name: 0 if name in IN_DOUBT else share for name, share in SHARES.items()}
        self._well = list(accumulate(well.values()))

    def _lives(self) -> list[Life]:
        """A few restarts, one of them with a new version in the middle; a fault of ours begins with a restart."""
        span = self.now_us - self.from_us
        starts = [self.from_us, *(self.from_us + int(span * share) for share in (0.13, 0.5, 0.71))]
        if self.fault is Fault.FAILING:
            starts.append(self.fault_us - 60 * SECOND_US)
        lives = []
        for number, start in enumerate(starts, 1):
            last = number == len(starts)
            until = self.now_us if last else starts[number] - 9 * SECOND_US
            dead = last and self.fault is Fault.PROCESS_DEAD
            if dead:
                until = self.fault_us
            seen = until - (until - start) % (60 * SECOND_US) if last else until
            version = "0.1.0" if number < 3 else "0.2.0"
            ended = None if last else "stopped by CancelledError"
            pid = GONE + number if dead else 1800 + 977 * number
            lives.append(Life(number, pid, version, start, 2**62 if last and not dead else until, seen, ended))
        return lives

    def life_at(self, at_us: int) -> Life:
        """The process of this instant."""
        return next(life for life in reversed(self.lives) if life.from_us <= at_us)

    def settings_at(self, at_us: int) -> str:
        """The configuration of this instant: it changed with the version, and with the fault that is a changed key."""
        if self.fault is Fault.FAILING and at_us >= self.lives[-1].from_us:
            return "one_provider"
        return "before" if at_us < self.lives[2].from_us else "after"

    def variants(self, story: str) -> int:
        """So many different turns of a sort are walked for real; the others are copies of these."""
        share = SHARES.get(story, 4)
        return max(1 if self.turns < 5000 else 2, min(int(self.turns * share / 40_000), int(share * 1.2) + 4))

    def arrivals(self) -> Iterator[tuple[int, str]]:
        """Each turn's instant and story, in order."""
        if self.fault_us > self.now_us:
            yield from self._healthy(
                instants(self.chance, self.spoken_turns, self.from_us, self.now_us - 90 * SECOND_US)
            )
            return
        lasting = (self.now_us - self.fault_us) / (self.now_us - self.from_us)
        during = max(int(self.spoken_turns * lasting), min(90, self.spoken_turns // 10))
        yield from self._healthy(instants(self.chance, self.spoken_turns - during, self.from_us, self.fault_us))
        yield from self._ill(instants(self.chance, during, self.fault_us, self.now_us - 2 * SECOND_US))

    def _healthy(self, times: list[int]) -> Iterator[tuple[int, str]]:
        for at_us in times:
            life = self.life_at(at_us)
            if at_us < life.from_us + 2 * SECOND_US or at_us > life.until_us - SECOND_US:
                continue
            weights = self._well if at_us > self.now_us - 26 * HOUR_US else self._weights
            story = self.chance.choices(self._names, cum_weights=weights)[0]
            if life.until_us - at_us < 5 * SECOND_US and story in SPOKEN and self.fault is not Fault.PROCESS_DEAD:
                story = "restarted"
            if at_us > min(self.fault_us, self.now_us) - 400 * SECOND_US and story.startswith(("expired", "exhausted")):
                story = "answered"
            yield at_us, story

    def _ill(self, times: list[int]) -> Iterator[tuple[int, str]]:
        if self.fault is Fault.PROCESS_DEAD:
            stories = ("hangs", "hangs", "hangs_after_tool", "dies_sending", "hangs_overheard")
            for number, story in enumerate(stories):
                yield self.fault_us - (5 - number) * SECOND_US, story
            return
        for at_us in times:
            story = self.chance.choices(self._names, cum_weights=self._well)[0]
            shaped = story if story == "short_path" else self._shaped(story)
            if shaped.startswith("expired") and at_us > self.now_us - 370 * SECOND_US:
                shaped = "hangs"  # until its deadline comes
            yield at_us, shaped

    def _shaped(self, story: str) -> str:
        """What becomes of a turn under the fault."""
        addressed = story in SPOKEN and "overheard" not in story
        sort = 0 if story in _IN_TURN else 1 if addressed else 2
        if self.fault in _ALL_TURNS:
            return _ALL_TURNS[self.fault][sort]
        if not addressed or self.fault not in _ADDRESSED:
            return story
        names, weights = _ADDRESSED[self.fault]
        return self.chance.choices(names, weights)[0]

    def opens(self, at_us: int, story: str, channel_id: str) -> bool:
        """Whether a turn comes of it; channels are walked one turn at a time, so a hanging one stops its channel."""
        if at_us < self.fault_us:
            return True
        if self.fault is Fault.IGNORING:
            self.dropped[channel_id, "nothing_to_do", at_us - at_us % HOUR_US] += 1
            return False
        if self.fault is Fault.HANGING and story.startswith("hangs"):
            if channel_id in self.hung:
                return False
            self.hung.add(channel_id)
        return True

    def summarises(self, at_us: int) -> bool:
        """Whether channels are summed up at this instant."""
        return at_us < min(self.fault_us, self.now_us) - 20 * SECOND_US

    def ignored(self, town: Town) -> Iterator[tuple[int, str, str, int, int, int]]:
        """Messages that opened no turn, by the hour: other bots', the bot's own, webhooks', empty ones."""
        for life in self.lives:
            until = min(life.until_us, self.now_us)
            for hour_us in range(life.from_us - life.from_us % HOUR_US, until, HOUR_US):
                for index, (channel_id, _) in enumerate(town.channels):
                    for reason, part in OPENED_NONE.items():
                        count = self._unopened(hour_us, channel_id, reason, part / (index + 2))
                        if count:
                            last = min(hour_us + HOUR_US, until) - (index * 37 + 5) * SECOND_US
                            yield life.number, channel_id, reason, hour_us, count, max(last, hour_us, life.from_us)

    def _unopened(self, hour_us: int, channel_id: str, reason: str, part: float) -> int:
        """How many such messages an hour holds; who is deaf to people says nothing either."""
        dropped = self.dropped.get((channel_id, reason, hour_us), 0)
        if self.fault is Fault.IGNORING and hour_us >= self.fault_us and reason == "own_message":
            return dropped
        so_far, before = (
            int(self.turns * part * max(at - self.from_us, 0) / (self.now_us - self.from_us))
            for at in (hour_us + HOUR_US, hour_us)
        )
        return so_far - before + dropped
