"""What a feed does with the messages of an export, over an application that only counts."""

import json
from types import SimpleNamespace

import pytest
from attrs import evolve

from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Settings
from phasewalk.machine.reasons import Reason
from phasewalk.machine.runner import Ended
from phasewalk.machine.turn import Turn
from phasewalk.machine.words import Outcome
from phasewalk.surfaces.export import open_export
from phasewalk.surfaces.feed import Feed, Selection
from phasewalk.surfaces.signals import Stopping


class Application:
    """Answers every trigger, until the log of trigger number `lost_at` is lost."""

    def __init__(self, lost_at: int | None = None, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.log = self
        self.triggers = []
        self.ignored = []
        self.desk = SimpleNamespace(paused=False)
        self._lost_at = lost_at

    async def sum_up(self, channel_id, channel_name):
        return None

    async def run(self, trigger):
        self.triggers.append(trigger)
        lost = len(self.triggers) == self._lost_at
        turn = Turn(f"t{len(self.triggers)}", "turn", trigger, Limits(), 0.0, 1.0)
        ended = evolve(turn, outcome=Outcome.STOPPED if lost else Outcome.ANSWERED, reason=Reason.OK)
        return Ended(turn.turn_id, ended, log_lost=lost, problem="the disk is full" if lost else None)

    async def count_ignored(self, channel_id, reason):
        self.ignored.append((channel_id, reason))


def export(tmp_path, count: int = 6, **author: object):
    messages = [
        {
            "id": str(1_100_000_000_000_000_000 + n),
            "type": "Default",
            "content": "@helper hi" if n % 2 else "hello all",
            "author": {"id": "7", "name": "mira", "isBot": False, **author},
        }
        for n in range(count)
    ]
    path = tmp_path / "export.json"
    document = {"guild": {"id": "1"}, "channel": {"id": "2", "name": "general"}, "messages": messages}
    path.write_text(json.dumps({**document, "messageCount": count}))
    return [(path, open_export(path))]


def feed(app, selection: Selection | None = None) -> Feed:
    return Feed(app, selection or Selection(), Stopping(), lambda tally: None)


@pytest.mark.spec("LOG-03")
async def test_a_log_that_is_lost_ends_the_feed_and_says_why(tmp_path):
    app = Application(lost_at=3)
    tally = await feed(app).run(export(tmp_path), 1)
    assert len(app.triggers) == 3
    assert (tally.lost, tally.problem, tally.outcomes) == (1, "the disk is full", {"answered": 2})


@pytest.mark.spec("TURN-12")
async def test_messages_are_fed_in_the_order_of_their_ids(tmp_path):
    app = Application()
    await feed(app).run(export(tmp_path), 4)
    assert [int(t.message_id) % 10 for t in app.triggers] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("selection", "fed"),
    [(Selection(), 6), (Selection(only_mentions=True), 3), (Selection(limit=2), 2)],
    ids=["all", "only mentions", "limit"],
)
async def test_only_what_is_selected_is_fed(tmp_path, selection, fed):
    app = Application()
    tally = await feed(app, selection).run(export(tmp_path), 1)
    assert (len(app.triggers), tally.turns) == (fed, fed)


async def test_a_signal_ends_the_feed_before_its_next_message(tmp_path):
    app, stopping = Application(), Stopping()

    def watch(tally):
        stopping.signal = 2 if tally.messages == 2 else None

    tally = await Feed(app, Selection(), stopping, watch).run(export(tmp_path), 1)
    assert (len(app.triggers), tally.messages) == (2, 2)


async def test_bots_open_no_turn_and_are_counted(tmp_path):
    app = Application()
    tally = await feed(app).run(export(tmp_path, isBot=True), 1)
    assert (app.triggers, tally.ignored) == ([], {"bot_author": 6})
    assert app.ignored == [("2", Reason.BOT_AUTHOR)] * 6


@pytest.mark.spec("ENV-05")
async def test_a_short_path_archives_bots_too(tmp_path):
    import re

    app = Application(settings=Settings(short_path=((re.compile("general"), re.compile("mira")),)))
    await feed(app).run(export(tmp_path, isBot=True), 1)
    assert len(app.triggers) == 6
