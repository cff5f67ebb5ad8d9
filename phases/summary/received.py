"""Phase `received` of a summary: is there anything in the channel that no summary holds yet?"""

from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import RECEIVED, Outcome


async def received(turn: Turn, ports: Ports) -> Report:
    """Report `admitted`, or `nothing_found` with the outcome that it means."""
    if await ports.memory.unsummed(turn.trigger.channel_id):
        return Report("admitted")
    return Report("nothing_found", {"outcome": Outcome.NOTHING_TO_DO, "reason": Reason.NOTHING_TO_DO})


PHASE = Phase(RECEIVED, received, {"admitted", "nothing_found"}, {"outcome", "reason"})
