"""What a conversation is about: antecedents, warmth, and when earlier turns are looked at (CON-03)."""

from types import SimpleNamespace

import pytest

from phasewalk.machine.ports import Earlier
from phasewalk.phases.classify import PHASE, classify_text
from phasewalk.phases.follow_ups import NOTHING, Thread, thread_of
from phasewalk.phases.freeze_contract import select
from phasewalk.phases.tools import tool
from phasewalk.phases.tools.registry import Registry
from phasewalk.phases.vocabulary_file import shipped

VOCABULARY = shipped()
NOTES = Earlier("show my notes", ("notes",))
TASKS = Earlier("list my tasks", ("tasks",))


def thread(*earlier: Earlier) -> Thread:
    return thread_of(earlier, VOCABULARY)


@pytest.mark.spec("CON-03")
def test_the_newest_turn_that_did_something_is_the_antecedent_and_all_of_them_are_warm():
    assert thread(NOTES, TASKS) == Thread(("tasks",), ("tasks", "notes"))


@pytest.mark.spec("CON-03")
@pytest.mark.parametrize("text", ["thanks", "tell me a joke", "what is the capital of France?", "btw, is it cold?"])
def test_thanks_and_a_change_of_topic_end_it(text):
    ended = thread(NOTES, Earlier(text))
    assert (ended.families, ended.warm) == ((), ())


@pytest.mark.spec("CON-03")
@pytest.mark.parametrize("text", ["ok", "is that all of them?", "and then?", "what about tomorrow?"])
def test_what_goes_on_with_it_does_not(text):
    assert thread(NOTES, Earlier(text)) == thread(NOTES)


@pytest.mark.spec("CON-03")
def test_a_failed_tool_is_no_antecedent_and_hides_the_one_before():
    assert thread(NOTES, Earlier("list my tasks")) == NOTHING


@pytest.mark.spec("CON-03")
def test_six_turns_are_looked_at_and_three_families_stay_warm():
    several = [Earlier("x", (family,)) for family in ("a", "b", "c", "d")]
    assert thread(*several).warm == ("d", "c", "b")
    assert thread(NOTES, *([Earlier("ok")] * 5)).families == ("notes",)
    assert thread(NOTES, *([Earlier("ok")] * 6)) == NOTHING


@pytest.mark.spec("CON-03")
def test_a_reference_requires_the_families_and_says_so():
    found = classify_text("delete it", VOCABULARY, [NOTES])
    assert (found.families, found.referred) == (("notes",), True)
    assert found.evidence == ('notes: "delete it" of an earlier turn',)


def made(family: str, mutating: bool = True):
    @tool(family=family, effect="mutating" if mutating else "read_only", name=f"{family}_tool")
    async def it() -> None:
        """Does something."""

    return it


@pytest.mark.spec("CON-03")
def test_what_is_warm_is_offered_and_required_by_nobody():
    tools = tuple(Registry([made("notes"), made("tasks")]).all().values())
    selection = select(classify_text("and tomorrow?", VOCABULARY, [NOTES]), tools, tools)
    assert [info.family for info in selection.offered] == ["notes"]
    assert (selection.required, selection.missing) == ((), ())
    without = tuple(info for info in tools if info.family != "notes")
    assert select(classify_text("and tomorrow?", VOCABULARY, [NOTES]), without, without).missing == ()


@pytest.mark.spec("CON-06")
def test_a_question_for_ones_account_gets_its_tool_alone_where_there_is_one():
    asked = classify_text("what is my email address?", VOCABULARY)
    account, send = made("email"), made("email", mutating=False)
    infos = Registry([account]).all()
    assert asked.tools == ("email_account",)
    assert [info.schema.name for info in select(asked, tuple(infos.values()), tuple(infos.values())).offered] == [
        "email_tool"
    ]

    @tool(family="email", effect="read_only", name="email_account")
    async def whose() -> str:
        """Tells the address."""
        return ""

    both = tuple(Registry([send, whose]).all().values())
    assert [info.schema.name for info in select(asked, both, both).offered] == ["email_account"]
    forbidden = tuple(info for info in both if info.schema.name != "email_account")
    assert select(asked, forbidden, both).missing == ("email",)


class Asked:
    """Earlier turns, and how often they were asked for."""

    def __init__(self, *earlier: Earlier) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self._earlier = earlier

    async def earlier(self, user_id: str, channel_id: str, limit: int) -> tuple[Earlier, ...]:
        self.calls.append((user_id, channel_id, limit))
        return self._earlier


async def classified(text: str, memory: Asked, user_id: str = "7"):
    trigger = SimpleNamespace(text=text, user_id=user_id, channel_id="9", families=None)
    settings = SimpleNamespace(bot_name="helper", vocabulary=VOCABULARY)
    ports = SimpleNamespace(settings=settings, memory=memory)
    report = await PHASE.run(SimpleNamespace(trigger=trigger), ports)
    return report.changes["classification"]


@pytest.mark.spec("CON-03")
async def test_the_phase_looks_back_where_the_message_refers_to_something():
    memory = Asked(NOTES)
    assert (await classified("helper, delete it", memory)).families == ("notes",)
    assert memory.calls == [("7", "9", 6)]


@pytest.mark.spec("CON-01")
@pytest.mark.parametrize("text", ["show my notes", "book a table", "tell me a joke", "do not delete it"])
async def test_the_phase_does_not_look_back_where_that_changes_nothing(text):
    memory = Asked(NOTES)
    await classified(text, memory)
    assert memory.calls == []


async def test_a_turn_of_nobody_has_no_earlier_turns():
    memory = Asked(NOTES)
    assert (await classified("delete it", memory, user_id="")).selection == "unknown"
    assert memory.calls == []
