"""A bot that is busy, paused, or asked too much says so, keeps what was said, and asks no model (TURN-11)."""

import asyncio

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, slow

BUSY = "I am busy at the moment. Please try again shortly."
TEXTS = "SELECT text FROM message WHERE role = 'user' ORDER BY entry_id"


@pytest.mark.spec("TURN-11", "TURN-12")
async def test_who_waits_too_long_or_asks_too_much_is_told_at_once(bot):
    async with ScriptedModelServer([slow(envelope("One."), first_byte=12.0), envelope("Two.")]) as server:
        bot.workplace.model(server.base_url, max_wait=1.0, pending_per_user=1)
        await bot.start()
        await bot.until(lambda: len(bot.workplace.rows("SELECT 1 FROM channel_cursor")) == 3)
        await asyncio.sleep(0.5)  # what comes in while a channel catches up is not refused
        bot.world.say("general", "ann", "one?", mention_bot=True)
        await bot.until(lambda: server.requests)
        bot.world.say("general", "ann", "and more?", mention_bot=True)
        bot.world.say("general", "ben", "me too?", mention_bot=True)
        bot.world.say("general", "sam", "just talking")
        await bot.until(lambda: len(bot.said()) == 2)
        assert bot.said() == [BUSY, BUSY]
        await bot.all_ended(4)
        assert len(server.requests) == 1
        bot.world.say("general", "ben", "now?", mention_bot=True)
        await bot.all_ended(5)
        assert await bot.end() == 0
    ended = bot.turns("user_name, outcome, reason")
    assert sorted(ended) == sorted([
        ("ann", "answered", "ok"), ("ann", "refused", "user_limit"), ("ben", "refused", "wait_too_long"),
        ("sam", "refused", "wait_too_long"), ("ben", "answered", "ok"),
    ])  # fmt: skip
    assert {text for (text,) in bot.workplace.rows(TEXTS)} == {"one?", "and more?", "me too?", "just talking", "now?"}


@pytest.mark.spec("TURN-11", "OPS-11")
async def test_a_paused_bot_answers_nobody_until_it_is_resumed(bot):
    async with ScriptedModelServer([envelope("Here.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        paused = await asyncio.to_thread(bot.workplace.run, "pause", "--note", "a quiet evening")
        assert paused.returncode == 0, paused.stderr
        bot.world.say("general", "ann", "one?", mention_bot=True)
        bot.world.say("general", "sam", "just talking")
        assert await bot.all_ended(2) == [("refused", "paused")] * 2
        assert (await asyncio.to_thread(bot.workplace.run, "resume")).returncode == 0
        bot.world.say("general", "ann", "two?", mention_bot=True)
        await bot.all_ended(3)
        assert await bot.end() == 0
        assert len(server.requests) == 1
    assert bot.said() == [BUSY, "Here."]
    assert bot.workplace.rows("SELECT count(*) FROM operator_action") == [(2,)]


@pytest.mark.spec("TURN-11")
async def test_a_feed_stops_before_a_message_while_the_bot_is_paused_and_goes_on_later(bot, small_export):
    work = bot.workplace
    work.configure("")
    assert (await asyncio.to_thread(work.run, "turn", "hello")).returncode in (0, 1)
    await asyncio.to_thread(work.run, "pause")
    held = await asyncio.to_thread(work.run, "feed", str(small_export))
    assert held.returncode == 1
    assert "the bot is paused" in held.stderr
    assert "phasewalk resume" in held.stderr
    assert len(bot.turns()) == 1
    await asyncio.to_thread(work.run, "resume")
    assert (await asyncio.to_thread(work.run, "feed", str(small_export))).returncode == 0
    assert len(bot.turns()) > 1
