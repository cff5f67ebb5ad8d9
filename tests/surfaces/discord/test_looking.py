"""A text of the command line in one message of Discord: letter by letter, and what was cut is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.surfaces.discord.looking import fitted
from phasewalk.surfaces.discord.parts import LIMIT


@pytest.mark.spec("DIS-10")
def test_what_fits_is_shown_whole():
    assert fitted(["one *two*", "  @everyone"], "phasewalk why x") == "```\none *two*\n  @everyone\n```"


@pytest.mark.spec("DIS-10")
def test_what_is_cut_is_counted_with_the_command_that_shows_it():
    text = fitted([f"{number:03} {'x' * 46}" for number in range(100)], "phasewalk why x")
    kept = text.count("\n") - 2
    assert text.endswith(f"\n```\n{100 - kept} lines left out; `phasewalk why x` shows all of it")
    assert len(text) <= LIMIT < len(text) + 51


@pytest.mark.spec("DIS-10")
def test_a_fence_within_the_text_does_not_end_the_block():
    assert fitted(["a ``` b"], "x").count("```") == 2


@pytest.mark.spec("DIS-10")
@given(st.lists(st.text(), max_size=60), st.integers(0, 3000))
def test_every_text_fits(lines, length):
    text = fitted([*lines, "\U0001f600" * length], "phasewalk why x")
    assert 0 < len(text.encode("utf-16-le", "surrogatepass")) // 2 <= LIMIT
