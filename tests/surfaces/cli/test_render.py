"""Text on terminals: harmless, measured, cut only where asked (OPS-14)."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.surfaces.cli.render import clip, harmless, pad, table, width_of, wrap

HARMLESS = {
    "escape": ("\x1b[31mred", r"\x1b[31mred"),
    "line break": ("a\nb\r\tc", r"a\nb\r\tc"),
    "NUL and DEL": ("a\x00b\x7f", r"a\x00b\x7f"),
    "C1": ("a\x9b31m", r"a\x9b31m"),
    "right to left": ("abc\u202egnp.exe", r"abc\u202egnp.exe"),
    "isolates and marks": ("\u2066\u200f\u200b", r"\u2066\u200f\u200b"),
    "lone surrogate": ("a\ud800", r"a\ud800"),
    "private and tags": ("\ue000\U000e0041", r"\ue000\U000e0041"),
    "plain": ("naïve 漢字 🤞", "naïve 漢字 🤞"),
    "joined emoji": ("👩\u200d🔧", "👩\u200d🔧"),
    "Hindi": ("क्\u200dष", "क्\u200dष"),
}


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize(("text", "shown"), HARMLESS.values(), ids=HARMLESS)
def test_control_characters_are_shown_as_text_and_others_as_they_are(text, shown):
    assert harmless(text) == shown


@pytest.mark.spec("OPS-14")
@given(st.text(st.characters()))
def test_nothing_harmful_is_left_of_any_text(text):
    shown = harmless(text)
    assert {c for c in shown if not c.isprintable()} <= {"\u200c", "\u200d"}
    assert harmless(shown) == shown


WIDTHS = [("abc", 3), ("漢字", 4), ("é", 1), ("e\u0301", 1), ("🤞", 2), ("가", 2), ("\u1100\u1161", 2), ("", 0)]


@pytest.mark.spec("OPS-14")
@pytest.mark.parametrize(("text", "columns"), WIDTHS)
def test_wide_characters_take_two_columns_and_combining_ones_none(text, columns):
    assert width_of(text) == columns


@pytest.mark.spec("OPS-14")
@given(st.text(), st.integers(1, 30))
def test_a_clipped_text_fits_and_is_marked_when_something_is_missing(text, columns):
    clean = harmless(text)
    shown = clip(clean, columns)
    assert width_of(shown) <= columns
    assert shown == clean or (shown.endswith("…") and clean.startswith(shown[:-1]))


@pytest.mark.spec("OPS-14")
def test_without_a_terminal_nothing_is_clipped_or_wrapped():
    assert clip("x" * 500, None) == "x" * 500
    assert wrap("x " * 500, None) == ["x " * 500]


@given(st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126)), st.integers(10, 40))
def test_wrapping_breaks_at_blanks_and_loses_no_word(text, columns):
    lines = wrap(text, columns, "  ")
    assert " ".join(lines).split() == text.split()
    assert all(width_of(line) <= columns or len(line.split()) == 1 for line in lines)


def test_wrapped_lines_are_indented_and_the_first_keeps_its_blanks():
    assert wrap("  one two three four", 11, "    ") == ["  one two", "    three", "    four"]


@pytest.mark.spec("OPS-14")
def test_columns_are_aligned_by_what_is_seen():
    lines = table(("NAME", "N"), [["漢字", 1], ["abcdef", None], ["e\u0301", 22]], None)
    assert lines == ["NAME    N", "漢字    1", "abcdef", "e\u0301       22"]


@pytest.mark.spec("OPS-14")
def test_on_a_terminal_the_widest_columns_give_way_until_all_fit():
    lines = table(("ID", "WHY", "WHO"), [["12345678901234", "w" * 60, "o" * 60]], 80)
    assert max(map(width_of, lines)) == 80
    assert lines[1] == f"12345678901234  {'w' * 30}…  {'o' * 30}…"


@given(st.lists(st.lists(st.text(max_size=40), min_size=3, max_size=3), max_size=4), st.integers(40, 90))
def test_a_table_fits_any_terminal_whatever_is_in_it(rows, columns):
    lines = table(("a", "b", "c"), rows, columns)
    assert len(lines) == len(rows) + 1
    assert max(map(width_of, lines)) <= columns


def test_padding_counts_columns_and_not_characters():
    assert pad("漢字", 6) == "漢字  "
    assert unicodedata.east_asian_width("漢") == "W"
