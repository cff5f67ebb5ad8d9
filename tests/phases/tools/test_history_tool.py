"""The search of what was said: where it looks, and how it shows what it found."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phasewalk.machine.shelf import Found
from phasewalk.phases.tools.history import AUTHOR, EXCERPT, excerpt
from phasewalk.phases.tools.serialise import as_text

AT_US = 1_790_000_000_000_000


@pytest.mark.spec("LOG-08")
async def test_findings_are_shown_the_newest_last(registry, context, shelf):
    shelf.said = [Found("Bob", "the raid moved", AT_US + 60_000_000, "9"), Found("Ana", "raid?", AT_US, "9")]
    assert await registry.run("history_search", '{"query": " raid "}', context()) == {
        "sought": "raid",
        "found": [
            {"at": "2026-09-21T14:13:20Z", "author": "Ana", "text": "raid?"},
            {"at": "2026-09-21T14:14:20Z", "author": "Bob", "text": "the raid moved"},
        ],
    }


async def test_without_a_list_of_channels_only_that_of_the_message_is_searched(registry, context, shelf):
    await registry.run("history_search", '{"query": "x"}', context())
    assert shelf.searches == [(("9",), "x", 10)]


async def test_the_channels_that_the_person_may_read_are_searched_and_named(registry, context, shelf):
    shelf.said = [Found("Bob", "x", AT_US, "10"), Found("Bob", "x", AT_US, "9")]
    result = await registry.run("history_search", '{"query": "x", "limit": 25}', context(readable=("9", "10")))
    assert shelf.searches == [(("9", "10"), "x", 25)]
    assert [hit.get("channel") for hit in result["found"]] == [None, "10"]


async def test_a_turn_without_a_channel_searches_none(registry, context, shelf):
    await registry.run("history_search", '{"query": "x"}', context(channel=""))
    assert shelf.searches == [((), "x", 10)]


async def test_how_far_back_a_search_looked_is_said_where_it_stopped(registry, context, shelf):
    shelf.back_to_us = AT_US
    result = await registry.run("history_search", '{"query": "x"}', context())
    assert (result["found"], result["searched_back_to"]) == ([], "2026-09-21T14:13:20Z")


@pytest.mark.parametrize(
    "arguments", [{"query": ""}, {"query": " \n"}, {"query": "x" * 301}, {"query": "x", "limit": 0}, {"query": "x", "limit": 26}]
)  # fmt: skip
def test_blank_and_endless_queries_and_limits_are_refused(registry, arguments):
    assert registry.problem_with("history_search", json.dumps(arguments)) is not None


@pytest.mark.spec("CON-23")
async def test_the_longest_findings_fit_into_one_result(registry, context, shelf):
    shelf.said = [Found("é" * 500, "\x01" * 5000, AT_US, "10")] * 25
    result = await registry.run("history_search", '{"query": "x", "limit": 25}', context())
    assert json.loads(as_text(result)) == result
    assert len(result["found"][0]["author"]) == AUTHOR
    assert len(result["found"]) == 25 - result["left_out"]


def test_an_excerpt_shows_the_word_and_marks_its_cuts():
    shown = excerpt("a" * 500 + " Raid " + "b" * 500, "raid")
    assert (shown[0], shown[-1], " Raid " in shown, len(shown)) == ("…", "…", True, EXCERPT + 2)


def test_a_short_text_is_its_own_excerpt():
    assert excerpt("the raid", "raid") == "the raid"


@pytest.mark.spec("LOG-08")
@given(st.text(max_size=700), st.text(min_size=1, max_size=8), st.text(max_size=700))
@example("ß" * 600, "x", "")
@example("", "x", "y" * 600)
@example("y" * 600, "İ", "y" * 300)
def test_an_excerpt_always_shows_the_first_place_of_the_word(before, word, after):
    text, sought = before + word + after, word.casefold()
    assert sought in text.casefold()
    assert sought in excerpt(text, sought).casefold()
    assert len(excerpt(text, sought)) <= EXCERPT + 2
