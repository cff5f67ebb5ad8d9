"""Notes, memory and tasks on a shelf that is kept in lists."""

import json

import pytest

from phasewalk.phases.tools.due import ACCEPTED
from phasewalk.phases.tools.serialise import LIMIT, as_text
from phasewalk.phases.tools.stamps import TEXT_IN_LIST, iso

NOW = "2026-09-21T14:13:20Z"


def test_ten_tools_ship_and_only_lists_recall_and_search_read(registry):
    assert {name: (info.family, info.mutating) for name, info in registry.all().items()} == {
        "notes_add": ("notes", True),
        "notes_list": ("notes", False),
        "notes_delete": ("notes", True),
        "memory_remember": ("memory", True),
        "memory_recall": ("memory", False),
        "memory_forget": ("memory", True),
        "tasks_add": ("tasks", True),
        "tasks_list": ("tasks", False),
        "tasks_complete": ("tasks", True),
        "history_search": ("history", False),
    }


async def test_a_note_is_kept_and_listed_in_its_channel_only(registry, context):
    added = await registry.run("notes_add", '{"text": "  the raid moved "}', context())
    listed = await registry.run("notes_list", "{}", context())
    assert added == {"added": 1, "text": "the raid moved"}
    assert listed["notes"] == [{"number": 1, "text": "the raid moved", "at": NOW}]
    assert (await registry.run("notes_list", "{}", context(channel="10")))["notes"] == []


async def test_notes_are_found_by_all_words_in_any_case(registry, context):
    for text in ("Buy MILK", "buy bread", "drink milk"):
        await registry.run("notes_add", json.dumps({"text": text}), context())
    found = await registry.run("notes_list", '{"find": "milk buy"}', context())
    assert [note["text"] for note in found["notes"]] == ["Buy MILK"]
    assert found["sought"] == "milk buy"


async def test_a_note_is_deleted_once_and_only_by_its_owner(registry, context):
    await registry.run("notes_add", '{"text": "x"}', context())
    assert await registry.run("notes_delete", '{"number": 1}', context(user="8")) == {"deleted": False, "number": 1}
    assert await registry.run("notes_delete", '{"number": 1}', context()) == {"deleted": True, "number": 1}
    assert await registry.run("notes_delete", '{"number": 1}', context()) == {"deleted": False, "number": 1}


async def test_a_fact_is_remembered_recalled_and_forgotten(registry, context):
    await registry.run("memory_remember", '{"text": "likes tea"}', context())
    fact = {"number": 1, "text": "likes tea", "at": NOW}
    assert (await registry.run("memory_recall", "{}", context(channel="10")))["facts"] == [fact]
    assert (await registry.run("memory_recall", '{"query": "coffee"}', context()))["facts"] == []
    assert await registry.run("memory_forget", '{"number": 1}', context()) == {"forgotten": True, "number": 1}
    assert (await registry.run("memory_recall", "{}", context()))["facts"] == []


async def test_a_task_without_a_due_time_is_kept_and_listed_in_its_channel_only(registry, context):
    added = await registry.run("tasks_add", '{"text": " water the plants "}', context())
    assert added == {"added": 1, "text": "water the plants", "due": None}
    listed = await registry.run("tasks_list", "{}", context())
    assert listed["tasks"] == [{"number": 1, "text": "water the plants", "at": NOW}]
    assert (await registry.run("tasks_list", "{}", context(channel="10")))["tasks"] == []
    assert (await registry.run("tasks_list", "{}", context(user="8")))["tasks"] == []


async def test_a_due_time_is_shown_as_an_instant_in_utc(registry, context):
    added = await registry.run("tasks_add", '{"text": "x", "due": "2026-12-03T18:00+01:00"}', context())
    assert added["due"] == "2026-12-03T17:00:00Z"
    assert (await registry.run("tasks_list", "{}", context()))["tasks"][0]["due"] == "2026-12-03T17:00:00Z"


async def test_a_blank_due_time_is_none(registry, context):
    assert registry.problem_with("tasks_add", '{"text": "x", "due": " "}') is None
    assert (await registry.run("tasks_add", '{"text": "x", "due": " "}', context()))["due"] is None
    assert (await registry.run("tasks_add", '{"text": "x", "due": null}', context()))["due"] is None


@pytest.mark.spec("CON-20")
def test_a_due_time_of_no_known_form_is_refused_before_anything_runs(registry):
    problem = registry.problem_with("tasks_add", '{"text": "x", "due": "when {pigs} fly"}')
    assert problem == f"due: 'when {{pigs}} fly' is not understood; {ACCEPTED}; tasks_add accepts text, due (optional)"


async def test_a_due_time_in_the_past_keeps_nothing_and_says_what_is_accepted(registry, context, shelf):
    result = await registry.run("tasks_add", '{"text": "x", "due": "2026-09-21T14:13:20Z"}', context())
    assert result == {"added": None, "problem": f"due '2026-09-21T14:13:20Z' is in the past; {ACCEPTED}"}
    assert shelf.kept_tasks == []


async def test_a_task_is_completed_once_and_only_by_its_owner(registry, context):
    await registry.run("tasks_add", '{"text": "x"}', context())
    mine, other = context(), context(user="8")
    assert await registry.run("tasks_complete", '{"number": 1}', other) == {"completed": False, "number": 1}
    assert await registry.run("tasks_complete", '{"number": 1}', mine) == {"completed": True, "number": 1}
    assert await registry.run("tasks_complete", '{"number": 1}', mine) == {"completed": False, "number": 1}


async def test_tasks_that_are_done_are_listed_on_request_only(registry, context):
    await registry.run("tasks_add", '{"text": "x"}', context())
    await registry.run("tasks_complete", '{"number": 1}', context())
    assert (await registry.run("tasks_list", "{}", context()))["tasks"] == []
    listed = await registry.run("tasks_list", '{"include_done": true}', context())
    assert listed["tasks"] == [{"number": 1, "text": "x", "at": NOW, "done": NOW}]


@pytest.mark.spec("CON-23")
@pytest.mark.parametrize("text", ["x" * 60, "y" * 4000, "\x01" * 4000])
@pytest.mark.parametrize(
    "tools", ["notes_add notes_list notes", "memory_remember memory_recall facts", "tasks_add tasks_list tasks"]
)
async def test_of_a_long_list_the_newest_are_shown_in_whole_json_and_the_others_counted(registry, context, tools, text):
    add, names, key = tools.split()
    for _ in range(200):
        await registry.run(add, json.dumps({"text": text}), context())
    result = await registry.run(names, "{}", context())
    shown = [item["number"] for item in result[key]]
    assert json.loads(as_text(result)) == result
    assert shown == list(range(201 - len(shown), 201))
    assert 0 < len(shown) == 200 - result["left_out"]


@pytest.mark.spec("CON-23")
async def test_a_long_text_is_cut_among_others_and_whole_alone(registry, context):
    await registry.run("notes_add", json.dumps({"text": "y" * 4000}), context())
    (alone,) = (await registry.run("notes_list", "{}", context()))["notes"]
    await registry.run("notes_add", '{"text": "x"}', context())
    first, second = (await registry.run("notes_list", "{}", context()))["notes"]
    assert alone["text"] == "y" * 4000
    assert (first["text"], second["text"]) == ("y" * (TEXT_IN_LIST - 1) + "…", "x")


@pytest.mark.spec("CON-23")
async def test_one_note_of_the_greatest_length_fits_into_a_result(registry, context):
    await registry.run("notes_add", json.dumps({"text": "é\n" * 1999 + "é"}), context())
    assert len(as_text(await registry.run("notes_list", "{}", context()))) < LIMIT


@pytest.mark.parametrize("tool", ["notes_add", "memory_remember", "tasks_add"])
@pytest.mark.parametrize("text", ["", "   ", "x" * 4001])
def test_blank_and_endless_texts_are_refused(registry, tool, text):
    assert registry.problem_with(tool, json.dumps({"text": text})) is not None


@pytest.mark.parametrize("tool", ["notes_delete", "memory_forget", "tasks_complete"])
@pytest.mark.parametrize("number", ["0", "-1", "1.5", '"3"', "true", "1e400"])
def test_numbers_that_the_shelf_never_gave_are_refused(registry, tool, number):
    assert registry.problem_with(tool, f'{{"number": {number}}}') is not None


def test_an_instant_is_shown_to_the_second_and_with_four_digits_of_the_year():
    assert iso(-62_135_596_800_000_000 + 999_999) == "0001-01-01T00:00:00Z"
