"""Takes secrets out of texts before they are written or sent (LOG-10).

Owns the patterns and the placeholder. Does not know where a text goes. Invariants: redacting twice changes nothing;
the time grows linearly with the text, whatever stands in it.
"""

import json
import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[redacted]"

SHORTEST = 6
"""A configured secret shorter than this is a word such as `none`, and stays."""

_LEVELS = 3
"""So often JSON within JSON is looked into."""

_NAME = r"(?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
_QUOTE = r"""\\{0,7}["']"""
"""A quote, also where the text is JSON within JSON within JSON."""

_START = r"(?:(?<!\w)|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4}))"
"""Where a word begins, also behind a line break as JSON writes it."""

_CLOSED = rf"(?:{_QUOTE})?"
"""The quote behind a name, where a name is quoted."""

_OPENED = rf"(?:{_QUOTE}(?!\s{{0,4}}[,:}}\]]))?"
"""The quote before a value; the one that ends a JSON text stands before a mark of JSON."""

_QUOTED = r"""(?<==)(?:"[\w.%+/=~|-]{1,512}"|\\{1,7}"[\w.%+/=~|-]{1,512}\\{1,7}")"""
"""The quoted value of one cookie among others."""

_COOKIE = rf"""cookie(?={_CLOSED}\s{{0,4}}[:=]\s{{0,4}}{_OPENED}[^\s=;"'\\]{{1,128}}=)"""
"""The name of the header, before a cookie with its name: people speak of other cookies."""

_HEADER = rf"""
    {_START} (?P<header> (?:authorization|x-api-key|{_COOKIE}) {_CLOSED} \s{{0,4}} [:=] \s{{0,4}} {_OPENED} )
    [^\s"'\\\[] (?: [^\r\n"'\\] | {_QUOTED} )*
"""
_ASSIGNED = rf"""
    (?: (?<=[?&]) | (?<=[?&]access_) | (?<=[?&]refresh_) )
      (?P<parameter> (?:token|key|api_?key|sig|signature|secret|password|auth|code) = ) [^&\s\#"'\\\[\]]+
  | (?P<assigned> {_NAME} {_CLOSED} \s{{0,4}} = \s{{0,4}} {_OPENED} ) [^\s"'&,;\\\[\]]{{3,}}
  | (?P<number> {_NAME} {_QUOTE} \s{{0,4}} : \s{{0,4}} ) -?[\d.]{{4,}} (?=\s{{0,4}}[,}}\]])
  | (?P<named> {_NAME} (?: {_QUOTE} \s{{0,4}} : \s{{0,4}} {_QUOTE} | \s{{0,4}} : \s{{0,4}} {_OPENED} ) )
      (?=[^\s"'&,;\\\[\]]{{0,64}}[\d_/+-]) [^\s"'&,;\\\[\]]{{6,}}
"""
_KEYS = tuple(f"{name}{joint}key" for name in ("api", "access", "private") for joint in ("", "_", "-"))
_SHAPES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("/webhooks/", (), r"(?P<webhook> /webhooks/\d{1,24}/ ) [\w-]{20,}"),
    ("://", (), r"""(?P<userinfo> :// ) [^/\s:@\[\]"'\\]{0,256} : [^/\s@\[\]"'\\]{1,256} (?=@)"""),
    ("authorization", (), _HEADER),
    ("cookie", (), _HEADER),
    ("key", ("x-api-key",), _HEADER),
    ("bearer", (), rf"{_START} (?P<bearer> bearer \s{{1,4}} ) (?=[\w.~+/=-]{{0,128}}[\d_~+/=]) [\w.~+/=-]{{8,}}"),
    ("pass", ("passw", "passp"), _ASSIGNED),
    ("pwd", (), _ASSIGNED),
    ("secret", (), _ASSIGNED),
    ("token", (), _ASSIGNED),
    ("key", (*_KEYS, "key="), _ASSIGNED),
    ("=", ("sig=", "signature=", "auth=", "code="), _ASSIGNED),
    ("sk-", (), rf"{_START} sk-[\w-]{{16,}}"),
    ("gh", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), rf"{_START} gh[opsur]_\w{{20,}}"),
    ("github_pat_", (), rf"{_START} github_pat_\w{{20,}}"),
    ("xox", (), rf"{_START} xox[abeoprs]-[\w-]{{10,}}"),
    ("akia", (), rf"{_START} akia[0-9a-z]{{16}} \b"),
    ("eyj", (), rf"{_START} eyj[\w-]{{10,}} \. [\w-]{{10,}} (?: \. [\w-]* )?"),
)
"""What a secret looks like: what its text must hold, what it begins with where that says more, and the whole of it.

All in lower case; nearly no text of a chat holds any of the first.
"""

_RULES = tuple(
    (sign, beginnings or (sign,), re.compile(pattern, re.VERBOSE | re.IGNORECASE))
    for sign, beginnings, pattern in _SHAPES
)
_PERCENT = re.compile("%[0-9A-F]{2}")
_QUOTE_MARK = re.compile(_QUOTE)
_BOT_TOKEN = re.compile(
    r"(?:(?<![\w-])|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4}))(?:[MNO][\w-]{22,27}\.[\w-]{5,7}\.[\w-]{27,40}|mfa\.[\w-]{20,})"
)
_MIDDLE = re.compile(r"\.[\w-]{5,7}\.")
"""The middle of a bot token, which is quickly looked for."""

Span = tuple[int, int, str]
"""From where to where, and what stands there instead."""


class Redactor:
    """Redacts known secrets, and what looks like one; counts what it has taken out."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are values, such as keys from the environment; they are found URL-encoded and in JSON as well."""
        usable = [s for s in secrets if len(s) >= SHORTEST and s not in PLACEHOLDER]
        encoded = {form for s in usable for form in (quote(s), quote(s, safe=""), quote_plus(s))}
        lower = {_PERCENT.sub(lambda found: found[0].lower(), form) for form in encoded}
        forms = encoded | lower | {form for s in usable for form in _in_json(s)}
        self._known = tuple(sorted(forms, key=len, reverse=True))
        self.count = 0

    def __call__(self, text: str) -> str:
        """`text` with every secret replaced by `PLACEHOLDER`."""
        for secret in self._known:
            if secret in text:
                self.count += text.count(secret)
                text = text.replace(secret, PLACEHOLDER)
        overlap = True
        while overlap and (spans := _spans(text)):
            text, overlap = self._spliced(text, sorted(spans))
        return text

    def _spliced(self, text: str, spans: list[Span]) -> tuple[str, bool]:
        """The text with these places changed; of two that overlap only the first, and whether there were such."""
        parts, place, overlap = [], 0, False
        for start, end, instead in spans:
            if start >= place:
                parts += [text[place:start], instead]
                place = end
                self.count += 1
            else:
                overlap = True
        return "".join([*parts, text[place:]]), overlap


def _spans(text: str) -> list[Span]:
    """Where something looks like a secret."""
    spans: list[Span] = []
    if "." in text and (_MIDDLE.search(text) or "mfa." in text):
        spans = [(found.start(), found.end(), PLACEHOLDER) for found in _BOT_TOKEN.finditer(text)]
    lower = _lower(text)
    for sign, beginnings, pattern in _RULES:
        if sign in lower:
            for beginning in beginnings:
                _look(text, lower, beginning, pattern, spans)
    return spans


def _look(text: str, lower: str, beginning: str, pattern: re.Pattern[str], spans: list[Span]) -> None:
    place = lower.find(beginning)
    while place >= 0:
        found = pattern.match(text, place)
        if found is not None:
            spans.append((place, found.end(), _replaced(found)))
        place = lower.find(beginning, found.end() if found else place + 1)


def _lower(text: str) -> str:
    """In lower case, each letter in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _in_json(secret: str) -> set[str]:
    """The secret as it is and as messages quote it, and as JSON within JSON writes these, to the third level."""
    forms = latest = {secret, repr(secret)[1:-1]}
    for _ in range(_LEVELS):
        latest = {json.dumps(form, ensure_ascii=ascii_only)[1:-1] for form in latest for ascii_only in (True, False)}
        forms = forms | latest
    return forms


def _replaced(found: re.Match[str]) -> str:
    """The placeholder, behind what names the secret; in place of a number it is a text, as JSON wants it."""
    kept = found.lastgroup
    if kept is None:
        return PLACEHOLDER
    before = found[kept]
    if kept != "number":
        return before + PLACEHOLDER
    quote_mark = _QUOTE_MARK.findall(before)[-1]
    return f"{before}{quote_mark}{PLACEHOLDER}{quote_mark}"
