"""Who speaks in the simulated month, where, when, and in which words.

Owns people with their long tail, channels, the rhythm of days and nights, and the texts. Knows no turn.
"""

import math
import random
from itertools import accumulate

from attrs import define, frozen

from phasewalk.machine.turn_ids import CHANCE_BITS, DIGITS, base32, id_number

HOUR_US, DAY_US = 3_600_000_000, 86_400_000_000
DISCORD_EPOCH_MS = 1_420_070_400_000

CHANNELS = {
    "general": 210, "help": 170, "raids": 80, "crafting": 70, "trade": 60, "off-topic": 60, "newcomers": 40,
    "music": 30, "screenshots": 25, "events": 25, "build-help": 45, "bugs": 30, "guild-hall": 22, "deutsch": 20,
    "espanol": 18, "pets": 15, "fishing": 12, "lore": 10, "economy": 9, "voice-text": 8, "suggestions": 8, "mentors": 6,
}  # fmt: skip
ARCHIVED = {"logs": 70, "deploys": 30}
"""Channels that are only archived (ENV-05)."""

_SYLLABLES = "ka mi ra lo ven tar shi no el da wyn bo qu za fe ri om us len dra"
_WORDS = """
the a lantern hall raid boss gate key brass copper river mill bread sword shield potion guild map north south
tonight tomorrow again maybe really always never nobody everyone is was has had looks feels drops spawns works
broke lags crashed finally still yet after before while near under over with without for from into about and
or but so then there here it they we you she he one two three many few great odd quiet loud red blue green old
new fast slow patch build server ping queue party healer tank ranger bard mage rogue ladder forge anvil ore
wood silk wool grün schön niño café überall piñata 日本 привет thanks lol hmm ok nice yes no why how what when
where who
"""
_MARKS = (".", "!", "?", "", "", "", " :)", "...")


@frozen
class Person:
    """Somebody, as the surface names them."""

    user_id: str
    name: str


@define
class Town:
    """Everybody and everywhere, drawn from one source of chance."""

    chance: random.Random
    people: list[Person]
    channels: list[tuple[str, str]]
    archived: list[tuple[str, str]]
    bots: list[Person]
    sentences: list[str]
    people_weights: list[float]
    channel_weights: list[float]
    archived_weights: list[float]
    guild_id: str
    last_id: int = 0

    @classmethod
    def made(cls, chance: random.Random, turns: int) -> "Town":
        count = max(40, min(6000, turns // 60))
        names = [_name(chance, number) for number in range(count)]
        snowflakes = iter(sorted(chance.sample(range(10**17, 9 * 10**17), count + 40)))
        channels = [(str(next(snowflakes)), name) for name in CHANNELS]
        archived = [(str(next(snowflakes)), name) for name in ARCHIVED]
        guild = str(next(snowflakes))
        bots = [Person(str(next(snowflakes)), name) for name in ("bot-deploy", "bot-audit", "bot-watch")]
        people = [Person(str(next(snowflakes)), name) for name in names]
        chance.shuffle(people)
        return cls(
            chance, people, channels, archived, bots, [_sentence(chance, _WORDS.split()) for _ in range(4000)],
            list(accumulate(1.0 / (rank + 4) ** 0.95 for rank in range(count))),
            list(accumulate(CHANNELS.values())), list(accumulate(ARCHIVED.values())), guild,
        )  # fmt: skip

    def turn_id(self, at_us: int) -> str:
        """As `SystemIds` makes them: by time, and always greater than the one before."""
        number = id_number(at_us // 1000, self.chance.getrandbits(CHANCE_BITS))
        self.last_id = max(number, self.last_id + 1)
        return base32(self.last_id, DIGITS)

    def message_id(self, at_us: int) -> str:
        """A snowflake of this instant."""
        return str(((at_us // 1000 - DISCORD_EPOCH_MS) << 22) | self.chance.getrandbits(22))

    def words(self) -> str:
        """What somebody says: mostly a line, seldom a paragraph."""
        return self._some(1 + int(self.chance.expovariate(1.1)))

    def answer(self) -> str:
        """What a model answers."""
        return self._some(2 + int(self.chance.expovariate(0.5)))

    def _some(self, count: int) -> str:
        sentences, pick = self.sentences, self.chance.random
        return " ".join([sentences[int(pick() * 4000)] for _ in range(min(count, 24))])


def _name(chance: random.Random, number: int) -> str:
    made = "".join(chance.choices(_SYLLABLES.split(), k=chance.randint(2, 4)))
    return made if chance.random() < 0.6 else f"{made}{number % 97}"


def _sentence(chance: random.Random, words: list[str]) -> str:
    said = chance.choices(words, k=max(2, min(22, int(chance.lognormvariate(1.9, 0.5)))))
    return " ".join(said) + chance.choice(_MARKS)


def rhythm(at_us: int) -> float:
    """How busy an instant is beside others: evenings, and weekends, most; never quite nothing."""
    hour = at_us / HOUR_US % 24
    day = (at_us // DAY_US + 3) % 7
    return (1.05 + math.cos((hour - 19.5) / 24 * 2 * math.pi)) * (1.25 if day in (4, 5, 6) else 1.0)


def instants(chance: random.Random, turns: int, from_us: int, to_us: int) -> list[int]:
    """`turns` instants of the period in order, by its rhythm; most within the period's own unevenness."""
    slot = max((to_us - from_us) // 2000, 1_000_000)
    slots = range(from_us, to_us, slot)
    weights = [rhythm(at) * chance.lognormvariate(0.0, 0.25) for at in slots]
    ends = [min(at + slot, to_us) for at in slots]
    found: list[int] = []
    owed, total = 0.0, sum(weights)
    for at, end, weight in zip(slots, ends, weights, strict=True):
        owed += weight / total * turns
        here = min(int(owed), turns - len(found)) if end < to_us else turns - len(found)
        owed -= here
        found += sorted(chance.randrange(at, end) for _ in range(here))
    return found
