"""The fake Discord answers as Discord does to whatever comes, and remembers all of it."""

import aiohttp
import pytest
from discord_clients import general

AUTHORIZED = {"Authorization": "Bot fake-token"}


@pytest.fixture
async def session():
    async with aiohttp.ClientSession() as opened:
        yield opened


async def test_answers_are_json_by_their_bare_type_with_limits_far_away(fake, session):
    async with session.get(f"{fake.api}/users/@me", headers=AUTHORIZED) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        assert int(answer.headers["X-RateLimit-Remaining"]) > 1
        assert (await answer.json())["username"] == "walker"


async def test_a_request_without_the_token_is_refused(fake, session):
    async with session.get(f"{fake.api}/users/@me") as answer:
        assert answer.status == 401


async def test_what_the_fake_does_not_serve_is_remembered(fake, session):
    async with session.get(f"{fake.api}/sticker-packs", headers=AUTHORIZED) as answer:
        assert (answer.status, await answer.json()) == (404, {"code": 0, "message": "404: Not Found"})
    assert fake.unserved == ["GET /sticker-packs"]


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/channels/nowhere/messages", "{}", 50035),
        ("/channels/1/messages", "{}", 10003),
        ("/channels/1/messages", "no json", 50109),
        ("/users/@me/channels", "{}", 50035),
        ("/users/@me/channels", '{"recipient_id": "1"}', 10013),
    ],
)
async def test_a_body_or_path_that_makes_no_sense_is_refused(fake, session, path, body, code):
    headers = {**AUTHORIZED, "Content-Type": "application/json"}
    async with session.post(f"{fake.api}{path}", data=body, headers=headers) as answer:
        assert (answer.status // 100, (await answer.json())["code"]) == (4, code)


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "after=x"])
async def test_a_page_that_discord_would_not_give_is_refused(fake, session, query):
    url = f"{fake.api}/channels/{fake.world.channel('general').id}/messages?{query}"
    async with session.get(url, headers=AUTHORIZED) as answer:
        assert (answer.status, (await answer.json())["code"]) == (400, 50035)


async def test_mentions_that_are_allowed_twice_over_are_refused(fake, session):
    url = f"{fake.api}/channels/{fake.world.channel('general').id}/messages"
    body = {"content": "hi", "allowed_mentions": {"parse": ["users"], "users": ["1"]}}
    async with session.post(url, json=body, headers=AUTHORIZED) as answer:
        assert "mutually exclusive" in (await answer.text())


async def test_each_request_is_remembered_with_its_body(fake, connect):
    await general(await connect()).send("hello")
    (sent,) = fake.requests_to("POST", "/channels/*/messages")
    assert (sent.body["content"], sent.reason, sent.files) == ("hello", None, ())
    assert abs(sent.at - fake.world.clock()) < 10
