"""The fake Discord in a process or thread of its own, steered from outside."""

import asyncio
import subprocess
import sys

import pytest
from discord_clients import Listener, connected, general

from phasewalk.surfaces.discord_testing import FakeDiscord
from phasewalk.surfaces.discord_testing.remote import in_process, in_thread

BOT = """
import sys, discord
from phasewalk.surfaces.discord_testing.pointing import pointed_at
from phasewalk.surfaces.discord_testing.remote import Remote

bot = discord.Client(intents=discord.Intents.all(), guild_ready_timeout=0.05)

@bot.event
async def on_message(message):
    if message.author != bot.user:
        await message.channel.send("answer to " + message.content, nonce=str(message.id))

with pointed_at(Remote(sys.argv[1], sys.argv[2], "")):
    bot.run("fake-token", log_handler=None)
"""


@pytest.fixture(scope="module")
def elsewhere():
    with in_process("--heartbeat-interval", "5") as remote:
        yield remote


async def test_a_client_talks_to_a_fake_in_another_process(elsewhere):
    async with connected(elsewhere, Listener()) as client:
        said = await asyncio.to_thread(elsewhere.do, "say", channel="general", author="ann", text="hello")
        assert (await client.told("message")).id == int(said["id"])
        await general(client).send("hi")
    assert [message["content"] for message in elsewhere.do("history", channel="general")] == ["hello", "hi"]
    assert [one["body"]["content"] for one in elsewhere.do("pinging")] == ["hi"]
    assert elsewhere.do("requests", method="POST", path="/channels/*/messages")[0]["body"]["content"] == "hi"


def test_a_bot_killed_between_acceptance_and_answer_leaves_one_message(elsewhere):
    before = elsewhere.do("gateway")["identified"]
    with start_bot(elsewhere) as bot:
        elsewhere.do("ready", times=before + 1)
        hold = elsewhere.do("hold", method="POST", path="/channels/*/messages")
        question = elsewhere.do("say", channel="random", author="ann", text="alive?")
        assert elsewhere.do("held", hold=hold) == [f"/channels/{question['channel_id']}/messages"]
        bot.kill()
    elsewhere.do("release", hold=hold)
    said = [message["content"] for message in elsewhere.do("history", channel="random")]
    assert said == ["alive?", "answer to alive?"]


def start_bot(remote) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", BOT, remote.api, remote.gateway_url])


async def test_a_fake_in_a_thread_is_steered_in_the_same_way():
    with in_thread(FakeDiscord()) as remote:
        async with connected(remote, Listener()) as client:
            await asyncio.to_thread(remote.do, "ban", user="ann", by="sam", delete_message_seconds=60)
            assert (await client.told("member_ban")).name == "Test server"


@pytest.mark.parametrize(
    ("verb", "arguments", "sentence"),
    [
        ("explode", {}, "there is no verb explode; there is: add_channel, .*"),
        ("say", {"channel": "general"}, "say: missing a required argument: 'author'"),
        ("say", {"channel": "general", "author": "nobody"}, "say: no user is called nobody; there is: .*"),
        ("fault", {"method": "GET", "path": "/**", "fault": {"kind": "x"}}, "fault: a fault's kind is one of .*"),
        ("set", {"nonsense": 1}, "set: there is no setting nonsense; there is: token, .*"),
        (
            "set",
            {"privileged": ["all"]},
            r"set: privileged are some of members, presences, message_content, not \['all'\]",
        ),
        ("set", {"nonce_seconds": "soon"}, "set: could not convert string to float: 'soon'"),
        ("held", {"hold": 99}, "held: there is no hold 99; .*"),
        (
            "wait_for",
            {"method": "GET", "path": "/x", "seconds": 0.01},
            "wait_for: nothing of the kind happened in time",
        ),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_in_a_sentence(elsewhere, verb, arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        elsewhere.do(verb, **arguments)


def test_settings_faults_and_commands_are_steered_too(elsewhere):
    elsewhere.do("set", nonce_seconds=5.0)
    elsewhere.do("fault", method="GET", path="/nowhere", fault={"kind": "status", "code": 503})
    assert elsewhere.do("late_by") >= 0
    elsewhere.do("clear_faults")
    elsewhere.do("ban", user="beep", by="sam", delete_message_seconds=7)
    assert [(ban["user"]["username"], ban["delete_message_seconds"]) for ban in elsewhere.do("bans")] == [("beep", 7)]
    assert [entry["action_type"] for entry in elsewhere.do("audit")] == [22]
    assert (elsewhere.do("typing"), elsewhere.do("unserved")) == ([], [])
    assert elsewhere.do("add_channel", name="new")["name"] == "new"
    with pytest.raises(ValueError, match="the bot has registered no command status"):
        elsewhere.do("slash", channel="general", user="ann", command="status")


def test_a_port_that_is_taken_is_said_in_one_sentence(elsewhere):
    port = elsewhere.api.split(":")[2].split("/")[0]
    command = [sys.executable, "-m", "phasewalk.surfaces.discord_testing", "--port", port]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"cannot listen on port {port} of 127.0.0.1: ")
    assert ended.stderr.count("\n") == 1


def test_a_fake_ends_with_whoever_started_it():
    command = [sys.executable, "-m", "phasewalk.surfaces.discord_testing", "--until-input-ends"]
    ended = subprocess.run(command, input="", capture_output=True, text=True, timeout=20, check=True)
    assert [line.partition("=")[0] for line in ended.stdout.splitlines()] == ["api", "gateway", "control"]
