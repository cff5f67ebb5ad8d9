"""What today's code decides otherwise is named, and what cannot be told is said (`phasewalk replay`)."""

import sqlite3

import pytest
from replaying import COUNT, LOOK, first, is_same

from phasewalk.machine.trigger import Attachment
from phasewalk.phases.providers.testing import (
    envelope,
    hang,
    status,
    tool_calls,
)

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
    assert "T14.attempts_left did not hold (left 0, failures 2, limit 2)" in found["guards"][2]
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
    place.change("UPDATE phase_event SET detail = NULL WHERE phase = 'received' AND kind = 'enter'")
    assert is_same(place.replay()[0])
    place.configure(extra='[policy]\nstaff-roles = ["5678"]\nprivileges = { notes = "staff" }\n')
    (item,) = place.replay()
    assert item["verdict"] == "untold"
    assert "the log did not keep the person's roles and the turn's restrictions yet" in item["untold"]


@pytest.mark.spec("OPS-13", "LOG-03")
@pytest.mark.parametrize(
    ("event", "reason", "why"),
    [
        ("interrupted", None, "recovery went on from deliver"),
        ("crashed", "log_write_failed", "the log could not be written in deliver"),
    ],
)
async def test_what_no_code_decided_ends_the_comparison(place, event, reason, why):
    await place.walk("hi", first=[envelope("Hello.")])
    place.change(
        "UPDATE phase_event SET event = ?, reason = ? WHERE phase = 'deliver' AND kind = 'exit'", event, reason
    )
    (item,) = place.replay()
    assert (item["verdict"], item["untold"]) == ("untold", [f"{why}; up to there it is the same"])


@pytest.mark.spec("OPS-13", "LOG-11")
async def test_history_that_was_pruned_is_named(place):
    await place.walk("hi", "hi again", first=[envelope("Hello.")])
    place.change("DELETE FROM message WHERE entry_id = 1")
    (item,) = place.replay()
    assert item["verdict"] == "untold"
    assert "1 of the 2 entries of history that it was shown were pruned" in item["untold"]
    place.configure(extra='[bot]\npersona = "You are somebody else."\n')
    assert first(place.replay()[0])[:2] == ("build_prompt", "persona")


@pytest.mark.spec("OPS-13", "ENV-03")
async def test_a_speech_that_was_not_made_then_is_the_last_thing_that_is_told(place):
    await place.walk("hi", first=[envelope("Hello.", staff="Look.")])
    place.configure(extra='[bot]\nstaff-channel = "staff"\n')
    (item,) = place.replay()
    assert first(item)[:2] == ("freeze_contract", "staff_channel")
    last = item["differences"][-1]
    assert (last["phase"], last["recorded"], last["today"]) == ("deliver", "nothing", "staff_note to staff")
    assert item["stopped"] == "whether it would have arrived was not recorded"


@pytest.mark.spec("OPS-13", "LOG-10")
async def test_of_an_image_whose_address_held_a_secret_the_request_cannot_be_told(place):
    image = Attachment("a.png", "https://cdn.example.org/a.png?sig=0123456789abcdef", 9, "image/png")
    await place.walk(("what is this?", {"attachments": (image,)}), first=[envelope("A cat.")])
    (item,) = place.replay()
    assert (item["verdict"], item["differences"], item["compared"]) == ("untold", [], item["visits"])
    assert item["untold"] == ["request: the images of the message are not in the log"]


@pytest.mark.spec("OPS-13")
@pytest.mark.parametrize("detail", ['{"prompt": 5}', '{"prompt": {}}', '{"prompt": {"user": 1, "history": 2}}'])
async def test_a_record_that_makes_no_sense_is_no_traceback(place, detail):
    await place.walk("hi", first=[envelope("Hello.")])
    place.change("UPDATE phase_event SET detail = ? WHERE phase = 'build_prompt' AND kind = 'exit'", detail)
    assert place.replay()[0]["verdict"] in ("differs", "untold")
