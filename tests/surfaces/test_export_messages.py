"""One record of an export as a message: old, odd and hostile records included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.trigger import Attachment
from phasewalk.surfaces.export_messages import ExportMessage, RecordError, id_of, message_of, message_of_line

pytestmark = pytest.mark.spec("MOD-22")

SNOWFLAKE = "175928847299117063"  # the id by which Discord's documentation explains snowflakes
SNOWFLAKE_US = 1_462_015_105_796_000  # 2016-04-30 11:18:25.796 UTC


def test_a_complete_record_becomes_a_message() -> None:
    person = {"id": "41", "name": "ada", "discriminator": "1234", "nickname": "Ada", "isBot": False}
    message = message_of(
        {
            "id": "500",
            "type": "Reply",
            "timestamp": "2026-09-14T10:00:00.5+02:00",
            "timestampEdited": "2026-09-14T10:01:00+02:00",
            "content": "see you",
            "author": {**person, "roles": [{"id": "61", "name": "Miller"}, {"id": "62"}]},
            "attachments": [
                {"id": "9", "url": "https://files.example/a.png", "fileName": "a.png", "fileSizeBytes": 12}
            ],
            "mentions": [{"id": "42", "name": "bo"}],
            "reference": {"messageId": "499", "channelId": "8", "guildId": "7"},
        }
    )
    assert message == ExportMessage(
        message_id="500",
        kind="Reply",
        sent_us=1_789_372_800_500_000,
        edited=True,
        text="see you",
        author_id="41",
        author_name="ada",
        nickname="Ada",
        is_bot=False,
        is_webhook=False,
        attachments=(Attachment("a.png", "https://files.example/a.png", 12),),
        mention_ids=("42",),
        mention_names=("bo",),
        reply_to="499",
        role_ids=("61", "62"),
    )


def test_a_record_with_nothing_but_an_id_is_a_message() -> None:
    assert message_of({"id": SNOWFLAKE}) == ExportMessage(
        message_id=SNOWFLAKE,
        kind="Default",
        sent_us=SNOWFLAKE_US,
        edited=False,
        text="",
        author_id="",
        author_name="unknown",
        nickname="unknown",
        is_bot=False,
        is_webhook=False,
    )


def test_without_a_nickname_the_name_stands_for_it() -> None:
    assert message_of({"id": "5", "author": {"id": "41", "name": "ada"}}).nickname == "ada"


@pytest.mark.parametrize(
    ("timestamp", "expected_us"),
    [
        ("2026-09-14T08:00:00+00:00", 1_789_372_800_000_000),
        ("2026-09-14T08:00:00Z", 1_789_372_800_000_000),
        ("2026-09-14T08:00:00", 1_789_372_800_000_000),
        ("2026-09-14T08:00:00.1+00:00", 1_789_372_800_100_000),
        ("2026-09-14T08:00:00.12+00:00", 1_789_372_800_120_000),
        ("2026-09-14T08:00:00.123+00:00", 1_789_372_800_123_000),
        ("2026-09-14T08:00:00.1234+00:00", 1_789_372_800_123_400),
        ("2026-09-14T08:00:00.12345+00:00", 1_789_372_800_123_450),
        ("2026-09-14T08:00:00.123456+00:00", 1_789_372_800_123_456),
        ("2026-09-14T08:00:00.1234567+00:00", 1_789_372_800_123_456),
        ("2026-09-14T04:30:00-03:30", 1_789_372_800_000_000),
    ],
)
def test_a_timestamp_may_have_up_to_seven_fraction_digits_and_any_offset(timestamp: str, expected_us: int) -> None:
    assert message_of({"id": SNOWFLAKE, "timestamp": timestamp}).sent_us == expected_us


@pytest.mark.parametrize(
    "timestamp",
    [
        None,
        "",
        "yesterday",
        17,
        [],
        "2026-13-41T99:00:00+00:00",
        "0001-01-01T00:00:00+00:00",
        "2026-09-14T08:00:00+99:00",
    ],
)
def test_an_unreadable_timestamp_gives_way_to_the_time_in_the_id(timestamp: object) -> None:
    assert message_of({"id": SNOWFLAKE, "timestamp": timestamp}).sent_us == SNOWFLAKE_US


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1548966000000000000", "1548966000000000000"),
        (1548966000000000000, "1548966000000000000"),
        ("007", "7"),
        (str(2**64 - 1), str(2**64 - 1)),
        (str(2**64), ""),
        pytest.param(10**5000, "", id="huge-number"),
        ("0", ""),
        ("", ""),
        ("-5", ""),
        ("5.0", ""),
        (" 5", ""),
        ("\N{ARABIC-INDIC DIGIT FIVE}", ""),
        pytest.param("9" * 5000, "", id="long-text"),
        (5.0, ""),
        (True, ""),
        (None, ""),
        ({"id": "5"}, ""),
    ],
)
def test_an_id_is_a_decimal_number_of_64_bits(value: object, expected: str) -> None:
    assert id_of(value) == expected


@pytest.mark.parametrize("value", [3, "text", None, ["id"], True])
def test_a_record_that_is_no_object_says_so(value: object) -> None:
    with pytest.raises(RecordError, match="not an object"):
        message_of(value)


def test_a_record_without_a_usable_id_says_so() -> None:
    with pytest.raises(RecordError, match="no usable id"):
        message_of({"id": "first"})


@pytest.mark.parametrize(
    ("kind", "text", "system"),
    [
        ("Default", "Default", False),
        ("Reply", "Reply", False),
        ("20", "20", False),
        (19, "19", False),
        (None, "Default", False),
        ("GuildMemberJoin", "GuildMemberJoin", True),
        ("ChannelPinnedMessage", "ChannelPinnedMessage", True),
        ("ThreadCreated", "ThreadCreated", True),
        ("46", "46", True),
        (46, "46", True),
        ("SomethingOfNextYear", "SomethingOfNextYear", True),
    ],
)
def test_only_what_somebody_wrote_is_no_system_message(kind: object, text: str, system: bool) -> None:
    message = message_of({"id": "5", "type": kind})
    assert (message.kind, message.is_system) == (text, system)


@pytest.mark.parametrize(
    ("discriminator", "is_bot", "webhook"),
    [("0000", True, True), ("4821", True, False), ("0000", False, False), (None, True, False)],
)
def test_a_webhook_is_a_bot_with_four_zeros(discriminator: object, is_bot: bool, webhook: bool) -> None:
    message = message_of({"id": "5", "author": {"name": "x", "discriminator": discriminator, "isBot": is_bot}})
    assert message.is_webhook is webhook


def test_a_forwarded_message_replies_to_nobody() -> None:
    assert message_of({"id": "5", "reference": {"type": "Forward", "messageId": "4"}}).reply_to == ""


def test_text_that_cannot_be_stored_is_made_storable() -> None:
    message = message_of({"id": "5", "content": "a\x00b\ud800", "author": {"name": "n\x00", "nickname": "\udfff"}})
    assert (message.text, message.author_name, message.nickname) == ("a\ufffdb\ufffd", "n\ufffd", "\ufffd")


@pytest.mark.parametrize("size", [-1, True, "12", None, 2**63, 1.5])
def test_a_size_that_is_none_counts_as_unknown(size: object) -> None:
    message = message_of({"id": "5", "attachments": [{"fileName": "a", "fileSizeBytes": size}]})
    assert message.attachments == (Attachment("a", "", 1 if size is True else 0),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "name", "roles"]), inner),
    max_leaves=8,
)
KEYS = ["type", "timestamp", "timestampEdited", "content", "author", "attachments", "mentions", "reference"]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_value_under_any_key_is_tolerated_and_the_message_survives_its_line(fields: dict[str, object]) -> None:
    message = message_of({**fields, "id": SNOWFLAKE})
    assert message_of_line(message.line()) == message
    assert "\n" not in message.line()
