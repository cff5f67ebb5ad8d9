"""Whether policy lets a person's turn use a tool now: asked when a contract is frozen and again at each call.

Selecting is not permitting (CON-10, CON-20); both phases that ask get the same answer from here.
"""

from phasewalk.machine.ports import Settings
from phasewalk.machine.reasons import Reason
from phasewalk.machine.tooling import ToolInfo
from phasewalk.machine.trigger import Trigger

KEEPS_FACTS = frozenset({"notes", "tasks", "memory", "calendar"})
"""Families that keep facts; an incognito turn has none of them (CON-10)."""


def denial(tool: ToolInfo, settings: Settings, trigger: Trigger) -> Reason | None:
    """Why the turn of this trigger may not use `tool` now, or None when it may."""
    if _switched_off(tool, settings, trigger):
        return Reason.POLICY_DENIED
    if trigger.user_id in settings.owners:
        return None
    privilege = settings.privileges.get(tool.family)
    if tool.owner_only or privilege == "owners":
        return Reason.OWNER_ONLY
    return Reason.POLICY_DENIED if privilege == "staff" and not is_staff(settings, trigger) else None


def _switched_off(tool: ToolInfo, settings: Settings, trigger: Trigger) -> bool:
    """Whether nobody may use the tool: disabled, not offered in the channel, or restricted for the moment."""
    return (
        tool.schema.name in settings.disabled_tools
        or tool.family in settings.disabled_families
        or not _offered_here(tool, settings, trigger)
        or (tool.mutating and (settings.plan_only or trigger.plan_only))
        or (tool.family in KEEPS_FACTS and is_incognito(settings, trigger))
    )


def is_staff(settings: Settings, trigger: Trigger) -> bool:
    """Whether the person has one of the roles of staff."""
    return not set(trigger.roles).isdisjoint(settings.staff_roles)


def is_incognito(settings: Settings, trigger: Trigger) -> bool:
    """Whether nothing of the turn may enter what is kept of people, nor be taken from it."""
    return settings.incognito or trigger.incognito


def _offered_here(tool: ToolInfo, settings: Settings, trigger: Trigger) -> bool:
    """Whether the channel offers the tool's family; a channel that lists none offers all."""
    listed = settings.channel_families.get(trigger.channel_name, settings.channel_families.get(trigger.channel_id))
    return listed is None or tool.family in listed
