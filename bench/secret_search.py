"""Where the secrets of the secrets run came to light: file, payloads, requests, surface, commands.

Owns the search, by bytes, for both ends of each core, so that a secret that was cut in two is found as well. Judges
nothing. Invariant: only reads.
"""

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from attrs import define, field
from click.testing import CliRunner
from secret_shapes import Mint, Secret
from secret_story import World, turn_of

from phasewalk.machine.speech import Speech
from phasewalk.phases.providers.testing import Recorded
from phasewalk.storage.compression import unpacked
from phasewalk.surfaces.cli.main import main as phasewalk

FILE, PAYLOADS, REQUESTS, LATER = "file and WAL", "payloads", "requests of its turn", "other requests"
SURFACE, COMMANDS = "surface", "commands"
SOUGHT = (FILE, PAYLOADS, REQUESTS, LATER, SURFACE, COMMANDS)
_HEAD = re.compile(rb"q7[0-9a-z]{8}", re.IGNORECASE)
_TAIL = re.compile(rb"(?=([0-9a-z]{6}7q))", re.IGNORECASE)
_AROUND = 70
READING = (
    "status", "check", "stuck", "fallback", "circuit", "approve", "sql", "stats --by failure --by model",
    "tail --lines 1000000",
)  # fmt: skip
"""Commands that look at the log without naming a turn."""

WRITING = (
    "diagram --turn last", "diagram --heat", "report --turns 100", "export", "export --format otlp-json --content",
    "export --format csv --content",
)  # fmt: skip
"""Commands that write documents of one form."""

NO_VERDICT = 4
"""The status of a verdict that cannot be told."""


@define
class Found:
    """What was found: how often each secret at each place, and the first text around it."""

    mint: Mint
    times: Counter[tuple[str, Secret]] = field(factory=Counter)
    seen: dict[tuple[str, Secret], str] = field(factory=dict)

    def look(self, where: str, data: bytes) -> None:
        """Look for every core in these bytes."""
        for start, secret in _cores(self.mint, data):
            self._keep(where, secret, data, start)

    def look_at_request(self, request: Recorded) -> None:
        """Look into a request; a secret of another turn is told apart."""
        number = turn_of(request.raw)
        for start, secret in _cores(self.mint, request.raw):
            turns = self.mint.turns[secret]
            self._keep(LATER if turns and number not in turns else REQUESTS, secret, request.raw, start)

    def _keep(self, where: str, secret: Secret, data: bytes, start: int) -> None:
        self.times[where, secret] += 1
        around = data[max(start - _AROUND, 0) : start + _AROUND].decode("utf-8", "replace")
        self.seen.setdefault((where, secret), " ".join(around.split()))


TABLES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'message_index%'"
"""What can be read as rows; the full-text index holds no texts, and its pages are searched as bytes of the file."""


def _cores(mint: Mint, data: bytes) -> Iterator[tuple[int, Secret]]:
    """Each place where a secret, or one end of it, stands."""
    heads = set()
    for match in _HEAD.finditer(data):
        secret = mint.by_head.get(match[0].decode().lower())
        if secret is not None:
            heads.add(match.start())
            yield match.start(), secret
    for match in _TAIL.finditer(data):
        secret = mint.by_tail.get(match[1].decode().lower())
        if secret is not None and match.start() - 8 not in heads:
            yield match.start(), secret


def look_at_files(found: Found, database: Path) -> None:
    """Every byte of the database file and of what stands beside it."""
    for path in sorted(database.parent.glob(f"{database.name}*")):
        found.look(FILE, path.read_bytes())


def look_at_payloads(found: Found, database: Path) -> None:
    """Every payload, unpacked."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as log:
        for encoding, body in log.execute("SELECT encoding, body FROM payload WHERE body IS NOT NULL"):
            found.look(PAYLOADS, unpacked(encoding, body).encode())


def look_at_world(found: Found, world: World, requests: Iterable[Recorded]) -> None:
    """What the model was sent, and what people heard."""
    for request in requests:
        found.look_at_request(request)
    for speech in world.heard:
        found.look(SURFACE, speech.text.encode())


def look_at_commands(found: Found, database: Path) -> list[str]:
    """Everything that the commands print which only look; returns what went wrong with them."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as log:
        turns = [name for (name,) in log.execute("SELECT turn_id FROM turn")]
        tables = [name for (name,) in log.execute(TABLES)]
    wrong = []
    lines = [line.split() for line in READING]
    lines += [["list", "--content", "--limit", "1000000"], *([name, *turns] for name in ("show", "why"))]
    lines += [["show", "--detail", *turns], *(line.split() for line in WRITING)]
    lines += [["sql", f'SELECT * FROM "{name}"'] for name in tables]
    for line in lines:
        for options in ([], ["--json"]) if " ".join(line) not in WRITING else ([],):
            result = CliRunner().invoke(phasewalk, ["--db", str(database), *line, *options])
            found.look(COMMANDS, result.output.encode("utf-8", "replace"))
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                wrong.append(f"phasewalk {' '.join(line[:2])} raised {result.exception!r}")
            elif result.exit_code not in (0, 1, NO_VERDICT) or not result.output:
                wrong.append(f"phasewalk {' '.join(line[:2])}: {result.exit_code}, {result.output[:80]!r}")
    return wrong


def spoken(speeches: Iterable[Speech]) -> Counter[str]:
    """How often each kind of speech was heard."""
    return Counter(str(speech.kind) for speech in speeches)
