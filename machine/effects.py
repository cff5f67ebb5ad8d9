"""What a turn has done that cannot be taken back, and the two questions asked about it.

Owns `Effect` and the only predicates over effects (FB-01, FB-03). Does not know how effects are made or
stored. Invariant: an effect counts from the moment its intent is committed.
"""

from collections.abc import Iterable
from enum import StrEnum

from attrs import frozen


class EffectKind(StrEnum):
    """What sort of thing cannot be taken back."""

    TOOL = "tool"
    ANSWER = "answer"
    STAFF_NOTE = "staff_note"
    NOTICE = "notice"
    PICTURE = "picture"
    VISIBLE_TEXT = "visible_text"
    STATE = "state"
    SANCTION = "sanction"


class EffectState(StrEnum):
    """Where an effect stands; `in_doubt` is an intent that nobody will write a receipt for any more."""

    INTENDED = "intended"
    DONE = "done"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"


@frozen
class Effect:
    """One effect of a turn. `key` is the idempotency key, `target` whom or what it concerns.

    `intended_us` is when it was about to happen.
    """

    effect_id: str
    kind: EffectKind
    key: str
    target: str
    state: EffectState = EffectState.INTENDED
    intended_us: int = 0


_SEEN_BY_PERSON = frozenset(
    {EffectKind.ANSWER, EffectKind.PICTURE, EffectKind.VISIBLE_TEXT, EffectKind.NOTICE},
)
_TRIED_COUNTS = frozenset({EffectKind.TOOL, EffectKind.STATE, EffectKind.SANCTION})
"""Kinds that count even when they failed: the attempt may have changed something."""


def has_side_effects(effects: Iterable[Effect]) -> bool:
    """Whether the turn has had side effects (FB-01).

    A mutating or undeclared tool was started, something visible was sent, state was changed, or a sanction
    was tried. Text that definitely did not arrive is none; a read-only tool never enters the list.
    """
    return any(e.kind in _TRIED_COUNTS or e.state is not EffectState.FAILED for e in effects)


def delivered_to_person(effects: Iterable[Effect]) -> bool:
    """Whether the person has already seen something of this turn (FB-03)."""
    return any(e.kind in _SEEN_BY_PERSON and e.state is EffectState.DONE for e in effects)


def unresolved(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """The effects with an intent and no receipt: they may or may not have happened."""
    return tuple(e for e in effects if e.state in (EffectState.INTENDED, EffectState.IN_DOUBT))
