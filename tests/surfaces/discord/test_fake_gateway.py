"""The fake gateway treats a real client as Discord's does, disturbances included."""

import time

import aiohttp
import discord
import pytest
from discord_clients import Listener, connected

from phasewalk.surfaces.discord_testing import FakeDiscord, small_world
from phasewalk.surfaces.discord_testing.pointing import pointed_at

IDENTIFY = '{"op": 2, "d": {"token": "fake-token", "intents": 1}}'


async def texts(client: Listener, times: int) -> list[str]:
    await client.told("message", times)
    return [message.content for (message,) in client.heard["message"]]


@pytest.mark.parametrize("presences", [True, False], ids=["told with the guild", "asked for"])
async def test_a_client_sees_the_guild_its_channels_and_its_members(connect, presences):
    intents = discord.Intents.all()
    intents.presences = presences
    client = await connect(Listener(intents))
    (guild,) = client.guilds
    assert guild.owner.name == "olga"
    assert {channel.name for channel in guild.text_channels} == {"general", "random", "staff"}
    assert {member.name for member in guild.members} == {"olga", "walker", "sam", "ann", "ben", "beep"}
    staff = discord.utils.get(guild.text_channels, name="staff")
    seen = {member.name: staff.permissions_for(member).view_channel for member in guild.members}
    assert seen == {"olga": True, "walker": True, "sam": True, "ann": False, "ben": False, "beep": False}


async def test_a_resumed_client_is_told_what_it_missed_once_and_in_order(fake, connect):
    client = await connect()
    fake.world.say("general", "ann", "before")
    await client.told("message")
    fake.gateway.drop()
    await fake.until(lambda: not fake.gateway.connected)
    for number in range(3):
        fake.world.say("general", "ann", f"missed {number}")
    await client.told("resumed")
    fake.world.say("general", "ann", "after")
    assert await texts(client, 5) == ["before", "missed 0", "missed 1", "missed 2", "after"]
    assert (len(fake.gateway.identified), len(fake.gateway.resumed)) == (1, 1)


async def test_a_client_that_is_asked_to_reconnect_resumes(fake, connect):
    client = await connect()
    fake.gateway.reconnect()
    await client.told("resumed")
    assert len(fake.gateway.identified) == 1


async def test_a_resumable_invalid_session_is_resumed(fake, connect):
    client = await connect()
    fake.gateway.invalidate(resumable=True)
    await client.told("resumed")
    assert len(fake.gateway.identified) == 1


async def test_after_an_invalidated_session_nothing_is_replayed(fake, connect):
    client = await connect()
    fake.gateway.invalidate()
    assert fake.gateway.sessions == {}
    fake.world.say("general", "ann", "lost")
    await client.told("ready", 2)
    fake.world.say("general", "ann", "after")
    assert await texts(client, 1) == ["after"]
    assert len(fake.gateway.identified) == 2


async def test_a_refused_resume_ends_in_a_new_session(fake, connect):
    client = await connect()
    fake.gateway.refuses_resumes = True
    fake.gateway.drop()
    await client.told("ready", 2)
    assert (len(fake.gateway.resumed), len(fake.gateway.identified)) == (1, 2)


@pytest.mark.parametrize(("code", "resumed"), [(4000, 1), (4009, 1)])
async def test_a_closed_connection_comes_back(fake, connect, code, resumed):
    client = await connect()
    fake.gateway.close(code)
    await client.told("disconnect")
    await fake.gateway.ready(2)
    assert len(fake.gateway.resumed) == resumed


async def test_an_event_can_come_twice(fake, connect):
    client = await connect()
    said = fake.world.say("general", "ann", "hello")
    fake.gateway.again("MESSAGE_CREATE")
    assert await texts(client, 2) == ["hello", "hello"]
    assert {message.id for (message,) in client.heard["message"]} == {said.id}


async def test_an_event_that_never_was_cannot_come_again(fake, connect):
    await connect()
    with pytest.raises(LookupError, match=r"no TYPING_START was dispatched yet; there was: .*'READY'"):
        fake.gateway.again("TYPING_START")


async def test_a_privileged_intent_that_is_not_switched_on_closes_with_4014():
    async with FakeDiscord(small_world(privileged=["members"])) as fake:
        with pointed_at(fake):
            async with Listener(discord.Intents.all()) as client:
                with pytest.raises(discord.PrivilegedIntentsRequired):
                    await client.start("fake-token")


async def test_a_bad_token_is_refused_by_both_sides(fake):
    with pointed_at(fake):
        async with Listener() as client:
            with pytest.raises(discord.LoginFailure):
                await client.start("wrong")
        async with Listener() as client:
            await client.login("fake-token")
            client.http.token = "wrong"
            with pytest.raises(discord.ConnectionClosed) as closed:
                await client.connect()
    assert closed.value.code == 4004


async def test_a_refused_identify_closes_with_the_code_asked_for(fake):
    fake.gateway.refuse(4013)
    with pointed_at(fake):
        async with Listener() as client:
            with pytest.raises(discord.ConnectionClosed) as closed:
                await client.start("fake-token")
    assert closed.value.code == 4013


async def test_only_events_of_the_intents_asked_for_are_told(fake, connect):
    client = await connect(Listener(discord.Intents(guilds=True, guild_messages=True)))
    fake.world.type("general", "ann")
    fake.world.say("@ann", "ann", "direct")
    fake.world.say("general", "ann", "hello", mention_bot=True)
    await client.told("message")
    assert "typing" not in client.heard
    assert [message.guild.name for (message,) in client.heard["message"]] == ["Test server"]


async def test_what_happens_where_the_bot_cannot_see_is_not_told(fake, connect):
    client = await connect()
    fake.world.overwrite("staff", "bot", deny=discord.Permissions(view_channel=True).value)
    fake.world.say("staff", "sam", "hidden")
    fake.world.say("general", "sam", "open")
    assert await texts(client, 1) == ["open"]


async def test_heartbeats_are_counted_and_a_late_one_is_told_by_how_much():
    async with FakeDiscord(heartbeat_interval=0.2) as fake, connected(fake, Listener()) as client:
        await fake.until(lambda: len(fake.gateway.heartbeats) >= 3)
        assert fake.gateway.late_by() < 0.2
        assert client.latency < 1.0
        time.sleep(0.8)  # noqa: ASYNC251  - the loop is blocked on purpose
        await fake.until(lambda: len(fake.gateway.heartbeats) >= 5)
        assert fake.gateway.late_by() > 0.3


async def test_a_client_whose_heartbeats_are_not_acknowledged_goes_away_and_resumes():
    async with FakeDiscord(heartbeat_interval=0.1) as fake:
        fake.gateway.acknowledges = False
        async with connected(fake, Listener(heartbeat_timeout=0.3)) as client:
            await client.told("resumed")


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("?compress=zlib-stream", aiohttp.WSMsgType.BINARY),
        ("?compress=unknown-stream", aiohttp.WSMsgType.TEXT),
        ("", aiohttp.WSMsgType.TEXT),
    ],
)
async def test_zlib_is_spoken_when_asked_for_and_plain_text_otherwise(fake, asked, kind):
    async with aiohttp.ClientSession() as session, session.ws_connect(fake.gateway_url + asked) as socket:
        assert (await socket.receive()).type is kind


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (["no json"], 4002),
        (['{"op": 2, "d": {}}'], 4002),
        (['{"op": 8, "d": {}}'], 4003),
        ([IDENTIFY, IDENTIFY], 4005),
        ([IDENTIFY, '{"op": 77}'], 4001),
    ],
)
async def test_a_frame_that_makes_no_sense_closes_with_discords_code(fake, frames, code):
    async with aiohttp.ClientSession() as session, session.ws_connect(fake.gateway_url) as socket:
        for frame in frames:
            await socket.send_str(frame)
        async for _ in socket:
            pass
        assert socket.close_code == code


async def test_a_guild_that_puts_the_bot_out_is_gone(fake, connect):
    client = await connect()
    fake.world.kick("walker", "olga")
    assert (await client.told("guild_remove")).name == "Test server"
    with pytest.raises(discord.Forbidden) as refused:
        await client.fetch_guild(fake.world.guild().id)
    assert refused.value.code == 50001
