"""Turns that were really walked, with the real client, walked again when the server is gone (`phasewalk replay`)."""

import asyncio
import base64
import json
import signal
import socket
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from attrs import evolve
from click.testing import CliRunner

from phasewalk.machine.trigger import Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.providers.testing import (
    ScriptedModelServer,
    completion,
    envelope,
    hang,
    raw,
    refusal,
    reset,
    responses,
    status,
    tool_calls,
)
from phasewalk.surfaces.attachments import attachment
from phasewalk.surfaces.cli.main import main
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

TOOLS = """
import asyncio
from pathlib import Path

HERE = Path(__file__).parent

@tool(family="notes", effect="mutating")
async def notes_count(amount: int = 1) -> dict:
    "Count up."
    with (HERE / "count.txt").open("a") as file:
        file.write("x")
    return {"counted": amount}

@tool(family="notes", effect="read_only")
async def notes_look() -> dict:
    "Look at the count."
    with (HERE / "count.txt").open("a") as file:
        file.write("l")
    return {"count": 7}

@tool(family="notes", effect="read_only")
async def notes_slow() -> str:
    "Wait."
    await asyncio.sleep(60)
    return ""

@tool(family="notes", effect="read_only", timeout=0.3)
async def notes_hang() -> str:
    "Wait, but not for long."
    await asyncio.sleep(60)
    return ""

@tool(family="notes", effect="mutating", timeout=0.2)
def notes_stubborn() -> str:
    "Go on although it is given up."
    import time
    time.sleep(0.6)
    return "late"

@tool(family="notes", effect="read_only")
async def notes_break() -> str:
    "Fail."
    raise RuntimeError("it broke")

@tool(family="notes", effect="mutating", approval=True)
async def notes_seal() -> str:
    "Needs a permission."
    return "sealed"
"""
COUNT = tool_calls([("a", "notes_count", {})])
LOOK = tool_calls([("a", "notes_look", {})])
TOO_LONG = raw(400, '{"error": {"message": "too long", "code": "context_length_exceeded"}}')
LIMITED = raw(429, '{"error": {"message": "slow down"}}', headers={"retry-after": "600"})
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed", "status": None}
CALL = {
    "type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "notes_look", "status": "completed",
    "arguments": "{}",
}  # fmt: skip
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Answer(NamedTuple):
    """What the command said."""

    status: int
    out: str
    err: str


class Place:
    """A workplace whose turns are walked on two scripted servers, and walked again without them."""

    def __init__(self, workplace):
        self.workplace = workplace
        workplace.tools(TOOLS)
        self.extra = '[tools]\nmodules = ["my_tools"]\n'
        self.limits = {}
        self.turns = 0

    async def walk(self, *said: str | tuple[str, dict], first, second=()) -> None:
        """Turns from these texts, with fields of their trigger; `first` answers for provider `one`, `second` for `two`."""
        async with (
            ScriptedModelServer(first if callable(first) else list(first), repeat_last=True) as one,
            ScriptedModelServer(list(second) or [envelope("from two")], repeat_last=True) as two,
        ):
            self.urls = (one.base_url, two.base_url) if second else (one.base_url,)
            self.configure()
            configuration = load_configuration(self.workplace.folder / "phasewalk.toml")
            async with application(configuration, self.workplace.database, LogSurface(), "test") as app:
                for text in said:
                    await self._turn(app, *(text if isinstance(text, tuple) else (text, {})))

    async def _turn(self, app, text: str, fields: dict) -> None:
        given = {"channel_id": "1", "channel_name": "general", "addressed": Addressed.DIRECT, **fields}
        seconds = given.pop("seconds", app.settings.limits.turn)
        self.turns += 1
        trigger = Trigger(f"t:{self.turns}", Kind.USER, text, user_id="7", user_name="mira", **given)
        ended = await app.run(trigger, evolve(app.settings.limits, turn=seconds))
        assert not ended.known
        assert not ended.problem

    def configure(self, change=str, extra: str = "", **limits: object) -> None:
        """Write the configuration, changed by `change`."""
        self.workplace.model(*self.urls, extra=self.extra + extra, **{**self.limits, **limits})
        file = self.workplace.folder / "phasewalk.toml"
        file.write_text(change(file.read_text()))

    def look(self, *arguments: str) -> "Answer":
        """`phasewalk replay` in this process, on a thread of its own: a replay has its own event loop."""
        config = str(self.workplace.folder / "phasewalk.toml")
        with ThreadPoolExecutor(1) as thread:
            done = thread.submit(CliRunner().invoke, main, ["--config", config, "replay", *arguments]).result()
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Answer(done.exit_code, done.stdout, done.stderr)

    def replay(self, *names: str) -> list[dict]:
        """What `replay --json` says of these turns, by default of the last."""
        answer = self.look(*(names or ("last",)), "--json")
        assert answer.out, answer.err
        items = json.loads(answer.out)["items"]
        words = {item["verdict"] for item in items}
        assert answer.status == (1 if "differs" in words else 5 if "untold" in words else 0), answer.err
        return items

    def all(self) -> list[dict]:
        """Every turn of the log, walked again."""
        return self.replay(*(name for (name,) in self.workplace.rows("SELECT turn_id FROM turn ORDER BY turn_id")))

    def outcomes(self) -> list[tuple]:
        return self.workplace.rows("SELECT outcome, reason FROM turn ORDER BY turn_id")

    def ran(self) -> str:
        file = self.workplace.folder / "count.txt"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def place(workplace, monkeypatch) -> Iterator[Place]:
    """A place whose tools are its own; the key of its providers is there while it lasts."""
    monkeypatch.setenv("KEY", "sk-test-0123456789abcdef")
    yield Place(workplace)
    sys.modules.pop("phasewalk_tools_from_my_tools", None)


def is_same(item: dict) -> bool:
    assert (item["differences"], item["untold"], item["stopped"]) == ([], [], None)
    return item["verdict"] == "same" and item["compared"] == item["visits"] > 0


def first(item: dict) -> tuple:
    """Where the first difference is, and both its values."""
    assert item["verdict"] == "differs", item
    found = item["differences"][0]
    return found["phase"], found["section"], found["recorded"], found["today"]


SAME = {
    "answered": (["hi"], [envelope("Hello.")], (), "answered"),
    "a read-only tool": (["show my notes"], [LOOK, envelope("7.")], (), "answered"),
    "a mutating tool": (["note: count"], [COUNT, envelope("Done.")], (), "answered"),
    "several rounds": (["note: count"], [COUNT, LOOK, COUNT, envelope("Done.")], (), "answered"),
    "a tool that fails": (["show my notes"], [tool_calls([("a", "notes_break", {})]), envelope("No.")], (), "answered"),
    "a tool that times out": (
        ["show my notes"],
        [tool_calls([("a", "notes_hang", {}), ("b", "notes_look", {})]), envelope("One.")],
        (),
        "answered",
    ),
    "a stubborn tool": (
        ["note: x"],
        [tool_calls([("a", "notes_stubborn", {}), ("b", "notes_count", {})]), envelope("Well.")],
        (),
        "in_doubt",
    ),
    "refused calls": (
        ["note: x"],
        [
            tool_calls([("a", "notes_count", {"amount": "three"}), ("b", "shell_run", {}), ("c", "notes_seal", {})]),
            envelope("No."),
        ],
        (),
        "answered",
    ),
    "fallback taken": (["hi"], [status(404)], [envelope("from two")], "answered"),
    "fallback after retries": (["hi"], [status(503)], [envelope("from two")], "answered"),
    "everybody failed": (["hi"], [status(503)], [reset()], "stopped"),
    "a rate limit": (["hi"], [LIMITED], [envelope("from two")], "answered"),
    "broken answers": (
        ["hi"],
        [envelope(text="```json\n{}\n```"), refusal("I will not."), envelope("clean")],
        (),
        "answered",
    ),
    "bodies that are none": (["hi"], [raw(200, ""), raw(200, "<html>"), raw(200, "{}")], (), "stopped"),
    "refused for side effects": (["note: count"], [COUNT, status(500)], [envelope("from two")], "partial"),
    "a safety block": (["hi"], [status(400, error_code="content_filter")], [envelope("from two")], "stopped"),
    "context overflow": (["one", "two", "three"], [envelope("a"), envelope("b"), TOO_LONG], (), "stopped"),
    "no model for it": (["add lunch to my calendar"], [envelope("never")], (), "unavailable"),
}


@pytest.mark.spec("OPS-13", "OPS-15", "FB-14", "CON-22")
@pytest.mark.parametrize("case", SAME.values(), ids=SAME.keys())
async def test_a_turn_is_decided_the_same_by_unchanged_code_and_no_tool_runs(place, case):
    texts, one, two, outcome = case
    await place.walk(*texts, first=one, second=two)
    assert place.outcomes()[-1][0] == outcome
    ran = place.ran()
    assert all(map(is_same, place.all()))
    assert place.ran() == ran


@pytest.mark.spec("OPS-13", "TURN-05", "TURN-07")
@pytest.mark.parametrize(
    ("text", "steps", "phase"),
    [
        ("hi", [hang()], "model_attempt"),
        ("show my notes", [tool_calls([("a", "notes_slow", {}), ("b", "notes_look", {})])], "tool_rounds"),
    ],
)
async def test_a_deadline_passes_where_it_passed(place, text, steps, phase):
    await place.walk((text, {"seconds": 1.5}), first=steps)
    assert place.workplace.rows("SELECT outcome, reason_phase FROM turn") == [("expired", phase)]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "TURN-06")
async def test_a_turn_without_any_time_expires_again(place):
    await place.walk(("hi", {"seconds": 0.000001}), first=[envelope("x")])
    assert place.outcomes() == [("expired", "deadline_passed")]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "FB-15")
async def test_an_open_circuit_is_open_again_and_its_probe_a_probe(place):
    place.extra += "[circuit]\nfailures = 1\ncooldown = 1.0\n"
    place.limits = {"attempts": 1}
    steps = {"sick": status(503), "well": envelope("from one")}
    state = ["sick"]
    async with (
        ScriptedModelServer(lambda _request: steps[state[0]]) as one,
        ScriptedModelServer([envelope("from two")], repeat_last=True) as two,
    ):
        place.urls = (one.base_url, two.base_url)
        place.configure()
        configuration = load_configuration(place.workplace.folder / "phasewalk.toml")
        async with application(configuration, place.workplace.database, LogSurface(), "test") as app:
            await place._turn(app, "one", {})
            await place._turn(app, "two", {})
            state[0] = "well"
            await asyncio.sleep(1.1)
            await place._turn(app, "three", {})
    considered = place.workplace.rows("SELECT decision, reason, rule FROM fallback_step ORDER BY turn_id, step")
    assert ("skipped", "circuit_open", "FB-15: circuit open") in considered
    assert considered[-1] == ("taken", "ok", "FB-15: half-open, one probe")
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "FB-13")
async def test_a_model_call_that_was_given_up_is_given_up_again(place):
    place.limits = {"model_call": 1, "attempts": 1}
    await place.walk("hi", first=[hang()], second=[envelope("from two")])
    assert place.workplace.rows("SELECT status, reason FROM attempt ORDER BY n")[0] == ("failed", "timed_out")
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "ENV-02", "ENV-05")
async def test_silence_and_the_short_path_are_the_same(place):
    place.extra += '[bot]\nshort-path = [["^logs$", "^mira$"]]\nstaff-channel = "staff"\n'
    await place.walk(
        ("a log line", {"channel_name": "logs", "nickname": "mi", "addressed": None}),
        ("what a day", {"topic": "weather", "addressed": None}),
        first=[envelope("unsaid", answer_needed=False, staff="Look.")],
    )
    assert [outcome for outcome, _ in place.outcomes()] == ["short_path", "answered"]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "CON-10", "CON-26")
async def test_what_policy_refused_by_role_restriction_and_permission_is_refused_again(place):
    place.extra += '[policy]\nstaff-roles = ["5678"]\nprivileges = { notes = "staff" }\n'
    await place.walk(
        "note: count",
        ("note: count", {"roles": ("5678",)}),
        ("note: count", {"roles": ("5678",), "plan_only": True}),
        ("show my notes", {"roles": ("5678",), "incognito": True}),
        first=[COUNT, envelope("Done.")],
    )
    assert place.outcomes()[0] == ("unavailable", "requirement_unavailable")
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "CON-26")
async def test_a_permission_that_was_used_is_used_again_in_the_replay_alone(place):
    seal = tool_calls([("a", "notes_seal", {})])
    await place.walk("note: seal", first=[seal, envelope("Asked.")])
    ((name,),) = place.workplace.rows("SELECT approval_id FROM approval")
    place.workplace.run("approve", name)
    await place.walk("note: seal", first=[seal, envelope("Sealed.")])
    used = place.workplace.rows("SELECT * FROM approval")
    assert all(map(is_same, place.all()))
    assert place.workplace.rows("SELECT * FROM approval") == used
    assert place.workplace.rows("SELECT status FROM tool_call ORDER BY turn_id") == [("refused",), ("ok",)]


@pytest.mark.spec("OPS-13", "ENV-22")
async def test_images_go_along_again(place):
    picture = place.workplace.folder / "a.png"
    picture.write_bytes(PIXEL)
    await place.walk(("what is this?", {"attachments": (attachment(picture),)}), first=[envelope("A pixel.")])
    picture.unlink()
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13")
async def test_of_an_image_that_is_too_large_to_be_kept_the_request_cannot_be_told(place):
    picture = place.workplace.folder / "a.png"
    picture.write_bytes(PIXEL + b"x" * 100_000)
    await place.walk(("what is this?", {"attachments": (attachment(picture),)}), first=[envelope("A pixel.")])
    (item,) = place.all()
    assert (item["verdict"], item["untold"]) == ("untold", ["request: the images of the message are not in the log"])
    assert item["compared"] == item["visits"]


@pytest.mark.spec("OPS-13", "ENV-26")
@pytest.mark.parametrize("image", ["made", "failed"])
async def test_pictures_are_not_made_again(place, image):
    made = raw(200, json.dumps({"data": [{"b64_json": base64.b64encode(PIXEL).decode()}]}))
    steps = [envelope("Here.", picture="a cat"), made if image == "made" else status(500)]
    place.extra += ""
    real = place.configure

    def painting(change=str, extra: str = "", **limits):
        real(
            lambda text: change(text.replace('model = "m-one"', 'model = "m-one"\nimage-model = "paint"')),
            extra,
            **limits,
        )

    place.configure = painting
    await place.walk("draw a cat", first=steps)
    assert ("picture", "done" if image == "made" else "failed") in place.workplace.rows(
        "SELECT kind, state FROM effects"
    )
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "ENV-23")
async def test_the_responses_api_sends_its_items_back_again(place):
    real = place.configure
    place.configure = lambda change=str, extra="", **limits: real(
        lambda text: change(text.replace('api = "chat"', 'api = "responses"')), extra, **limits
    )
    await place.walk(
        "show my notes", "hi", first=[responses([SEALED, CALL]), envelope("7."), status(429), envelope("Hello.")]
    )
    assert [outcome for outcome, _ in place.outcomes()] == ["answered", "answered"]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "OPS-02")
def test_the_embedded_rules_decide_anew(workplace):
    (workplace.folder / "faq.md").write_text("## When are the raids?\nOn Friday.\n")
    workplace.configure('[[providers]]\nname = "rules"\napi = "rules"\nfaq = "faq.md"\n')
    for text in ("note: milk", "show my notes", "when are the raids?", "delete note 1", "hm"):
        assert workplace.run("turn", text).returncode in (0, 1)
    names = [name for (name,) in workplace.rows("SELECT turn_id FROM turn")]
    assert workplace.run("replay", *names).returncode == 0
    (workplace.folder / "faq.md").write_text("## When are the raids?\nOn Monday.\n")
    done = workplace.run("replay", *names)
    assert (done.returncode, done.stdout.count("decides otherwise")) == (1, 1)
    assert "Monday" in done.stdout


@pytest.mark.spec("OPS-13", "ENV-07", "ENV-10", "ENV-31")
async def test_history_news_and_summaries_are_as_they_stood_at_the_time(place):
    place.extra += '[bot]\nhistory-limit = 4\nsummary-after = 4\nnews-file = "news.txt"\n'
    news = place.workplace.folder / "news.txt"

    def step(request):
        asks = "response_format" not in request.json
        return completion({"role": "assistant", "content": "They greet."}) if asks else envelope("hi")

    async with ScriptedModelServer(step) as server:
        place.urls = (server.base_url,)
        place.configure()
        for number in range(4):
            news.write_text(f"The market opens at {number}.")
            said = "".join(f"hello number {number}.{n}\n" for n in range(3))
            await asyncio.to_thread(place.workplace.run, "chat", said=said)
    news.write_text("Nothing new.")
    assert place.workplace.rows("SELECT count(*) > 2 FROM turn WHERE machine = 'summary'") == [(1,)]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "CON-03", "LOG-10")
async def test_what_a_message_refers_to_is_what_it_referred_to_then(place):
    await place.walk(
        "note: count", "do that again", "thanks", "do that again",
        first=lambda request: COUNT if "tools" in request.json and request.json["messages"][-1]["role"] == "user" else envelope("Done."),
    )  # fmt: skip
    referred = place.workplace.rows(
        "SELECT json_extract(detail, '$.classification.families') FROM phase_event WHERE event = 'classified' ORDER BY event_id"
    )
    assert referred[1] == ('["notes"]',)
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "TURN-16")
async def test_a_turn_that_was_cancelled_is_cancelled_at_the_same_instant(place):
    arrived = asyncio.Event()

    def step(_request):
        arrived.set()
        return hang()

    async with ScriptedModelServer(step) as server:
        place.urls = (server.base_url,)
        place.configure()
        with place.workplace.start("turn", "hi") as running:
            await asyncio.wait_for(arrived.wait(), 30)
            running.send_signal(signal.SIGTERM)
            await asyncio.to_thread(running.wait, 30)
    assert place.outcomes() == [("cancelled", "shutting_down")]
    assert all(map(is_same, place.all()))


@pytest.mark.spec("OPS-13", "TURN-15")
async def test_of_a_turn_whose_process_was_killed_the_rest_cannot_be_told(place):
    arrived = asyncio.Event()

    def step(_request):
        arrived.set()
        return hang()

    async with ScriptedModelServer(step) as server:
        place.urls = (server.base_url,)
        place.configure()
        with place.workplace.start("turn", "hi") as running:
            await asyncio.wait_for(arrived.wait(), 30)
            running.kill()
            await asyncio.to_thread(running.wait, 30)
    (item,) = place.all()
    assert (item["verdict"], item["record_ends"], item["compared"]) == ("untold", "model_attempt", 4)
    assert item["untold"] == ["the record ends in model_attempt; up to there it is the same"]
    place.configure(extra='[bot]\npersona = "You are somebody else."\n')
    (item,) = place.all()
    assert first(item)[:2] == ("build_prompt", "persona")


@pytest.mark.spec("OPS-13", "ENV-10")
async def test_a_minute_that_was_over_before_the_prompt_was_built_is_over_again(place):
    await place.walk("hi", first=[envelope("Hello.")])
    with sqlite3.connect(place.workplace.database) as log:
        log.execute(
            "UPDATE phase_event SET at_us = at_us / 60000000 * 60000000 - 1 WHERE phase = 'build_prompt' AND kind = 'enter'"
        )
    log.close()
    assert is_same(place.replay()[0])


CHANGES = {
    "a keyword of a family": (
        {"extra": '[families.weather]\nnouns = ["greeting"]\n'},
        ("classify", "families", [], ["weather"]),
    ),
    "the list of candidates": (
        {"change": lambda text: text.replace('name = "one"', 'name = "uno"')},
        ("freeze_contract", "candidates", ["one/m-one"], ["uno/m-one"]),
    ),
    "a limit": ({"tool_rounds": 2}, ("freeze_contract", "limits", {"tool_rounds": 4}, {"tool_rounds": 2})),
    "a disabled tool": (
        {"extra": '[policy]\ndisabled-tools = ["notes_look"]\n'},
        ("freeze_contract", "executable", ["notes_look"], []),
    ),
    "the staff channel": (
        {"extra": '[bot]\nstaff-channel = "staff"\n'},
        ("freeze_contract", "staff_channel", None, "staff"),
    ),
}


@pytest.mark.spec("OPS-13", "CON-11", "FB-10")
@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_changed_configuration_is_named_by_the_first_decision_that_it_changes(place, change, expected):
    await place.walk("a greeting to you", first=[envelope("Hello.")])
    assert is_same(place.replay()[0])
    place.configure(**change)
    assert first(place.replay()[0]) == expected


@pytest.mark.spec("OPS-13", "ENV-20")
async def test_a_changed_persona_is_the_first_difference_and_the_rest_is_compared_all_the_same(place):
    await place.walk("hi", first=[envelope("Hello.")])
    place.configure(extra='[bot]\npersona = "You are somebody else."\n')
    (item,) = place.replay()
    assert first(item)[:2] == ("build_prompt", "persona")
    assert [found["section"] for found in item["differences"]] == ["persona"]
    assert item["compared"] == item["visits"]


@pytest.mark.spec("OPS-13", "FB-13")
async def test_a_call_that_was_not_recorded_ends_the_comparison_with_what_was_asked_instead(place):
    place.limits = {"attempts": 2}
    await place.walk("hi", first=[status(503)], second=[envelope("from two")])
    place.configure(attempts=3)
    (item,) = place.replay()
    found = {d["section"]: (d["phase"], d["visit"], d["recorded"], d["today"]) for d in item["differences"]}
    assert found["transition"] == ("model_attempt", 2, "T15 to model_attempt", "T14 to model_attempt")
    assert "T14.attempts_left did not hold left 0, failures 2, limit 2" in found["guards"][2]
    assert found["model call"] == ("model_attempt", 3, "fallback two/m-two by chat", "retry one/m-one by chat")
    assert item["stopped"] == "what one/m-one would have answered was not recorded"


@pytest.mark.spec("OPS-13", "CON-20", "CON-22")
async def test_a_call_that_today_would_run_and_was_refused_is_not_run(place):
    place.extra += '[policy]\ndisabled-tools = ["notes_seal"]\n'
    await place.walk("note: x", first=[tool_calls([("a", "notes_seal", {})]), envelope("No.")])
    place.extra = place.extra.replace('disabled-tools = ["notes_seal"]', "")
    code = (place.workplace.folder / "my_tools.py").read_text()
    (place.workplace.folder / "my_tools.py").write_text(code.replace(", approval=True", ""))
    place.configure()
    (item,) = place.replay()
    assert first(item)[:2] == ("freeze_contract", "offered")
    assert item["differences"][-1]["section"] == "tools"
    assert item["differences"][-1]["today"] == "notes_seal runs"


@pytest.mark.spec("OPS-13", "TURN-05")
async def test_a_longer_limit_that_would_have_let_a_call_go_on_is_a_difference(place):
    place.limits = {"model_call": 1, "attempts": 1}
    await place.walk("hi", first=[hang()])
    place.configure(model_call=60)
    (item,) = place.replay()
    assert item["differences"][-1]["today"] == "still waits"
    assert item["stopped"] == "today's code would have waited longer than was waited then"


@pytest.mark.spec("OPS-13", "LOG-11")
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT text_digest FROM turn", "what was said was pruned"),
        ("SELECT response_digest FROM attempt WHERE n = 1", "the answer of model call 1 (one/m-one) was pruned"),
        ("SELECT result_digest FROM tool_call", "the result of notes_look (call-1) was pruned"),
    ],
)
async def test_a_pruned_text_that_is_needed_is_named_in_one_sentence(place, sql, said):
    await place.walk("show my notes", first=[LOOK, envelope("7.")])
    with sqlite3.connect(place.workplace.database) as log:
        ((digest,),) = log.execute(sql).fetchall()
        log.execute("UPDATE payload SET body = NULL, pruned_us = 1 WHERE digest = ?", (digest,))
    log.close()
    answer = place.look("last")
    assert answer.status == 5
    assert answer.err.count("\n") == 1
    assert said in answer.err


@pytest.mark.spec("OPS-13", "LOG-11")
async def test_pruned_texts_of_what_was_decided_are_compared_by_their_content(place):
    await place.walk("hi", first=[envelope("Hello. " * 60)])
    with sqlite3.connect(place.workplace.database) as log:
        kept = log.execute("SELECT text_digest FROM turn UNION SELECT response_digest FROM attempt").fetchall()
        marks = [digest for (digest,) in kept]
        log.execute("UPDATE payload SET body = NULL, pruned_us = 1 WHERE digest NOT IN (?, ?)", marks)
        assert log.execute("SELECT count(*) FROM payload WHERE body IS NULL").fetchone()[0] >= 2
    log.close()
    assert is_same(place.replay()[0])


@pytest.mark.spec("OPS-13", "LOG-10")
async def test_a_message_that_held_a_secret_can_be_told_but_for_what_showed_it(place):
    await place.walk("remember: password=hunter2-and-more", first=[envelope("Better not.")])
    (item,) = place.replay()
    assert item["verdict"] == "untold"
    assert "request: the message held a secret, which the log does not keep" in item["untold"]
    assert item["compared"] == item["visits"]


@pytest.mark.spec("OPS-13", "CON-10")
async def test_a_log_that_did_not_keep_roles_yet_says_so_where_they_matter(place):
    await place.walk("note: count", first=[COUNT, envelope("Done.")])
    with sqlite3.connect(place.workplace.database) as log:
        log.execute("UPDATE phase_event SET detail = NULL WHERE phase = 'received' AND kind = 'enter'")
    log.close()
    assert is_same(place.replay()[0])
    place.configure(extra='[policy]\nstaff-roles = ["5678"]\nprivileges = { notes = "staff" }\n')
    (item,) = place.replay()
    assert item["verdict"] == "untold"
    assert "the log did not keep the person's roles and the turn's restrictions yet" in item["untold"]


@pytest.mark.spec("OPS-15")
async def test_no_socket_is_made_also_where_the_turn_had_asked_a_model(place, monkeypatch):
    await place.walk("show my notes", first=[LOOK, status(503), envelope("7.")], second=[envelope("x")])
    seen: list[str] = []
    watching = True
    sys.addaudithook(lambda event, _: seen.append(event) if watching and event.startswith("socket.") else None)

    def refuse(*_arguments, **_keywords):
        raise AssertionError("a socket was made")

    monkeypatch.setattr(socket, "socket", refuse)
    verdict = place.replay()[0]
    watching = False
    monkeypatch.undo()
    assert is_same(verdict)
    assert seen == []


@pytest.mark.spec("OPS-15")
async def test_a_tool_module_that_wants_a_socket_when_it_is_imported_gets_none(place):
    await place.walk("hi", first=[envelope("Hello.")])
    module = place.workplace.folder / "my_tools.py"
    module.write_text(module.read_text() + "\nimport socket\nsocket.socket()\n")
    answer = place.look("last")
    assert (answer.status, answer.out) == (2, "")
    assert "a replay opens no socket" in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.spec("OPS-15")
async def test_the_log_is_not_written_and_neither_client_nor_discord_is_imported(place):
    await place.walk("note: count", first=[COUNT, envelope("Done.")])
    before = place.workplace.database.read_bytes()
    code = (
        "import sys; from phasewalk.surfaces.cli.main import main\n"
        "main(['replay', 'last'], standalone_mode=False)\n"
        "print(sorted({'openai', 'discord', 'httpx', 'sqlite_utils'} & set(sys.modules)))"
    )
    place.workplace.folder.chmod(0o555)
    done = await asyncio.to_thread(run_python, place.workplace, code)
    place.workplace.folder.chmod(0o755)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "[]"), done.stderr
    assert place.workplace.database.read_bytes() == before


def run_python(workplace, code: str):
    import subprocess

    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=workplace.folder,
        env=workplace.environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.spec("OPS-13", "TURN-02")
async def test_a_changed_row_of_the_table_is_named_with_what_its_guards_answered(place, monkeypatch):
    from phasewalk.machine.table import Table
    from phasewalk.machine.turn_table import TURN_TABLE
    from phasewalk.phases import machine

    await place.walk("note: count", first=[COUNT, status(404)], second=[envelope("from two")])
    assert place.outcomes() == [("partial", "side_effects")]
    rows = [
        row
        if row.id != "T15"
        else type(row)(row.id, row.sources, row.events, ("before_deadline", "candidate_left"), row.target, row.cause)
        for row in TURN_TABLE.rows
    ]
    monkeypatch.setattr(machine, "TURN_TABLE", Table("turn", TURN_TABLE.phases, tuple(rows)))
    (item,) = place.replay()
    found = {d["section"]: (d["recorded"], d["today"]) for d in item["differences"]}
    assert found["transition"] == ("T16 to deliver", "T15 to model_attempt")
    assert any(said.startswith("T15.fallback_allowed did not hold") for said in found["guards"][0])
    assert any(said.startswith("T15.candidate_left held next two/m-two") for said in found["guards"][1])
    assert place.ran() == "x"


@pytest.mark.spec("OPS-13", "OPS-01", "OPS-10", "OPS-14")
def test_every_turn_of_the_shipped_export_is_decided_the_same(workplace):
    examples = Path(__file__).parents[2] / "examples"
    given = ("--config", str(examples / "phasewalk.toml"), "--db", str(workplace.database))
    assert workplace.run(*given, "feed", str(examples / "help-server.json")).returncode == 0
    listed = workplace.run(*given, "list", "--jsonl", "--limit", "1000").stdout
    ids = "".join(f"{json.loads(line)['turn_id']}\n" for line in listed.splitlines())
    done = workplace.run(*given, "replay", "-", said=ids)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "phasewalk: 88 turns: 88 the same, 0 differ, 0 could not be told\n"
    assert len(done.stdout.splitlines()) == 88


BENCH = Path(__file__).parents[2] / "bench"


@pytest.mark.spec("OPS-13", "BAR-22")
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_turns_against_a_provider_with_faults_are_decided_the_same(tmp_path, monkeypatch, api):
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("FAULTS_KEY", "")
    import faults

    await faults.run(tmp_path, seed=23, turns=60, api=api, circuits=faults.RUNS[2])
    sys.modules.pop("phasewalk_tools_from_ledger_tools", None)
    with sqlite3.connect(tmp_path / "faults.db") as log:
        names = [name for (name,) in log.execute("SELECT turn_id FROM turn")]
    log.close()
    given = [
        "--config",
        str(tmp_path / "phasewalk.toml"),
        "--db",
        str(tmp_path / "faults.db"),
        "replay",
        "--jsonl",
        *names,
    ]
    with ThreadPoolExecutor(1) as thread:
        done = thread.submit(CliRunner().invoke, main, given).result()
    sys.modules.pop("phasewalk_tools_from_ledger_tools", None)
    items = [json.loads(line) for line in done.stdout.splitlines()]
    assert [item for item in items if item["verdict"] != "same"] == []
    assert len(items) == 60
