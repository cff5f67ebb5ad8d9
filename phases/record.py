"""Phase `record`: what of this turn enters history, in the one order that every kind of turn uses (ENV-31).

Insert, then trim; both go to the runner as rows, so that they are committed with the end of the visit and the
phase may start over. Notices and empty replies do not enter; what the person said always does.
"""

from phasewalk.machine.documents import json_of
from phasewalk.machine.effects import EffectKind, EffectState
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports
from phasewalk.machine.records import HistoryTrimmed, Record, Said
from phasewalk.machine.text import storable
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import RECORD, Kind

_STATES = {
    EffectState.DONE: "sent",
    EffectState.FAILED: "failed",
    EffectState.INTENDED: "in_doubt",
    EffectState.IN_DOUBT: "in_doubt",
}


async def record(turn: Turn, ports: Ports) -> Report:
    """Report `recorded`, with the rows of history."""
    now_us = ports.clock.now_us()
    said = [] if turn.kind is Kind.IDLE else [_said_by_person(turn, now_us)]  # that it went quiet is nobody's word
    rows: list[Record] = [*said, *_tool_rows(turn, now_us), *_answers(turn, ports, now_us)]
    settings = ports.settings
    rows.append(HistoryTrimmed(settings.history_limit, settings.history_per_channel, now_us))
    return Report("recorded", records=tuple(rows))


def _said_by_person(turn: Turn, now_us: int) -> Said:
    trigger = turn.trigger
    return Said(
        channel_id=trigger.channel_id,
        role="user",
        author_id=trigger.user_id,
        author=storable(trigger.nickname or trigger.user_name),
        text=storable(trigger.text),
        at_us=trigger.sent_us if trigger.sent_us is not None else now_us,
        message_id=trigger.message_id,
    )


def _tool_rows(turn: Turn, now_us: int) -> list[Said]:
    """Each call with its result, those of one round as one unit (ENV-11)."""
    return [
        Said(
            channel_id=turn.trigger.channel_id,
            role="tool",
            author_id="",
            author=storable(result.call.name),
            text=result.text,
            at_us=now_us,
            unit=f"{turn.turn_id}/{number}",
            call=json_of(result.call),
        )
        for number, exchange in enumerate(turn.exchanges, 1)
        for result in exchange.results
    ]


def _answers(turn: Turn, ports: Ports, now_us: int) -> list[Said]:
    """The answer, with what is known of its delivery (ENV-32)."""
    if turn.plan is None:
        return []
    effects = [effect for effect in ports.effects.all() if effect.kind is EffectKind.ANSWER]
    receipts = [d.receipt for d in turn.delivered if d.speech.kind == EffectKind.ANSWER]
    state = (
        next((_STATES[e.state] for e in effects if e.state is not EffectState.DONE), "sent") if effects else "failed"
    )
    return [
        Said(
            channel_id=turn.trigger.channel_id,
            role="assistant",
            author_id="",
            author=storable(ports.settings.bot_name),
            text=speech.text,
            at_us=now_us,
            message_id=receipts[0] if receipts else "",
            state=state,
        )
        for speech in turn.plan.speeches
        if speech.kind == EffectKind.ANSWER
    ]


PHASE = Phase(RECORD, record, {"recorded"})
