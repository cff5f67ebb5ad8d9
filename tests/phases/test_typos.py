"""Which typos are read as which words, and which words are none (CON-05)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.phases.classify import classify_text
from phasewalk.phases.typos import corrected
from phasewalk.phases.vocabulary_file import extended, shipped

VOCABULARY = shipped()


def read(text: str, opening: int = -1) -> str:
    return " ".join(corrected(text.split(), opening, VOCABULARY)[0])


@pytest.mark.spec("CON-05")
@pytest.mark.parametrize(
    ("typo", "word"),
    [
        ("notse", "notes"),
        ("noet", "note"),
        ("emial", "email"),
        ("ntoe", "note"),
        ("calandr", "calendar"),
        ("appointmnt", "appointment"),
        ("contcats", "contacts"),
        ("remnider", "reminder"),
    ],
)
def test_a_slip_or_two_are_read_as_the_word(typo, word):
    assert read(typo) == word
    assert corrected([typo], -1, VOCABULARY)[1] == f"{typo} read as {word}"


@pytest.mark.spec("CON-05")
@pytest.mark.parametrize(
    "text",
    [
        "tsk",  # in three letters every slip is another word
        "nxtye",  # two slips in a short word
        "qalendar",  # the first letter is somebody else's
        "cxlyxdar",  # three slips
        "claendaxx",
        "reminders",  # a form of the word, and known
        "contract",
        "comment",
        "node",
        "nöte2",
    ],
)
def test_what_is_farther_off_or_means_something_itself_stays(text):
    assert corrected([text], -1, VOCABULARY) == ([text], "")


@pytest.mark.spec("CON-05")
def test_a_verb_is_read_from_a_slip_only_where_a_request_begins():
    assert read("delte the thing") == "delte the thing"
    assert read("delte the thing", 0) == "delete the thing"


@pytest.mark.spec("CON-05")
@pytest.mark.parametrize("text", ["the notse were lost", "my calandar is full", "I lost my taks yesterday"])
def test_without_a_request_a_typo_selects_nothing(text):
    assert classify_text(text, VOCABULARY).selection == "none"


@pytest.mark.spec("CON-05")
def test_what_was_read_as_what_is_among_the_evidence():
    assert classify_text("show my notse", VOCABULARY).evidence == ("notes: notes, show, notse read as notes",)


def test_words_of_the_operator_are_read_from_slips_too():
    vocabulary = extended(VOCABULARY, {"weather": {"nouns": ["forecast"]}})
    assert classify_text("show the forcast", vocabulary).families == ("weather",)


@given(st.lists(st.text(min_size=1), max_size=5), st.integers(-1, 5))
def test_any_words_come_back_in_their_places(tokens, opening):
    better, read_as = corrected(tokens, opening, VOCABULARY)
    assert len(better) == len(tokens)
    assert (better == tokens) == (read_as == "")
