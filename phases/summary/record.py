"""Phase `record` of a summary: keep it, where there is one."""

from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.records import Summarised
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import RECORD, Outcome


async def record(turn: Turn, ports: Ports) -> Report:
    """Report `recorded`, with the summary as a row; `upto` is the last entry that it holds."""
    answer = turn.envelope.answer if turn.envelope else None
    if turn.stop is not None or answer is None:
        return Report("recorded")
    if turn.prompt is None:  # interrupted before it was kept: what it sums up is not known any more
        return Report("recorded", {"outcome": Outcome.ABANDONED, "reason": Reason.PROCESS_GONE})
    upto = max(entry.entry_id for entry in turn.prompt.history)
    kept = Summarised(turn.trigger.channel_id, upto, answer, ports.clock.now_us())
    return Report("recorded", {"outcome": Outcome.COMPLETED, "reason": Reason.OK}, records=(kept,))


PHASE = Phase(RECORD, record, {"recorded"}, {"outcome", "reason"})
