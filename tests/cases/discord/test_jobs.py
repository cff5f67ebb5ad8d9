"""Jobs, reminders and follow-ups of the bot as a process on a fake Discord (TURN-17)."""

import asyncio
import signal
import time
from datetime import UTC, datetime

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, slow, tool_calls


def soon(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).isoformat()


async def add(bot, name: str, when: float, text: str) -> None:
    """`phasewalk jobs add` beside the running bot."""
    channel, ann = bot.world.channel("general"), bot.world.user("ann")
    done = await asyncio.to_thread(
        bot.workplace.run, "jobs", "add", name, "--at", soon(when), "--channel", str(channel.id), "--channel-name",
        "general", "--user", str(ann.id), "--user-name", "ann", text,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


async def replayed(bot, turn: str) -> str:
    return (await asyncio.to_thread(bot.workplace.run, "replay", turn)).stdout


@pytest.mark.spec("TURN-17", "TURN-12")
async def test_a_job_speaks_once_in_its_channel_after_the_turn_that_is_at_work_there(bot):
    async with ScriptedModelServer([slow(envelope("Twelve."), first_byte=4), envelope("Good evening.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "how many?", mention_bot=True)
        await bot.until(lambda: server.requests)
        await add(bot, "greeting", 1.5, "Wish everybody a good evening.")
        await bot.until(lambda: bot.workplace.rows("SELECT 1 FROM job WHERE last_due_us IS NOT NULL"))
        assert bot.said() == []
        await bot.all_ended(2)
        assert await bot.end() == 0
    assert bot.said() == ["Twelve.", "Good evening."]
    columns = "kind, outcome, user_name, trigger_key LIKE 'schedule:greeting:%'"
    assert bot.turns(columns) == [("user", "answered", "ann", 0), ("scheduled", "answered", "ann", 1)]
    assert bot.workplace.rows("SELECT state, owed_us FROM job") == [("done", None)]
    first, second = bot.turns("started_us, ended_us")
    assert first[1] <= second[0]
    assert "decides the same" in await replayed(bot, "last")


@pytest.mark.spec("TURN-17")
async def test_a_task_that_a_person_had_kept_comes_back_to_them_when_it_is_due(bot):
    due = soon(8)  # the bot has to be there before
    script = [
        tool_calls([("a", "tasks_add", {"text": "feed the cat", "due": due})]),
        envelope("Kept."),
        envelope("Feed the cat!"),
    ]
    async with ScriptedModelServer(script) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "add a task: feed the cat", mention_bot=True)
        await bot.all_ended(2)
        assert await bot.end() == 0
    assert bot.said() == ["Kept.", "Feed the cat!"]
    assert bot.turns("kind, trigger_key LIKE 'schedule:task1:%', user_name") == [
        ("user", 0, "ann"),
        ("scheduled", 1, "ann"),
    ]


@pytest.mark.spec("TURN-17", "TURN-15", "TURN-14")
async def test_a_bot_killed_in_a_scheduled_turn_ends_it_in_its_next_life_and_runs_it_once(bot):
    script = [slow(envelope("Good evening."), first_byte=30), envelope("Good evening.")]
    async with ScriptedModelServer(script) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        await add(bot, "greeting", 1.5, "Wish everybody a good evening.")
        await bot.until(lambda: server.requests)
        await bot.end(signal.SIGKILL)
        await bot.start()
        await bot.all_ended(1)
        assert await bot.end() == 0
    assert bot.turns("kind, outcome, claims") == [("scheduled", "answered", 2)]
    assert bot.said() == ["Good evening."]


IDLE = '[idle]\nafter = "1s"\nchannels = ["general"]\n'


@pytest.mark.spec("TURN-17")
async def test_a_conversation_that_went_quiet_is_followed_up(bot):
    async with ScriptedModelServer([envelope("It does."), envelope("Does it still run?")]) as server:
        bot.workplace.model(server.base_url, extra=IDLE)
        await bot.start()
        asked = bot.world.say("general", "ann", "does the pump run?", mention_bot=True)
        await bot.all_ended(2)
        assert await bot.end() == 0
    assert bot.said() == ["It does.", "Does it still run?"]
    key = f"idle:{asked.channel.id}:{asked.author.id}:{asked.id}:1"
    assert bot.turns("kind, outcome, trigger_key")[1] == ("idle", "answered", key)


@pytest.mark.spec("TURN-17")
async def test_who_speaks_while_the_model_thinks_about_a_follow_up_is_answered_in_its_place(bot):
    script = [envelope("It does."), slow(envelope("Does it still run?"), first_byte=2), envelope("You are welcome.")]
    async with ScriptedModelServer(script) as server:
        bot.workplace.model(server.base_url, extra=IDLE.replace("1s", "2s"))
        await bot.start()
        bot.world.say("general", "ann", "does the pump run?", mention_bot=True)
        await bot.until(lambda: len(server.requests) == 2)
        bot.world.say("general", "ann", "thanks", mention_bot=True)
        await bot.all_ended(3)
        assert await bot.end() == 0
    assert bot.said() == ["It does.", "You are welcome."]
    assert bot.turns("kind, outcome, reason") == [
        ("user", "answered", "ok"), ("idle", "cancelled", "superseded"), ("user", "answered", "ok"),
    ]  # fmt: skip
    assert "decides the same" in await replayed(bot, "last~1")


@pytest.mark.spec("TURN-17", "TURN-16")
async def test_asked_to_stop_the_bot_ends_although_a_job_waits(bot):
    async with ScriptedModelServer([envelope("Twelve.")], repeat_last=True) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        await add(bot, "later", 3600, "Wish everybody luck.")
        assert await bot.end() == 0
    assert bot.workplace.rows("SELECT state, last_due_us FROM job") == [("active", None)]
