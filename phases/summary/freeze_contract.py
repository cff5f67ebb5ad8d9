"""Phase `freeze_contract` of a summary: whom it may ask. It gets no tools, and says nothing to anybody."""

from attrs import evolve

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import Contract
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import FREEZE_CONTRACT

REQUIRED = ("tools",)
"""What a candidate must be capable of (FB-04)."""


def writers(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The candidates that can sum up: all but the embedded rules. Helper calls stay on chat/completions (ENV-22)."""
    return tuple(evolve(c, api="chat") if c.api == "responses" else c for c in candidates if c.api != "rules")


async def freeze_contract(turn: Turn, ports: Ports) -> Report:
    """Report `contract_frozen`."""
    contract = Contract(
        selection="none",
        families=(),
        required=(),
        offered=(),
        executable=(),
        schemas=(),
        channels=(),
        staff_channel=None,
        candidates=writers(ports.settings.candidates),
        capabilities=REQUIRED,
        limits=turn.limits,
    )
    return Report("contract_frozen", {"contract": contract})


PHASE = Phase(FREEZE_CONTRACT, freeze_contract, {"contract_frozen"}, {"contract"})
