"""How an answer goes out on Discord, and what comes of what Discord refuses (DIS-04 to DIS-09, DIS-11)."""

import asyncio
import time

import pytest
from live import echo

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope, hang, slow
from phasewalk.surfaces.discord_testing.faults import rate_limited, reset, status

POST = ("POST", "/channels/*/messages")
LONG = "\n\n".join(f"Paragraph {number}: " + "word " * 150 for number in range(6)).strip()
CODE = "Look:\n```python\n" + "\n".join(f"print({number!r})  # {'x' * 40}" for number in range(60)) + "\n```\nDone."


async def asked(bot, answer: str, *, extra: str = "", channel: str = "general", **limits):
    """The bot answers one question; turn's outcome and reason, and its effects' states."""
    async with ScriptedModelServer([envelope(answer)]) as server:
        bot.workplace.model(server.base_url, extra=extra, **limits)
        await bot.start()
        question = bot.world.say(channel, "ann", "well?", mention_bot=True)
        ended = await bot.all_ended(1)
        assert len(server.requests) == 1
    assert await bot.end() == 0
    return ended, question


def states(bot) -> list[tuple[str, str]]:
    return bot.workplace.rows("SELECT kind, state FROM effects ORDER BY intended_us")


@pytest.mark.spec("DIS-04", "DIS-05")
@pytest.mark.parametrize("answer", [LONG, CODE])
async def test_a_long_answer_goes_out_in_parts_and_only_the_first_is_a_reply(bot, answer):
    ended, question = await asked(bot, answer)
    assert ended == [("answered", "ok")]
    said = bot.world.said()
    assert len(said) > 1
    assert [message.reply_to for message in said] == [question.id, *[None] * (len(said) - 1)]
    assert all(len(message.content.encode("utf-16-le")) // 2 <= 2000 for message in said)
    assert len({message.nonce for message in said}) == len(said)
    assert all(len(message.nonce) <= 25 for message in said)
    assert states(bot) == [("answer", "done")] * len(said)
    assert "".join("".join(m.content for m in said).replace("```python", "").replace("```", "").split()) == "".join(
        answer.replace("```python", "").replace("```", "").split()
    )
    assert all(message.content.count("```") % 2 == 0 for message in said)


@pytest.mark.spec("DIS-05")
async def test_nobody_is_pinged_but_who_is_answered(bot):
    """Case 13."""
    role = bot.world.guild(None).roles
    staff = next(number for number, one in role.items() if one.name == "staff")
    sam = bot.world.user("sam").id
    extra = '[bot]\nstaff-channel = "staff"\n'
    text = f"@everyone @here <@&{staff}> <@{sam}>"
    async with ScriptedModelServer([envelope(text, staff=f"they said {text}")]) as server:
        bot.workplace.model(server.base_url, extra=extra)
        await bot.start()
        bot.world.say("general", "ann", f"say {text}", mention_bot=True)
        await bot.all_ended(1)
        assert await bot.end() == 0
    said = bot.world.said()
    assert {message.channel.name for message in said} == {"general", "staff"}
    for message in said:
        assert not message.everyone
        assert list(message.role_pings) == []
        assert set(message.pings) <= ({bot.world.user("ann").id} if message.channel.name == "general" else set())


@pytest.mark.spec("DIS-07")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (status(403, 50013, "Missing Permissions"), "delivery_forbidden"),
        (status(404, 10003, "Unknown Channel"), "delivery_target_gone"),
        (rate_limited(600), "delivery_failed"),
        (rate_limited(600, via=False), "delivery_failed"),
    ],
)
async def test_what_discord_refuses_is_an_outcome_with_its_own_reason_and_is_not_tried_again(bot, fault, reason):
    bot.fake.faults.add(*POST, fault, 9)
    began = time.monotonic()
    ended, _ = await asked(bot, "Here.")
    assert ended == [("undelivered", reason)]
    assert time.monotonic() - began < 20
    assert len(bot.fake.requests_to(*POST)) == 1
    assert states(bot) == [("answer", "failed")]
    assert "Traceback" not in bot.told


@pytest.mark.spec("DIS-07")
async def test_closed_direct_messages_are_an_outcome(bot):
    channel = bot.world.dm("ann")
    bot.fake.faults.add(*POST, status(403, 50007, "Cannot send messages to this user"), 9)
    async with ScriptedModelServer([envelope("Here.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say(channel, "ann", "psst")
        assert await bot.all_ended(1) == [("undelivered", "delivery_forbidden")]
        assert await bot.end() == 0


@pytest.mark.spec("DIS-07")
async def test_a_direct_message_is_answered_there(bot):
    channel = bot.world.dm("ann")
    async with ScriptedModelServer([envelope("Psst.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say(channel, "ann", "are you there?")
        assert await bot.all_ended(1) == [("answered", "ok")]
        assert await bot.end() == 0
    assert [message.content for message in bot.world.said()] == ["Psst."]


@pytest.mark.spec("DIS-07")
async def test_a_rejected_reply_goes_out_as_a_message_of_its_own(bot):
    bot.fake.faults.add(*POST, status(400, 50035, "Invalid Form Body"))
    ended, _ = await asked(bot, "Here.")
    assert ended == [("answered", "ok")]
    (message,) = bot.world.said()
    assert (message.content, message.reply_to) == ("Here.", None)


@pytest.mark.spec("DIS-07", "DIS-04")
@pytest.mark.parametrize(
    "fault", [status(503), status(500), reset(), status(503).afterwards(), reset().afterwards(), rate_limited(0.2)]
)
async def test_what_the_server_or_the_network_breaks_is_sent_again_and_stands_once(bot, fault):
    bot.fake.faults.add(*POST, fault, 2)
    ended, question = await asked(bot, "Here.")
    assert ended == [("answered", "ok")]
    (message,) = bot.world.said()
    assert (message.content, message.reply_to) == ("Here.", question.id)
    assert states(bot) == [("answer", "done")]


@pytest.mark.spec("DIS-04")
async def test_a_part_that_does_not_arrive_ends_the_answer_there(bot):
    first = bot.fake.hold(*POST)
    async with ScriptedModelServer([envelope(LONG)]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.fake.held(first)
        bot.fake.faults.add(*POST, status(403, 50013, "Missing Permissions"), 9)
        first.release()
        assert await bot.all_ended(1) == [("partial", "delivery_forbidden")]
        assert await bot.end() == 0
    assert len(bot.world.said()) == 1
    assert states(bot) == [("answer", "done"), ("answer", "failed")]


@pytest.mark.spec("DIS-09")
@pytest.mark.parametrize(
    ("when_gone", "outcome"), [("answer", ("answered", "ok")), ("silent", ("cancelled", "superseded"))]
)
async def test_a_question_that_was_deleted_meanwhile_is_answered_without_reference_or_not_at_all(
    bot, when_gone, outcome
):
    async with ScriptedModelServer([slow(envelope("Here."), first_byte=0.8)]) as server:
        bot.workplace.model(server.base_url, extra=f'[discord]\nwhen-gone = "{when_gone}"')
        await bot.start()
        question = bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.until(lambda: server.requests)
        bot.world.delete(question)
        assert await bot.all_ended(1) == [outcome]
        assert await bot.end() == 0
    assert [message.reply_to for message in bot.world.said()] == ([None] if when_gone == "answer" else [])
    assert "message_gone" in bot.turns("flags")[0][0]


@pytest.mark.spec("DIS-09")
async def test_of_a_question_that_was_changed_meanwhile_the_log_says_so(bot):
    async with ScriptedModelServer([slow(envelope("Here."), first_byte=0.8)]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        question = bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.until(lambda: server.requests)
        bot.world.edit(question, "something else")
        assert await bot.all_ended(1) == [("answered", "ok")]
        assert await bot.end() == 0
    assert "message_changed" in bot.turns("flags")[0][0]


@pytest.mark.spec("DIS-06", "TURN-07")
async def test_a_model_that_never_answers_ends_with_one_notice_and_the_channel_goes_on(bot):
    """Case 1."""
    async with ScriptedModelServer([hang(), envelope("Second.")]) as server:
        bot.workplace.model(server.base_url, turn=3.0, attempts=1)
        await bot.start()
        bot.world.say("general", "ann", "first?", mention_bot=True)
        bot.world.say("general", "ben", "second?", mention_bot=True)
        assert await bot.all_ended(2) == [("expired", "deadline_passed"), ("answered", "ok")]
        typed = len(bot.world.typing)
        assert typed >= 2
        await asyncio.sleep(0.5)
        assert len(bot.world.typing) == typed
        assert await bot.end() == 0
    assert bot.said() == ["Sorry, this took longer than I may take, so I stopped. Please try again.", "Second."]


@pytest.mark.spec("DIS-06")
async def test_typing_lasts_as_long_as_the_turn_and_no_longer(bot):
    def answer(request):
        asked = "well?" in request.json["messages"][-1]["content"]
        return slow(envelope("Here."), first_byte=10.5) if asked else envelope(None)

    async with ScriptedModelServer(answer) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        bot.world.say("general", "ann", "well?", mention_bot=True)
        bot.world.say("random", "ben", "just talking")
        await bot.all_ended(2)
        typed = [one.channel.name for one in bot.world.typing]
        await bot.end()
    assert typed == ["general"] * 2


@pytest.mark.spec("DIS-11")
async def test_two_bots_cannot_talk_for_ever(bot):
    async with ScriptedModelServer(echo) as server:
        number = bot.world.user("beep").id
        bot.workplace.model(
            server.base_url, extra=f'[discord]\nhear-bots = ["{number}"]\nreplies-per-minute = 3', pending_per_user=9
        )
        await bot.start()
        for count in range(5):
            bot.world.say("general", "beep", f"and {count}?", mention_bot=True)
            await bot.all_ended(count + 1)
        bot.world.say("random", "beep", "and here?", mention_bot=True)
        ended = await bot.all_ended(6)
        assert await bot.end() == 0
    assert ended == [*[("answered", "ok")] * 3, *[("undelivered", "rate_limited")] * 2, ("answered", "ok")]
    assert len(bot.said()) == 3


@pytest.mark.spec("DIS-07", "DIS-08")
async def test_a_staff_note_that_has_no_channel_leaves_the_answer_alone(bot):
    async with ScriptedModelServer([envelope("Here.", staff="look at this")]) as server:
        bot.workplace.model(server.base_url, extra='[bot]\nstaff-channel = "nowhere"')
        await bot.start()
        bot.world.say("general", "ann", "well?", mention_bot=True)
        await bot.all_ended(1)
        assert await bot.end() == 0
    assert [message.content for message in bot.world.said()] == ["Here."]
    assert sorted(states(bot)) == [("answer", "done"), ("staff_note", "failed")]


@pytest.mark.spec("DIS-12")
async def test_the_heartbeat_is_punctual_while_a_hundred_turns_run(bot):
    bot.fake.gateway.interval = 1.0
    async with ScriptedModelServer(echo) as server:
        bot.workplace.model(server.base_url, running=100, queued=200, pending_per_user=200, max_wait=60)
        channels = [bot.world.add_channel(f"room-{number}") for number in range(100)]
        await bot.start()
        for channel in channels:
            bot.world.say(channel, "ann", "well?", mention_bot=True)
        await bot.until(lambda: len(bot.turns()) == 100 and all(o == "answered" for (o,) in bot.turns("outcome")), 60)
        late = bot.fake.gateway.late_by()
        assert await bot.end() == 0
    assert len(bot.fake.gateway.heartbeats) >= 2
    assert late < 0.5, "nothing blocks the loop of the bot"
    assert len(bot.world.said()) == 100
