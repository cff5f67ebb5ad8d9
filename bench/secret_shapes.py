"""The secrets of the secrets run: every shape in which one stands in a text, and the register of those planted.

Owns minting: each secret has a random core of its own, by which it is found again wherever it went. Knows neither
the application nor its log. Invariant: a core holds only small letters and digits, so that no encoding changes it.
"""

import json
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from urllib.parse import quote, quote_plus

from attrs import define, field, frozen

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
CANARY = "canary"
"""The shape of what does not look like a secret: it stays, and has to be found."""

ANYWHERE = "(key of a provider, any place)"
"""The providers have one key, whose core cannot tell where it was planted."""

SHAPES: Mapping[str, Callable[[str], str]] = {
    "bot token": lambda core: f"MTIzNDU2Nzg5MDEyMzQ1Njc4.GabcDE.{core}wxyz0123456789AB",
    "bearer token": lambda core: f"curl -H 'X: Bearer {core}'",
    "authorization header": lambda core: f"Authorization: Basic {core}",
    "authorization header as Python shows it": lambda core: f"{{'Authorization': 'Basic {core}'}}",
    "cookie header": lambda core: f"Cookie: sid={core}; theme=dark",
    "set-cookie header": lambda core: f"set-cookie: sid={core}; Path=/",
    "x-api-key header": lambda core: f"X-Api-Key: {core}",
    "key=value": lambda core: f"client_secret={core}",
    "key = value in quotes": lambda core: f'password = "{core}"',
    "key: value": lambda core: f"api_key: {core}",
    "key: value in JSON": lambda core: json.dumps({"n": 1, "access_token": core}),
    "user info of a URL": lambda core: f"postgres://bot:{core}@db.example/x",
    "parameter of a URL": lambda core: f"https://a.example/file?page=2&sig={core}",
    "webhook URL": lambda core: f"https://discord.com/api/webhooks/112233445566778899/{core}_aB-9",
    "key of a model provider": lambda core: f"sk-proj-{core}",
    "GitHub token": lambda core: f"ghp_{core}ABCD",
    "Slack token": lambda core: f"xoxb-{core}",
    "AWS key id": lambda core: f"AKIA{core.upper()}",
    "JSON web token": lambda core: f"eyJhbGciOiJIUzI1NiJ9.eyJ{core}.dBjftJeZ4CVPmB92K27uhbUJU1p1r",
    CANARY: lambda core: f"the cat {core} sleeps",
}
"""What makes a text with a secret of this shape around a core."""

FORMS: Mapping[str, Callable[[str], str]] = {
    "": str,
    ", URL-encoded": lambda value: quote(value, safe=""),
    ", URL-encoded as a path": quote,
    ", URL-encoded as a form": quote_plus,
}
CONFIGURED: Mapping[str, Callable[[str], str]] = {
    "configured": lambda core: f"{core}/+ &?",
    "configured, with a quote": lambda core: f'{core}"\\7',
    "configured, with an umlaut": lambda core: f"{core}-ä",
}
KEY = "key of the provider"


@frozen
class Secret:
    """One secret: where it is planted, and in which shape."""

    core: str
    place: str
    shape: str


@define
class Mint:
    """Makes secrets, and remembers them by both ends of their cores; `turns` are those in which one was planted.

    At places that are `keyless` no key of a provider is planted.
    """

    seed: int
    keyless: frozenset[str] = frozenset()
    by_head: dict[str, Secret] = field(factory=dict)
    by_tail: dict[str, Secret] = field(factory=dict)
    planted: Counter[tuple[str, str]] = field(factory=Counter)
    turns: dict[Secret, set[int]] = field(factory=lambda: defaultdict(set))
    environment: dict[str, str] = field(factory=dict)
    _due: dict[str, list[str]] = field(factory=dict)

    def secret(self, place: str, shape: str) -> Secret:
        """A new one."""
        number = len(self.by_head)
        chance = random.Random(f"{self.seed}/{number}")
        counted = "".join(LETTERS[number // 36**power % 36] for power in (3, 2, 1, 0))
        secret = Secret(f"q7{counted}{''.join(chance.choices(LETTERS, k=8))}7q", place, shape)
        self.by_head[secret.core[:10]] = self.by_tail[secret.core[-8:]] = secret
        return secret

    def configure(self, places: tuple[str, ...]) -> None:
        """Make what stands in the environment: some secrets for each place, and the key of the providers."""
        for number, place in enumerate(places):
            for letter, (shape, value) in zip("ABC", CONFIGURED.items(), strict=True):
                self.environment[f"SECRETS_RUN_{letter}{number}"] = value(self.secret(place, shape).core)
        self.environment["SECRETS_RUN_KEY"] = f"sk-run/{self.secret(ANYWHERE, KEY).core}+="
        os.environ.update(self.environment)

    def text(self, place: str, turn: int | None = None) -> str:
        """A text with the secrets whose turn it is at this place, one or some of them in lines of their own.

        They stand behind so many words that some are cut off, but for the canary, which stands first. Without a `turn`
        they are there in all of them.
        """
        chance = random.Random(f"{self.seed}/{place}/{turn}/{len(self.by_head)}")
        words = "well " * chance.choice((0, 0, 1, 3, 17, 33, 36))
        secrets = [self.short(place, turn) for _ in range(chance.choice((1, 1, 3, 5)))]
        canary = next((secret for secret in secrets if SHAPES[CANARY]("")[:8] == secret[:8]), None)
        return "\n".join([canary, *secrets]) if canary else words + "\n".join(secrets)

    def short(self, place: str, turn: int | None = None) -> str:
        """The secret alone, with what is part of its shape."""
        shape, _, form = self._next(place).partition("|")
        self.planted[place, shape + form] += 1
        if shape == KEY:
            self.planted[ANYWHERE, shape + form] += 1
            secret = self._known(ANYWHERE, shape)
        else:
            secret = self._known(place, shape) if shape in CONFIGURED else self.secret(place, shape)
        if turn is not None:
            self.turns[secret].add(turn)
        if shape in SHAPES:
            return SHAPES[shape](secret.core)
        return FORMS[form](next(value for value in self.environment.values() if secret.core in value))

    def _known(self, place: str, shape: str) -> Secret:
        return next(s for s in self.by_head.values() if (s.place, s.shape) == (place, shape))

    def _next(self, place: str) -> str:
        """Every shape once at each place before any comes again; the canary second, so that each place has one."""
        due = self._due.get(place)
        if not due:
            kinds = ("configured",) if place in self.keyless else ("configured", KEY)
            known = [f"{kind}|{form}" for kind in kinds for form in FORMS]
            due = [
                *(s for s in SHAPES if s != CANARY),
                *known,
                *(f"{kind}|" for kind in CONFIGURED if kind != "configured"),
            ]
            random.Random(f"{self.seed}/{place}").shuffle(due)
            due.insert(-1, CANARY)
            self._due[place] = due
        return due.pop()
