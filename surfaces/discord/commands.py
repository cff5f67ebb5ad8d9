"""The commands of the bot on Discord: for staff what the command line shows and steers, for everyone being forgotten.

Owns their names, who may use them, and how they are answered. The texts are those of the command line. Invariants:
every use gets exactly one answer, seen by nobody else and notifying nobody; nothing of it waits on the loop.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import discord
from discord import app_commands

from phasewalk.machine.errors import PhasewalkError
from phasewalk.machine.text import told
from phasewalk.storage.pausing import LONGEST_NOTE, pause, resume
from phasewalk.surfaces.cli.exits import CommandError
from phasewalk.surfaces.cli.paused_said import paused_said
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.times import Zone, now_us
from phasewalk.surfaces.discord import looking
from phasewalk.surfaces.discord.forgetting import Forgetting
from phasewalk.surfaces.discord.posting import BROKEN
from phasewalk.surfaces.discord.staff import REFUSAL, Staff
from phasewalk.surfaces.sections import Configuration

WHY = "Why?"
"""The entry of a message's context menu."""

NOBODY = discord.AllowedMentions.none()
MENTIONED = 100
"""So long may be what names a turn: an id, or a link to a message."""

Say = Callable[[str], None]
Note = app_commands.Range[str, 0, LONGEST_NOTE]
Turn = app_commands.Range[str, 1, MENTIONED]


class Commands(app_commands.Group):
    """`/phasewalk …`, and the entry "Why?"."""

    def __init__(self, configuration: Configuration, database: Path, forgetting: Forgetting, say: Say) -> None:
        """`say` tells the operator what became of a command that failed."""
        super().__init__(name="phasewalk", description="Look at the bot and steer it")
        self._staff = Staff.of(configuration.policy)
        self._limits = configuration.check
        self._database = database
        self._forgetting = forgetting
        self._say = say

    @app_commands.command(name="status", description="Is the bot well, and where does it stop? (staff)")
    async def status(self, interaction: discord.Interaction) -> None:
        """As `phasewalk status`."""

        async def work() -> str:
            return looking.fitted(await looking.status(self._database, self._limits), "phasewalk status")

        await self._for_staff(interaction, work)

    @app_commands.command(name="why", description="Why a message was answered as it was, or not (staff)")
    @app_commands.describe(message="A link to the message, its id, or the id of a turn")
    async def why(self, interaction: discord.Interaction, message: Turn) -> None:
        """As `phasewalk why`."""
        await self._why(interaction, message)

    @app_commands.command(name="pause", description="Let no new turn begin (staff)")
    @app_commands.describe(note="Why, in your words")
    async def pause(self, interaction: discord.Interaction, note: Note = "") -> None:
        """As `phasewalk pause`."""

        async def work() -> str:
            flag, changed = await asyncio.to_thread(pause, self._database, _named(interaction.user), note)
            said = paused_said(flag, Zone(None), now_us())
            return looking.fitted([harmless(said if changed else f"nothing changed, the bot is {said}")], "phasewalk")

        await self._for_staff(interaction, work)

    @app_commands.command(name="resume", description="Let turns begin again (staff)")
    async def resume(self, interaction: discord.Interaction) -> None:
        """As `phasewalk resume`."""

        async def work() -> str:
            flag = await asyncio.to_thread(resume, self._database, _named(interaction.user))
            if flag is None:
                return "nothing changed, the bot is not paused"
            said = f"resumed; it was {paused_said(flag, Zone(None), now_us())}"
            return looking.fitted([harmless(said)], "phasewalk")

        await self._for_staff(interaction, work)

    @app_commands.command(name="forget-me", description="Erase what the bot keeps of you")
    async def forget_me(self, interaction: discord.Interaction) -> None:
        """As `phasewalk forget --user`, for everyone about themselves."""
        await self._answered(interaction, lambda: self._forgetting.forget(str(interaction.user.id)))

    async def why_of_message(self, interaction: discord.Interaction, message: discord.Message) -> None:
        """The entry of the context menu."""
        await self._why(interaction, str(message.id))

    async def _why(self, interaction: discord.Interaction, name: str) -> None:
        """Staff of a server are told of its own turns only, owners of all."""
        guild = None if self._staff.owns(interaction) else str(interaction.guild_id)

        async def work() -> str:
            return looking.fitted(await looking.why(self._database, name, guild), f"phasewalk why {name}")

        await self._for_staff(interaction, work)

    async def _for_staff(self, interaction: discord.Interaction, work: Callable[[], Awaitable[str]]) -> None:
        if self._staff.allows(interaction):
            await self._answered(interaction, work)
        else:
            await interaction.response.send_message(REFUSAL, ephemeral=True, allowed_mentions=NOBODY)

    async def _answered(self, interaction: discord.Interaction, work: Callable[[], Awaitable[str]]) -> None:
        """Ask for time at once, since Discord waits three seconds only; then answer, whatever becomes of the work."""
        await interaction.response.defer(ephemeral=True, thinking=True)
        try:
            text = await work()
        except CommandError as error:
            text = looking.fitted(error.format_message().splitlines(), "phasewalk")
        except PhasewalkError as error:
            text = looking.fitted([harmless(error)], "phasewalk")
        except Exception as error:  # noqa: BLE001 - whoever asked gets an answer, the operator the reason
            text = f"This failed ({type(error).__name__}); the operator of the bot was told."
            self._say(told(f"a command of {_named(interaction.user)} failed: {type(error).__name__}: {error}"))
        await interaction.edit_original_response(content=text, allowed_mentions=NOBODY)


class Tree(app_commands.CommandTree[discord.Client]):
    """The commands of one client, registered at Discord only when they differ from what stands there."""

    def __init__(self, client: discord.Client, commands: Commands, say: Say) -> None:
        super().__init__(client)
        self._say = say
        self._syncing: asyncio.Task[None] | None = None
        self.add_command(commands)
        self.add_command(app_commands.ContextMenu(name=WHY, callback=commands.why_of_message))

    def sync_soon(self) -> None:
        """Begin to register, once at a time."""
        if self._syncing is None or self._syncing.done():
            self._syncing = asyncio.create_task(self._sync(), name="commands")

    async def on_error(self, interaction: discord.Interaction, error: app_commands.AppCommandError, /) -> None:
        """What is not a matter of one command: an old registration, an answer that came too late or did not arrive."""
        cause = error.__cause__ or error
        self._say(told(f"a command could not be answered: {type(cause).__name__}: {cause}"))
        if not interaction.response.is_done() and not isinstance(cause, discord.NotFound):
            try:
                said = "This command is not known to the bot as it runs; try again in a minute."
                await interaction.response.send_message(said, ephemeral=True, allowed_mentions=NOBODY)
            except (discord.DiscordException, *BROKEN):
                return

    async def _sync(self) -> None:
        try:
            there = await self.fetch_commands()
            registered = sorted(_shape(known.to_dict(), known.default_member_permissions) for known in there)
            if registered != sorted(_shape(one.to_dict(self), one.default_permissions) for one in self.get_commands()):
                await self.sync()
        except (discord.DiscordException, *BROKEN) as error:
            why = f"{type(error).__name__}: {error}"
            self._say(told(f"the commands could not be registered ({why}); the next start tries again"))


def _shape(command: Any, permissions: discord.Permissions | None) -> str:
    """What a registered command and one that is to be registered have in common, as something to compare."""
    return repr((_part(command), None if permissions is None else permissions.value))


def _part(command: Any) -> tuple[Any, ...]:
    options = [_part(option) for option in command.get("options") or ()]
    limits = (bool(command.get("required")), command.get("min_length") or 0, command.get("max_length") or 0)
    return int(command.get("type") or 1), command["name"], command.get("description") or "", *limits, options


def _named(user: discord.User | discord.Member) -> str:
    """Who it was, as the audit row keeps it."""
    return f"{user.name} (discord {user.id})"
