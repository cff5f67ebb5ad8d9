"""The export and the FAQ that ship as an example hold the situations that they are there to show."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from phasewalk.machine.reasons import Reason
from phasewalk.machine.words import Addressed
from phasewalk.surfaces.export import open_export
from phasewalk.surfaces.export_addressing import ignored_reason, is_own, trigger_of
from phasewalk.surfaces.export_messages import ExportMessage

pytestmark = pytest.mark.spec("MOD-22", "OPS-01")

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPORT = EXAMPLES / "help-server.json"


@pytest.fixture(scope="module")
def messages() -> list[ExportMessage]:
    return list(open_export(EXPORT))


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(EXPORT.read_text(encoding="utf-8"))["messages"]
    return found


def test_it_reads_without_error_and_only_its_duplicate_is_noted() -> None:
    export = open_export(EXPORT)
    assert len(list(export)) == 99
    assert export.notes == (f"{EXPORT}: 1 duplicate record(s) dropped: an id that stands twice is read once",)
    assert (export.info.guild_name, export.info.channel_name) == ("Lanternhill", "commons")


def test_it_holds_the_kinds_of_messages_that_a_server_has(messages: list[ExportMessage]) -> None:
    assert Counter(message.kind for message in messages) == {
        "Default": 82,
        "Reply": 12,
        "GuildMemberJoin": 2,
        "ChannelPinnedMessage": 1,
        "ThreadCreated": 1,
        "46": 1,
    }


def test_it_holds_every_reason_for_opening_no_turn(messages: list[ExportMessage]) -> None:
    assert Counter(ignored_reason(message, "helper") for message in messages) == {
        None: 88,
        Reason.OWN_MESSAGE: 4,
        Reason.BOT_AUTHOR: 2,
        Reason.WEBHOOK_AUTHOR: 1,
        Reason.NOTHING_TO_DO: 4,
    }


def test_the_bot_is_spoken_to_in_both_ways_and_mostly_not_at_all(messages: list[ExportMessage]) -> None:
    info = open_export(EXPORT).info
    own = {message.message_id for message in messages if is_own(message, "helper")}
    open_to_turns = [message for message in messages if ignored_reason(message, "helper") is None]
    found = Counter(trigger_of(message, info, "helper", (), own).addressed for message in open_to_turns)
    assert found == {None: 60, Addressed.MENTION: 24, Addressed.REPLY: 4}


@pytest.mark.parametrize(
    "text",
    [
        "@helper note: the raid moved to Friday",
        "@helper show my notes",
        "@helper remember that I am allergic to peanuts",
        "@helper what do you remember about me?",
        "@helper add lunch to my calendar",
        "please don't save a note",
        "@helper what are the server rules?",
        "@helper what is the airspeed of a lantern moth?",
        "thank you!",
        "FREE NITRO",
        "https://free-nitro.example.com/claim",
        "https://discord-gifts.invalid/invite/lantern",
        "I will kill you",
        "the dumbest damn thing",
        "Bonjour à tous",
    ],
)
def test_somebody_writes(messages: list[ExportMessage], text: str) -> None:
    assert any(text in message.text for message in messages if ignored_reason(message, "helper") is None)


def test_one_person_floods_the_channel(messages: list[ExportMessage]) -> None:
    flood = [message.sent_us for message in messages if message.text.startswith("BUY MY SWORD")]
    assert len(flood) == 8
    assert max(flood) - min(flood) < 10_000_000


def test_a_reply_points_at_a_message_that_is_gone(messages: list[ExportMessage]) -> None:
    known = {message.message_id for message in messages}
    assert [message.text for message in messages if message.kind == "Reply" and message.reply_to not in known] == [
        "on it"
    ]


def test_it_holds_an_edited_message_an_attachment_and_a_sticker(
    messages: list[ExportMessage], records: list[dict[str, Any]]
) -> None:
    assert [message.author_name for message in messages if message.edited] == ["brannock"]
    assert [file.name for message in messages for file in message.attachments] == ["emberfall-lower-marsh.png"]
    assert [sticker["name"] for record in records for sticker in record.get("stickers", [])] == ["Bowing Moth"]


def test_it_holds_the_oddities_of_real_files(records: list[dict[str, Any]]) -> None:
    numbers = [int(record["id"]) for record in records]
    assert len(numbers) - len(set(numbers)) == 1
    assert sum(later < earlier for earlier, later in pairwise(numbers)) == 1
    assert sum("nickname" not in record["author"] for record in records) == 1


def test_ids_agree_with_timestamps(messages: list[ExportMessage]) -> None:
    from_ids = [((message.number >> 22) + 1_420_070_400_000) * 1000 for message in messages]
    assert [message.sent_us for message in messages] == from_ids


def test_every_link_leads_to_a_name_that_nobody_can_own() -> None:
    text = EXPORT.read_text(encoding="utf-8") + (EXAMPLES / "faq.md").read_text(encoding="utf-8")
    hosts = set(re.findall(r"https?://([\w.-]+)", text))
    assert hosts
    assert [host for host in hosts if not re.search(r"(^|\.)example(\.com)?$|\.invalid$", host)] == []


@pytest.mark.spec("OPS-02")
def test_the_faq_is_questions_each_with_an_answer() -> None:
    _, *entries = re.split(r"^## ", (EXAMPLES / "faq.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(entries) == 10
    assert [entry for entry in entries if not re.fullmatch(r"[^\n]+\?\n\n\S.+", entry, flags=re.DOTALL)] == []
