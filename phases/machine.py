"""The reply machine: the turn table with its phases. The one place where both meet."""

from phasewalk.machine.definition import Definition
from phasewalk.machine.turn_table import TURN_TABLE
from phasewalk.phases import (
    build_prompt,
    classify,
    deliver,
    freeze_contract,
    model_attempt,
    received,
    record,
    tool_rounds,
    validate_envelope,
)
from phasewalk.phases.explain import explain

PHASES = {
    module.PHASE.name: module.PHASE
    for module in (
        received,
        classify,
        freeze_contract,
        build_prompt,
        model_attempt,
        tool_rounds,
        validate_envelope,
        deliver,
        record,
    )
}


def turn_machine() -> Definition:
    """The machine of a reply turn."""
    return Definition(TURN_TABLE, PHASES, explain)
