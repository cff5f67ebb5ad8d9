"""Whether policy lets a person's turn use a tool now: asked when a contract is frozen and again at each call.

Selecting is not permitting (CON-10, CON-20); both phases that ask get the same answer from here.
"""

from phasewalk.machine.ports import Settings, ToolInfo
from phasewalk.machine.reasons import Reason

KEEPS_FACTS = frozenset({"notes", "tasks", "memory", "calendar"})
"""Families that keep facts; an incognito turn has none of them (CON-10)."""


def denial(tool: ToolInfo, settings: Settings, user_id: str) -> Reason | None:
    """Why this person's turn may not use `tool` now, or None when it may."""
    if tool.schema.name in settings.disabled_tools or tool.family in settings.disabled_families:
        return Reason.POLICY_DENIED
    if tool.owner_only and user_id not in settings.owners:
        return Reason.OWNER_ONLY
    if (settings.plan_only and tool.mutating) or (settings.incognito and tool.family in KEEPS_FACTS):
        return Reason.POLICY_DENIED
    return None
