"""Examines the log: can it be read and written, is it whole, is there room, does the clock fit it.

Reads only. Invariant: nothing is written, made or brought up to date by looking.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from phasewalk.machine.errors import StorageError
from phasewalk.storage.database import SCHEMA_VERSION, open_for_reading
from phasewalk.storage.writer import TRUNCATE_BYTES
from phasewalk.surfaces.cli.times import Zone, ago, lasting
from phasewalk.surfaces.doctor.findings import Finding

AREA, CLOCK = "log", "clock"
LITTLE = 50 * 1024 * 1024
"""Bytes; with less free the log soon cannot be written."""

ROOM = 200 * 1024 * 1024
"""Bytes that should be free beside a copy of the log."""

APART_US = 60_000_000
"""So far ahead of the clock the newest row may be: clocks of two hosts differ."""

EARLIEST_US = 1_735_689_600_000_000
"""2025: a clock that says less was never set."""

_NEWEST = """
    SELECT max(at_us) FROM (
        SELECT 0 AS at_us
        UNION ALL SELECT max(heartbeat_us) FROM process
        UNION ALL SELECT max(started_us) FROM process
        UNION ALL SELECT max(at_us) FROM operator_action
        UNION ALL SELECT * FROM (SELECT started_us FROM turn ORDER BY turn_id DESC LIMIT 1))
"""


def examine_log(path: Path) -> Iterator[Finding]:
    """The file and its place. Raises `StorageError` and `sqlite3.Error` where it is there and cannot be read."""
    if not path.exists():
        yield Finding(AREA, "ok", f"{path.absolute()} does not exist yet; the first run makes it")
    else:
        with closing(open_for_reading(path)) as log:
            yield from _content(path, log)
    yield from _writable(path)
    yield from _room(path)


def examine_clock(path: Path, now_us: int, zone: Zone) -> Iterator[Finding]:
    """The clock against the newest row of the log."""
    if now_us < EARLIEST_US:
        yield Finding(
            CLOCK, "bad", f"it says {zone.full(now_us)} {zone.name}, which is long ago", "set it: timedatectl"
        )
        return
    newest = 0
    if path.exists():
        with closing(open_for_reading(path)) as log:
            newest = int(log.execute(_NEWEST).fetchone()[0])
    if newest > now_us + APART_US:
        what = f"the newest row of the log is of {zone.full(newest)}, {lasting((newest - now_us) / 1e6)} after now"
        yield Finding(CLOCK, "bad", what, "the clock is behind, or was ahead: set it by NTP (timedatectl set-ntp true)")
    elif newest:
        yield Finding(
            CLOCK, "ok", f"it fits the log, whose newest row is of {zone.full(newest)} ({ago(newest, now_us)})"
        )
    else:
        yield Finding(CLOCK, "ok", f"it says {zone.full(now_us)} {zone.name}; there is no row to compare it with")


def _content(path: Path, log: sqlite3.Connection) -> Iterator[Finding]:
    version = int(log.execute("PRAGMA user_version").fetchone()[0])
    if version < SCHEMA_VERSION:
        fix = f"nothing to do: the next start copies it aside and brings it to version {SCHEMA_VERSION}"
        yield Finding(AREA, "warn", f"{path.absolute()} has schema version {version}", fix)
    else:
        yield Finding(AREA, "ok", f"{path.absolute()} is readable, schema version {version}")
    (said,) = log.execute("PRAGMA quick_check(1)").fetchone()
    if said == "ok":
        turns = int(log.execute("SELECT count(*) FROM turn").fetchone()[0])
        yield Finding(AREA, "ok", f"it is whole (quick check), with {turns} turn{'' if turns == 1 else 's'}")
    else:
        fix = "stop the bot and put back a copy: phasewalk restore FILE"
        yield Finding(AREA, "bad", f"it is damaged: {' '.join(str(said).split())}", fix)
    yield Finding(AREA, "ok", "when it was last copied is not recorded; 'phasewalk backup FILE' copies it any time")


def _writable(path: Path) -> Iterator[Finding]:
    """SQLite needs to write the file, what lies beside it, and the folder."""
    folder = path.absolute().parent
    beside = [path, *(path.with_name(f"{path.name}-{end}") for end in ("wal", "shm"))]
    barred = [str(one) for one in beside if one.exists() and not os.access(one, os.W_OK)]
    if not folder.is_dir():
        yield Finding(AREA, "bad", f"the folder {folder} does not exist", f"mkdir -p {folder}")
    elif not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(AREA, "bad", f"the folder {folder} cannot be written", "run as its owner, or chown it to the bot")
    elif barred:
        yield Finding(AREA, "bad", f"{', '.join(barred)} cannot be written", "run as its owner, or chown it to the bot")
    else:
        yield Finding(AREA, "ok", "it can be written")


def _room(path: Path) -> Iterator[Finding]:
    """Free space, and the WAL."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return
    size = path.stat().st_size if path.exists() else 0
    free = shutil.disk_usage(folder).free
    told = f"{_bytes(free)} free, the log has {_bytes(size)}"
    if free < LITTLE:
        yield Finding(AREA, "bad", told, "make room, or set [storage] path to another disk")
    elif free < ROOM + size:
        yield Finding(AREA, "warn", told, "a copy of it would not fit safely: make room, or 'phasewalk prune'")
    else:
        yield Finding(AREA, "ok", told)
    wal = path.with_name(f"{path.name}-wal")
    grown = wal.stat().st_size if wal.exists() else 0
    if grown > 2 * TRUNCATE_BYTES:
        what = f"the WAL has grown to {_bytes(grown)}: somebody reads the log without an end"
        yield Finding(AREA, "warn", what, f"end who holds it open (fuser {wal})")
    else:
        yield Finding(AREA, "ok", f"the WAL has {_bytes(grown)}")


def _bytes(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


READ_ERRORS = (StorageError, sqlite3.Error)
"""What keeps the log from being read."""
