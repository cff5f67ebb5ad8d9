"""Phase `freeze_contract`: from what the message is about to what this turn may use (CON-10..14).

Owns the selection of tools under policy. Selecting is not permitting: policy is applied before anything is
frozen, and a family without a permitted tool is a missing requirement, never a silent substitution (CON-12).
"""

from attrs import evolve, frozen

from phasewalk.machine.contract import Classification, Contract
from phasewalk.machine.phase import Phase, Report
from phasewalk.machine.ports import Ports, Settings
from phasewalk.machine.reasons import Reason
from phasewalk.machine.tooling import ToolInfo
from phasewalk.machine.trigger import Trigger
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import FREEZE_CONTRACT
from phasewalk.phases.pictures import PICTURES
from phasewalk.phases.policy import denial


@frozen
class Selection:
    """The tools that a classification comes to, and the families that came to nothing."""

    offered: tuple[ToolInfo, ...]
    required: tuple[str, ...]
    missing: tuple[str, ...]


NEUTRAL = "neutral"
"""The family of controls, such as asking the person back, that join any selection that is not empty."""


def select(
    asked: Classification,
    executable: tuple[ToolInfo, ...],
    existing: tuple[ToolInfo, ...],
    served: frozenset[str] = frozenset(),
) -> Selection:
    """The executable tools of the families asked for; a family is missing without any or without a required one.

    Families that are merely warm add what they have and are never missing (CON-03). A narrowed request gets its
    tools, where there are any, and no others; they are required (CON-06). Families that are `served` otherwise need
    no tool.
    """
    offered: dict[str, ToolInfo] = {}
    required: list[str] = []
    missing: list[str] = []
    for family in asked.families:
        members = {tool.schema.name: tool for tool in executable if tool.family == family}
        needed = {tool.schema.name for tool in existing if tool.required_for == family}
        narrowed = {tool.schema.name for tool in existing if tool.family == family} & set(asked.tools)
        if narrowed:
            members = {name: tool for name, tool in members.items() if name in narrowed}
            needed = narrowed
        if not needed <= set(members) or not (members or family in served):
            missing.append(family)
        offered |= members
        required.extend(sorted(needed & set(members)))
    for tool in executable:
        if tool.family in asked.warm or (offered and tool.family == NEUTRAL):
            offered[tool.schema.name] = tool
    return Selection(tuple(offered.values()), tuple(required), tuple(missing))


async def freeze_contract(turn: Turn, ports: Ports) -> Report:
    """Report `contract_frozen`, or `requirement_unavailable` or `request_unclear` where nothing can be done."""
    settings, trigger = ports.settings, turn.trigger
    classification = turn.classification or Classification("none")
    if classification.selection == "unknown" and settings.unclear == "ask" and trigger.speaks_to_bot:
        return Report("request_unclear", reason=Reason.REQUEST_UNCLEAR, detail={"evidence": classification.evidence})
    existing = tuple(ports.tools.all().values())
    executable = tuple(tool for tool in existing if denial(tool, settings, trigger) is None)
    served = PICTURES if any(c.image_model for c in settings.candidates) else frozenset[str]()
    selection = select(classification, executable, existing, served)
    if selection.missing and trigger.speaks_to_bot:
        return Report(
            "requirement_unavailable",
            changes={"missing": selection.missing},
            reason=Reason.REQUIREMENT_UNAVAILABLE,
            detail={"evidence": classification.evidence},
        )
    if selection.missing:
        selection = Selection((), (), selection.missing)
    contract = _contract(classification, selection, executable, settings, trigger)
    return Report("contract_frozen", changes={"contract": contract})


def _contract(
    classification: Classification,
    selection: Selection,
    executable: tuple[ToolInfo, ...],
    settings: Settings,
    trigger: Trigger,
) -> Contract:
    offered = sorted(selection.offered, key=lambda tool: tool.schema.name)
    return Contract(
        selection=classification.selection,
        families=classification.families,
        required=selection.required,
        offered=tuple(tool.schema.name for tool in offered),
        executable=tuple(sorted(tool.schema.name for tool in executable)),
        schemas=tuple(evolve(tool.schema) for tool in offered),  # its own, whatever becomes of the registry
        channels=tuple(dict.fromkeys((trigger.channel_name, *settings.allowed_channels))),
        staff_channel=settings.staff_channel,
        candidates=settings.candidates,
        capabilities=_capabilities(trigger, settings, tools=bool(offered)),
        limits=settings.limits,
        asks_back=classification.selection == "unknown",
        stickers=settings.stickers,
    )


def _capabilities(trigger: Trigger, settings: Settings, *, tools: bool) -> tuple[str, ...]:
    """What a candidate must be able to do; to see, where there is an image and anybody can (ENV-22, FB-11)."""
    seen = any(a.media_type.lower().startswith("image/") for a in trigger.attachments)
    vision = seen and any("vision" in candidate.capabilities for candidate in settings.candidates)
    return (*(("tools",) if tools else ()), *(("vision",) if vision else ()))


PHASE = Phase(
    FREEZE_CONTRACT,
    freeze_contract,
    {"contract_frozen", "requirement_unavailable", "request_unclear"},
    {"contract", "missing"},
)
