import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phasewalk.phases.finish import Finished, is_blank, visible_text

LINKS = {
    "a link is its address": ("[docs](https://e.org/a)", "https://e.org/a"),
    "a mention is its label": ("@[Mia](https://e.org/mia)", "Mia"),
    "several on a line": ("see [a](http://a) and [b](http://b), @[c](http://c)!", "see http://a and http://b, c!"),
    "one after the other": ("[a](http://a)[b](http://b)", "http://ahttp://b"),
    "brackets in the label": ("[a [b [c]] d](http://a)", "http://a"),
    "brackets in the label of a mention": ("@[Mia [staff]](http://a)", "Mia [staff]"),
    "parentheses in the address": ("[w](https://e.org/A_(b)_(c(d)))", "https://e.org/A_(b)_(c(d))"),
    "escaped parentheses in the address": (r"[w](https://e.org/A_\(b\))", "https://e.org/A_(b)"),
    "a link in parentheses": ("(see [a](http://a))", "(see http://a)"),
    "an address in angle brackets": ("[a](<https://e.org/x>)", "https://e.org/x"),
    "a title is dropped": ('[a](http://a "the title")', "http://a"),
    "an empty label": ("[](http://a)", "http://a"),
    "code as a label": ("[`run`](http://a) @[`run`](http://a)", "http://a `run`"),
    "a label over two lines": ("[two\nlines](http://a)", "http://a"),
    "a link in a link": ("[x [a](http://a) y](http://b)", "http://b"),
    "a mention in a mention": ("@[x @[Mia](http://a) y](http://b)", "x Mia y"),
    "a relative address": ("[label](url)", "url"),
    "a picture": ("![cat](http://a/cat.png) and ![](http://a/dog.png)", "http://a/cat.png and http://a/dog.png"),
    "a link after an exclamation": ("Look![a](http://a)", "Look!http://a"),
    "a link that appears when another is unwrapped": ("[x][y]((http://a))", "http://a"),
}


@pytest.mark.spec("ENV-08", "ENV-37")
@pytest.mark.parametrize(("text", "becomes"), LINKS.values(), ids=LINKS.keys())
def test_links_are_unwrapped(text: str, becomes: str):
    assert visible_text(text) == Finished(becomes)


NO_LINKS = {
    "plain": "just words",
    "brackets alone": "[1] and [a] [b]",
    "a blank between": "[a] (b)",
    "a reference": "[a][b]",
    "an empty address": "f[x]()",
    "a blank in the address": "[a](b c)",
    "never closed": "[a](http://a",
    "never opened": "a](http://a)",
    "escaped": r"\[a](http://a) [a\](http://a)",
    "a blank line in the label": "[a\n\nb](http://a)",
    "an address as it is": "https://e.org/a_(b) <https://e.org>",
    "inline code": "`[a](b)` and ``[a](b) ` ``",
    "a block": "```\n[a](b)\n```",
    "a block with a language": "look:\n```md\n[a](b)\n@[a](b)\n```\nthere",
    "a block in a line": "```[a](b)```",
    "a block that is closed at a line's end": "```py\nx = f[a](b)```",
    "a block never closed": "```\n[a](b)",
    "a block between tildes": "~~~\n[a](b)\n~~~",
    "a longer fence": "````\n```\n[a](b)\n```\n````",
    "a code span in the address": "[a](`b`)",
    "a label around a block": "[\n```\nx\n```\n](http://a)",
    "a backslash at the end": "a\\",
    "blanks at both ends": "  a  \n",
}


@pytest.mark.spec("ENV-08")
@pytest.mark.parametrize("text", NO_LINKS.values(), ids=NO_LINKS.keys())
def test_what_is_no_link_and_code_stay_as_they_are(text: str):
    assert visible_text(text) == Finished(text)


@pytest.mark.spec("ENV-08")
def test_a_link_beside_code_is_unwrapped():
    assert visible_text("`[a](b)` [a](b) ```[a](b)``` [a](b)").text == "`[a](b)` b ```[a](b)``` b"


@pytest.mark.spec("ENV-08")
def test_a_lone_backtick_hides_no_link_in_a_later_paragraph():
    assert visible_text("a ` b\n\n[a](http://a) `").text == "a ` b\n\nhttp://a `"


SIGNS = [
    "[",
    "]",
    "(",
    ")",
    "@",
    "!",
    "<",
    ">",
    "`",
    "``",
    "```",
    "~~~",
    "\\",
    " ",
    "\n",
    "\n\n",
    "a",
    "http://a",
    '"t"',
]
MARKERS = ["[no_response]", "[no_", "response]", "[sticker: wave]", "[sticker: x]", "[sticker:", "[a](b)", "@[a](b)"]
PARTS = st.sampled_from([*SIGNS, *MARKERS])


@pytest.mark.spec("ENV-08", "ENV-37")
@given(st.lists(PARTS, max_size=30).map("".join))
@example("``@[`](u) ```[l](k)``` ")
@example("[no_[no_response]response]")
@example("[sticker: [sticker: x]]")
def test_finishing_twice_changes_nothing(text: str):
    once = visible_text(text, {"wave"})
    assert visible_text(once.text, {"wave"}) == Finished(once.text)


WORDS = st.text(st.sampled_from("abcdef .,"), max_size=8)
LINK = st.tuples(
    WORDS.map(str.strip), st.from_regex(r"https://[a-z]{1,5}(/[a-z0-9_-]{1,5}|\([a-z]{1,3}\)){0,3}", fullmatch=True)
)


@pytest.mark.spec("ENV-08")
@given(st.lists(st.tuples(WORDS, LINK), min_size=1, max_size=4))
def test_addresses_are_those_that_a_markdown_parser_finds(parts: list[tuple[str, tuple[str, str]]]):
    markdown_it = pytest.importorskip("markdown_it")
    text = "x" + "".join(f"{before} [{label}]({url}) " for before, (label, url) in parts)
    found = [
        token.attrGet("href")
        for token in markdown_it.MarkdownIt().parseInline(text)[0].children
        if token.type == "link_open"
    ]
    assert re.findall(r"https://\S+", visible_text(text).text or "") == found
    assert found == [url for _, (_, url) in parts]


@pytest.mark.spec("ENV-25")
@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("[no_response]", None),
        ("[NO_RESPONSE]", None),
        (" [No_Response] \n", None),
        ("[no_response][no_response]", None),
        ("[no_response] Hello", "Hello"),
        ("Hello [no_response]", "Hello"),
        ("Hello [No_response] there", "Hello there"),
        ("a\n[no_response]\nb", "a\n\nb"),
        ("`[no_response]` x", "`` x"),
        ("[no_[no_response]response] x", "x"),
        ("no_response", "no_response"),
        ("[no response]", "[no response]"),
    ],
)
def test_no_response_is_stripped_wherever_it_stands(text: str, becomes: str | None):
    assert visible_text(text) == Finished(becomes)


@pytest.mark.spec("ENV-25")
@pytest.mark.parametrize(
    "text", [None, "", " ", "\n\t", "\u200b", "\u200d\ufeff \u2060", "\u3164", "\u2800", "\u00ad", "\x00", "\ufe0f"]
)
def test_nothing_that_a_reader_would_see_is_no_text(text: str | None):
    assert visible_text(text) == Finished(None)


@pytest.mark.spec("ENV-25")
@pytest.mark.parametrize("text", ["null", "None", "none", "false", ".", "👍", "👩‍👩‍👧", "é", "\u200bx"])
def test_literal_words_and_small_signs_are_text(text: str):
    assert visible_text(text) == Finished(text)
    assert not is_blank(text)


@pytest.mark.spec("ENV-37")
def test_a_sticker_of_the_contract_stays_and_another_one_is_removed_and_noted():
    finished = visible_text("Hi [sticker: wave] there [sticker: Secret one]!", {"wave"})
    assert finished == Finished("Hi [sticker: wave] there!", ("sticker 'Secret one' is not allowed and was removed",))


@pytest.mark.spec("ENV-37")
def test_an_answer_of_an_unknown_sticker_alone_says_nothing():
    assert visible_text("[Sticker:x]") == Finished(None, ("sticker 'x' is not allowed and was removed",))


@pytest.mark.spec("ENV-37")
def test_a_sticker_in_code_is_text():
    assert visible_text("`[sticker: x]`") == Finished("`[sticker: x]`")


HOSTILE = {
    "open links": "[a](" * 20_000,
    "nested mentions": "@[" * 20_000 + "x" + "](u)" * 20_000,
    "nested markers": "[no_" * 20_000 + "response]" * 20_000,
    "nested stickers": "[sticker: " * 5_000 + "]" * 5_000,
    "brackets": "[" * 50_000 + "]" * 50_000,
    "blanks": "[a](" + " " * 50_000,
    "backticks": "".join("`" * n + " " for n in range(1, 300)),
    "links hidden in links": "[x]@[(" * 1_000 + "z" + ")](v)" * 1_000,
}


@pytest.mark.spec("ENV-37")
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_text_does_not_hold_up_the_process(text: str):
    began = time.process_time()
    visible_text(text)
    assert time.process_time() - began < 5.0
