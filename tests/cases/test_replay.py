"""Turns that were really walked, with the real client, are decided the same when the server is gone."""

import asyncio
import base64
import json
import signal

import pytest
from replaying import COUNT, LOOK, first, is_same

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
from phasewalk.storage.database import open_for_reading
from phasewalk.storage.recorded_turn import recorded_turn
from phasewalk.storage.scratch_log import ScratchLog
from phasewalk.surfaces.attachments import attachment
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.replay.today import today
from phasewalk.surfaces.replay.walk import walk_again
from phasewalk.surfaces.speech import LogSurface
from phasewalk.surfaces.wiring import application

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


@pytest.mark.spec("OPS-13", "TURN-09")
async def test_every_visit_begins_and_ends_at_its_recorded_instant_on_both_clocks(place):
    await place.walk("note: count", first=[status(503), COUNT, envelope("Done.")])
    kept, again = await asyncio.to_thread(walked_again, place)
    assert len(again.stays) == len(kept.stays) > 8
    for then, now in zip(kept.stays, again.stays, strict=True):
        for recorded, shown in ((then.begun, now.begun), (then.left, now.left)):
            assert abs(recorded.mono - shown.mono) < 1e-5
            assert abs(recorded.at_us - shown.at_us) <= 1


def walked_again(place):
    """The record of the only turn, and the same turn as it was walked again."""
    log = open_for_reading(place.workplace.database)
    ((name,),) = log.execute("SELECT turn_id FROM turn")
    record = recorded_turn(log, name)
    now = today(load_configuration(place.workplace.folder / "phasewalk.toml"))
    again = walk_again(log, ScratchLog(), record, now).again
    log.close()
    return record, again


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
@pytest.mark.parametrize(
    ("text", "step", "phase", "compared"),
    [
        ("hi", hang(), "model_attempt", 4),
        ("show my notes", tool_calls([("a", "notes_slow", {})]), "tool_rounds", 5),
    ],
)
async def test_of_a_turn_whose_process_was_killed_the_rest_cannot_be_told(place, text, step, phase, compared):
    async with ScriptedModelServer([step]) as server:
        place.urls = (server.base_url,)
        place.configure()
        with place.workplace.start("turn", text) as running:
            for _ in range(1500):
                await asyncio.sleep(0.02)
                if place.ran() if phase == "tool_rounds" else server.requests:
                    break
            running.kill()
            await asyncio.to_thread(running.wait, 30)
    (item,) = place.all()
    assert (item["verdict"], item["record_ends"], item["compared"]) == ("untold", phase, compared)
    assert item["untold"] == [f"the record ends in {phase}; up to there it is the same"]
    place.configure(extra='[bot]\npersona = "You are somebody else."\n')
    (item,) = place.all()
    assert first(item)[:2] == ("build_prompt", "persona")


@pytest.mark.spec("OPS-13", "TURN-15")
async def test_of_a_turn_that_ends_within_delivery_the_rest_cannot_be_told(place):
    await place.walk("hi", first=[envelope("Hello.")])
    place.change("DELETE FROM effect_event WHERE kind = 'receipt'")
    place.change("DELETE FROM phase_event WHERE seq >= (SELECT seq FROM phase_event WHERE event = 'delivered')")
    (item,) = place.replay()
    assert (item["record_ends"], item["compared"], item["differences"]) == ("deliver", 6, [])
    assert item["verdict"] == "untold"


@pytest.mark.spec("OPS-13", "ENV-10")
async def test_a_minute_that_was_over_before_the_prompt_was_built_is_over_again(place):
    await place.walk("hi", first=[envelope("Hello.")])
    place.change(
        "UPDATE phase_event SET at_us = at_us / 60000000 * 60000000 - 1 WHERE phase = 'build_prompt' AND kind = 'enter'"
    )
    assert is_same(place.replay()[0])
