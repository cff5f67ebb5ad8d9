"""The embedded responder: what it answers, in which order, and what it does with tools."""

import json
import time
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.exchange import Exchange, ModelReply, Prompt, ToolCall, ToolResult
from phasewalk.machine.fallback import FailureKind
from phasewalk.machine.ports import Earlier
from phasewalk.machine.provider import ModelRequest, ProviderError
from phasewalk.machine.reasons import Reason
from phasewalk.phases.classify import classify_text
from phasewalk.phases.providers.rules import PASSED_ON, RulesProvider, asked_in
from phasewalk.phases.providers.rules_load import load_rules
from phasewalk.phases.tools.due import check_due
from phasewalk.phases.vocabulary_file import shipped

KEYS = ["answer", "answer_needed", "channel", "staff", "picture", "picture_count", "picture_edit", "hack"]
NO_ANSWER = load_rules(None, None).no_answer
FAQ = "# FAQ\n\n## When are the raids?\n\nRaids start on Wednesday at 19:30.\n"
RULES = """
[[rules]]
keywords = ["guild bank", "Vault"]
answer = "Ask {author} or an officer; {unknown} stays."

[[rules]]
pattern = 'weather in (?P<city>\\w+)(?: for (?P<days>\\d+) days)?'
tool = "forecast"
arguments = { city = "{city}", days = "{days}", asked = ["{text}"] }

[[rules]]
pattern = "i will (kill|hurt) you"
staff = "{author} wrote: {text}"
only-addressed = false

[[rules]]
keywords = ["secret"]
silence = true
only-addressed = false

[[rules]]
keywords = ["hello"]
answer = "Our own hello."
"""


def schema(name: str, **properties: str) -> ToolSchema:
    parameters = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return ToolSchema(name, name, json.dumps(parameters))


TOOLS = (
    schema("notes_add", text="string"),
    schema("notes_list"),
    schema("notes_delete", number="integer"),
    schema("memory_remember", text="string"),
    schema("memory_recall", query="string"),
    schema("memory_forget", number="integer"),
    schema("tasks_add", text="string", due="string"),
    schema("tasks_list", include_done="boolean"),
    schema("tasks_complete", number="integer"),
    schema("history_search", query="string"),
    schema("forecast", city="string", days="integer"),
)


def request(text, addressed="direct", *, tools=TOOLS, exchanges=(), kind="user") -> ModelRequest:
    message = {"text": text, "author": "Ana", "addressed": addressed}
    return ModelRequest(
        candidate=Candidate("rules", "rules", "rules"),
        model="rules",
        prompt=Prompt("", "", (), json.dumps({"message": message}), ""),
        exchanges=exchanges,
        tools=tools,
        turn_id="turn-1",
        kind=kind,
        speaks_to_bot=addressed is not None or kind == "scheduled",
    )


@pytest.fixture(scope="module")
def provider(tmp_path_factory) -> RulesProvider:
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.toml").write_text(RULES, "utf-8")
    (folder / "faq.md").write_text(FAQ, "utf-8")
    return RulesProvider(load_rules(folder / "rules.toml", folder / "faq.md"))


async def reply_to(provider: RulesProvider, *args, **kwargs) -> ModelReply:
    reply, _ = await provider.complete(request(*args, **kwargs))
    return reply


async def envelope(provider: RulesProvider, *args, **kwargs) -> dict[str, object]:
    reply = await reply_to(provider, *args, **kwargs)
    assert reply.text is not None
    return json.loads(reply.text)


async def call(provider: RulesProvider, *args, **kwargs) -> tuple[str, object]:
    (only,) = (await reply_to(provider, *args, **kwargs)).calls
    return only.name, json.loads(only.arguments)


@pytest.mark.spec("OPS-02", "ENV-19")
async def test_the_reply_is_a_whole_envelope_with_its_keys_in_order(provider):
    reply = await reply_to(provider, "what about the vault?")
    assert list(json.loads(reply.text or "")) == KEYS
    assert (reply.finish_reason, reply.calls) == ("stop", ())


@pytest.mark.spec("OPS-02")
async def test_no_tokens_are_reported(provider):
    reply = await reply_to(provider, "hi")
    assert (reply.input_tokens, reply.output_tokens) == (None, None)


@pytest.mark.spec("OPS-02")
async def test_an_operators_keyword_answers_with_placeholders_filled_in(provider):
    said = await envelope(provider, "where is the GUILD  bank?")
    assert (said["answer"], said["answer_needed"]) == ("Ask Ana or an officer; {unknown} stays.", True)


async def test_a_keyword_is_a_whole_word(provider):
    assert (await envelope(provider, "pole vaulting"))["answer"] == NO_ANSWER


async def test_operators_rules_come_before_those_that_ship(provider):
    assert (await envelope(provider, "hello"))["answer"] == "Our own hello."


@pytest.mark.spec("OPS-02")
async def test_an_operators_rule_calls_a_tool_with_the_named_groups(provider):
    text = "weather in Rome for 3 days"
    assert await call(provider, text) == ("forecast", {"city": "Rome", "days": 3, "asked": [text]})


@pytest.mark.spec("OPS-02")
async def test_a_staff_note_is_written_about_an_overheard_message_without_an_answer(provider):
    said = await envelope(provider, "I will hurt you", None)
    assert (said["answer"], said["answer_needed"], said["staff"]) == (None, False, "Ana wrote: I will hurt you")


@pytest.mark.spec("OPS-02", "ENV-04")
async def test_who_spoke_to_the_bot_hears_that_staff_is_told(provider):
    said = await envelope(provider, "I will kill you")
    assert (said["answer"], said["staff"]) == (PASSED_ON, "Ana wrote: I will kill you")


async def test_an_overheard_threat_is_nothing_without_an_operators_rule():
    said = await envelope(RulesProvider(), "I will kill you", None)
    assert (said["answer"], said["staff"]) == (None, None)


@pytest.mark.spec("OPS-02")
async def test_silence_is_silent_about_overheard_messages_only(provider):
    assert (await envelope(provider, "the secret", None))["answer"] is None
    assert (await envelope(provider, "the secret"))["answer"] == NO_ANSWER


async def test_rules_are_for_addressed_messages_unless_they_say_otherwise(provider):
    assert (await envelope(provider, "the vault is empty", None))["answer"] is None


@pytest.mark.spec("OPS-02")
async def test_the_faq_answers_a_direct_question_and_no_overheard_one(provider):
    assert (await envelope(provider, "when is the next raid?"))["answer"] == "Raids start on Wednesday at 19:30."
    assert (await envelope(provider, "when is the next raid?", None))["answer"] is None


@pytest.mark.spec("OPS-02")
@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("Good morning!", "Hello!"),
        ("@bot hi", "Hello!"),
        ("thanks a lot", "You are welcome."),
        ("what can you do?", "I answer from rules"),
        ("help", "I answer from rules"),
        ("forget me", "I forget facts one at a time"),
        ("delete it", "Say which one by its number"),
        ("delete my notes", "I delete notes one at a time"),
        ("remind me", "Say what is to be done"),
        ("add a task", "Say what is to be done"),
        ("delete task 3", "I cannot delete tasks"),
    ],
)
async def test_the_rules_that_ship_answer_small_talk(text, beginning):
    assert str((await envelope(RulesProvider(), text))["answer"]).startswith(beginning)


@pytest.mark.spec("OPS-02")
@pytest.mark.parametrize("addressed", ["direct", "mention", "reply"])
async def test_without_a_match_a_person_who_asked_is_told_so(provider, addressed):
    said = await envelope(provider, "who won the match?", addressed)
    assert (said["answer"], said["answer_needed"]) == (NO_ANSWER, True)


@pytest.mark.spec("OPS-02", "ENV-02")
async def test_without_a_match_nothing_is_said_to_an_overheard_message(provider):
    said = await envelope(provider, "who won the match?", None)
    assert (said["answer"], said["answer_needed"]) == (None, False)


async def test_a_scheduled_turn_is_answered_although_nobody_addressed_the_bot(provider):
    assert (await envelope(provider, "the vault", None, kind="scheduled"))["answer"] is not None


NATURAL = [
    ("note: the raid moved", "notes_add", {"text": "the raid moved"}),
    ("@helper note: the raid moved", "notes_add", {"text": "the raid moved"}),
    ("keep a note that the raid moved", "notes_add", {"text": "the raid moved"}),
    ("Can you keep a note that the raid moved", "notes_add", {"text": "the raid moved"}),
    ("please write down that we need potions", "notes_add", {"text": "we need potions"}),
    ("note: one\ntwo", "notes_add", {"text": "one\ntwo"}),
    ("show my notes", "notes_list", {}),
    ("What notes do I have?", "notes_list", {}),
    ("my notes please", "notes_list", {}),
    ("delete number 3", "notes_delete", {"number": 3}),
    ("delete note 3", "notes_delete", {"number": 3}),
    ("please remove note number 12", "notes_delete", {"number": 12}),
    ("remember that I am allergic to peanuts", "memory_remember", {"text": "I am allergic to peanuts"}),
    ("remember: I like tea", "memory_remember", {"text": "I like tea"}),
    ("what do you remember about me?", "memory_recall", {}),
    ("do you remember my birthday?", "memory_recall", {"query": "birthday"}),
    ("forget fact 2", "memory_forget", {"number": 2}),
    ("my notes about the raid", "notes_list", {"find": "raid"}),
    ("remind me to feed the cat tomorrow", "tasks_add", {"text": "feed the cat", "due": "tomorrow"}),
    ("remind me to feed the cat tomorrow at 18:00.", "tasks_add", {"text": "feed the cat", "due": "tomorrow at 18:00"}),
    ("remind me to feed the cat, tomorrow 6pm", "tasks_add", {"text": "feed the cat", "due": "tomorrow 6pm"}),
    ("remind me tomorrow to feed the cat", "tasks_add", {"text": "feed the cat", "due": "tomorrow"}),
    ("remind me in 2 hours to feed the cat", "tasks_add", {"text": "feed the cat", "due": "in 2 hours"}),
    ("can you remind me to call Bob in half an hour?", "tasks_add", {"text": "call Bob", "due": "in half an hour"}),
    ("remind me to call Bob at 6pm tomorrow", "tasks_add", {"text": "call Bob", "due": "at 6pm tomorrow"}),
    ("remind me to call Bob on friday", "tasks_add", {"text": "call Bob", "due": "on friday"}),
    ("remind me to go by 2026-12-24 at 18:00 UTC", "tasks_add", {"text": "go", "due": "by 2026-12-24 at 18:00 UTC"}),
    ("remind me to call Bob this evening", "tasks_add", {"text": "call Bob", "due": "this evening"}),
    ("remind me to call Bob tonight at 21:30", "tasks_add", {"text": "call Bob", "due": "tonight at 21:30"}),
    ("remind me: call Bob", "tasks_add", {"text": "call Bob", "due": ""}),
    ("I want you to remind me to call Bob", "tasks_add", {"text": "call Bob", "due": ""}),
    ("set a reminder for tomorrow 18:00 to call Bob", "tasks_add", {"text": "call Bob", "due": "tomorrow 18:00"}),
    ("add a task: water the plants", "tasks_add", {"text": "water the plants", "due": ""}),
    ("add task water the plants", "tasks_add", {"text": "water the plants", "due": ""}),
    ("create a task to call Bob in 2 hours", "tasks_add", {"text": "call Bob", "due": "in 2 hours"}),
    ("todo: one\ntwo", "tasks_add", {"text": "one\ntwo", "due": ""}),
    ("TODO water the plants", "tasks_add", {"text": "water the plants", "due": ""}),
    ('add "water the plants" to my tasks', "tasks_add", {"text": "water the plants", "due": ""}),
    ("put milk on my to-do list", "tasks_add", {"text": "milk", "due": ""}),
    ("my tasks", "tasks_list", {}),
    ("todo list", "tasks_list", {}),
    ("what's on my to-do list?", "tasks_list", {}),
    ("do I have any tasks?", "tasks_list", {}),
    ("show all my tasks", "tasks_list", {"include_done": True}),
    ("list my tasks including the done ones", "tasks_list", {"include_done": True}),
    ("is task 3 done?", "tasks_list", {"include_done": True}),
    ("complete task 3", "tasks_complete", {"number": 3}),
    ("mark task #3 as done", "tasks_complete", {"number": 3}),
    ("search the chat for raid", "history_search", {"query": "raid"}),
    ('search the chat for "raid night"', "history_search", {"query": "raid night"}),
    ('search the chat for "', "history_search", {"query": '"'}),
    ("search this channel for NEAR(", "history_search", {"query": "NEAR("}),
    ("search history for 火", "history_search", {"query": "火"}),
    ("who said that the raid moved?", "history_search", {"query": "raid moved"}),
    ("what was said about the raid?", "history_search", {"query": "raid"}),
    ("what did we say about potions?", "history_search", {"query": "potions"}),
    ("when did we talk about potions?", "history_search", {"query": "potions"}),
    ("find old messages with C++", "history_search", {"query": "C++"}),
]

ONLY_IN_RULES = [
    ("done 3", "tasks_complete", {"number": 3}),
    ("done with task 3", "tasks_complete", {"number": 3}),
    ("task 3 is done", "tasks_complete", {"number": 3}),
    ("I finished task 3", "tasks_complete", {"number": 3}),
    ("new task: x", "tasks_add", {"text": "x", "due": ""}),
    ("what did Bob say about potions?", "history_search", {"query": "potions"}),
    ("search for potions in the chat", "history_search", {"query": "potions"}),
]
"""Commands that need a vocabulary which offers their family."""


@pytest.mark.spec("OPS-02")
@pytest.mark.parametrize(("text", "tool", "arguments"), [*NATURAL, *ONLY_IN_RULES])
async def test_the_offline_tools_are_used_when_asked_for(text, tool, arguments):
    assert await call(RulesProvider(), text) == (tool, arguments)


@pytest.mark.spec("OPS-02", "CON-08")
@pytest.mark.parametrize(("text", "tool", "arguments"), NATURAL)
def test_what_calls_a_tool_is_also_classified_as_its_family(text, tool, arguments):
    family = tool.split("_")[0]
    assert classify_text(text, shipped(), [Earlier("this and that", (family,))]).families == (family,)


@pytest.mark.parametrize(
    "text",
    [
        "don't remind me to call Bob",
        "how do I add a task?",
        "what is a task?",
        "a search of the chat",
        "don't delete note 3",
        "did you note that he left?",
        "I note that you left",
        "never remember that I am here",
    ],
)
async def test_what_asks_for_no_tool_calls_none(text):
    assert (await reply_to(RulesProvider(), text)).calls == ()


@pytest.mark.parametrize("due", sorted({arguments["due"] for _, _, arguments in NATURAL if arguments.get("due")}))
def test_every_due_time_that_a_rule_finds_is_one_that_the_tool_reads(due):
    check_due(due)


async def calls(provider: RulesProvider, *args, **kwargs) -> list[tuple[str, object]]:
    return [(made.name, json.loads(made.arguments)) for made in (await reply_to(provider, *args, **kwargs)).calls]


@pytest.mark.spec("OPS-02", "CON-02")
@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("show my tasks and my notes", [("tasks_list", {}), ("notes_list", {})]),
        ("delete note 3 and complete task 4", [("notes_delete", {"number": 3}), ("tasks_complete", {"number": 4})]),
        (
            "show my notes and remind me to call Bob tomorrow",
            [("notes_list", {}), ("tasks_add", {"text": "call Bob", "due": "tomorrow"})],
        ),
        (
            "complete task 3, complete task 4 and complete task 3",
            [("tasks_complete", {"number": 3}), ("tasks_complete", {"number": 4})],
        ),
    ],
)
async def test_each_command_of_a_message_is_obeyed_once_and_in_its_order(text, made):
    assert await calls(RulesProvider(), text) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("note: buy milk, todo: feed the cat", ("notes_add", {"text": "buy milk, todo: feed the cat"})),
        ("todo: buy milk, note: the red one", ("tasks_add", {"text": "buy milk, note: the red one", "due": ""})),
    ],
)
async def test_what_a_command_is_to_keep_holds_no_other_command(text, made):
    assert await calls(RulesProvider(), text) == [made]


@pytest.mark.spec("CON-13")
async def test_of_two_commands_none_is_obeyed_where_one_is_not_offered():
    said = await envelope(RulesProvider(), "show my notes and complete task 4", tools=(schema("notes_list"),))
    assert said["answer"] == "I may not use tasks_complete for this message, so nothing was done."


@pytest.mark.spec("OPS-02")
async def test_a_text_other_than_an_answer_is_not_for_rules():
    asked = request("Summarise: note: x")
    with pytest.raises(ProviderError) as caught:
        await RulesProvider().complete(evolve(asked, prompt=evolve(asked.prompt, structured=False)))
    assert (caught.value.kind, caught.value.reason) == (FailureKind.PERMANENT, Reason.MISSING_CAPABILITY)
    assert caught.value.message == "rules/rules answers from rules and writes no other texts"


@pytest.mark.spec("CON-13")
async def test_a_tool_that_is_not_offered_is_not_called_and_that_is_said(provider):
    said = await envelope(provider, "note: x", tools=())
    assert said["answer"] == "I may not use notes_add for this message, so nothing was done."


async def test_an_overheard_command_calls_nothing(provider):
    assert (await reply_to(provider, "note: x", None)).calls == ()


async def test_calls_are_numbered_through_the_turn_and_end_with_tool_calls(provider):
    reply = await reply_to(provider, "show my notes")
    assert reply.calls == (ToolCall("rules-1", "rules-1", "notes_list", "{}"),)
    assert (reply.finish_reason, reply.text) == ("tool_calls", None)


def after(name: str, text: str, status: str = "ok", reason: Reason | None = None) -> tuple[Exchange, ...]:
    made = ToolCall("call-1", "rules-1", name, "{}")
    return (Exchange((made,), (ToolResult(made, status, text, reason),)),)


@pytest.mark.spec("OPS-02")
@pytest.mark.parametrize(
    ("name", "result", "answer"),
    [
        ("notes_add", '{"added": 3, "text": "x"}', "Kept as note 3: x"),
        ("notes_list", '{"notes": []}', "You have no notes here."),
        (
            "notes_list",
            '{"notes": [{"number": 1, "text": "a"}, {"number": 4, "text": "b"}]}',
            "Your notes here:\n1: a\n4: b",
        ),
        ("notes_list", '{"notes": [], "sought": "tea"}', 'None of your notes here holds "tea".'),
        (
            "notes_list",
            '{"notes": [{"number": 2, "text": "b"}], "left_out": 1}',
            "Your notes here:\n2: b\n(1 earlier one is not shown.)",
        ),
        ("notes_delete", '{"deleted": true, "number": 3}', "Note 3 is deleted."),
        ("notes_delete", '{"deleted": false, "number": 3}', "You have no note 3; nothing was deleted."),
        ("memory_remember", '{"remembered": 2, "text": "tea"}', "Remembered as fact 2: tea"),
        ("memory_recall", '{"facts": []}', "I remember nothing about you that fits."),
        ("memory_recall", '{"facts": [{"number": 2, "text": "tea"}]}', "What I remember about you:\n2: tea"),
        ("memory_forget", '{"forgotten": true, "number": 2}', "Fact 2 is forgotten."),
        (
            "memory_forget",
            '{"forgotten": false, "number": 2}',
            "I remember no fact 2 about you; nothing was forgotten.",
        ),
        (
            "tasks_add",
            '{"added": 2, "text": "tea", "due": "2026-12-03T18:00:00Z"}',
            "Kept as task 2: tea, due 2026-12-03T18:00:00Z.",
        ),
        ("tasks_add", '{"added": 2, "text": "tea", "due": null}', "Kept as task 2: tea, without a due time."),
        (
            "tasks_add",
            '{"added": null, "problem": "due x is in the past"}',
            "The task was not kept: due x is in the past.",
        ),
        ("tasks_list", '{"tasks": []}', "You have no open tasks here."),
        (
            "tasks_list",
            '{"tasks": [{"number": 1, "text": "a", "due": "D"}, {"number": 2, "text": "b"}, {"number": 3, "text": "c", "done": "E"}]}',
            "Your tasks here:\n1: a (due D)\n2: b\n3: c (done E)",
        ),
        ("tasks_complete", '{"completed": true, "number": 2}', "Task 2 is done."),
        ("tasks_complete", '{"completed": false, "number": 2}', "You have no open task 2; nothing was changed."),
        ("history_search", '{"sought": "tea", "found": []}', 'Nothing that was said here holds "tea".'),
        (
            "history_search",
            '{"sought": "tea", "found": [], "searched_back_to": "T"}',
            'Nothing that was said here holds "tea". I searched back to T only.',
        ),
        (
            "history_search",
            '{"sought": "tea", "found": [{"at": "T", "author": "Ana", "text": "green tea"}]}',
            'What was said with "tea", the newest last:\nT Ana: green tea',
        ),
        (
            "history_search",
            '{"sought": "tea", "found": {"a": 1}}',
            'history_search: {"sought": "tea", "found": {"a": 1}}',
        ),
        ("forecast", '{"sun": true}', 'forecast: {"sun": true}'),
        ("notes_add", '{"added": 3, "te', 'notes_add: {"added": 3, "te'),
        ("notes_list", "[]", "notes_list: []"),
        ("notes_list", '{"notes": 3}', 'notes_list: {"notes": 3}'),
    ],
)
async def test_after_a_tool_the_answer_says_what_the_result_says(provider, name, result, answer):
    assert (await envelope(provider, "note: x", exchanges=after(name, result)))["answer"] == answer


@pytest.mark.spec("OPS-02")
@pytest.mark.parametrize(
    ("status", "beginning"),
    [
        ("refused", "It was not done. notes_add: why"),
        ("not_executed", "It was not done. notes_add: why"),
        ("failed", "I cannot say that it was done. notes_add: why"),
        ("timed_out", "I cannot say that it was done. notes_add: why"),
        ("interrupted", "I cannot say that it was done. notes_add: why"),
    ],
)
async def test_a_tool_that_did_not_do_it_is_never_claimed_to_have(provider, status, beginning):
    said = await envelope(provider, "note: x", exchanges=after("notes_add", "why", status, Reason.TOOL_FAILED))
    assert said["answer"] == beginning


async def test_a_long_result_is_cut_to_what_a_message_holds(provider):
    said = await envelope(provider, "x", exchanges=after("forecast", "y" * 9000))
    assert len(str(said["answer"])) < 2000


@pytest.mark.parametrize("text", ["x" * 50, "x" * 5000])
async def test_of_a_long_list_the_newest_are_shown_and_the_others_counted(text):
    items = [{"number": number, "text": text} for number in range(1, 101)]
    result = json.dumps({"notes": items, "left_out": 7})
    said = await envelope(RulesProvider(), "x", exchanges=after("notes_list", result))
    head, *lines, rest = str(said["answer"]).splitlines()
    assert (head, lines[-1][:6]) == ("Your notes here:", "100: x")
    assert rest == f"({107 - len(lines)} earlier ones are not shown.)"


@pytest.mark.spec("OPS-02")
async def test_the_log_gets_the_rule_that_decided(provider):
    _, response = await provider.complete(request("the vault"))
    assert json.loads(response)["decided_by"].endswith("rules.toml, rule 1")
    _, response = await provider.complete(request("when are raids?"))
    assert json.loads(response)["decided_by"] == "FAQ: When are the raids?"


def test_the_request_is_logged_as_json_with_what_is_looked_at(provider):
    shown = json.loads(provider.request_text(request("@helper hi", exchanges=after("notes_list", "[]"))))
    assert shown == {
        "api": "rules",
        "model": "rules",
        "text": "hi",
        "addressed": True,
        "tools": [tool.name for tool in TOOLS],
        "results": [{"tool": "notes_list", "status": "ok", "text": "[]"}],
    }


@pytest.mark.parametrize("user", ["not json", '{"message": "hi"}', '["x"]', "[" * 100_000, '{"message": {}}'])
def test_a_user_part_of_another_shape_is_read_as_far_as_it_goes(user):
    asked = asked_in(ModelRequest(Candidate("r", "rules", "r"), "r", Prompt("", "", (), user, ""), (), (), "turn-1"))
    assert asked.addressed


@pytest.mark.spec("OPS-02")
@given(st.text(), st.sampled_from(["direct", None]))
async def test_any_text_is_answered_without_raising_and_always_the_same(text, addressed):
    provider = RulesProvider()
    first = await provider.complete(request(text, addressed))
    assert first == await provider.complete(request(text, addressed))
    assert first[0].calls or list(json.loads(first[0].text or "")) == KEYS


@pytest.mark.parametrize("before", ["", "remind me to x", "note"])
@pytest.mark.parametrize(
    "piece",
    [
        "please ", "note ", "\n", " ", "what do you remember ", "keep a note ", "thanks ", "remind me to ", "in 2 hours, ",
        "who said ", "add x to ", "task 3 ", "search the chat for ", "my notes about ", "tomorrow at ", '"', ". ", "!", "1",
    ],
)  # fmt: skip
async def test_a_long_message_of_one_repeated_piece_is_no_trap(before, piece):
    begin = time.perf_counter()
    await reply_to(RulesProvider(), before + (piece * 4000)[:3900] + "x")
    assert time.perf_counter() - begin < 0.2


async def test_the_shipped_example_faq_answers_its_own_questions():
    path = Path(__file__).parents[3] / "examples" / "faq.md"
    rules = load_rules(None, path)
    for entry in rules.faq:
        assert (await envelope(RulesProvider(rules), entry.question))["answer"] == entry.answer
