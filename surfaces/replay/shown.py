"""Which entries of history a recorded prompt showed, and whether a window can have been the one that it came from.

Pure. The log tells when turns ended, and not when others could read it; the prompts prove it.
"""

from collections.abc import Iterable, Sequence

from phasewalk.machine.exchange import HistoryEntry
from phasewalk.phases.prompting import shrunk
from phasewalk.storage.recorded_turn import RecordedTurn, Stay


def shown_in(record: RecordedTurn) -> list[int]:
    """The entries that any prompt of the turn showed."""
    return sorted({number for stay in record.stays for number in _shown(stay) or ()})


def proves(record: RecordedTurn, place: int, window: Sequence[HistoryEntry]) -> bool:
    """Whether the prompt of this visit came out of this window; True where there is none to prove anything."""
    stay = record.stays[min(place, len(record.stays) - 1)]
    shown = _shown(stay)
    if shown is None:
        return True
    channel = record.turn["channel_id"]
    entries = tuple(e for e in window if e.channel_id == channel and e.seen)
    smaller = place > 0 and record.stays[place - 1].phase == "model_attempt"
    if smaller and stay.event != "prompt_too_large":
        entries = shrunk(entries)
    return [entry.entry_id for entry in entries] == shown


def _shown(stay: Stay) -> list[int] | None:
    """The entries that the prompt of a visit showed; none where there was nothing to be made smaller."""
    if stay.phase != "build_prompt":
        return None
    if stay.event == "prompt_too_large":
        return [] if stay.detail.get("history") == 0 else None
    prompt = stay.detail.get("prompt")
    return list(_numbers(prompt.get("history", ()))) if isinstance(prompt, dict) else None


def _numbers(runs: Iterable[Sequence[int]]) -> Iterable[int]:
    return (number for first, last in runs for number in range(first, last + 1))
