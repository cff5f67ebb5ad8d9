"""The bot hears, answers once, and ends as it is asked to."""

import pytest

from phasewalk.phases.providers.testing import ScriptedModelServer, envelope


@pytest.mark.spec("DIS-01", "DIS-04", "DIS-05", "TURN-16")
async def test_a_question_is_answered_once_as_a_reply(bot):
    async with ScriptedModelServer([envelope("Twelve.")]) as server:
        bot.workplace.model(server.base_url)
        await bot.start()
        asked = bot.world.say("general", "ann", "how many?", mention_bot=True)
        assert await bot.all_ended(1) == [("answered", "ok")]
        assert await bot.end() == 0
    (answer,) = bot.world.said()
    assert (answer.content, answer.reply_to) == ("Twelve.", asked.id)
