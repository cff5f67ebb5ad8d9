"""One turn as lines to read: head, what was said, a line a visit, contract, model calls, fallback, tools, effects.

Owns the order and the wording of `show`. Pure: from the object of a turn to text; asks nothing.
Invariant: whatever a chat or a model wrote stands in these lines harmlessly, and whole.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from phasewalk.surfaces.cli.render import coloured, harmless, pad, plain, terminal_width, wrap
from phasewalk.surfaces.cli.stuck import rule_of
from phasewalk.surfaces.cli.times import Zone, ago, lasting

GAP_MS = 1000.0
GOOD = ("answered", "silent", "short_path", "completed", "nothing_to_do")
TITLE = 10
"""Columns in which the titles of sections stand."""

SPEECHES = (("answer", "answer", "unsaid"), ("notice", "notice", "unsent"), ("staff", "staff_note", "for staff"))
"""What is said, the kind of its effect, and how it is titled where it went to nobody."""

OWNERS = {"model": "the model", "tool": "a tool", "notice": "nobody but a notice"}

Item = dict[str, Any]


def outcome_colour(outcome: str | None) -> str:
    """Green for a good end, yellow for a turn that has none yet, red for the others."""
    return "32" if outcome in GOOD else "33" if outcome is None else "31"


def turn_lines(item: Item, zone: Zone, now: int) -> Iterator[str]:
    """The lines, broken at the edge of a terminal and nowhere else."""
    width = terminal_width()
    first, *others = _head(item, zone)
    begin, *rest = wrap(first, width, "  ")
    yield coloured(begin, outcome_colour(item["outcome"]))
    yield from rest
    body = [*others, *_waiting(item, zone, now), *_said(item), "", *_walk(item), "", *_sections(item), *_details(item)]
    for line in body:
        yield from wrap(line, width, " " * (len(line) - len(line.lstrip(" ")) + 2))


def _head(item: Item, zone: Zone) -> Iterator[str]:
    reason = f", {item['reason']}: {item['reason_meaning']}" if item["reason"] else ""
    yield harmless(f"turn {item['turn_id']}  {item['outcome'] or 'running'}{reason}")
    spoken = item["addressed_by"] or "overheard"
    where = f"#{item['channel_name'] or item['channel_id']}"
    message = f", message {item['trigger_message_id']}" if item["trigger_message_id"] else ""
    yield harmless(f"  {item['kind']} turn of {item['user_name'] or item['user_id']} in {where}, {spoken}{message}")
    took = f", took {lasting(item['took_ms'] / 1000)}" if item["took_ms"] is not None else ""
    yield f"  {zone.full(item['started_us'])} {zone.name}{took}"
    if item["reason"] and item["outcome"] not in GOOD:
        yield f"  arose in {item['phase']}"
    if item["first_reason"] not in (None, item["reason"]):
        yield harmless(f"  first failure {item['first_reason']}: {item['first_reason_meaning']}")
    others = [f"claimed {item['claims']} times"] if item["claims"] > 1 else []
    others += [f"part of turn {item['parent_turn_id']}"] if item["parent_turn_id"] else []
    if others or item["flags"]:
        yield harmless(f"  {', '.join([*others, *map(str, item['flags'])])}")


def _waiting(item: Item, zone: Zone, now: int) -> Iterator[str]:
    """A turn without an end: what it is in, since when, and by which rule it is stuck."""
    if item["outcome"] is not None:
        return
    last = item["visits"][-1] if item["visits"] else None
    since = item["started_us"] if last is None or last["entered_us"] is None else last["entered_us"]
    yield f"  not ended: in {item['phase']} since {zone.full(since)} ({ago(since, now)})"
    if item["stuck"] is not None:
        yield f"  stuck by {rule_of(item['stuck'])}"
    else:
        deadline = item["deadline_us"]
        yield harmless(
            f"  process {item['process']['pid']} on {item['process']['host']}; deadline {ago(deadline, now)}"
        )


def _said(item: Item) -> Iterator[str]:
    yield from _text("asked", "(pruned)" if item["question"] is None else item["question"])
    sent = {effect["kind"] for effect in item["effects"] if effect["state"] != "failed"}
    for label, kind, otherwise in SPEECHES:
        if item[label] is not None:
            yield from _text(label if kind in sent else otherwise, item[label])
    if item["owner"] is not None:
        yield from _text("said by", OWNERS.get(item["owner"], item["owner"]))


def _text(label: str, text: object) -> Iterator[str]:
    for index, line in enumerate(str(text).split("\n")):
        yield f"  {pad(label if index == 0 else '', TITLE)}{harmless(line)}"


def _walk(item: Item) -> Iterator[str]:
    """One line a visit; its reason and the guards that refused under it; gaps between visits."""
    for visit in item["visits"]:
        if visit["gap_ms"] > GAP_MS:
            yield f"{'':10}(a gap of {lasting(visit['gap_ms'] / 1000)})"
        name = f"{visit['phase']} {visit['visit']}" if visit["visit"] > 1 else visit["phase"]
        took = lasting(visit["took_ms"] / 1000) if visit["took_ms"] is not None else ""
        ended = f"{visit['transition']} {visit['event']} -> {visit['to_phase']}" if visit["event"] else "..."
        offset = f"{visit['offset_ms'] / 1000:+.3f}"
        yield harmless(f"{offset:>8}  {pad(name, 20)}{pad(ended, 41)}{took:>8}").rstrip()
        if visit["reason"]:
            yield harmless(f"{'':12}reason {visit['reason']}{_crash(visit['exit'])}")
        for guard in visit["guards"]:
            if not guard["held"]:
                yield harmless(f"{'':12}{guard['transition']} {guard['name']}: no{_values(guard['values'])}")


def _crash(detail: Item) -> str:
    """The error that ended a visit, where one did."""
    error, message = detail.get("error"), detail.get("message")
    return f": {error}: {message}" if isinstance(error, str) and isinstance(message, str) else ""


def _sections(item: Item) -> Iterator[str]:
    yield from _section("contract", _contract(item["contract"]))
    yield from _section("model", _attempts(item["attempts"]))
    yield from _section("fallback", _steps(item["fallback"]))
    yield from _section("tools", map(_tool, item["tools"]))
    yield from _section("effects", map(_effect, item["effects"]))
    yield from _section("lost", item["lost"])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        yield f"  {pad(title if index == 0 else '', TITLE)}{harmless(line)}"


def _contract(contract: Item | None) -> Iterator[str]:
    if contract is None:
        return
    families = ", ".join(contract["families"]) or contract["selection"]
    required = f", required {', '.join(contract['required'])}" if contract["required"] else ""
    yield f"about {families}; offered {', '.join(contract['offered']) or 'no tools'}{required}"
    yield f"candidates {', '.join(_candidate(c) for c in contract['candidates'])}"
    yield from _bounds(contract)


def _bounds(contract: Item) -> Iterator[str]:
    """What else the contract freezes (CON-14), as far as the version that wrote it did."""
    if "channels" in contract:
        needed = ", ".join(contract["capabilities"]) or "nothing beyond text"
        staff = f"; staff notes go to {contract['staff_channel']}" if contract["staff_channel"] else ""
        yield f"may speak in {', '.join(contract['channels'])}{staff}; needs {needed}"
    if "limits" not in contract:
        return
    limits = contract["limits"]
    yield (
        f"limits: {lasting(limits['turn'])} a turn, {lasting(limits['model_call'])} a model call, "
        f"{lasting(limits['tool'])} a tool; {limits['attempts']} attempts a call, {limits['tool_rounds']} rounds of tools"
    )


def _candidate(row: Item) -> str:
    return f"{row['provider']}/{row['model']}"


def _attempts(attempts: list[Item]) -> Iterator[str]:
    for row in attempts:
        http = f", http {row['http_status']}" if row["http_status"] else ""
        retry = f", retry after {lasting(row['retry_after_ms'] / 1000)}" if row["retry_after_ms"] else ""
        took = f", {lasting(row['took_ms'] / 1000)}" if row["took_ms"] is not None else ""
        yield f"{row['n']}. {row['cause']}: {_candidate(row)} {row['status']}{_because(row)}{http}{retry}{took}"
        if row["message"]:
            yield f"   {row['message']}"


def _steps(steps: list[Item]) -> Iterator[str]:
    """What was considered; a candidate that was taken needs no rule."""
    for step in steps:
        yield f"{step['decision']} {step['candidate']}: {step['reason']}"
        if step["decision"] != "taken":
            yield f"   {step['rule']}{_values(step['values'])}"


def _tool(row: Item) -> str:
    took = f", {lasting(row['took_ms'] / 1000)}" if row["took_ms"] is not None else ""
    return f"{row['name']} ({row['effect']}) {row['status'] or 'not ended'}{_because(row)}{took}"


def _effect(row: Item) -> str:
    settled = row["settled_detail"]
    why = settled.get("reason") or settled.get("error")
    return f"{row['kind']} {row['state']}: {row['target']}{f', {why}' if why and row['state'] != 'done' else ''}"


def _because(row: Item) -> str:
    return f", {row['reason']}" if row["reason"] else ""


def _values(values: dict[str, object]) -> str:
    """What a guard or rule compared, as ` (name: value, other: value)`."""
    said = ", ".join(f"{name}: {_value(value)}" for name, value in values.items())
    return f" ({said})" if said else ""


def _value(value: object) -> str:
    return ", ".join(map(_value, value)) if isinstance(value, list) else plain(value)


def _details(item: Item) -> Iterator[str]:
    """The texts behind the rows, where they were asked for."""
    if item["payloads"] is None:
        return
    for visit in item["visits"]:
        for part in ("entry", "exit"):
            if visit[part]:
                yield ""
                yield f"{visit['phase']} {visit['visit']}, {part}"
                yield from _block(json.dumps(visit[part], ensure_ascii=False, indent=2))
    for payload in item["payloads"]:
        yield ""
        yield harmless(payload["what"])
        yield from _block("(pruned)" if payload["text"] is None else payload["text"])


def _block(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {harmless(line)}"
