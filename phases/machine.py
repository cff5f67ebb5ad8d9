"""The machines: each table with its phases. The one place where both meet."""

from phasewalk.machine.definition import Definition
from phasewalk.machine.summary_table import SUMMARY_TABLE
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
from phasewalk.phases.summary import build_prompt as summary_prompt
from phasewalk.phases.summary import freeze_contract as summary_contract
from phasewalk.phases.summary import received as summary_received
from phasewalk.phases.summary import record as summary_record
from phasewalk.phases.summary import validate_envelope as summary_validation

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


SUMMARY_PHASES = {
    module.PHASE.name: module.PHASE
    for module in (
        summary_received,
        summary_contract,
        summary_prompt,
        model_attempt,
        summary_validation,
        summary_record,
    )
}


def summary_machine() -> Definition:
    """The machine that sums up what left a channel's window."""
    return Definition(SUMMARY_TABLE, SUMMARY_PHASES, explain)
