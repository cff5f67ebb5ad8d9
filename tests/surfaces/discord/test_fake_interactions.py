"""The fake Discord's people use the commands of a real client and get its answers."""

import asyncio

import discord
import pytest
from discord import app_commands
from discord_clients import Listener

MODERATORS = discord.Permissions(moderate_members=True)


class Commanded(Listener):
    """A client with commands, which registers them at start."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = app_commands.CommandTree(self)
        self.tree.command(name="status", description="How it goes")(status)
        self.tree.command(name="slow", description="Needs time")(slow)
        group = app_commands.Group(name="walk", description="Steer", default_permissions=MODERATORS)
        group.command(name="pause", description="Wait")(pause)
        self.tree.add_command(group)
        self.tree.context_menu(name="Why?")(why)

    async def setup_hook(self) -> None:
        await self.tree.sync()


async def status(interaction: discord.Interaction) -> None:
    await interaction.response.send_message("all is well", ephemeral=True)
    await interaction.followup.send("and more", ephemeral=True)


async def slow(interaction: discord.Interaction) -> None:
    await interaction.response.defer(thinking=True)
    await interaction.edit_original_response(content="at last", allowed_mentions=discord.AllowedMentions.none())


async def pause(interaction: discord.Interaction, minutes: int) -> None:
    await interaction.response.send_message(
        f"paused for {minutes} by {interaction.user.name}", allowed_mentions=discord.AllowedMentions.none()
    )


async def why(interaction: discord.Interaction, message: discord.Message) -> None:
    await interaction.response.send_message(f"why {message.content}", ephemeral=True)


@pytest.fixture
async def commanded(connect):
    return await connect(Commanded())


@pytest.mark.usefixtures("commanded")
class TestCommands:
    """With a client that has registered its commands."""

    async def test_the_registered_commands_are_known(self, fake):
        assert [(one["name"], one["type"]) for one in fake.world.commands[None]] == [
            ("status", 1),
            ("slow", 1),
            ("walk", 1),
            ("Why?", 3),
        ]

    async def test_a_slash_command_is_answered_in_private(self, fake):
        used = fake.world.slash("general", "ann", "status")
        first = await used.answered()
        await fake.until(lambda: len(used.answers) == 2)
        assert [(answer.text, answer.private) for answer in used.answers] == [("all is well", True), ("and more", True)]
        assert first is used.answers[0]
        assert fake.world.said() == []

    async def test_a_promised_answer_comes_and_is_seen_by_all(self, fake):
        used = fake.world.slash("general", "ann", "slow")
        assert (await used.answered()).text == "at last"
        assert [message.content for message in fake.world.said()] == ["at last"]

    async def test_a_sub_command_gets_its_options(self, fake):
        used = fake.world.slash("general", "sam", "walk pause", {"minutes": 5})
        assert (await used.answered()).text == "paused for 5 by sam"

    async def test_a_context_menu_gets_its_message(self, fake):
        message = fake.world.say("general", "ben", "this")
        used = fake.world.message_menu(message, "ann", "Why?")
        assert (await used.answered()).text == "why this"

    async def test_a_command_is_offered_only_to_whom_it_is_meant_for(self, fake):
        with pytest.raises(LookupError, match="Discord does not offer walk to ann here"):
            fake.world.slash("general", "ann", "walk pause", {"minutes": 5})
        forced = fake.world.slash("general", "ann", "walk pause", {"minutes": 5}, force=True)
        assert (await forced.answered()).text == "paused for 5 by ann"

    async def test_a_command_that_was_not_registered_cannot_be_used(self, fake):
        with pytest.raises(LookupError, match="no command stop of kind 1 here; there is: Why\\?, slow, status, walk"):
            fake.world.slash("general", "ann", "stop")

    async def test_an_answer_that_could_notify_everyone_is_named(self, fake):
        await fake.world.slash("general", "ann", "status").answered()
        assert [one.body["data"]["content"] for one in fake.pinging() if "data" in one.body] == ["all is well"]


async def test_an_answer_that_comes_too_late_or_twice_is_refused(fake, connect):
    client = await connect(Commanded())
    caught: asyncio.Queue[discord.Interaction] = asyncio.Queue()
    client.tree.command(name="odd", description="Odd")(lambda_of(caught))
    await client.tree.sync()
    fake.world.interaction_seconds = -1.0
    fake.world.slash("general", "ann", "odd")
    with pytest.raises(discord.NotFound) as late:
        await (await caught.get()).response.send_message("late")
    fake.world.interaction_seconds = 3.0
    fake.world.slash("general", "ann", "odd")
    interaction = await caught.get()
    await interaction.response.send_message("once")
    interaction.response._response_type = None
    with pytest.raises(discord.HTTPException) as twice:
        await interaction.response.send_message("twice")
    assert (late.value.code, twice.value.code) == (10062, 40060)


def lambda_of(caught: asyncio.Queue[discord.Interaction]):
    async def odd(interaction: discord.Interaction) -> None:
        await caught.put(interaction)

    return odd
