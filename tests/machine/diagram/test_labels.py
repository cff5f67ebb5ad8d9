"""Names of any characters in a picture."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.diagram.labels import decoded, encoded, words_in

pytestmark = pytest.mark.spec("OPS-21")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("attempt_failed", "attempt_failed"),
        ("Größe-2.5", "Größe-2.5"),
        ("a: b", "a&#58;&#32;b"),
        ('say "x"; <b>|\\', "say&#32;&#34;x&#34;&#59;&#32;&#60;b&#62;&#124;&#92;"),
        ("(3)", "&#40;3&#41;"),
        ("line\nbreak", "line&#10;break"),
        ("_private_", "&#95;private&#95;"),
        ("&#58;", "&#38;&#35;58&#59;"),
    ],
)
def test_a_name_stands_in_a_picture_as_one_harmless_word(name, word):
    assert encoded(name) == word


@given(st.text(st.characters(exclude_categories=()), min_size=1), st.sampled_from(["#", "&#"]))
def test_every_name_is_read_back_and_leaves_only_letters_and_entities(name, entity):
    word = encoded(name, entity)
    assert decoded(word, entity) == name
    assert not set(word) & set("\n\r\t :|\"'\\<>()[]{}`*,")
    assert word.encode("utf-8").decode("utf-8") == word


def test_marks_in_brackets_are_no_names():
    assert words_in("T14 (3, 4) T15 (20x in all) attempt_failed") == ["T14", "T15", "attempt_failed"]


def test_an_entity_beyond_the_last_character_is_left_alone():
    assert decoded("&#9999999;") == "&#9999999;"
