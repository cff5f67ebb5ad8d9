"""Elements out of values: what somebody wrote stays text."""

import html5lib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.surfaces.report.html import Html, el, join, passage, text


@pytest.mark.spec("OPS-20")
@given(st.text())
def test_any_text_stays_text_in_an_element_and_in_an_attribute(written):
    """Whatever is written, a strict reader finds one paragraph, one attribute, and no element inside."""
    page = f"<!DOCTYPE html><title>t</title>{el('p', written, title=written)}"
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    (paragraph,) = tree.iter("p")
    assert list(paragraph) == []
    assert list(paragraph.attrib) == ["title"]
    assert len(list(tree.find("body"))) == 1


@pytest.mark.spec("OPS-20")
def test_what_cannot_be_seen_is_shown_by_its_escape():
    """Escape codes, marks of direction and NUL are shown; a line's end stays one only in a passage."""
    assert text("\x1b[2J\u202e\x00\n<b>") == "\\x1b[2J\\u202e\\x00\\n&lt;b&gt;"
    assert passage("a\r\n<b>") == "a\\r\n&lt;b&gt;"


@pytest.mark.spec("OPS-20")
def test_only_html_passes_as_it_is():
    """An element inside another is not escaped again, the same characters as a text are."""
    assert el("b", el("i", "x")) == "<b><i>x</i></b>"
    assert el("b", "<i>x</i>") == "<b>&lt;i&gt;x&lt;/i&gt;</b>"


@pytest.mark.spec("OPS-20")
def test_nothing_is_left_of_none_and_of_attributes_that_are_not():
    """None is no content, an attribute of None or False is left out, True has no value, 0 has one."""
    made = el("td", None, ["a", None, 0], class_=None, hidden=False, open=True, tabindex=0)
    assert made == '<td open tabindex="0">a0</td>'


@pytest.mark.spec("OPS-20")
def test_parts_are_escaped_one_by_one():
    """HTML stays, a text beside it is escaped, and a list inside is joined too."""
    assert join([Html("<br>"), "<", ["&", None, 1]], ", ") == "<br>, &lt;, &amp;1"
