"""HTML out of values: elements that escape whatever is not HTML already.

Owns escaping and nothing of what a page says. Knows no style. Invariant: text that somebody wrote can neither become
an element or an attribute nor move, hide or turn what stands beside it; only `Html` passes as it is.
"""

from collections.abc import Iterable
from html import escape

from phasewalk.surfaces.cli.render import harmless

VOID = frozenset({"meta", "br", "rect"})
"""Elements without content, and shapes, which end where they begin."""

BLOCKS = frozenset(
    {
        *("html", "head", "meta", "style", "body", "header", "nav", "main", "footer", "section", "article", "h1", "h2"),
        *("h3", "p", "ul", "li", "dl", "div", "table", "caption", "thead", "tbody", "tr", "figure", "figcaption"),
        *("details", "summary", "pre", "blockquote"),
    }
)
"""Elements behind which a line ends, so that two pages can be compared line by line."""


class Html(str):
    """Text that is HTML already. Made by `el` and `join`; by hand only from texts of this program."""

    __slots__ = ()


def text(value: object) -> Html:
    """`value` as HTML that shows it in one line; what cannot be seen, a line's end too, is shown by its escape."""
    return value if isinstance(value, Html) else Html(escape(harmless(value)))


def passage(value: object) -> Html:
    """The same of something longer, in which lines stay lines."""
    return join(str(value).split("\n"), "\n")


def join(parts: Iterable[object], between: str = "") -> Html:
    """The parts one behind the other; `between` is a text of this program."""
    return Html(between.join(map(_content, parts)))


def _content(part: object) -> str:
    if part is None:
        return ""
    return text(part) if isinstance(part, str) or not isinstance(part, Iterable) else join(part)


def el(tag: str, *content: object, **attributes: object) -> Html:
    """An element. Content is text, `Html`, None or several of them; an attribute that is None or False is left out.

    `class_` is the attribute `class`, `http_equiv` is `http-equiv`, and True is an attribute without a value.
    """
    told = "".join(
        f" {_name(name)}{_value(value)}"
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    end = "\n" if tag in BLOCKS else ""
    if tag in VOID:
        return Html(f"<{tag}{told}{'/' if tag == 'rect' else ''}>{end}")
    return Html(f"<{tag}{told}>{join(content)}</{tag}>{end}")


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: object) -> str:
    return "" if value is True else f'="{escape(harmless(value))}"'
