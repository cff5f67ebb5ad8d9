"""`phasewalk doctor`: what is wrong with this installation, and how to put it right.

Owns the order of the examinations and how findings are printed. The examinations are those of `surfaces.doctor`.
"""

import asyncio
import json
import os
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from phasewalk.machine.errors import ConfigurationError
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.output import SCHEMA_VERSION, emit, json_text
from phasewalk.surfaces.cli.render import clip, coloured, harmless, terminal_width, wrap
from phasewalk.surfaces.cli.times import now_us, zone_of, zone_options
from phasewalk.surfaces.cli.where import database_path
from phasewalk.surfaces.config import DEFAULT_FILE, load_configuration
from phasewalk.surfaces.doctor import configuration as files
from phasewalk.surfaces.doctor import effective
from phasewalk.surfaces.doctor import log as logs
from phasewalk.surfaces.doctor.findings import Finding, counted
from phasewalk.surfaces.portal import TOKEN
from phasewalk.surfaces.sections import Configuration

COLOURS = {"ok": "32", "warn": "33", "bad": "31"}
AREA_WIDTH = 13
LONG_VALUE = 80


class Examined(NamedTuple):
    """Everything that is printed; `status` is what the findings alone do not tell."""

    findings: list[Finding]
    configuration: Configuration | None
    file: Path | None
    status: Exit


@click.command(
    epilog="\b\nExamples:\n  phasewalk doctor\n  phasewalk --config live.toml doctor --offline --json\n\n"
    "\b\nExit codes: 0 nothing bad, 1 something bad, 2 usage or configuration, 4 the log cannot be read.",
)
@click.option("--offline", is_flag=True, help="Ask nobody over the network.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@zone_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, offline: bool, as_json: bool, utc: bool, tz: str | None) -> None:
    """Examine configuration, keys, log, clock and Discord: a line for each finding, with what to do.

    Nothing is changed, and secrets are told as "set" or "not set".
    """
    zone = zone_of(utc=utc, tz=tz)
    found = _examined(obj, zone, offline=offline)
    redact = effective.redactor(found.configuration or Configuration(), os.environ)
    findings = [Finding(f.area, f.level, redact(f.what), redact(f.fix)) for f in found.findings]
    if as_json:
        emit([json_text(_document(found, findings, redact, offline=offline), indent=2)])
    else:
        emit([*_values(found.configuration, redact), *_lines(findings)])
    bad = Exit.CONDITION if counted(findings)["bad"] else Exit.OK
    status = found.status or bad
    if status:
        raise SystemExit(int(status))


def _examined(obj: dict[str, Any], zone: Any, *, offline: bool) -> Examined:
    findings: list[Finding] = []
    file = Path(obj["config"]) if obj["config"] else Path(DEFAULT_FILE)
    present = file if obj["config"] or file.exists() else None
    try:
        configuration = load_configuration(obj["config"])
    except ConfigurationError as error:
        wrong = Finding(files.AREA, "bad", str(error), "mend the file; nothing else was examined")
        return Examined([wrong], None, present, Exit.USAGE)
    findings.append(files.examine_file(present, DEFAULT_FILE))
    findings += files.examine_parts(configuration)
    findings += files.examine_providers(configuration)
    path, status = database_path(obj), Exit.OK
    try:
        findings += logs.examine_log(path)
        findings += logs.examine_clock(path, now_us(), zone)
    except logs.READ_ERRORS as error:
        status = Exit.UNREADABLE
        findings.append(
            Finding(logs.AREA, "bad", f"it cannot be read: {error}", "name another with --db, or restore a copy")
        )
    findings += _discord(configuration, offline=offline)
    return Examined(findings, configuration, present, status)


def _discord(configuration: Configuration, *, offline: bool) -> list[Finding]:
    """What Discord says, where there is a token and it may be asked."""
    from phasewalk.surfaces.doctor.account import AREA, examine_account, no_token

    token = os.environ.get(TOKEN, "").strip()
    if not token:
        return [no_token()]
    if offline:
        return [Finding(AREA, "ok", f"{TOKEN} is set; Discord was not asked (--offline)")]
    if not token.isascii() or not token.isprintable() or " " in token:
        raise CommandError(f"{TOKEN} holds blanks, controls or non-ASCII letters; a token has none", Exit.USAGE)

    from phasewalk.surfaces.discord.client import point_from_environment
    from phasewalk.surfaces.doctor.guilds import examine_guilds

    async def ask() -> list[Finding]:
        account = await examine_account(configuration, token, time.time())
        if not account.usable:
            return account.findings
        return [*account.findings, *[f async for f in examine_guilds(configuration, token, account.application_id)]]

    point_from_environment()
    return asyncio.run(ask())


def _values(configuration: Configuration | None, redact: Any) -> Iterator[str]:
    """The effective values, one key a line; a long text by its beginning."""
    if configuration is None:
        return
    for key, value in effective.values(configuration, redact).items():
        text = json.dumps(value, ensure_ascii=False)
        more = f" ({len(text)} characters)" if len(text) > LONG_VALUE else ""
        yield harmless(f"{key} = {clip(text, LONG_VALUE)}{more}")
    for name, state in effective.secrets(configuration, os.environ).items():
        yield harmless(f"{name}: {state}")
    yield ""


def _lines(findings: Iterable[Finding]) -> Iterator[str]:
    """A line for each finding, and how many there are of each level."""
    listed = list(findings)
    width = terminal_width()
    for finding in listed:
        first, *rest = wrap(
            harmless(f"{finding.level:<5} {finding.area:<{AREA_WIDTH}} {finding.said}"), width, " " * (AREA_WIDTH + 7)
        )
        yield coloured(finding.level, COLOURS[finding.level]) + first.removeprefix(finding.level)
        yield from rest
    counts = counted(listed)
    yield f"{counts['bad']} bad, {counts['warn']} to look at, {counts['ok']} ok"


def _document(found: Examined, findings: list[Finding], redact: Any, *, offline: bool) -> dict[str, Any]:
    known = found.configuration
    return {
        "schema_version": SCHEMA_VERSION,
        "as_of": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
        "offline": offline,
        "counts": counted(findings),
        "file": None if found.file is None else str(found.file.absolute()),
        "values": {} if known is None else effective.values(known, redact),
        "secrets": {} if known is None else effective.secrets(known, os.environ),
        "items": [finding._asdict() for finding in findings],
    }
