"""The live bot and a log that cannot be written for a while (BAR-25, DIS-12, case 18)."""

import asyncio
import resource
import sqlite3
from contextlib import closing

import pytest
from live import echo

from phasewalk.phases.providers.testing import ScriptedModelServer

POST = ("POST", "/channels/*/messages")


@pytest.mark.spec("BAR-25", "DIS-12")
async def test_ten_questions_while_another_process_holds_the_write_lock_are_answered_once(bot):
    """Case 18."""
    bot.fake.gateway.interval = 1.0
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url, pending_per_user=20)
        channels = [bot.world.add_channel(f"room-{number}") for number in range(10)]
        await bot.start()
        with closing(sqlite3.connect(bot.workplace.database, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for channel in channels:
                bot.world.say(channel, "ann", "well?", mention_bot=True)
            await asyncio.sleep(3.0)
            assert bot.world.said() == [], "nothing is said whose intent is not committed"
            other.execute("ROLLBACK")
        assert await bot.all_ended(10) == [("answered", "ok")] * 10
        late = bot.fake.gateway.late_by()
        assert await bot.end() == 0
    assert len(bot.world.said()) == len(server.requests) == 10
    assert late < 0.5


@pytest.mark.spec("BAR-25", "DIS-03")
async def test_what_is_asked_while_the_disk_is_full_is_answered_when_it_is_over(bot):
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "one?", mention_bot=True)
        await bot.all_ended(1)
        limit = resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
        bot.world.say("general", "ann", "two?", mention_bot=True)
        await bot.until(lambda: "the turn is settled when the log can be written again" in bot.told, 60)
        assert bot.said() == ["You said one?"]
        assert len(bot.fake.requests_to(*POST)) == 1
        resource.prlimit(bot.process.pid, resource.RLIMIT_FSIZE, limit)
        await bot.until(lambda: len(bot.said()) == 2, 40)
        assert await bot.end() == 0
    assert bot.said() == ["You said one?", "You said two?"]
    assert "Traceback" not in bot.told
