"""Values become JSON that anybody can read back, long texts once; what cannot be stored is refused by its place."""

import json
import math

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.contract import Classification
from phasewalk.machine.documents import (
    SPILL_OVER,
    NotStorableError,
    digest_of,
    encode,
    json_of,
    payload_of,
)
from phasewalk.machine.exchange import HistoryEntry, ModelReply, Prompt
from phasewalk.machine.speech import Delivered, Speech
from phasewalk.machine.text import clipped, storable
from phasewalk.machine.words import Outcome

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts, max_size=5) | st.dictionaries(st.text(), parts, max_size=5),
    max_leaves=20,
)
ANY_TEXT = st.text(st.characters(exclude_categories=[]))


def unspilled(value: object, texts: dict[str, str]) -> object:
    if isinstance(value, dict):
        if value.keys() == {"payload"}:
            return texts[value["payload"]]
        return {key: unspilled(part, texts) for key, part in value.items()}
    return [unspilled(part, texts) for part in value] if isinstance(value, list) else value


def clean(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(key): clean(part) for key, part in value.items()}
    return [clean(part) for part in value] if isinstance(value, list) else value


@pytest.mark.spec("TURN-18", "LOG-12")
@given(JSON)
def test_what_is_encoded_is_read_back(value: object):
    encoded = encode(value)
    texts = {payload.digest: payload.text for payload in encoded.payloads}
    assert clean(unspilled(json.loads(encoded.text), texts)) == clean(value)


@pytest.mark.spec("LOG-05")
@given(ANY_TEXT)
def test_any_text_becomes_storable_and_stays_it(text: str):
    found = storable(text)
    assert len(found) == len(text)
    assert "\x00" not in found
    found.encode("utf-8")
    assert storable(found) == found


@pytest.mark.spec("LOG-05")
@given(ANY_TEXT)
def test_any_text_can_be_a_document_and_a_payload(text: str):
    json_of({"text": text}).encode("utf-8")
    payload = payload_of(text)
    assert payload.digest == digest_of(payload.text)


@pytest.mark.spec("LOG-05")
@pytest.mark.parametrize(("text", "expected"), [("a\x00b", "a�b"), ("\ud800", "�"), ("plain é 🙂", "plain é 🙂")])
def test_what_cannot_be_stored_is_replaced(text: str, expected: str):
    assert storable(text) == expected


@pytest.mark.spec("LOG-12")
def test_a_long_text_leaves_the_row_and_an_equal_one_is_kept_once():
    long = "x" * (SPILL_OVER + 1)
    encoded = encode({"a": long, "b": [long, "short"], "c": "y" * SPILL_OVER})
    assert json.loads(encoded.text) == {
        "a": {"payload": digest_of(long)},
        "b": [{"payload": digest_of(long)}, "short"],
        "c": "y" * 240,
    }
    assert [payload.text for payload in encoded.payloads] == [long]


def test_many_short_texts_stay_in_the_row():
    encoded = encode(["short"] * 100)
    assert encoded.payloads == ()
    assert json.loads(encoded.text) == ["short"] * 100


@frozen
class Pair:
    left: object
    right: object


def test_a_value_becomes_an_object_of_its_fields_or_of_what_it_says_itself():
    assert json_of(Pair(1, Outcome.SILENT)) == '{"left":1,"right":"silent"}'
    prompt = Prompt("p", "c", tuple(HistoryEntry("user", "x", entry_id=n) for n in (1, 2, 3, 7)), "{}", "d", 9)
    assert json.loads(json_of(prompt))["history"] == [[1, 3], [7, 7]]


CYCLE: dict = {}
CYCLE["self"] = CYCLE
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


@pytest.mark.spec("TURN-18")
@pytest.mark.parametrize(
    ("value", "path", "problem"),
    [
        ({1, 2}, "", "set cannot be stored; text, numbers, lists, objects and attrs values can"),
        (b"x", "", "bytes cannot be stored; text, numbers, lists, objects and attrs values can"),
        ({"a": [0, math.inf]}, "['a'][1]", "Out of range float values are not JSON compliant"),
        (Pair(1, [Pair(2, object())]), ".right[0].right", "object cannot be stored"),
        ({"a": {(1, 2): "x"}}, "['a']", "keys must be str, int, float, bool or None, not tuple"),
        (CYCLE, "['self']", "Circular reference detected"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_its_place(value: object, path: str, problem: str):
    with pytest.raises(NotStorableError) as caught:
        encode(value)
    assert caught.value.path == path
    assert caught.value.problem.startswith(problem)
    assert str(caught.value).startswith(f"{path or 'value'}: ")


@pytest.mark.spec("TURN-18")
def test_what_is_nested_too_deeply_is_refused():
    with pytest.raises(NotStorableError, match="recursion"):
        json_of(DEEP)


@given(ANY_TEXT, st.integers(0, 30))
def test_a_clipped_text_is_never_longer_than_its_limit(text: str, limit: int):
    found = clipped(text, limit)
    assert len(found) <= max(limit, 1)
    assert found == text or found.endswith("…")
    assert found.removesuffix("…") == text[: len(found.removesuffix("…"))] or found == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Classification("none"), {"selection": "none"}),
        (Classification("none", (), ("not",)), {"selection": "none", "evidence": ["not"]}),
        (
            Classification("families", ("notes",), ("note",)),
            {"selection": "families", "families": ["notes"], "evidence": ["note"]},
        ),
        (ModelReply("a long answer"), {}),
        (Delivered(Speech("answer", "general", "Hello."), "9"), {"kind": "answer", "receipt": "9"}),
    ],
)
def test_what_stands_elsewhere_is_not_repeated_in_the_row_of_a_phase(value: object, expected: dict):
    assert json.loads(json_of(value)) == expected
