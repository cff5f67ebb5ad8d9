"""A cap on replies per channel and minute, behind everything else: two bots cannot talk for ever (DIS-11).

Owns the counting. Speaks nothing itself. Invariant: what one turn says in a channel counts once, however many parts
it has, so that no answer is cut off in its middle.
"""

from attrs import define, field

from phasewalk.machine.deadlines import Clock

MINUTE = 60.0


@define
class ReplyCap:
    """Lets so many turns speak in one channel within any minute."""

    clock: Clock
    most: int
    _spoken: dict[int, dict[str, float]] = field(factory=dict)

    def allows(self, channel_id: int, trigger_key: str) -> bool:
        """Whether this turn may speak there now; it is counted if so."""
        now = self.clock.monotonic()
        lately = {key: at for key, at in self._spoken.get(channel_id, {}).items() if now - at < MINUTE}
        allowed = trigger_key in lately or len(lately) < self.most
        if allowed:
            lately.setdefault(trigger_key, now)
        self._spoken[channel_id] = lately
        return allowed
