"""The flag that pauses the bot, in words and for programs: for the first screen and whoever changes it.

Pure, and light. Invariant: one sentence, wherever it stands.
"""

from phasewalk.storage.flags import Flag
from phasewalk.storage.queries import Row
from phasewalk.surfaces.cli.times import Zone, ago, rfc3339


def paused_said(flag: Flag, zone: Zone, now: int) -> str:
    """`paused since 2026-11-30 23:05:12 UTC (5 min ago) by sam: why`; not harmless yet."""
    note = f": {flag.note}" if flag.note else ""
    return f"paused since {zone.full(flag.since_us)} {zone.name} ({ago(flag.since_us, now)}) by {flag.set_by}{note}"


def flag_item(flag: Flag | None) -> Row | None:
    """The same for programs."""
    return None if flag is None else {"since": rfc3339(flag.since_us), "by": flag.set_by, "note": flag.note}
