"""Examines the bot's account over REST: the token, the intents, how often it may still connect, Discord's clock.

Asks four questions, once each and without patience, so that a limit or an outage is told and not waited for.
Invariant: trouble of the network is a finding.
"""

from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import aiohttp
from discord import ApplicationFlags
from discord.http import Route

from phasewalk.machine.text import told
from phasewalk.surfaces.cli.times import lasting
from phasewalk.surfaces.doctor.findings import Finding
from phasewalk.surfaces.portal import PORTAL, TOKEN
from phasewalk.surfaces.sections import Configuration

AREA, CLOCK = "discord", "clock"
PATIENCE = 5.0
"""Seconds for one answer."""

DRIFT, FAR = 5.0, 60.0
"""Seconds between the clocks that are told, and that are too many."""

SCARCE = 0.1
"""The share of the day's connections under which they are scarce."""

UNAUTHORIZED, TOO_MANY, WELL = 401, 429, 200


class Reply(NamedTuple):
    """What Discord said, and when by its own clock in unix seconds (None: it did not tell)."""

    body: dict[str, Any]
    at: float | None


class Account(NamedTuple):
    """What is known of the bot's account; `usable` is whether more can be asked with the token."""

    findings: list[Finding]
    usable: bool
    application_id: str = ""


def no_token() -> Finding:
    """What is said where there is no token."""
    fix = f"the bot's token stands at {PORTAL} under 'Bot'; export {TOKEN}=…"
    return Finding(AREA, "warn", f"{TOKEN} is not set, so Discord was not asked", fix)


async def examine_account(configuration: Configuration, token: str, now: float) -> Account:
    """Ask about the account that `token` is of; `now` is the time here, unix seconds."""
    async with aiohttp.ClientSession(
        headers={"Authorization": f"Bot {token}", "User-Agent": "DiscordBot (phasewalk doctor, 1)"},
        timeout=aiohttp.ClientTimeout(total=PATIENCE),
        trust_env=True,
    ) as session:
        me = await _asked(session, "/users/@me")
        if isinstance(me, Finding):
            return Account([me], usable=False)
        findings = [Finding(AREA, "ok", f"the token is accepted: {me.body.get('username')} ({me.body.get('id')})")]
        findings += [found for found in [_clock(me, now)] if found is not None]
        application = await _asked(session, "/applications/@me")
        number = ""
        if isinstance(application, Finding):
            findings.append(application)
        else:
            number = str(application.body.get("id", ""))
            flags = int(application.body.get("flags") or 0)
            findings += [found async for found in _intents(configuration, flags, number)]
        gateway = await _asked(session, "/gateway/bot")
        findings.append(gateway if isinstance(gateway, Finding) else _starts(gateway))
        return Account(findings, usable=True, application_id=number)


async def _asked(session: aiohttp.ClientSession, path: str) -> Reply | Finding:
    try:
        async with session.get(f"{Route.BASE}{path}") as response:
            if response.status != WELL:
                return _refused(response.status, response.headers.get("Retry-After", ""), path)
            body = await response.json(content_type=None)
            if not isinstance(body, dict):
                raise ValueError("its answer is no object")  # noqa: TRY004, TRY301 - told as the others are
            return Reply(body, _moment(response.headers.get("Date", "")))
    except TimeoutError:
        what = f"it did not answer within {PATIENCE:g} s ({path})"
    except (aiohttp.ClientError, OSError, ValueError) as error:
        what = told(f"it cannot be reached ({path}): {type(error).__name__}: {error}")
    return Finding(AREA, "bad", what, f"look at the network, a proxy, and https://discordstatus.com; base {Route.BASE}")


def _refused(status: int, retry_after: str, path: str) -> Finding:
    if status == UNAUTHORIZED:
        fix = f"make a new one at {PORTAL} under 'Bot' > 'Reset Token'"
        return Finding(AREA, "bad", f"it does not know the token in {TOKEN}", fix)
    if status == TOO_MANY:
        what = f"it asks to wait {f'{retry_after} s' if retry_after else 'a while'} (rate limited, {path})"
        return Finding(AREA, "bad", what, "ask again then; does a second program use the token?")
    what = f"it answered with status {status} ({path})"
    return Finding(AREA, "bad", what, "see https://discordstatus.com, and try again")


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except ValueError:
        return None


def _clock(reply: Reply, now: float) -> Finding | None:
    """The clock here beside Discord's, which tells whole seconds."""
    if reply.at is None:
        return None
    apart = now - reply.at
    if abs(apart) <= DRIFT:
        return Finding(CLOCK, "ok", "it agrees with Discord's")
    what = f"it is {lasting(abs(apart))} {'ahead of' if apart > 0 else 'behind'} Discord's"
    return Finding(CLOCK, "bad" if abs(apart) > FAR else "warn", what, "set it by NTP (timedatectl set-ntp true)")


async def _intents(configuration: Configuration, flags: int, number: str) -> AsyncIterator[Finding]:
    """The message-content intent: without it the bot may not connect, and an empty text is unknown (DIS-02)."""
    of = ApplicationFlags()
    of.value = flags
    switch = f"switch on 'Message Content Intent' at {PORTAL}/{number}/bot under 'Privileged Gateway Intents'"
    passes = configuration.moderation.every is not None or bool(configuration.moderation.channels)
    if not configuration.discord.message_content:
        if passes:
            what = "passes of moderation need the text of messages, and message-content is false"
            fix = "set message-content = true under [discord], or leave [moderation] out"
            yield Finding(AREA, "bad", what, fix)
        else:
            what = "message content is not asked for: only messages that speak to the bot have a text"
            yield Finding(AREA, "ok", what)
    elif of.gateway_message_content:
        yield Finding(AREA, "ok", "the message content intent is on")
    elif of.gateway_message_content_limited:
        yield Finding(AREA, "ok", "the message content intent is on (limited: for a bot in fewer than 100 servers)")
    else:
        what = "the message content intent is off, and Discord will refuse the connection"
        yield Finding(AREA, "bad", what, f"{switch}, or set message-content = false under [discord]")


def _starts(reply: Reply) -> Finding:
    """How often the bot may still connect before Discord resets the count."""
    limit = reply.body.get("session_start_limit") or {}
    left, total = int(limit.get("remaining", 0)), int(limit.get("total", 0))
    again = lasting(int(limit.get("reset_after", 0)) / 1000)
    what = f"{left} of {total} connections are left"
    if total and not left:
        return Finding(AREA, "bad", what, f"wait {again}; a bot that restarts in a circle uses them up")
    if left < SCARCE * total:
        return Finding(AREA, "warn", what, f"they come back in {again}; does something restart the bot in a circle?")
    return Finding(AREA, "ok", what)
