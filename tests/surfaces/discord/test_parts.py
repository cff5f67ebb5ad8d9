"""Cutting an answer into messages: nothing lost, nothing too long, no fence left open, no character broken."""

import random
import re
import time

import pytest

from phasewalk.surfaces.discord.parts import AIM, LIMIT, cut

pytestmark = pytest.mark.spec("DIS-04")

WORDS = (
    "the",
    "raid",
    "a",
    "böse",
    "漢字",
    "😀",
    "👩‍👩‍👧",
    "é",
    "🇩🇪",
    "<@42>",
    "x" * 300,
    "https://example.org/" + "p" * 90,
)
GLUE = (" ", " ", " ", "\n", "\n\n", "\n  ", "\n\n\n", "\t")


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def substance(text: str) -> str:
    return re.sub(r"\s", "", text)


def random_text(rng: random.Random, size: int) -> str:
    return "".join(rng.choice(WORDS) + rng.choice(GLUE) for _ in range(size))


def random_code(rng: random.Random, size: int) -> str:
    pieces = []
    for _ in range(size):
        pieces.append(random_text(rng, rng.randrange(1, 60)))
        language = rng.choice(("", "python", "c++", "objective-c"))
        pieces.append(f"```{language}\n{random_text(rng, rng.randrange(1, 120))}\n```\n")
    return "".join(pieces)


def test_a_text_within_the_limit_stays_as_it_is():
    text = "a\n" * 999 + "ab"
    assert units(text) == LIMIT
    assert cut(text) == [text]
    assert cut("```open") == ["```open"]
    assert cut("   \n") == []


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost_and_no_part_is_too_long(seed: int):
    text = random_text(random.Random(seed), 50 + seed * 20)
    parts = cut(text)
    assert substance("".join(parts)) == substance(text)
    assert all(0 < units(part) <= AIM for part in parts[:-1])
    assert units(parts[-1]) <= LIMIT
    assert all(part.strip() for part in parts)


@pytest.mark.parametrize("seed", range(60))
def test_every_part_closes_the_fences_that_it_opens(seed: int):
    rng = random.Random(seed)
    text = random_code(rng, 1 + seed // 6)
    parts = cut(text)
    assert all(units(part) <= LIMIT for part in parts)
    assert all(part.count("```") % 2 == 0 for part in parts)
    assert [part for part in parts if re.search(r"```[\w+\-.#]*\n\s*```", part)] == [], "no block is empty"
    bare = re.compile(r"```(?:python|c\+\+|objective-c)?")
    assert substance(bare.sub("", "".join(parts))) == substance(bare.sub("", text))


def test_a_cut_block_goes_on_in_its_language_with_its_indentation():
    text = "Here:\n```python\n" + "    return 1  # a line of it\n" * 200 + "```\nThat is all."
    parts = cut(text)
    assert len(parts) == 4
    assert parts[0].startswith("Here:\n```python\n    return")
    assert all(part.endswith("\n```") for part in parts[:-1])
    assert all(part.startswith("```python\n    return") for part in parts[1:])
    assert parts[-1].endswith("\n```\nThat is all.")
    assert "".join(parts).count("    return 1  # a line of it") == 200


def test_a_block_is_not_begun_at_the_end_of_a_part():
    text = "word " * 377 + "\n```python\nprint(1)\n```\n" + "tail " * 30
    parts = cut(text)
    assert parts[0] == ("word " * 377).strip()
    assert parts[1].startswith("```python\nprint(1)\n```\ntail")


def test_a_block_that_ends_where_the_part_does_is_not_opened_again():
    text = "```\n" + "1234567\n" * 235 + "12345678901\n\n\n```\n" + "tail " * 100
    parts = cut(text)
    assert parts[0].endswith("12345678901\n```")
    assert parts[1].startswith("tail")


def test_a_block_never_closed_is_closed_in_every_part():
    parts = cut("```js\n" + "let a = 1;\n" * 400)
    assert len(parts) > 2
    assert all(part.startswith("```js\n") and part.endswith("\n```") for part in parts)


def test_paragraphs_come_before_lines_and_lines_before_blanks():
    first = "x" * 1200 + "\n" + "y" * 100
    assert cut(first + "\n\n" + "a line\n" * 80 + "z " * 400)[0] == first
    lines = "line of words\n" * 200
    assert all(part.splitlines()[-1] == "line of words" for part in cut(lines))
    assert all(part.endswith("word") for part in cut("word " * 1000))


def test_a_long_word_stays_whole_where_it_can():
    word = "w" * 1895
    assert cut("see " + word + " and " + word) == ["see", word, f"and {word}"]


@pytest.mark.parametrize(
    "character",
    ["😀", "é", "👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"],
    ids=["astral", "combining", "joined", "coloured", "flag", "tags"],
)
def test_no_character_is_cut_in_two(character: str):
    parts = cut(character * 3000)
    assert "".join(parts) == character * 3000
    assert all(len(part) % len(character) == 0 and units(part) <= LIMIT for part in parts)


def test_a_character_without_an_end_is_cut_all_the_same():
    text = "a" + "\u0301" * 5000
    parts = cut(text)
    assert "".join(parts) == text
    assert all(units(part) <= LIMIT for part in parts)


def test_backticks_beyond_reason_and_lone_surrogates_are_text():
    for text in ("`" * 9000, "\ud83d" * 5000, "```" * 3000, "``` " * 3000, "\n" * 5000 + "x" + "\n" * 5000):
        parts = cut(text)
        assert all(len(part.encode("utf-16-le", "surrogatepass")) // 2 <= LIMIT for part in parts)
    assert "".join(cut("\ud83d" * 5000)) == "\ud83d" * 5000
    assert cut("\n" * 5000 + "x" + "\n" * 5000) == ["x"]


def test_a_megabyte_is_cut_in_a_second():
    for text in ("word " * 200_000, "```\n" + "x" * 1_000_000, "a\n\n" * 300_000, "😀" * 250_000):
        began = time.perf_counter()
        cut(text)
        assert time.perf_counter() - began < 2
