"""Phase `received`: is this only to be archived, and may a turn start now? A follow-up not once its person has spoken.

Knows no table and no other phase. Costs nothing: neither a model nor a tool is touched here (TURN-11).
"""

from phasewalk.machine.phase import Opening, Phase, Report
from phasewalk.machine.ports import Ports, Settings, Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import RECEIVED, Kind


def matches_short_path(settings: Settings, channel: str, user: str) -> bool:
    """Whether a rule of `short-path` finds both the channel's and the user's name (ENV-05)."""
    return any(c.search(channel) and u.search(user) for c, u in settings.short_path)


def opening(turn: Turn) -> Opening:
    """Keeps what the turn was opened with and no column holds, so that it can be walked again (OPS-15)."""
    return Opening(detail={"trigger": turn.trigger})


async def received(turn: Turn, ports: Ports) -> Report:
    """Report `short_path_matched`, `admission_refused` with its reason, or `admitted`."""
    trigger = turn.trigger
    if matches_short_path(ports.settings, trigger.channel_name, trigger.user_name):
        return Report("short_path_matched", detail={"channel": trigger.channel_name, "user": trigger.user_name})
    if trigger.kind is Kind.IDLE and await ports.surface.look(trigger) is Sight.OVERTAKEN:
        return Report("admission_refused", reason=Reason.SUPERSEDED)
    refusal = await ports.admission.refusal(trigger)
    if refusal is not None:
        return Report("admission_refused", reason=refusal)
    return Report("admitted")


PHASE = Phase(RECEIVED, received, {"admitted", "short_path_matched", "admission_refused"}, opening=opening)
