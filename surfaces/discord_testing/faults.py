"""What goes wrong on purpose: refusals, resets, delays, and places where a request stands until it is let go.

Owns the faults and for which requests they are meant. Knows no socket. Invariant: a fault is used by as many matching
requests as it was added for, the oldest fault first, one fault a request.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field, frozen

from phasewalk.surfaces.discord_testing.values import Json


@frozen
class Refusal:
    """Answer with this status, JSON body (a text is sent as text) and headers."""

    status: int
    body: Json | str
    headers: Mapping[str, str] = field(factory=dict)


@frozen
class Reset:
    """Reset the connection."""


@frozen
class Wait:
    """Wait so many seconds; None waits for ever."""

    seconds: float | None


@define(eq=False)
class Hold:
    """Let requests stand until they are released; `standing` are the paths of those that came."""

    standing: list[str] = field(factory=list)
    _released: asyncio.Event = field(factory=asyncio.Event)

    def release(self) -> None:
        """Let those that stand and those that come go on."""
        self._released.set()

    async def stand(self, path: str) -> None:
        """Wait for the release."""
        self.standing.append(path)
        await self._released.wait()


@frozen
class Fault:
    """What happens, and whether before the request is handled or after it, when its effect is there."""

    what: Refusal | Reset | Wait | Hold
    after: bool = False

    def afterwards(self) -> "Fault":
        """The same, once the request was handled."""
        return evolve(self, after=True)


def status(code: int, discord_code: int = 0, message: str = "scripted") -> Fault:
    """An error answer; `discord_code` is Discord's own number, such as 50013 for missing permissions."""
    return Fault(Refusal(code, {"code": discord_code, "message": message}))


def rate_limited(retry_after: float, *, via: bool = True, everywhere: bool = False) -> Fault:
    """A 429 for so many seconds. Without `via` it is as from the network in front of Discord; `everywhere` is the
    limit over all routes.
    """
    body = {"message": "You are being rate limited.", "retry_after": retry_after, "global": everywhere}
    headers = {"Retry-After": str(int(retry_after) + 1), "X-RateLimit-Scope": "global" if everywhere else "user"}
    return Fault(Refusal(429, body, {**headers, "Via": "1.1 google"} if via else headers))


def reset() -> Fault:
    """A reset connection."""
    return Fault(Reset())


def delay(seconds: float) -> Fault:
    """A late answer."""
    return Fault(Wait(seconds))


def hang() -> Fault:
    """No answer at all."""
    return Fault(Wait(None))


def hold() -> Fault:
    """A place to stand; see `Hold`."""
    return Fault(Hold())


KINDS: Mapping[str, Callable[..., Fault]] = {
    "status": status,
    "rate_limited": rate_limited,
    "reset": reset,
    "delay": delay,
    "hang": hang,
    "hold": hold,
}


def fault_of(described: Mapping[str, Any]) -> Fault:
    """The fault that JSON describes: `kind`, `after`, and the arguments of the function of that name.

    Raises:
        ValueError: what is described is no fault; the sentence says what would be one.

    """
    given = dict(described)
    kind, after = given.pop("kind", None), given.pop("after", False)
    if kind not in KINDS:
        raise ValueError(f"a fault's kind is one of {', '.join(KINDS)}, not {kind!r}")
    try:
        fault = KINDS[kind](**given)
    except TypeError as error:
        raise ValueError(f"fault {kind} does not take {given}: {error}") from None
    return fault.afterwards() if after else fault


class FaultBook:
    """The faults still to come."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, re.Pattern[str], Fault, list[int]]] = []

    def add(self, method: str, path: str, fault: Fault, times: int = 1) -> Fault:
        """Meet the next `times` requests of a method (`*` is any) to a path below the API.

        In the path `*` stands for one part and `**` for any number: `/channels/*/messages`.
        """
        self._entries.append((method, pattern_of(path), fault, [times]))
        return fault

    def take(self, method: str, path: str) -> Fault | None:
        """The fault for a request, used up by one."""
        for wanted, pattern, fault, left in self._entries:
            if left[0] > 0 and wanted in ("*", method) and pattern.fullmatch(path):
                left[0] -= 1
                return fault
        return None

    def clear(self) -> None:
        """Forget all of them and release whatever stands."""
        for _, _, fault, _ in self._entries:
            if isinstance(fault.what, Hold):
                fault.what.release()
        self._entries.clear()


def pattern_of(path: str) -> re.Pattern[str]:
    """The pattern of paths such as `/channels/*/messages`."""
    parts = {"*": "[^/]+", "**": ".+"}
    return re.compile("/".join(parts.get(part, re.escape(part)) for part in path.split("/")))
