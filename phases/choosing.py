"""Which candidate is asked next: the first from the present one on that can be, each one considered a row (FB-14).

Owns the walk over candidates, skips (FB-11) and the asking of circuits (FB-15). Calls no model. Invariant: the
clock is read before each candidate, also before one that would be skipped for another reason (TURN-06).
"""

from collections.abc import Mapping

from attrs import define, evolve, field, frozen

from phasewalk.machine.candidates import Candidate, Skip, skip_of
from phasewalk.machine.circuit import CircuitState
from phasewalk.machine.contract import Contract
from phasewalk.machine.documents import json_of
from phasewalk.machine.fallback import Progress
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import FallbackConsidered, Record
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import Cause, Decision

NEXT = "FB-10: next in order"
PROBE = "FB-15: half-open, one probe"
CANNOT = "FB-11: cannot be asked"
OPEN = "FB-15: circuit open"


@frozen
class Chosen:
    """The candidate to ask, or none; with what was found out and the rows of what was considered on the way."""

    candidate: Candidate | None
    progress: Progress
    rows: tuple[Record, ...]
    skipped: tuple[str, ...]
    admitted: tuple[str, ...]
    expired: bool = False

    def changes(self) -> dict[str, object]:
        """What the walk over candidates means for the turn."""
        return {"progress": self.progress, "skipped": self.skipped, "admitted": self.admitted}


async def choose(turn: Turn, contract: Contract, ports: Ports) -> Chosen:
    """Walk on from the present candidate; a row is written for each that is newly considered."""
    walk = _Walk(turn, contract, ports, turn.progress, list(turn.skipped), turn.admitted)
    for index in range(turn.progress.candidate, len(contract.candidates)):
        if walk.time_left <= 0:
            return walk.end(None, expired=True)
        walk.progress = evolve(walk.progress, candidate=index)
        if await walk.can_be_asked(contract.candidates[index]):
            return walk.end(contract.candidates[index])
    return walk.end(None)


@define
class _Walk:
    turn: Turn
    contract: Contract
    ports: Ports
    progress: Progress
    skipped: list[str]
    admitted: tuple[str, ...]
    rows: list[Record] = field(factory=list)

    @property
    def time_left(self) -> float:
        """Seconds until the turn's deadline."""
        return self.turn.deadline - self.ports.clock.monotonic()

    def end(self, candidate: Candidate | None, *, expired: bool = False) -> Chosen:
        return Chosen(candidate, self.progress, tuple(self.rows), tuple(self.skipped), self.admitted, expired)

    async def can_be_asked(self, candidate: Candidate) -> bool:
        """Whether it can be asked, for whatever reason not; writes the row that says so."""
        prompt = self.turn.prompt
        skip = skip_of(candidate, self.contract.capabilities, prompt.estimated_tokens if prompt else 0)
        if skip is None:
            skip = await self._circuit(candidate)
        if skip is not None:
            rule = OPEN if skip.reason is Reason.CIRCUIT_OPEN else CANNOT
            self._row(candidate, Decision.SKIPPED, skip.reason, rule, skip.values)
            self.skipped.append(skip.reason)
        elif self._is_new():
            self._row(candidate, Decision.TAKEN, Reason.OK, PROBE if self.progress.probing else NEXT, {})
        return skip is None

    def _is_new(self) -> bool:
        """Whether the candidate is considered for the first time, and not asked again."""
        begins = self.turn.cause in (None, Cause.FIRST, Cause.FALLBACK)
        return begins or self.progress.candidate > self.turn.progress.candidate

    async def _circuit(self, candidate: Candidate) -> Skip | None:
        """Ask the provider's circuit, once a turn: a turn that was let in keeps its place."""
        if candidate.provider in self.admitted:
            return None
        clock = self.ports.clock
        until_us = clock.now_us() + int(max(self.time_left, 0.0) * 1_000_000)
        answer = await self.ports.circuits.admit(candidate.provider, self.turn.turn_id, clock.now_us(), until_us)
        if answer.state is CircuitState.OPEN:
            return Skip(candidate, Reason.CIRCUIT_OPEN, dict(answer.values))
        probing = answer.state is CircuitState.PROBE
        self.progress = evolve(self.progress, probing=probing)
        if not probing:  # a probe is one call; whether its provider may be asked again is for the circuit to say
            self.admitted = (*self.admitted, candidate.provider)
        return None

    def _row(
        self, candidate: Candidate, decision: Decision, reason: Reason, rule: str, values: Mapping[str, object]
    ) -> None:
        self.progress = evolve(self.progress, considered=self.progress.considered + 1)
        self.rows.append(
            FallbackConsidered(
                step=self.progress.considered,
                at_us=self.ports.clock.now_us(),
                provider=candidate.provider,
                model=candidate.model,
                decision=decision,
                reason=reason,
                rule=rule,
                values=json_of({**values, "time_left": round(self.time_left, 1)}),
            ),
        )
