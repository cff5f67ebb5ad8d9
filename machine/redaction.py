"""Takes secrets out of texts before they are written or sent (LOG-10).

Owns the patterns and the placeholder. Does not know where a text goes. Invariants: redacting twice changes nothing;
the time grows linearly with the text, whatever stands in it.
"""

import re
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

PLACEHOLDER = "[redacted]"

SHORTEST = 6
"""A configured secret shorter than this is a word such as `none`, and stays."""

_NEEDLES = (
    "://", "token", "key", "secret", "passw", "pwd", "auth", "cookie", "bearer", "sk-", "ghp_", "gho_", "ghs_", "ghu_",
    "ghr_", "github_pat_", "xox", "akia", "eyj", "webhook",
)  # fmt: skip
"""What a text must hold, in lower case, before the patterns are tried; nearly no text of a chat does."""

_SECRETS = re.compile(
    r"""
    (?P<webhook> /webhooks/\d{1,24}/ ) [\w-]{20,}
  | (?P<userinfo> :// ) [^/\s:@\[\]"'\\]{1,256} : [^/\s@\[\]"'\\]{1,256} (?=@)
  | (?P<parameter> [?&] (?:access_|refresh_)? (?:token|key|api_?key|sig|signature|secret|password|auth|code) = )
      [^&\s\#"'\\\[\]]+
  | (?P<header> \b (?:authorization|set-cookie|cookie|x-api-key) (?:\\?["'])? \s{0,4} [:=] \s{0,4} (?:\\?["'])? )
      [^\s"'\\\[] [^\r\n"'\\]*
  | (?P<bearer> \b bearer \s{1,4} ) [\w.~+/=-]{8,}
  | (?P<assigned> (?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)
      (?:\\?["'])? \s{0,4} = \s{0,4} (?:\\?["'])? ) [^\s"'&,;\\\[\]]{3,}
  | (?P<named> (?:password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)
      (?:\\?["'])? \s{0,4} : \s{0,4} (?:\\?["'])? ) (?=[^\s"'&,;\\\[\]]{0,64}[\d_/+-]) [^\s"'&,;\\\[\]]{6,}
  | \b sk-[\w-]{16,}
  | \b gh[opsur]_\w{20,}
  | \b github_pat_\w{20,}
  | \b xox[abeoprs]-[\w-]{10,}
  | \b akia[0-9a-z]{16} \b
  | \b eyj[\w-]{10,} \. [\w-]{10,} (?: \. [\w-]* )?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BOT_TOKEN = re.compile(r"(?<![\w-])(?:[MNO][\w-]{22,27}\.[\w-]{5,7}\.[\w-]{27,40}|mfa\.[\w-]{20,})")


class Redactor:
    """Redacts known secrets, and what looks like one; counts what it has taken out."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are values, such as keys from the environment; they are found URL-encoded as well."""
        forms = {f for s in secrets if len(s) >= SHORTEST for f in (s, quote(s), quote(s, safe=""), quote_plus(s))}
        self._known = tuple(sorted(forms, key=len, reverse=True))
        self.count = 0

    def __call__(self, text: str) -> str:
        """`text` with every secret replaced by `PLACEHOLDER`."""
        for secret in self._known:
            if secret in text:
                self.count += text.count(secret)
                text = text.replace(secret, PLACEHOLDER)
        if "." in text:
            text = self._without(_BOT_TOKEN, text)
        lower = text.lower()
        return self._without(_SECRETS, text) if any(needle in lower for needle in _NEEDLES) else text

    def _without(self, pattern: re.Pattern[str], text: str) -> str:
        text, found = pattern.subn(_replaced, text)
        self.count += found
        return text


def _replaced(found: re.Match[str]) -> str:
    """The placeholder, behind what names the secret."""
    kept = found.lastgroup
    return (found[kept] if kept else "") + PLACEHOLDER
