"""The vocabulary file: its errors, and how an operator's words are added."""

from pathlib import Path

import pytest

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.vocabulary_file import OTHER, WORDS, extended, load, parsed, shipped

NAMED_IN_CONTRACT = (
    "notes tasks calendar memory documents email contacts search_browser history shell_files image_generation"
    " image_editing transcription media_inspection sessions skills research admin"
)
MINIMAL = "[families.x]\nnouns = ['thing']\n[words]\n" + "\n".join(f"{kind} = []" for kind in WORDS) + "\n[other]\n"
MINIMAL += "\n".join(f"{kind} = []" for kind in OTHER)


@pytest.mark.spec("CON-01")
def test_every_shipped_family_has_words():
    assert [family.name for family in shipped().families] == NAMED_IN_CONTRACT.split()
    assert all(any(True for _ in family.entries()) for family in shipped().families)


def test_nouns_are_known_in_the_plural_too():
    assert {"note", "notes"} <= {entry for entry, _ in shipped().families[0].entries()}
    assert shipped().hit_at(["memories"], 0) is not None
    assert shipped().hit_at(["address", "books"], 0) is not None


def test_extending_makes_another_vocabulary_and_leaves_the_first_alone():
    before = shipped().families[0].nouns
    wider = extended(shipped(), {"notes": {"nouns": ["zettel"]}})
    assert wider.families[0].nouns == (*before, "zettel")
    assert shipped().families[0].nouns == before
    assert shipped().hit_at(["zettel"], 0) is None


@pytest.mark.parametrize(
    ("addition", "problem"),
    [
        ({"noun": ["x"]}, r"\[families.weather\]: noun is not known; the nearest known key is 'nouns'"),
        ({"nouns": "rain"}, r"\[families.weather\]: nouns: input should be a valid list"),
        ({"nouns": [3]}, r"\[families.weather\]: nouns.0: input should be a valid string"),
        ({"verbs": ["..."]}, r"\[families.weather\]: '...' holds no word"),
    ],
)
def test_a_bad_addition_is_refused_with_its_place(addition, problem):
    with pytest.raises(ConfigurationError, match=problem):
        extended(shipped(), {"weather": addition})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("families = [", "vocabulary v.toml is not TOML"),
        ("[families]\n[words]", "vocabulary v.toml: families: "),
        (MINIMAL.replace("turns = []", "turns = []\nturnz = []", 1), r"\[words\] must hold exactly .* wrong: turnz"),
        (MINIMAL.replace("turns = []\n", "", 1), r"\[words\] must hold exactly .* wrong: turns"),
        (MINIMAL + "\nplane = []", r"\[other\] must hold exactly .* wrong: plane"),
        ("[families.x]\naccount = { phrases = ['my x'] }", r"families.x.account.tool: field required"),
    ],
)
def test_a_bad_vocabulary_file_is_refused_with_one_sentence(text, problem):
    with pytest.raises(ConfigurationError, match=problem):
        parsed(text, "v.toml")


def test_an_operators_file_replaces_the_shipped_one(tmp_path: Path):
    file = tmp_path / "v.toml"
    file.write_text(MINIMAL, "utf-8")
    assert [family.name for family in load(file).families] == ["x"]


def test_a_missing_file_is_a_configuration_error(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml cannot be read"):
        load(tmp_path / "nowhere.toml")
