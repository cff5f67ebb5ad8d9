"""Examines the servers of the bot: which channels are there, and what the bot may not do where it should.

Asks over REST by the real client. Owns which permissions are needed for what. Invariant: each thing that is missing is
told with the place in Discord where it is put right, and a server that cannot be asked is a finding.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

import aiohttp
import discord
from attrs import frozen

from phasewalk.machine.text import told
from phasewalk.surfaces.doctor.account import AREA as DISCORD
from phasewalk.surfaces.doctor.findings import Finding, Level, few
from phasewalk.surfaces.sections import Configuration

PATIENCE = 10.0
"""Seconds for the questions about one server."""

MOST = 50
"""So many servers are looked at."""

NAMES = {
    "view_channel": "View Channel",
    "send_messages": "Send Messages",
    "read_message_history": "Read Message History",
    "embed_links": "Embed Links",
    "attach_files": "Attach Files",
    "send_messages_in_threads": "Send Messages in Threads",
    "moderate_members": "Timeout Members",
    "kick_members": "Kick Members",
    "ban_members": "Ban Members",
    "manage_messages": "Manage Messages",
    "view_audit_log": "View Audit Log",
}
"""What Discord's settings call them."""

SPEAKING = ("view_channel", "send_messages", "read_message_history", "embed_links", "attach_files")
THREADS = "send_messages_in_threads"
ESSENTIAL = ("view_channel", "send_messages")
ENFORCING: dict[str, tuple[str, ...]] = {
    "log_only": (),
    "notify_staff": (),
    "timeout": ("moderate_members", "view_audit_log"),
    "policy": ("moderate_members", "kick_members", "ban_members", "manage_messages", "view_audit_log"),
}
"""What each mode of moderation needs in a server."""

BROKEN = (discord.DiscordException, aiohttp.ClientError, OSError, TimeoutError)

Spoken = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.ForumChannel


@frozen
class Named:
    """Channels that the configuration names, by the key that does; without a `#`, by name or id."""

    keys: dict[str, tuple[str, ...]]

    def keys_of(self, channel: discord.abc.GuildChannel) -> list[str]:
        """The keys that name this channel."""
        return [key for key, names in self.keys.items() if {channel.name, str(channel.id)} & set(names)]

    def missing(self, channels: Iterable[discord.abc.GuildChannel]) -> Iterator[tuple[str, str]]:
        """(key, name) of what none of these channels is."""
        known = {name for channel in channels for name in (channel.name, str(channel.id))}
        yield from ((key, name) for key, names in self.keys.items() for name in names if name not in known)


def named_in(configuration: Configuration) -> Named:
    """What the configuration names."""
    bot = configuration.bot
    keys = {
        "bot.staff-channel": [bot.staff_channel] if bot.staff_channel else [],
        "bot.allowed-channels": bot.allowed_channels,
        "moderation.channels": configuration.moderation.channels,
    }
    return Named({key: tuple(name.removeprefix("#") for name in names) for key, names in keys.items() if names})


async def examine_guilds(configuration: Configuration, token: str, application_id: str) -> AsyncIterator[Finding]:
    """Every server that the bot is in."""
    named = named_in(configuration)
    seen: list[discord.abc.GuildChannel] = []
    whole = True
    try:
        async with discord.Client(intents=discord.Intents.none()) as client:
            async with asyncio.timeout(PATIENCE):
                await client.login(token)
                guilds = [guild async for guild in client.fetch_guilds(limit=MOST + 1, with_counts=False)]
            if not guilds:
                yield Finding(
                    DISCORD,
                    "warn",
                    "the bot is in no server",
                    f"invite it: {_invitation(configuration, application_id)}",
                )
                return
            for guild in guilds[:MOST]:
                try:
                    async with asyncio.timeout(PATIENCE):
                        found, channels = await _examined(client, configuration, named, guild.id)
                except BROKEN as error:
                    whole = False
                    yield _silent(f"server '{guild.name}' cannot be looked at", error)
                    continue
                seen += channels
                for finding in found:
                    yield finding
            if len(guilds) > MOST:
                whole = False
                yield Finding(DISCORD, "warn", f"only {MOST} servers were looked at", "look at the others by hand")
    except BROKEN as error:
        yield _silent("the servers of the bot cannot be listed", error)
        return
    for key, name in named.missing(seen) if whole else ():
        yield Finding(DISCORD, "bad", f"no channel is called '{name}' ({key})", f"make it, or mend {key}")


def _silent(what: str, error: BaseException) -> Finding:
    said = f"{type(error).__name__}: {error}"
    why = "no answer in time, or Discord asks to wait" if isinstance(error, TimeoutError) else said
    return Finding(DISCORD, "bad", told(f"{what} ({why})"), "try again in a minute; see https://discordstatus.com")


async def _examined(
    client: discord.Client, configuration: Configuration, named: Named, guild_id: int
) -> tuple[list[Finding], Sequence[discord.abc.GuildChannel]]:
    guild = await client.fetch_guild(guild_id, with_counts=False)
    me = await guild.fetch_member(client.user.id if client.user is not None else 0)
    channels = await guild.fetch_channels()
    found = [*_channels(guild, me, channels, named), *_enforcing(guild, me, configuration)]
    return found, channels


def _channels(
    guild: discord.Guild, me: discord.Member, channels: Sequence[discord.abc.GuildChannel], named: Named
) -> Iterator[Finding]:
    """What is missing in the channels that the bot sees or that the configuration names."""
    well = 0
    for channel in channels:
        keys = named.keys_of(channel)
        allowed = channel.permissions_for(me)
        if not isinstance(channel, Spoken) or not (keys or allowed.view_channel):
            continue
        missing = _missing(channel, allowed)
        if not missing:
            well += 1
            continue
        level: Level = "bad" if keys and set(missing) & set(ESSENTIAL) else "warn"
        where = f"#{channel.name} of '{guild.name}'" + (f" ({few(keys)})" if keys else "")
        fix = f"Edit Channel > Permissions > add '{_own_role(me)}', allow: {_listed(missing)}"
        yield Finding(DISCORD, level, f"{where}: the bot may not {_listed(missing)}", fix)
    if well:
        count = "1 channel" if well == 1 else f"{well} channels"
        yield Finding(DISCORD, "ok", f"server '{guild.name}': nothing is missing in {count}")


def _missing(channel: Spoken, allowed: discord.Permissions) -> list[str]:
    """The needed permissions that are not there; where it sees nothing, that alone counts."""
    if not allowed.view_channel:
        return ["view_channel"]
    wanted = [*SPEAKING, *([THREADS] if isinstance(channel, discord.TextChannel | discord.ForumChannel) else [])]
    return [name for name in wanted if not getattr(allowed, name)]


def _enforcing(guild: discord.Guild, me: discord.Member, configuration: Configuration) -> Iterator[Finding]:
    """What the mode of moderation needs: permissions in the server, and a role above those of members."""
    mode = configuration.moderation.mode
    needed = ENFORCING[mode]
    if not needed:
        return
    missing = [name for name in needed if not getattr(me.guild_permissions, name)]
    role = _own_role(me)
    if missing:
        fix = f"Server Settings > Roles > '{role}' > Permissions, allow: {_listed(missing)}"
        yield Finding(DISCORD, "bad", f"server '{guild.name}': moderation ({mode}) needs {_listed(missing)}", fix)
    spared = {*configuration.policy.staff_roles, *configuration.policy.exempt_roles}
    above = [
        r.name
        for r in sorted(guild.roles, reverse=True)
        if r > me.top_role and not r.managed and str(r.id) not in spared
    ]
    if above:
        fix = f"Server Settings > Roles: drag '{role}' above them"
        what = f"server '{guild.name}': whoever has {few(above)} stands above the bot and cannot be sanctioned"
        yield Finding(DISCORD, "warn", what, fix)
    if not missing and not above:
        yield Finding(DISCORD, "ok", f"server '{guild.name}': moderation ({mode}) may do what it needs")


def _own_role(me: discord.Member) -> str:
    """The role to change: the bot's highest, or its name where it has none."""
    return me.name if me.top_role.is_default() else me.top_role.name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(NAMES[name] for name in names)


def _invitation(configuration: Configuration, application_id: str) -> str:
    """The address that adds the bot to a server, with the permissions that it needs."""
    needed = dict.fromkeys([*SPEAKING, THREADS, *ENFORCING[configuration.moderation.mode]], True)
    return discord.utils.oauth_url(
        application_id, permissions=discord.Permissions(**needed), scopes=("bot", "applications.commands")
    )
