"""Whom a message of an export speaks to, and which messages open no turn."""

import pytest
from attrs import evolve

from phasewalk.machine.reasons import Reason
from phasewalk.machine.trigger import Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.surfaces.export_addressing import ignored_reason, is_own, trigger_of
from phasewalk.surfaces.export_messages import ExportInfo, ExportMessage

pytestmark = pytest.mark.spec("MOD-22")

INFO = ExportInfo("7", "Mill", "8", "yard", "grain")
MESSAGE = ExportMessage("500", "Default", 12, False, "hello", "41", "ada", "Ada", False, False)
BOT = evolve(MESSAGE, author_id="99", author_name="helper", nickname="helper", is_bot=True)


def addressed(text: str, **changes: object) -> Addressed | None:
    return trigger_of(evolve(MESSAGE, text=text, **changes), INFO, "helper", ("99",), {"300"}).addressed


@pytest.mark.spec("TURN-10")
def test_a_message_becomes_a_trigger_with_everything_known_of_it() -> None:
    files = (Attachment("a.png"),)
    message = evolve(MESSAGE, text="@helper look", reply_to="300", attachments=files)
    assert trigger_of(message, INFO, "helper") == Trigger(
        key="feed:500",
        kind=Kind.USER,
        text="look",
        channel_id="8",
        channel_name="yard",
        user_id="41",
        user_name="ada",
        guild_id="7",
        nickname="Ada",
        topic="grain",
        message_id="500",
        sent_us=12,
        addressed=Addressed.MENTION,
        reply_to="300",
        attachments=files,
        author_kind="person",
    )


@pytest.mark.parametrize(
    "text",
    [
        "@helper when?",
        "hey @helper",
        "@HELPER!",
        "(@helper)",
        "ask @helper.",
        "@helper's answer",
        "<@99> when?",
        "<@!99>",
    ],
)
def test_the_name_as_a_whole_word_after_an_at_sign_is_a_mention(text: str) -> None:
    assert addressed(text) is Addressed.MENTION


@pytest.mark.parametrize(
    "text",
    [
        "helper when?",
        "@helpers",
        "@helper_two",
        "@helper-two",
        "@helper.two",
        "me@helper",
        "@@helper",
        "<@98>",
        "@ helper",
    ],
)
def test_a_name_that_is_only_alike_is_no_mention(text: str) -> None:
    assert addressed(text) is None


def test_the_mentions_of_the_record_count_when_the_text_shows_a_nickname() -> None:
    assert (
        addressed("@Little Helper when?", mention_ids=("1", "5"), mention_names=("bo", "Helper")) is Addressed.MENTION
    )


def test_an_id_that_means_the_bot_counts_in_the_mentions() -> None:
    assert addressed("when?", mention_ids=("99",), mention_names=("renamed",)) is Addressed.MENTION


def test_mentions_of_others_do_not_count() -> None:
    assert addressed("@bo when?", mention_ids=("1",), mention_names=("bo",)) is None


def test_a_reply_to_a_message_by_the_bot_speaks_to_it() -> None:
    assert addressed("why?", reply_to="300") is Addressed.REPLY


@pytest.mark.parametrize("target", ["301", ""])
def test_any_other_reply_does_not(target: str) -> None:
    assert addressed("why?", reply_to=target) is None


def test_a_bot_without_a_name_is_mentioned_by_nothing() -> None:
    assert trigger_of(evolve(MESSAGE, text="@ you", mention_names=("",)), INFO, "").addressed is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@helper when is it?", "when is it?"),
        ("  @Helper, when is it?", "when is it?"),
        ("@helper: note this", "note this"),
        ("<@99> when?", "when?"),
        ("please @helper, when?", "please @helper, when?"),
        ("@helper @helper when?", "@helper when?"),
        ("@helpers when?", "@helpers when?"),
        ("@helper", "@helper"),
        ("@helper ?", "?"),
        (" spaced  out ", " spaced  out "),
    ],
)
def test_only_the_mention_that_opens_a_text_is_taken_off(text: str, expected: str) -> None:
    assert trigger_of(evolve(MESSAGE, text=text), INFO, "helper", ("99",)).text == expected


@pytest.mark.parametrize(
    ("message", "author_kind", "reason"),
    [
        pytest.param(MESSAGE, "person", None, id="person"),
        pytest.param(evolve(MESSAGE, author_name="helper"), "person", None, id="person-with-the-name"),
        pytest.param(BOT, "own", Reason.OWN_MESSAGE, id="own"),
        pytest.param(evolve(BOT, author_name="Helper"), "own", Reason.OWN_MESSAGE, id="own-in-capitals"),
        pytest.param(evolve(BOT, author_name="jukebox"), "bot", Reason.BOT_AUTHOR, id="other-bot"),
        pytest.param(evolve(BOT, is_webhook=True), "webhook", Reason.WEBHOOK_AUTHOR, id="webhook-with-the-name"),
        pytest.param(evolve(MESSAGE, kind="GuildMemberJoin"), "person", Reason.NOTHING_TO_DO, id="join"),
        pytest.param(evolve(MESSAGE, kind="46"), "person", Reason.NOTHING_TO_DO, id="unknown-kind"),
        pytest.param(evolve(BOT, kind="46"), "own", Reason.OWN_MESSAGE, id="own-of-unknown-kind"),
    ],
)
def test_who_wrote_it_and_why_it_opens_no_turn(message: ExportMessage, author_kind: str, reason: Reason | None) -> None:
    assert trigger_of(message, INFO, "helper").author_kind == author_kind
    assert ignored_reason(message, "helper") is reason


def test_the_id_of_the_bot_proves_it_too() -> None:
    renamed = evolve(BOT, author_name="assistant")
    assert is_own(renamed, "helper", ("99",))
    assert not is_own(renamed, "helper")
