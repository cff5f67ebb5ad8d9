"""What the bot hears on Discord, once, in order, and what it missed (DIS-01, DIS-02, DIS-03, TURN-12)."""

import asyncio
import itertools

import pytest
from live import Bot, echo

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang

ASKED = "SELECT text FROM message WHERE role = 'user' ORDER BY entry_id"


@pytest.mark.spec("DIS-01")
async def test_what_bots_webhooks_and_the_bot_itself_write_opens_no_turn(bot):
    """Case 3."""
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "beep", "beep, and you?", mention_bot=True)
        bot.world.say("general", "hook", "a hook, and you?", mention_bot=True)
        bot.world.say("general", "ann", "and me?", mention_bot=True)
        await bot.all_ended(1)
        await bot.until(lambda: bot.ignored() >= {"bot_author", "webhook_author", "own_message"})
        assert await bot.end() == 0
    assert len(server.requests) == 1
    assert bot.turns() == [("answered", "ok")]


@pytest.mark.spec("DIS-01")
async def test_a_bot_that_is_named_is_heard(bot):
    async with ScriptedModelServer(echo) as server:
        number = bot.world.user("beep").id
        bot.workplace.model(server.base_url, extra=f'[discord]\nhear-bots = ["{number}"]')
        await bot.start()
        bot.world.say("general", "beep", "are you a bot too?", mention_bot=True)
        assert await bot.all_ended(1) == [("answered", "ok")]


@pytest.mark.spec("DIS-01")
async def test_who_edits_while_it_waits_is_answered_as_it_stands_then(bot):
    async with ScriptedModelServer([hang(), envelope("Second.")]) as server:
        bot.workplace.model(server.base_url, model_call=6, attempts=1, max_wait=18)
        await bot.start()
        bot.world.say("general", "ann", "first", mention_bot=True)
        await bot.until(lambda: server.requests)
        waiting = bot.world.say("general", "ben", "befour", mention_bot=True)
        await asyncio.sleep(0.2)
        bot.world.embed(waiting)
        bot.world.edit(waiting, f"<@{bot.world.bot.id}> before")
        await bot.until(lambda: len(bot.said()) == 2, 60)
        await bot.all_ended(2)
        assert "befour" not in server.requests[1].raw.decode()
    assert [text for (text,) in bot.workplace.rows(ASKED)] == ["first", "before"]


@pytest.mark.spec("DIS-01", "DIS-09")
@pytest.mark.parametrize("many", [False, True])
async def test_what_was_edited_or_deleted_is_shown_to_no_model_any_more(bot, many):
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        first = bot.world.say("general", "ann", "my code is 1234", mention_bot=True)
        second = bot.world.say("general", "ann", "my dog is calld Rex", mention_bot=True)
        await bot.all_ended(2)
        bot.world.edit(second, f"<@{bot.world.bot.id}> my dog is called Rex")
        bot.world.delete_many("general", [first]) if many else bot.world.delete(first)
        await bot.until(
            lambda: [text for (text,) in bot.workplace.rows(ASKED)] == ["[message deleted]", "my dog is called Rex"]
        )
        bot.world.say("general", "ann", "what do you know?", mention_bot=True)
        await bot.all_ended(3)
        shown = server.requests[2].raw.decode()
    assert "called Rex" in shown
    assert "calld Rex" not in shown.replace("You said my dog is calld Rex", "")  # what the bot said stands


@pytest.mark.spec("DIS-03", "TURN-10")
async def test_one_message_told_twice_and_replayed_is_one_turn(bot):
    """Case 4."""
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "once?", mention_bot=True)
        bot.fake.gateway.again("MESSAGE_CREATE")
        await bot.all_ended(1)
        bot.fake.gateway.drop()
        bot.world.say("general", "ann", "while you were away", mention_bot=True)
        await bot.all_ended(2)
        bot.fake.gateway.invalidate()
        bot.world.say("general", "ben", "in between", mention_bot=True)
        await bot.all_ended(3)
        await asyncio.sleep(0.5)
        assert await bot.end() == 0
    assert len(server.requests) == 3
    assert bot.turns() == [("answered", "ok")] * 3
    assert len(bot.said()) == 3


@pytest.mark.spec("DIS-03", "TURN-10")
async def test_of_two_processes_that_hear_the_same_one_answers(bot):
    """Case 4: an event delivered to both."""
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        other = Bot(bot.workplace, bot.fake)
        other.starts = 1
        await other.start()
        try:
            for number in range(10):
                bot.world.say("general" if number % 2 else "random", "ann", f"question {number}", mention_bot=True)
                await bot.all_ended(number + 1)
            await asyncio.sleep(0.5)
        finally:
            assert await other.end() == 0
        assert await bot.end() == 0
    assert len(server.requests) == 10
    assert bot.turns() == [("answered", "ok")] * 10
    assert len(bot.world.said()) == 10
    assert len(bot.workplace.rows("SELECT DISTINCT process_id FROM turn")) <= 2


@pytest.mark.spec("DIS-03")
async def test_what_was_missed_is_caught_up_with_in_order_and_the_first_run_begins_now(bot):
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url, extra="[discord]\ncatch-up = 3")
        bot.world.say("general", "ann", "long before you came", mention_bot=True)
        await bot.start()
        bot.world.say("general", "ann", "zero", mention_bot=True)
        await bot.all_ended(1)
        await bot.until(lambda: bot.workplace.rows("SELECT 1 FROM channel_cursor WHERE channel_name = 'random'"))
        assert await bot.end() == 0
        for word in ("one", "two", "three", "four", "five"):
            bot.world.say("general", "ann", word, mention_bot=True)
        await bot.start()
        bot.world.say("general", "ann", "six", mention_bot=True)
        await bot.all_ended(5)
        assert "#general missed more than 3 messages; the rest waits for the next start" in bot.told
        assert await bot.end() == 0
        await bot.start()
        await bot.all_ended(7)
        assert await bot.end() == 0
    asked = [text for (text,) in bot.workplace.rows(ASKED)]
    assert asked == ["zero", "one", "two", "three", "six", "four", "five"]
    assert len(server.requests) == 7


@pytest.mark.spec("DIS-03")
async def test_a_cursor_need_not_be_a_message(bot):
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        gone = bot.world.say("general", "ann", "zero", mention_bot=True)
        await bot.all_ended(1)
        assert await bot.end() == 0
        bot.world.delete(gone)
        bot.world.say("general", "ann", "one", mention_bot=True)
        await bot.start()
        await bot.all_ended(2)
    assert len(server.requests) == 2


@pytest.mark.spec("TURN-12", "DIS-03")
async def test_turns_of_a_channel_follow_one_another_and_channels_run_side_by_side(bot):
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        for number in range(3):
            for channel in ("general", "random"):
                bot.world.say(channel, ("ann", "ben", "sam")[number], f"{channel} {number}", mention_bot=True)
        await bot.all_ended(6)
    for channel in ("general", "random"):
        times = bot.workplace.rows(
            "SELECT started_us, ended_us FROM turn WHERE channel_name = ? ORDER BY trigger_message_id", channel
        )
        assert all(ended <= begun for (_, ended), (begun, _) in itertools.pairwise(times))
        assert bot.said(channel) == [f"You said {channel} {number}" for number in range(3)]


@pytest.mark.spec("DIS-02")
async def test_without_the_intent_that_is_said_in_one_sentence_with_the_place_to_switch_it_on(bot):
    bot.workplace.configure("")
    bot.world.privileged -= {"message_content"}
    await bot.start(ready=False)
    assert await bot.ended() == 2
    assert "Message Content Intent" in bot.told
    assert "https://discord.com/developers/applications" in bot.told
    assert "Traceback" not in bot.told


@pytest.mark.spec("DIS-02")
async def test_without_message_content_the_bot_says_what_it_cannot_read(bot):
    async with ScriptedModelServer(echo) as server:
        bot.world.privileged -= {"message_content"}
        bot.workplace.model(server.base_url, extra="[discord]\nmessage-content = false")
        await bot.start()
        assert "only messages that speak to the bot have a text" in bot.told
        bot.world.say("general", "ben", "just talking")
        bot.world.say("general", "ann", "can you read this?", mention_bot=True)
        await bot.all_ended(1)
        await asyncio.sleep(0.3)
    assert bot.said() == ["You said can you read this?"]
    assert len(server.requests) == 1, "an empty text is unknown: no model is asked about it"


@pytest.mark.spec("DIS-02")
@pytest.mark.parametrize("token", ["", "nonsense"])
async def test_a_token_that_is_missing_or_wrong_is_one_sentence(bot, token):
    bot.workplace.configure("")
    bot.token = token
    await bot.start(ready=False)
    assert await bot.ended() == 2
    assert "DISCORD_TOKEN" in bot.told
    assert "Traceback" not in bot.told


async def test_a_server_that_cannot_be_reached_is_one_sentence(bot):
    bot.workplace.configure("")
    bot.api = "http://127.0.0.1:9/api/v10"
    await bot.start(ready=False)
    assert await bot.ended() == 1
    assert "Discord cannot be reached" in bot.told
    assert "Traceback" not in bot.told


@pytest.mark.spec("DIS-03")
async def test_a_direct_message_that_was_missed_is_caught_up_with(bot):
    channel = bot.world.dm("ann")
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say(channel, "ann", "one")
        await bot.all_ended(1)
        assert await bot.end() == 0
        bot.world.say(channel, "ann", "two")
        await bot.start()
        await bot.all_ended(2)
        assert await bot.end() == 0
    assert [message.content for message in bot.world.said()] == ["You said one", "You said two"]
    assert bot.workplace.rows("SELECT DISTINCT addressed_by FROM turn") == [("direct",)]
