"""The fake Discord fails as it is told to, and a real client meets each failure."""

import asyncio
import time

import aiohttp
import discord
import pytest
from discord_clients import general

from phasewalk.surfaces.discord_testing import faults

POST = ("POST", "/channels/*/messages")


async def test_a_rate_limit_of_discord_is_waited_for(fake, connect):
    channel = general(await connect())
    fake.faults.add(*POST, faults.rate_limited(0.05), times=2)
    began = time.monotonic()
    await channel.send("hello")
    assert time.monotonic() - began >= 0.1
    assert len(fake.requests_to(*POST)) == 3


async def test_a_rate_limit_from_before_discord_is_raised_at_once(fake, connect):
    channel = general(await connect())
    fake.faults.add(*POST, faults.rate_limited(0.05, via=False))
    with pytest.raises(discord.HTTPException) as refused:
        await channel.send("hello")
    assert refused.value.status == 429
    assert len(fake.requests_to(*POST)) == 1


async def test_a_500_is_tried_again_by_the_client_and_a_503_is_not(fake, connect):
    channel = general(await connect())
    fake.faults.add(*POST, faults.status(503))
    with pytest.raises(discord.DiscordServerError):
        await channel.send("hello")
    fake.faults.add(*POST, faults.status(500))
    await channel.send("hello")
    assert len(fake.requests_to(*POST)) == 3
    assert len(fake.world.said("hello")) == 1


@pytest.mark.parametrize("accepted", [False, True])
async def test_a_reset_is_not_tried_again_whether_the_message_was_accepted_or_not(fake, connect, accepted):
    channel = general(await connect())
    fault = faults.reset().afterwards() if accepted else faults.reset()
    fake.faults.add(*POST, fault)
    with pytest.raises(aiohttp.ClientError):
        await channel.send("hello", nonce="n")
    assert len(fake.world.said("hello")) == accepted
    await channel.send("hello", nonce="n")
    assert len(fake.world.said("hello")) == 1


@pytest.mark.parametrize(("status", "code", "error"), [(403, 50013, discord.Forbidden), (404, 10008, discord.NotFound)])
async def test_an_error_has_the_code_asked_for(fake, connect, status, code, error):
    channel = general(await connect())
    fake.faults.add(*POST, faults.status(status, code))
    with pytest.raises(error) as refused:
        await channel.send("hello")
    assert refused.value.code == code


async def test_a_delayed_answer_comes_later_and_a_hanging_one_never(fake, connect):
    channel = general(await connect())
    fake.faults.add(*POST, faults.delay(0.1))
    began = time.monotonic()
    await channel.send("late")
    assert time.monotonic() - began >= 0.1
    fake.faults.add(*POST, faults.hang().afterwards())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await channel.send("never told")
    assert len(fake.world.said("never told")) == 1


@pytest.mark.parametrize("after", [True, False])
async def test_a_request_can_be_held_after_or_before_it_is_accepted(fake, connect, after):
    channel = general(await connect())
    hold = fake.hold(*POST, after=after)
    sending = asyncio.create_task(channel.send("hello"))
    await fake.held(hold)
    assert len(fake.world.said("hello")) == after
    assert not sending.done()
    hold.release()
    assert (await sending).content == "hello"


async def test_a_fault_meets_as_many_requests_of_its_kind_as_it_was_added_for(fake, connect):
    client = await connect()
    fake.faults.add("GET", "/channels/*", faults.status(404, 10003), times=1)
    await general(client).send("hello")
    with pytest.raises(discord.NotFound):
        await client.fetch_channel(general(client).id)
    assert (await client.fetch_channel(general(client).id)).name == "general"


async def test_the_way_to_the_gateway_can_be_barred(fake):
    fake.faults.add("GET", "/gw/", faults.status(503))
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as barred:
            await session.ws_connect(fake.gateway_url)
        async with session.ws_connect(fake.gateway_url) as socket:
            assert (await socket.receive_json())["op"] == 10
    assert barred.value.status == 503


@pytest.mark.parametrize(
    ("described", "sentence"),
    [
        ({"kind": "explode"}, "a fault's kind is one of status, rate_limited, reset, delay, hang, hold, not 'explode'"),
        ({"kind": "delay", "minutes": 1}, "fault delay does not take {'minutes': 1}"),
    ],
)
def test_what_is_no_fault_is_refused_in_a_sentence(described, sentence):
    with pytest.raises(ValueError, match=sentence.replace("{", "\\{")):
        faults.fault_of(described)


def test_a_fault_is_read_from_json():
    assert faults.fault_of({"kind": "reset", "after": True}) == faults.reset().afterwards()
    assert faults.fault_of({"kind": "rate_limited", "retry_after": 2}) == faults.rate_limited(2)
