"""Logs to make reports of, from an empty one to one that somebody filled with malice, and readers of the pages."""

import json
from pathlib import Path

import html5lib
from builders import GONE, LogBuilder

from phasewalk.storage.database import open_for_reading
from phasewalk.surfaces.cli.times import zone_of
from phasewalk.surfaces.report.facts import Asked, Facts, facts_of

DAY_US = 86_400_000_000
UTC = zone_of(utc=True, tz=None)
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "a/b\"<script>alert(1)</script>\n</pre></style>]]><!-- & \x1b[2J\x07\x00\x85\ufffe\u202egnp\u2066 javascript:alert(1) ' =漢字🤞"
CHANNEL = 'a/b"<script>\nalert(2)'
VISITS = 2000
CHARS = 20_000_000


def walked(builder: LogBuilder, turn: str) -> None:
    """A turn's way to a model call that failed."""
    builder.enter(turn, "received", 0)
    builder.leave(turn, "received", 0.1, "T01 admitted", "classify")
    builder.enter(turn, "classify", 0.1)
    builder.leave(turn, "classify", 0.2, "T04 classified", "freeze_contract")
    builder.enter(turn, "freeze_contract", 0.2)
    builder.leave(turn, "freeze_contract", 0.3, "T05 contract_frozen", "build_prompt")
    builder.enter(turn, "build_prompt", 0.3)
    builder.leave(turn, "build_prompt", 0.4, "T08 prompt_built", "model_attempt")
    builder.enter(turn, "model_attempt", 0.4)


def failed(builder: LogBuilder, **columns: object) -> str:
    """A turn whose two calls failed and that said a notice."""
    turn = builder.turn(
        **{
            "outcome": "stopped",
            "reason": "attempts_exhausted",
            "phase": "model_attempt",
            "first_reason": "http_5xx",
            "owner": "notice",
            **columns,
        }
    )
    walked(builder, turn)
    guards = [{"transition": "T14", "name": "attempts_left", "held": False, "values": {"attempts": 2, "limit": 2}}]
    builder.leave(turn, "model_attempt", 2, "T16 attempt_failed", "deliver", reason="http_4xx", guards=guards)
    builder.attempt(turn, 1, status="failed", reason="http_5xx", http_status=503, message="overloaded")
    builder.attempt(turn, 2, cause="retry", status="failed", reason="http_4xx", http_status=401, message="key revoked")
    builder.step(turn, 1, "exhausted attempts_exhausted", "T15.candidate_left", {"at": 1, "of": 1})
    builder.effect(turn, "notice", "general", "receipt", {"text": "Sorry."})
    return turn


def empty(builder: LogBuilder) -> None:
    """No turn at all."""


def healthy(builder: LogBuilder) -> None:
    """Thirty turns that were answered."""
    for turn in builder.turns(30):
        walked(builder, turn)
        builder.attempt(turn, 1)
        builder.effect(turn, "answer", "general", "receipt", {"text": "hello"})


def failing(builder: LogBuilder) -> None:
    """Turns that failed among turns that were answered."""
    healthy(builder)
    for _ in range(12):
        failed(builder)


def stuck(builder: LogBuilder) -> None:
    """A turn whose process is gone."""
    builder.process(pid=GONE, silent=600)
    turn = builder.turn(age=900, outcome=None, phase="model_attempt")
    walked(builder, turn)
    builder.attempt(turn, 1, status="running", ended_us=None)


def hostile(builder: LogBuilder) -> None:
    """Malice in every text that comes from outside."""
    turn = failed(
        builder, text=HOSTILE, user_name=HOSTILE, channel_name=CHANNEL, user_id=HOSTILE, channel_id=HOSTILE,
        flags=json.dumps([HOSTILE]), log_gap=3,
    )  # fmt: skip
    builder.attempt(turn, 3, provider=HOSTILE, model=HOSTILE, status="failed", reason="http_4xx", message=HOSTILE)
    builder.step(turn, 2, "skipped no_model", HOSTILE, {HOSTILE: [HOSTILE, {"<b>": HOSTILE}]})
    builder.insert(
        "tool_call", turn_id=turn, round=1, call_id="c1", provider_call_id=HOSTILE, name=HOSTILE, effect="mutating",
        status="failed", reason="tool_failed", started_us=builder.at(50), ended_us=builder.at(49),
    )  # fmt: skip
    builder.effect(turn, "answer", HOSTILE, "failed", {"text": HOSTILE}, why={"reason": HOSTILE})
    builder.enter(turn, "deliver", 2)
    crash = {"error": HOSTILE, "message": HOSTILE}
    builder.leave(turn, "deliver", 3, "T32 crashed", "record", reason="internal_error", detail=crash)
    builder.insert("log_loss", at_us=builder.at(30), turn_id=turn, rows=1, what=HOSTILE)
    builder.process(pid=GONE, command=HOSTILE, host=HOSTILE, silent=600)
    builder.turn(age=900, outcome=None, phase="model_attempt", user_name=HOSTILE, channel_name=CHANNEL)


def long(builder: LogBuilder) -> None:
    """A turn of 2,000 visits and as many calls, that was asked 20 MB."""
    builder.log.execute("BEGIN")
    turn = failed(builder, text="語" * CHARS, took=4000.0)
    for number in range(2, VISITS // 2):
        builder.enter(turn, "tool_rounds", 2.0 * number, visit=number)
        builder.leave(turn, "tool_rounds", 2.0 * number + 1, "T18 results_ready", "model_attempt", visit=number)
        builder.enter(turn, "model_attempt", 2.0 * number + 1, visit=number)
        builder.leave(turn, "model_attempt", 2.0 * number + 2, "T10 tools_requested", "tool_rounds", visit=number)
        builder.attempt(turn, number + 1, cause="tool_results", message="x" * 5000)
    builder.log.execute("COMMIT")


LOGS = {made.__name__: made for made in (empty, healthy, failing, stuck, hostile, long)}


def facts(path: Path, *, as_of: int, since: int | None = None, until: int | None = None, turns: int = 10) -> Facts:
    """What a report of a log is made of, of the day before `as_of` unless it is said otherwise."""
    log = open_for_reading(path)
    try:
        return facts_of(log, Asked(as_of - DAY_US if since is None else since, until, as_of, turns), UTC)
    finally:
        log.close()


def parsed(text: str):
    """The tree of a page; raises for the first thing that is not valid."""
    return html5lib.HTMLParser(strict=True).parse(text)


def words(element) -> str:
    """All text in an element."""
    return "".join(element.itertext())


def section(text: str, name: str):
    """One section of a page."""
    return next(s for s in parsed(text).iter(f"{XHTML}section") if s.get("id") == name)
