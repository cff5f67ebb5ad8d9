"""Anything that a tool returns becomes text."""

import json
import time
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from uuid import UUID

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from phasewalk.phases.tools.serialise import as_text, shortened


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Liar:
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307 - a broken object is the case


class Plain:
    pass


class BrokenList(list[int]):
    def __iter__(self):
        raise OSError("disk")


class Colour(Enum):
    RED = "red"
    ODD = object()


class Level(IntEnum):
    HIGH = 3


@frozen
class Point:
    x: int
    y: int


class Model(BaseModel):
    on: date


CYCLE: list[object] = [1]
CYCLE.append(CYCLE)


@pytest.mark.spec("CON-23")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        ((1, 2), "[1, 2]"),
        ({"b", "a", "c"}, '["a", "b", "c"]'),
        ({3: "x", None: "y", (1, 2): "z"}, '{"3": "x", "null": "y", "[1, 2]": "z"}'),
        (float("nan"), "NaN"),
        ([float("inf"), float("-inf")], '["Infinity", "-Infinity"]'),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        ([date(2026, 1, 2)], '["2026-01-02"]'),
        (timedelta(hours=1), "1:00:00"),
        (Decimal("1.10"), "1.10"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("/a/b"), "/a/b"),
        (b"text", "text"),
        (bytes([255, 0]), "base64:/wA="),
        (Colour.RED, "red"),
        (Colour.ODD, "ODD"),
        (Level.HIGH, "3"),
        (Point(1, 2), '{"x": 1, "y": 2}'),
        (Model(on=date(2026, 1, 2)), '{"on": "2026-01-02"}'),
        (ValueError("why"), "ValueError: why"),
        (CYCLE, '[1, "<cycle>"]'),
        (Broken(), "<Broken: RuntimeError>"),
        ([1, Broken()], '[1, "<Broken: RuntimeError>"]'),
        (Liar(), "<Liar: TypeError>"),
        (BrokenList([1]), "<BrokenList: OSError>"),
        ("a\x00b\ud800", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_what_values_become(value, text):
    assert as_text(value) == text


@pytest.mark.spec("CON-23")
def test_no_memory_address_is_shown():
    assert as_text(Plain()).endswith("Plain object>")
    assert " at 0x" not in as_text([Plain(), len, lambda: None])


@pytest.mark.spec("CON-23")
def test_a_number_too_long_to_print_is_shown_in_hexadecimal():
    assert as_text(10**5000).startswith("0x")
    assert as_text(10**300) == "1" + "0" * 300


@pytest.mark.spec("CON-23")
def test_a_deep_nest_ends_somewhere():
    value: list[object] = []
    for _ in range(100_000):
        value = [value]
    assert "<nested too deeply>" in as_text(value)


@pytest.mark.spec("CON-23")
def test_a_shared_part_is_no_cycle():
    shared = [1]
    assert as_text([shared, shared]) == "[[1], [1]]"


@pytest.mark.spec("CON-23")
def test_five_megabytes_of_emoji_are_cut_with_head_and_tail_and_the_cut_is_told():
    begin = time.perf_counter()
    text = as_text("start " + "\U0001f600" * 1_250_000 + " end", 500)
    assert time.perf_counter() - begin < 1
    assert text.startswith("start \U0001f600")
    assert text.endswith("\U0001f600 end")
    assert "of 1250010 characters left out" in text
    assert len(text) <= 500


@pytest.mark.spec("CON-23")
def test_the_number_of_characters_left_out_is_true():
    text = shortened("x" * 1000, 200)
    missing = int(text.split("[... ")[1].split(" ")[0])
    assert text.count("x") == 1000 - missing + "characters".count("x")


@pytest.mark.spec("CON-23")
@pytest.mark.parametrize("joined", ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "e\u0301", "\U0001f44d\U0001f3fd"])
def test_a_cut_tears_no_character_apart(joined):
    text = shortened(joined * 500, 200)
    head, tail = text.split("\n[", 1)[0], text.rsplit("]\n", 1)[1]
    assert head == joined * (len(head) // len(joined))
    assert tail == joined * (len(tail) // len(joined))


@pytest.mark.spec("CON-23")
def test_a_list_without_end_is_left_off():
    class Endless(list[int]):
        def __iter__(self):
            while True:
                yield 1

    assert as_text(Endless(), 100).endswith('1, 1, "..."]')


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.datetimes(),
        st.builds(Broken),
        st.builds(Plain),
        st.text(alphabet="\x00\ud800\U0001f600\u200d\u0301"),
    ),
    lambda parts: st.one_of(
        st.lists(parts), st.dictionaries(st.text(), parts), st.tuples(parts, parts), st.frozensets(st.integers())
    ),
    max_leaves=20,
)


@pytest.mark.spec("CON-23")
@given(ANYTHING, st.integers(0, 400))
def test_anything_becomes_storable_text_within_the_limit(value, limit):
    text = as_text(value, limit)
    assert len(text) <= limit
    assert "\x00" not in text
    text.encode("utf-8")


@pytest.mark.spec("CON-23")
@given(ANYTHING.filter(lambda value: not isinstance(value, str | bytes | datetime | Broken | Plain)))
def test_containers_become_valid_json(value):
    text = as_text(value, 10**9)
    assert text in ("NaN", "Infinity", "-Infinity") or json.loads(text, parse_constant=pytest.fail) is not Ellipsis
