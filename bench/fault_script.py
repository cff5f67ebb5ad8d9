"""The two ends of the fault run: who speaks to the bot, and the model that answers, well or badly.

Owns what is drawn at random: the messages, the answers, the calls of tools, the faults. Knows neither log nor
machine. Invariant: what a turn meets depends on seed and number of the turn alone, not on what runs beside it.
"""

import random
import re
from collections import Counter, defaultdict

from attrs import define, field, frozen
from fault_steps import FAULTS, Ask, Fault

from phasewalk.machine.speech import Speech
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import Recorded, envelope, tool_calls
from phasewalk.phases.providers.testing_steps import Step
from phasewalk.surfaces.speech import OnePlace

FAULTY = 0.3
"""The share of answers that are faults."""

CHANNELS = 25
_TURN = re.compile(rb"\(turn (\d+)\)")
_MANNERS = ("raises", "hangs", "stubborn", "huge", "odd")
_TOOLS = ("ledger_write", "ledger_read", "ledger_close")


@frozen
class Asked:
    """A message: `seconds` is the turn's limit where it is a short one."""

    number: int
    addressed: bool
    ledger: bool
    seconds: float | None

    @property
    def trigger(self) -> Trigger:
        wish = "please look into the ledger" if self.ledger else "how is the weather"
        return Trigger(
            key=f"fault:{self.number}",
            kind=Kind.USER,
            text=f"{wish} (turn {self.number})",
            channel_id=str(self.number % CHANNELS),
            channel_name=f"channel-{self.number % CHANNELS}",
            user_id=str(self.number % 7),
            user_name=f"person-{self.number % 7}",
            message_id=str(10_000 + self.number),
            addressed=Addressed.DIRECT if self.addressed else None,
        )


def asked(seed: int, number: int) -> Asked:
    """The message that opens this turn."""
    chance = random.Random(f"{seed}/{number}/message")
    seconds = chance.choice((0.05, 0.5, 1.5)) if chance.random() < 0.04 else None
    return Asked(number, addressed=chance.random() < 0.85, ledger=chance.random() < 0.65, seconds=seconds)


@frozen
class Served:
    """One request and what it got: `answer` where that was a usable one, `tickets` of the calls in it."""

    model: str
    offered_tools: bool
    fault: Fault | None
    answer: str | None
    tickets: tuple[str, ...]

    @property
    def provider(self) -> str:
        return self.model.partition("-")[0]


@define
class Script:
    """A model of many names; call it with a request."""

    seed: int
    served: dict[int, list[Served]] = field(factory=lambda: defaultdict(list))
    faults: Counter[str] = field(factory=Counter)
    _chances: dict[int, random.Random] = field(factory=dict)

    def __call__(self, request: Recorded) -> Step:
        number = int(_TURN.findall(request.raw)[-1])  # the last one: those before it are history
        body = request.json
        draw = _Draw(self, number, offers_tools=bool(body.get("tools")))
        fault = draw.fault()
        give_up: ConnectionError | None = None
        step: Step | None = None
        try:
            step = fault.make(draw.ask) if fault else draw.good()
        except ConnectionError as error:
            give_up = error
        answer = draw.ask.answer if fault is None or fault.kind is None else None
        tickets = tuple(draw.tickets)
        self.served[number].append(Served(body["model"], draw.ask.offers_tools, fault, answer, tickets))
        self.faults[fault.name if fault else "none"] += 1
        if step is None:
            raise give_up or AssertionError("a fault makes a step or gives up")
        return step

    def chance(self, number: int) -> random.Random:
        """The dice of this turn."""
        return self._chances.setdefault(number, random.Random(f"{self.seed}/{number}/model"))


class _Draw:
    """What is given to one request."""

    def __init__(self, script: Script, number: int, *, offers_tools: bool) -> None:
        self.chance = script.chance(number)
        self.tickets: list[str] = []
        self._place = f"{number}.{len(script.served[number]) + 1}"
        addressed = asked(script.seed, number).addressed
        self.ask = Ask(f"Answer {self._place}.", self._ticket, offers_tools, addressed)

    def _ticket(self) -> str:
        self.tickets.append(f"<{self._place}.{len(self.tickets) + 1}>")
        return self.tickets[-1]

    def fault(self) -> Fault | None:
        """A fault for the share of answers that are faults, else None."""
        if self.chance.random() >= FAULTY:
            return None
        return self.chance.choice([fault for fault in FAULTS if fault.fits(self.ask)])

    def good(self) -> Step:
        """A good answer, or some calls first."""
        if not self.ask.offers_tools or self.chance.random() < 0.4:
            return envelope(self.ask.answer, answer_needed=self.chance.random() < 0.5)
        return tool_calls([self._call(n) for n in range(self.chance.randint(1, 3))])

    def _call(self, number: int) -> tuple[str, str, object]:
        manner = "well" if self.chance.random() < 0.8 else self.chance.choice(_MANNERS)
        name = self.chance.choice(_TOOLS)
        return f"call-{self._place}-{number}", name, {"ticket": self._ticket(), "manner": manner}


@define
class Ears(OnePlace):
    """The surface: keeps what was said, by turn."""

    heard: dict[int, list[Speech]] = field(factory=lambda: defaultdict(list))
    keys: Counter[str] = field(factory=Counter)

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:
        self.heard[int(trigger.key.removeprefix("fault:"))].append(speech)
        self.keys[key] += 1
        return f"ears:{key}"
