import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.speech import Envelope
from phasewalk.phases.envelope import (
    EnvelopeError,
    EnvelopeModel,
    clamped,
    parse_envelope,
    schema,
    schema_digest,
)

GOOD = {
    "answer": "Hello.",
    "answer_needed": True,
    "channel": None,
    "staff": None,
    "picture": None,
    "picture_count": None,
    "picture_edit": False,
    "hack": False,
}
TEXT = json.dumps(GOOD)


def with_(**changes: object) -> str:
    return json.dumps({**GOOD, **changes})


def without(key: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != key})


@pytest.mark.spec("ENV-19")
def test_the_schema_names_exactly_the_eight_properties_in_order_all_required_and_no_others():
    pinned = schema()
    body = pinned["schema"]
    assert (pinned["name"], pinned["strict"]) == ("envelope", True)
    assert [(name, part["type"]) for name, part in body["properties"].items()] == [
        ("answer", ["string", "null"]),
        ("answer_needed", "boolean"),
        ("channel", ["string", "null"]),
        ("staff", ["string", "null"]),
        ("picture", ["string", "null"]),
        ("picture_count", ["integer", "null"]),
        ("picture_edit", "boolean"),
        ("hack", "boolean"),
    ]
    assert body["required"] == list(body["properties"])
    assert body["additionalProperties"] is False
    assert (body["properties"]["picture_count"]["minimum"], body["properties"]["picture_count"]["maximum"]) == (0, 4)


@pytest.mark.spec("ENV-19")
def test_the_digest_of_the_schema_is_pinned():
    assert schema_digest() == "a3ae298a9f0c47179df5bd91402c9582"


@pytest.mark.spec("ENV-19")
def test_changing_a_copy_of_the_schema_changes_nothing():
    schema()["schema"]["properties"].clear()
    assert len(schema()["schema"]["properties"]) == 8


@pytest.mark.spec("ENV-19")
def test_the_model_that_reads_envelopes_agrees_with_the_schema():
    model = EnvelopeModel.model_json_schema()
    types = {
        name: sorted(option["type"] for option in part.get("anyOf", [part]))
        for name, part in model["properties"].items()
    }
    pinned = schema()["schema"]
    listed = {
        name: sorted([part["type"]] if isinstance(part["type"], str) else part["type"])
        for name, part in pinned["properties"].items()
    }
    assert list(types.items()) == list(listed.items())
    assert (model["required"], model["additionalProperties"]) == (pinned["required"], pinned["additionalProperties"])


@pytest.mark.spec("ENV-19")
def test_the_envelope_of_the_machine_has_the_same_fields():
    assert [attribute.name for attribute in Envelope.__attrs_attrs__] == list(schema()["schema"]["properties"])


@pytest.mark.spec("ENV-18")
def test_a_valid_text_is_read_as_it_stands():
    assert parse_envelope(f" \n{with_(staff='Look.', picture='a cat', picture_count=2)}\n") == Envelope(
        answer="Hello.", answer_needed=True, staff="Look.", picture="a cat", picture_count=2
    )


@pytest.mark.spec("ENV-18")
def test_an_answer_that_itself_holds_a_fenced_block_is_valid():
    block = '```json\n{"answer": 1,}\n```'
    assert parse_envelope(with_(answer=block)).answer == block


BROKEN = {
    "empty": ("", "the answer is empty"),
    "blank": (" \n\t", "the answer is empty"),
    "fenced": (f"```json\n{TEXT}\n```", "wrapped in a code fence"),
    "prose before": (f"Here it is: {TEXT}", "no JSON from character 0 on"),
    "prose after": (f"{TEXT} I hope this helps.", "something follows the JSON object"),
    "two objects": (f"{TEXT}\n{TEXT}", "something follows the JSON object"),
    "trailing comma": (TEXT[:-1] + ",}", "no JSON from character"),
    "cut off": (TEXT[:-5], "no JSON from character"),
    "single quotes": (TEXT.replace('"', "'"), "no JSON from character"),
    "a comment": (TEXT[:-1] + "/* done */}", "no JSON from character"),
    "a raw newline in a text": (TEXT.replace("Hello.", "Hel\nlo."), "no JSON from character"),
    "NaN": (TEXT.replace('"picture_count": null', '"picture_count": NaN'), "NaN is no JSON"),
    "Infinity": (TEXT.replace('"picture_count": null', '"picture_count": Infinity'), "Infinity is no JSON"),
    "-Infinity": (TEXT.replace('"picture_count": null', '"picture_count": -Infinity'), "-Infinity is no JSON"),
    "a duplicate key": (TEXT[:-1] + ', "answer": "again"}', "'answer' stands twice"),
    "a nested duplicate key": (with_(answer=None)[:-1] + ', "x": {"a": 1, "a": 2}}', "'a' stands twice"),
    "a missing key": (without("hack"), "'hack' is missing"),
    "an extra key": (with_(mood="good"), "'mood' is not a key of the envelope"),
    "a list": (f"[{TEXT}]", "the answer is a JSON array"),
    "a string": (json.dumps("hello"), "the answer is a JSON string"),
    "a number": ("3", "the answer is a JSON number"),
    "true": ("true", "the answer is a JSON boolean"),
    "null": ("null", "the answer is a JSON null"),
    "a byte order mark": ("\ufeff" + TEXT, "no JSON from character 0 on"),
    "a number of 5000 digits": (TEXT.replace('"picture_count": null', f'"picture_count": {"9" * 5000}'), "too long"),
    "half a character": (with_(answer="a\ud800"), "half a character"),
    "half a character in a key": (with_(**{"a\ud800": 1}), "half a character"),
    "lists without end": ("[" * 100_000, "nested too deeply"),
}


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_not_exactly_one_valid_object_is_refused_with_one_sentence(text: str, said: str):
    with pytest.raises(EnvelopeError, match=said) as caught:
        parse_envelope(text)
    assert "\n" not in str(caught.value)


WRONG_TYPES = {
    "answer": 1,
    "answer_needed": 1,
    "channel": ["general"],
    "staff": False,
    "picture": {"of": "a cat"},
    "picture_count": True,
    "picture_edit": "false",
    "hack": None,
}


@pytest.mark.spec("ENV-18", "ENV-19")
@pytest.mark.parametrize(("key", "value"), WRONG_TYPES.items(), ids=WRONG_TYPES.keys())
def test_a_value_of_another_type_is_not_converted(key: str, value: object):
    with pytest.raises(EnvelopeError, match=f"'{key}' has the wrong type"):
        parse_envelope(with_(**{key: value}))


@pytest.mark.spec("ENV-18")
@pytest.mark.parametrize("count", ["1.0", "1e0", '"1"', "true"])
def test_a_count_is_a_whole_number_written_as_one(count: str):
    with pytest.raises(EnvelopeError, match="'picture_count' has the wrong type, int"):
        parse_envelope(TEXT.replace('"picture_count": null', f'"picture_count": {count}'))


@pytest.mark.spec("ENV-18")
def test_a_refusal_names_no_value_that_the_model_wrote():
    with pytest.raises(EnvelopeError) as caught:
        parse_envelope(with_(answer_needed="sk-secret"))
    assert "sk-secret" not in str(caught.value)


@pytest.mark.spec("ENV-18")
@given(st.text(max_size=50))
def test_any_answer_text_comes_back_unchanged(text: str):
    assert parse_envelope(with_(answer=text)).answer == text


@pytest.mark.spec("ENV-18")
@given(st.text(max_size=80))
def test_any_other_text_is_refused_with_the_one_error_and_no_other(text: str):
    with pytest.raises(EnvelopeError):
        parse_envelope(text)


@pytest.mark.spec("ENV-34")
@pytest.mark.parametrize(
    ("picture", "count", "becomes"),
    [
        ("a cat", 0, 1),
        ("a cat", -3, 1),
        ("a cat", 1, 1),
        ("a cat", 4, 4),
        ("a cat", 57894, 4),
        ("a cat", None, 1),
        (None, None, None),
        (None, 3, 3),
        (None, 57894, 4),
        (None, -1, 0),
    ],
)
def test_the_count_is_clamped_and_each_clamp_noted(picture: str | None, count: int | None, becomes: int | None):
    ruled, notes = clamped(Envelope("x", True, picture=picture, picture_count=count), ())
    assert ruled.picture_count == becomes
    assert len(notes) == (0 if count is None or count == becomes else 1)


@pytest.mark.spec("ENV-34")
def test_the_note_on_a_clamp_says_what_was_asked_for_and_what_is_allowed():
    _, notes = clamped(Envelope("x", True, picture="a cat", picture_count=9), ())
    assert notes == ("picture_count 9 became 4; 1 to 4 are allowed",)


@pytest.mark.spec("ENV-09")
@pytest.mark.parametrize("channel", [None, "", "  ", "none", "None", " NONE \n", "\u200b"])
def test_a_channel_that_is_none_is_the_channel_of_the_message(channel: str | None):
    ruled, notes = clamped(Envelope("x", True, channel=channel), ("general", "none"))
    assert (ruled.channel, notes) == (None, ())


@pytest.mark.spec("ENV-09", "ENV-34")
def test_a_channel_outside_the_contract_is_the_channel_of_the_message_and_noted():
    ruled, notes = clamped(Envelope("x", True, channel="I would say the lounge"), ("general",))
    assert ruled.channel is None
    assert notes == ("channel 'I would say the lounge' is not allowed; the answer stays in the channel of the message",)


@pytest.mark.spec("ENV-09")
def test_an_allowed_channel_stays():
    assert clamped(Envelope("x", True, channel=" general "), ("general",)) == (
        Envelope("x", True, channel="general"),
        (),
    )


@pytest.mark.spec("ENV-34", "ENV-25")
@pytest.mark.parametrize("blank", ["", "  \n", "\u200b\ufeff"])
def test_blank_texts_are_none(blank: str):
    ruled, notes = clamped(Envelope(blank, True, staff=blank, picture=blank), ())
    assert (ruled, notes) == (Envelope(None, True), ())
