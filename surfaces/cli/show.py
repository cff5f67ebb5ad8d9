"""`phasewalk show`: what happened in a turn, one line a visit."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import click

from phasewalk.storage.process import is_alive
from phasewalk.storage.queries import Row
from phasewalk.storage.turn_view import attempts, payloads_of, turn_head, turn_item, visits
from phasewalk.surfaces.cli.exits import Exit
from phasewalk.surfaces.cli.naming import named
from phasewalk.surfaces.cli.output import json_options, print_items
from phasewalk.surfaces.cli.render import clip, coloured, harmless, pad, terminal_width
from phasewalk.surfaces.cli.times import Zone, ago, lasting, now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import opened_log

GAP_MS = 1000.0
GOOD = ("answered", "silent", "short_path", "completed", "nothing_to_do")


@click.command(
    epilog="\b\nExamples:\n  phasewalk show last\n  phasewalk show https://discord.com/channels/1/2/3 --detail\n\n"
    "\b\nExit codes: 0 ok, 3 no such turn or several, 4 the log cannot be read,\n5 something of the turn was pruned or lost.",
)
@click.argument("turns", nargs=-1, required=True)
@click.option("--detail", is_flag=True, help="Also the texts: responses, arguments, results.")
@json_options
@zone_options
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    turns: tuple[str, ...],
    detail: bool,
    as_json: bool,
    jsonl: bool,
    utc: bool,
    tz: str | None,
) -> None:
    """Show TURNS: ids, unique prefixes, 'last', 'last~2', message links; '-' reads ids from standard input."""
    zone = zone_of(utc=utc, tz=tz)
    incomplete = False
    with opened_log(obj) as log:
        ids = list(named(log, turns))
        if as_json or jsonl:
            items = [turn_item(log, turn_id, detail=detail) for turn_id in ids]
            print_items(log, items, jsonl=jsonl)
            incomplete = any(item["log_gap"] for item in items)
        else:
            width = terminal_width()
            for index, turn_id in enumerate(ids):
                if index:
                    click.echo()
                for line in _lines(log, turn_id, zone, detail=detail):
                    click.echo(clip(line, width))
                incomplete = incomplete or bool(turn_head(log, turn_id)["log_gap"])
    if incomplete:
        click.echo("phasewalk: rows of this turn were lost when the log could not be written", err=True)
        raise SystemExit(int(Exit.INCOMPLETE))


def _lines(log: sqlite3.Connection, turn_id: str, zone: Zone, *, detail: bool) -> Iterator[str]:
    head = turn_head(log, turn_id)
    item = turn_item(log, turn_id, detail=False)
    walked = visits(log, turn_id)
    yield from _head(head, item, zone)
    yield ""
    yield from _walk(walked)
    if head["ended_us"] is None:
        yield from _waiting(head, walked[-1])
    yield from _contract(item["contract"])
    yield from _attempts(attempts(log, turn_id))
    yield from _rest(item)
    if detail:
        for payload in payloads_of(log, turn_id):
            yield from _section(str(payload["what"]), [_text(payload["text"])])


def _head(head: Row, item: Row, zone: Zone) -> Iterator[str]:
    outcome = head["outcome"] or "running"
    colour = "32" if outcome in GOOD else "33" if outcome == "running" else "31"
    reason = f", {head['reason']}: {head['meaning']}" if head["reason"] else ""
    yield f"turn {head['turn_id']}  {coloured(str(outcome), colour)}{reason}"
    spoken = f", {head['addressed_by']}" if head["addressed_by"] else ", overheard"
    yield f"  {head['kind']} turn of {harmless(head['user_name'])} in #{harmless(head['channel_name'])}{spoken}"
    started = int(str(head["started_us"]))
    took = f", took {lasting((int(str(head['ended_us'])) - started) / 1e6)}" if head["ended_us"] else ""
    arose = f", arose in {head['reason_phase']}" if head["reason_phase"] and outcome not in GOOD else ""
    first = f", first failure {head['first_reason']}" if head["first_reason"] else ""
    yield f"  {zone.full(started)} {zone.name(started)}{took}{arose}{first}"
    for label, name in (("asked", "question"), ("answer", "answer"), ("notice", "notice"), ("staff", "staff")):
        if item[name] is not None:
            yield f"  {label:<7} {_text(item[name])}"


def _walk(walked: list[Row]) -> Iterator[str]:
    """One line a visit; guards that refused under it, and gaps between visits."""
    end: float | None = None
    for visit in walked:
        offset = float(str(visit["offset_ms"]))
        if end is not None and offset - end > GAP_MS:
            yield f"           ({lasting((offset - end) / 1000)} in between)"
        if visit["phase"] == "done":
            yield f"{offset / 1000:>+9.3f}  done"
            continue
        end = offset + float(str(visit.get("took_ms") or 0))
        number = f" {visit['visit']}" if int(str(visit["visit"])) > 1 else ""
        ended = f"{visit['transition']} {visit['event']}" if visit["event"] else "..."
        because = f" ({visit['reason']})" if visit.get("reason") else ""
        took = f"{lasting(float(str(visit['took_ms'])) / 1000):>8}" if visit.get("took_ms") is not None else ""
        yield f"{offset / 1000:>+9.3f}  {pad(str(visit['phase']) + number, 20)}{pad(ended + because, 40)}{took}"
        yield from _refusals(visit)


def _refusals(visit: Row) -> Iterator[str]:
    guards = visit["guards"]
    for guard in guards if isinstance(guards, list) else []:
        if not guard["held"] and guard["name"] not in ("superseded", "has_something_to_deliver", "tools_were_offered"):
            yield f"               {guard['transition']} not taken: {guard['name']} {_values(guard['values'])}".rstrip()


def _waiting(head: Row, visit: Row) -> Iterator[str]:
    """A turn without an end: what it is in, since when, and whether anybody still works on it."""
    since = int(str(visit["at_us"]))
    alive = head["process_ended_us"] is None and is_alive(int(str(head["pid"])), str(head["pid_started"]))
    state = "runs" if alive else "is gone"
    yield f"  not ended: in {visit['phase']} since {ago(since, now_us())}; its process {head['pid']} {state}"


def _contract(contract: object) -> Iterator[str]:
    if not isinstance(contract, dict):
        return
    families = ", ".join(contract["families"]) or contract["selection"]
    lines = [f"about {harmless(families)}; offered {harmless(', '.join(contract['offered']) or 'no tools')}"]
    asked = ", ".join(f"{c['provider']}/{c['model']}" for c in contract["candidates"])
    lines.append(f"candidates {harmless(asked)}")
    yield from _section("contract", lines)


def _attempts(found: list[Row]) -> Iterator[str]:
    lines = []
    for row in found:
        status = str(row["status"]) + (f", {row['reason']}" if row["reason"] else "")
        http = f" {row['http_status']}" if row["http_status"] else ""
        took = f", {lasting(float(str(row['took_ms'])) / 1000)}" if row["took_ms"] is not None else ""
        lines.append(
            f"{row['n']}. {row['cause']}: {harmless(row['provider'])}/{harmless(row['model'])} {status}{http}{took}"
        )
        if row["message"]:
            lines.append(f"   {_text(row['message'])}")
    yield from _section("model", lines)


def _rest(item: Row) -> Iterator[str]:
    """Fallback, tools and effects."""
    steps = item["fallback"] if isinstance(item["fallback"], list) else []
    lines = []
    for step in steps:
        lines.append(f"{step['decision']} {harmless(step['candidate'])}: {step['reason']}")
        if step["decision"] != "taken":
            lines.extend((f"   {step['rule']}", f"   {_values(step['values'])}"))
    yield from _section("fallback", lines)
    tools = item["tools"] if isinstance(item["tools"], list) else []
    yield from _section(
        "tools", [f"{harmless(t['name'])} {t['status'] or 'running'}{_because(t['reason'])}" for t in tools]
    )
    effects = item["effects"] if isinstance(item["effects"], list) else []
    yield from _section("effects", [f"{effect['kind']} {effect['state']}" for effect in effects])


def _section(title: str, lines: list[str]) -> Iterator[str]:
    for index, line in enumerate(lines):
        yield f"  {pad(title if index == 0 else '', 9)}{line}"


def _because(reason: object) -> str:
    return f", {reason}" if reason else ""


def _values(values: object) -> str:
    if not isinstance(values, dict) or not values:
        return ""
    return harmless("(" + ", ".join(f"{name} {_short(value)}" for name, value in values.items()) + ")")


def _short(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return "(pruned)" if value is None else harmless(value)
