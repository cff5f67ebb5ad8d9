"""What an accepted answer comes to: what is due to whom, and what an operator should notice about it.

Owns the plan (ENV-01..04, ENV-26, ENV-27) and the flags of an answer. Judges no envelope and delivers nothing.
"""

from phasewalk.machine.contract import Contract
from phasewalk.machine.effects import EffectKind
from phasewalk.machine.ports import Settings
from phasewalk.machine.speech import Envelope, Plan, Speech
from phasewalk.machine.turn import Turn
from phasewalk.phases.claims import claimed
from phasewalk.phases.pictures import PICTURES
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.phases.vocabulary_file import shipped


def plan_of_answer(turn: Turn, contract: Contract, envelope: Envelope, answer: str | None) -> Plan:
    """What is due to whom: an answer that is needed, asked for, or accompanied by a staff note (ENV-01..04)."""
    speeches: list[Speech] = []
    due = envelope.answer_needed or turn.trigger.speaks_to_bot or envelope.staff is not None
    if answer is not None and due:
        target = envelope.channel or turn.trigger.channel_name
        speeches.append(Speech(EffectKind.ANSWER, target, answer, reply_to=turn.trigger.message_id))
    if envelope.picture is not None and due:
        speeches.append(
            Speech(
                kind=EffectKind.PICTURE,
                target=envelope.channel or turn.trigger.channel_name,
                text=envelope.picture,
                reply_to=turn.trigger.message_id,
                count=envelope.picture_count or 1,
                edit=envelope.picture_edit,
            )
        )
    return Plan((*speeches, *staff_speeches(turn, envelope, contract.staff_channel)))


def staff_speeches(turn: Turn, envelope: Envelope, staff_channel: str | None) -> tuple[Speech, ...]:
    """What staff are told: the note as the model wrote it (ENV-03), and of an attack (ENV-27)."""
    if not staff_channel:
        return ()
    notes = [envelope.staff] if envelope.staff is not None else []
    notes += [_hack_note(turn)] if envelope.hack else []
    return tuple(Speech(EffectKind.STAFF_NOTE, staff_channel, note) for note in notes)


def _hack_note(turn: Turn) -> str:
    """What staff are told of a message that the model takes for an attack; nothing else follows from it (ENV-27)."""
    trigger = turn.trigger
    return f"{trigger.user_name} in #{trigger.channel_name} may be trying to turn the bot against its instructions."


def flags_of_answer(turn: Turn, contract: Contract, envelope: Envelope, settings: Settings) -> list[str]:
    """What an operator should notice about an accepted answer."""
    flags = staff_flags(envelope, contract.staff_channel)
    ran = any(result.status == "ok" for exchange in turn.exchanges for result in exchange.results)
    if contract.offered and not ran and claimed(envelope.answer or "", _vocabulary(settings)):
        flags.append("unsupported_claim")
    return flags


def staff_flags(envelope: Envelope, staff_channel: str | None) -> list[str]:
    """What staff should notice of an envelope, also one that was no usable answer."""
    flags = ["hack"] if envelope.hack else []
    if envelope.staff is not None and not staff_channel:
        flags.append("staff_note_without_channel")
    return flags


def unserved(turn: Turn, contract: Contract, envelope: Envelope) -> tuple[str, ...]:
    """The families of a request for several things that have neither a result nor a refusal (CON-27).

    Pictures are served by the envelope itself.
    """
    if len(contract.families) <= 1:
        return ()
    called = {result.call.name for exchange in turn.exchanges for result in exchange.results}
    touched = {schema.family for schema in contract.schemas if schema.name in called}
    possible = {schema.family for schema in contract.schemas}
    if any(candidate.image_model for candidate in contract.candidates):
        possible |= PICTURES
        touched |= PICTURES if envelope.picture is not None else set()
    return tuple(family for family in contract.families if family in possible - touched)


def _vocabulary(settings: Settings) -> Vocabulary:
    return settings.vocabulary if isinstance(settings.vocabulary, Vocabulary) else shipped()
