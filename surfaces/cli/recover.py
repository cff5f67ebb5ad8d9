"""`phasewalk recover`: settles interrupted turns, and lets a person decide what nobody else can tell."""

import os
import sqlite3
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import click

from phasewalk.machine.ports import Surface
from phasewalk.storage.queries import rows
from phasewalk.surfaces.cli.changing import changed, operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import emit, json_text
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.stuck import decision
from phasewalk.surfaces.cli.work import announce, configuration_and_database, run_work
from phasewalk.surfaces.portal import TOKEN
from phasewalk.surfaces.sections import Configuration

STATES = {"done": "done", "not-done": "failed"}
SHORTEST = 4


@click.command(
    epilog="\b\nExamples:\n  phasewalk recover\n  phasewalk recover --resolve 1nh67 --as done --note 'saw it in the channel'\n\n"
    "\b\nExit codes: 0 nothing is left, 1 a turn could not be settled or something is in doubt,\n2 usage or configuration, 3 no such effect in doubt, 4 the log cannot be used, 130 interrupted.",
)
@click.option("--dry-run", is_flag=True, help="Only tell what would be settled.")
@click.option("--resolve", metavar="EFFECT", help="Decide about an effect in doubt, by its id or the beginning of it.")
@click.option("--as", "state", type=click.Choice(list(STATES)), help="What --resolve decides.")
@click.option("--note", default="", help="Why, in your words.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_obj
def command(
    obj: dict[str, Any], /, *, dry_run: bool, resolve: str | None, state: str | None, note: str, as_json: bool
) -> None:
    """Settle the turns that a process left behind, or decide about an effect in doubt."""
    if (resolve is None) != (state is None):
        raise CommandError("--resolve needs --as done or --as not-done, and --as needs --resolve", Exit.USAGE)
    if resolve is not None and state is not None:
        _resolve(obj, resolve, STATES[state], note, as_json=as_json)
        return
    _settle(obj, dry_run=dry_run, as_json=as_json)


def places() -> Mapping[str, Surface]:
    """Where turns speak that a process without a chat server settles for others."""
    from phasewalk.surfaces.speech import GoneConsole, LogSurface

    return {"console": GoneConsole(), "feed": LogSurface()}


def _settle(obj: dict[str, Any], *, dry_run: bool, as_json: bool) -> None:
    from phasewalk.surfaces.signals import stop_on_signals
    from phasewalk.surfaces.speech import LogSurface
    from phasewalk.surfaces.wiring import application

    token = os.environ.get(TOKEN, "").strip()

    configuration, database = configuration_and_database(obj)
    if not database.exists():
        raise CommandError(f"{database}: no such file; there is nothing to settle", Exit.UNREADABLE)

    async def work() -> tuple[list[dict[str, object]], list[dict[str, object]], bool]:
        async with AsyncExitStack() as stack:
            reached = {**places(), **(await _discord(stack, token, configuration) if token else {})}
            app = await stack.enter_async_context(
                application(configuration, database, LogSurface(), "recover", reached=reached)
            )
            if dry_run:
                waiting = [{**turn._asdict(), "left": True} for turn in app.recovery.waiting()]
                return waiting, doubts(app.reader), False
            announce(configuration, app.backends)
            with stop_on_signals(*app.runners) as stopping:
                settled = await app.recovery.settle(stopping)
            return [_item(app.reader, one) for one in settled], doubts(app.reader), bool(stopping)

    items, open_doubts, stopped = run_work(work)
    if as_json:
        click.echo(json_text({"schema_version": 1, "settled": items, "in_doubt": open_doubts}))
    else:
        emit([*(_line(item, dry_run=dry_run) for item in items), *map(_doubt, open_doubts)] or ["nothing to settle"])
    if stopped:
        raise SystemExit(int(Exit.INTERRUPTED))
    if open_doubts or any(item["left"] for item in items):
        raise SystemExit(int(Exit.CONDITION))


async def _discord(stack: AsyncExitStack, token: str, configuration: Configuration) -> Mapping[str, Surface]:
    """Discord, logged in for speaking only."""
    from phasewalk.machine.deadlines import SystemClock
    from phasewalk.surfaces.discord.client import Client, point_from_environment
    from phasewalk.surfaces.discord.session import logged_in
    from phasewalk.surfaces.discord.surface import DiscordSurface, on_discord

    point_from_environment()
    client = await stack.enter_async_context(logged_in(Client(), token))
    return on_discord(DiscordSurface(client, SystemClock(), configuration.discord.replies_per_minute))


_TOLD = "SELECT channel_name, user_name, outcome, reason FROM turn WHERE turn_id = ?"


def _item(log: sqlite3.Connection, one: Any) -> dict[str, object]:
    channel, user, outcome, reason = log.execute(_TOLD, (one.found.turn_id,)).fetchone()
    return {
        **one.found._asdict(),
        "channel_name": channel,
        "user_name": user,
        "outcome": outcome,
        "reason": reason,
        "left": outcome is None,
        "problem": one.why,
    }


_DOUBTS = "SELECT effect_id, turn_id, kind, target, intended FROM effects_in_doubt ORDER BY intended_us"


def doubts(log: sqlite3.Connection) -> list[dict[str, object]]:
    """What may or may not have happened, oldest first."""
    found: list[dict[str, object]] = list(rows(log, _DOUBTS, ()))
    return found


def _line(item: dict[str, object], *, dry_run: bool) -> str:
    turn_id, phase = item["turn_id"], item["phase"]
    if dry_run:
        return harmless(f"{turn_id}  would be settled: interrupted in {phase}, {item['why']}")
    if item["left"]:
        return harmless(f"{turn_id}  left as it is: {item['problem'] or 'somebody else has it in hand'}")
    where = f"#{item['channel_name']}" if item["channel_name"] else "the terminal"
    return harmless(
        f"{turn_id}  was interrupted in {phase} ({item['user_name']} in {where}): {item['outcome']}, {item['reason']}"
    )


def _doubt(item: dict[str, object]) -> str:
    return harmless(
        f"in doubt: {item['kind']} to {item['target']} of turn {item['turn_id']}, intended {item['intended']};"
        f" decide: {decision(item['effect_id'])}"
    )


def _resolve(obj: dict[str, Any], named: str, state: str, note: str, *, as_json: bool) -> None:
    from phasewalk.machine.documents import json_of
    from phasewalk.storage.operators import Action

    def work(log: sqlite3.Connection, now: int) -> Action:
        found = [item for item in doubts(log) if str(item["effect_id"]).startswith(named)]
        if len(found) != 1 or len(named) < SHORTEST:
            raise CommandError(harmless(_not_one(named, found, doubts(log))), Exit.NOT_FOUND)
        (effect,) = found
        detail = json_of({"state": state, "by": operator(), "note": note})
        log.execute(
            "INSERT INTO effect_event (effect_id, kind, at_us, detail) VALUES (?, 'resolved', ?, ?)",
            (effect["effect_id"], now, detail),
        )
        what = f"resolved an effect in doubt{f': {note}' if note else ''}"
        return Action(operator(), what, str(effect["effect_id"]), "in_doubt", state)

    changed(obj, work)
    if as_json:
        click.echo(json_text({"schema_version": 1, "effect": named, "state": state}))


def _not_one(named: str, found: list[dict[str, object]], every: list[dict[str, object]]) -> str:
    if len(named) < SHORTEST:
        return f"'{named}' is too short to name an effect; {SHORTEST} characters or more are needed"
    known = ", ".join(str(item["effect_id"]) for item in (found or every)) or "none"
    return f"{'more than one effect' if found else 'no effect'} in doubt is called '{named}'; in doubt are: {known}"
