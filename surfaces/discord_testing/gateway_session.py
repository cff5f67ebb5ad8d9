"""A session of the gateway: everything one client was told, with its number.

Owns the numbering. Knows no world. Invariant: numbers count from 1 without a gap, whether or not anybody listens.
"""

from attrs import define, field, frozen

from phasewalk.surfaces.discord_testing.gateway_link import DISPATCH, Link
from phasewalk.surfaces.discord_testing.values import Json


@frozen
class Heartbeat:
    """A heartbeat as it came: at which time.monotonic(), with which number, in which session."""

    at: float
    number: int | None
    session: str | None


@define(eq=False)
class Session:
    """What one client was told: every event by its number, which counts from 1."""

    id: str
    intents: int
    link: Link | None
    told: list[tuple[str, Json]] = field(factory=list)

    def tell(self, name: str, data: Json) -> None:
        """Tell the client, now or when it comes back."""
        self.told.append((name, data))
        self.replay(len(self.told) - 1)

    def replay(self, after: int) -> None:
        """Send what it was told after a number."""
        if self.link is not None:
            for number, (name, data) in enumerate(self.told[after:], after + 1):
                self.link.send(DISPATCH, data, number=number, name=name)
