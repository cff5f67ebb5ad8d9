"""Phase `validate_envelope` of a summary: any text that says something will do; no envelope is due."""

from phasewalk.machine.fallback import Failure, FailureKind
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Envelope
from phasewalk.machine.text import clipped
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import VALIDATE_ENVELOPE
from phasewalk.phases.finish import is_blank

LONGEST = 2000
"""Characters of a summary that are kept."""


async def validate_envelope(turn: Turn, ports: Ports) -> Report:
    """Report `envelope_accepted` with the summary, or `envelope_rejected` for one that is empty."""
    text = turn.reply.text if turn.reply else None
    if text is None or is_blank(text):
        failure = Failure(
            kind=FailureKind.UNUSABLE,
            reason=Reason.EMPTY_ANSWER,
            message="the summary is empty",
            phase=VALIDATE_ENVELOPE,
            jitter=ports.ids.fraction(),
        )
        changes = {"failure": failure, "first_failure": turn.first_failure or failure}
        return Report("envelope_rejected", changes, Reason.EMPTY_ANSWER)
    summary = Envelope(clipped(text.strip(), LONGEST), answer_needed=False)
    return Report("envelope_accepted", {"envelope": summary})


PHASE = Phase(
    VALIDATE_ENVELOPE,
    validate_envelope,
    {"envelope_accepted", "envelope_rejected"},
    {"envelope", "failure", "first_failure"},
)
