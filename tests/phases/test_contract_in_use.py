"""The frozen contract while turns run: bound to its turn, closed to changes, asked at each call."""

import asyncio
import contextlib
import copy
import pickle

import attrs
import pytest

from phasewalk.machine.contract import Contract
from phasewalk.machine.records import ContractFrozen, ToolEnded
from phasewalk.phases.tools import tool

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@tool(family="notes", effect="mutating")
async def notes_add(text: str) -> dict:
    """Add."""
    RAN.append(text)
    return {"added": text}


@tool(family="notes", effect="read_only")
async def notes_list() -> dict:
    """List."""
    RAN.append("list")
    return {"notes": []}


TOOLS = (notes_add, notes_list)


def ends(world) -> list[tuple]:
    return [(e.status, e.reason) for e in world.rows(ToolEnded)]


@pytest.mark.spec("CON-15", "CON-20", "CON-11")
async def test_of_two_turns_at_once_only_the_one_whose_contract_offers_it_runs_the_tool(a_world, reply):
    gate = asyncio.Event()

    async def both_wait(request):
        await gate.wait()
        done = bool(request.exchanges)
        return reply.says("done") if done else reply.calls(("notes_add", {"text": request.prompt.user[:40]}), text="x")

    world = a_world(both_wait, tools=TOOLS)
    may, may_not = world.start("note: milk", channel_id="1"), world.start("tell me a joke", channel_id="2")
    for _ in range(50):
        await asyncio.sleep(0)
    gate.set()
    await world.clock.run_until(asyncio.gather(may, may_not))
    assert [bool(r.tools) for r in world.provider.requests[:2]] == [True, False]
    assert len(RAN) == 1
    contracts = [may.result().turn.contract, may_not.result().turn.contract]
    assert [c.offered for c in contracts] == [("notes_add", "notes_list"), ()]


@pytest.mark.spec("CON-20")
async def test_a_call_that_another_turn_would_be_allowed_is_refused_here(a_world, reply):
    def asks(request):
        return (
            reply.says("done") if request.exchanges else reply.calls(("notes_add", {"text": "x"}), ("notes_list", {}))
        )

    world = a_world(asks, tools=TOOLS, disabled_tools=("notes_add",))
    await world.turn("show my notes")
    assert ends(world) == [("refused", "not_in_contract"), ("ok", None)]
    assert RAN == ["list"]


@pytest.mark.spec("CON-20", "CON-10")
async def test_a_tool_disabled_after_freezing_is_refused_as_policy(a_world, reply):
    def asks(request):
        if request.exchanges:
            return reply.says("done")
        world.change(disabled_tools=("notes_add",))
        return reply.calls(("notes_add", {"text": "x"}))

    world = a_world(asks, tools=TOOLS)
    turn = await world.turn("note: milk")
    assert ends(world) == [("refused", "policy_denied")]
    assert RAN == []
    assert "notes_add" in turn.contract.offered


@pytest.mark.spec("CON-15", "TURN-17")
async def test_a_turn_without_families_has_a_contract_of_its_own_that_offers_nothing(a_world):
    world = a_world(tools=TOOLS)
    first = await world.turn("note: milk")
    second = await world.turn("tell me a joke")
    assert (first.contract.offered, second.contract.offered) == (("notes_add", "notes_list"), ())


@pytest.fixture
async def contract(a_world) -> Contract:
    return (await a_world(tools=TOOLS).turn("note: milk")).contract


def by_assignment(contract: Contract) -> None:
    contract.offered = ()


def by_deletion(contract: Contract) -> None:
    del contract.schemas


def by_assignment_within(contract: Contract) -> None:
    contract.schemas[0].parameters = "{}"


def by_item(contract: Contract) -> None:
    contract.schemas[0] = None


def by_mapping(contract: Contract) -> None:
    contract.schema_of["notes_add"] = None


def by_new_attribute(contract: Contract) -> None:
    contract.schemas[0].surprise = 1


def by_cache(contract: Contract) -> None:
    contract.digest = "0" * 32


@pytest.mark.spec("CON-11")
@pytest.mark.parametrize(
    "attack",
    [by_assignment, by_deletion, by_assignment_within, by_item, by_mapping, by_new_attribute, by_cache],
)
async def test_a_contract_cannot_be_changed_from_outside(contract, attack):
    before = (contract.digest, contract.encoded, dict(contract.schema_of))
    with contextlib.suppress(attrs.exceptions.FrozenInstanceError, TypeError, AttributeError):
        attack(contract)
    assert (contract.digest, contract.encoded, contract.schema_of) == before
    contract.check()


def around_the_class(contract: Contract) -> None:
    object.__setattr__(contract.schemas[0], "parameters", "{}")


def around_the_contract(contract: Contract) -> None:
    object.__setattr__(contract, "offered", ("notes_add",))


def through_its_dictionary(contract: Contract) -> None:
    vars(contract)["executable"] = ()


@pytest.mark.spec("CON-11", "FB-02")
@pytest.mark.parametrize("attack", [around_the_class, around_the_contract, through_its_dictionary])
async def test_what_goes_around_the_frozen_classes_is_found_before_a_tool_runs(a_world, reply, attack):
    held = []

    def asks(request):
        attack(held[0])
        return reply.calls(("notes_add", {"text": "x"}))

    world = a_world(asks, tools=TOOLS)
    wanted = world.runner._definition.phases["model_attempt"]

    async def spying(turn, ports):
        held.append(turn.contract)
        return await wanted.run(turn, ports)

    world.runner._definition = attrs.evolve(
        world.runner._definition,
        phases={**world.runner._definition.phases, "model_attempt": attrs.evolve(wanted, run=spying)},
    )
    turn = await world.turn("note: milk")
    assert RAN == []
    assert (turn.outcome, turn.reason) == ("stopped", "internal_error")


@pytest.mark.spec("CON-11")
async def test_what_is_handed_out_are_copies(contract):
    schema = contract.schema_of["notes_add"].parsed_parameters()
    schema["properties"]["text"]["type"] = "integer"
    schema.clear()
    assert contract.schema_of["notes_add"].parsed_parameters()["properties"]["text"] == {"type": "string"}


@pytest.mark.spec("CON-11")
async def test_copies_of_a_contract_are_equal_and_have_its_digest(contract):
    for twin in (copy.deepcopy(contract), pickle.loads(pickle.dumps(contract))):
        assert twin == contract
        assert twin.digest == contract.digest


@pytest.mark.spec("CON-11", "CON-14")
async def test_equal_contracts_are_one_row(a_world):
    world = a_world(tools=TOOLS)
    await world.turn("note: milk")
    await world.turn("note: bread")
    assert len({row.digest for row in world.rows(ContractFrozen)}) == 1


@pytest.mark.spec("CON-13", "FB-12")
async def test_a_retry_and_a_fallback_carry_the_same_contract(a_world, reply):
    from phasewalk.machine.fallback import FailureKind
    from phasewalk.machine.reasons import Reason

    bad = reply.fails(FailureKind.TRANSIENT, Reason.HTTP_5XX)
    world = a_world(bad, bad, bad, reply.says(), tools=TOOLS, candidates=2)
    await world.turn("note: milk")
    assert [r.model for r in world.provider.requests] == ["m1", "m1", "m1", "m2"]
    assert len({tuple(t.name for t in r.tools) for r in world.provider.requests}) == 1


@pytest.mark.spec("CON-24")
async def test_the_fifth_identical_call_is_not_run_and_tools_are_withheld(a_world, reply):
    def asks(request):
        return reply.calls(("notes_list", {})) if request.tools else reply.says("enough")

    world = a_world(asks, tools=TOOLS)
    world.change(limits=attrs.evolve(world.settings.limits, tool_rounds=9))
    turn = await world.turn("show my notes")
    assert RAN == ["list"] * 4
    assert ends(world) == [("ok", None)] * 4 + [("refused", "identical_calls")]
    assert [bool(r.tools) for r in world.provider.requests] == [True] * 5 + [False]
    assert turn.outcome == "answered"


@pytest.mark.spec("CON-24")
async def test_many_different_calls_of_one_tool_are_no_loop(a_world, reply):
    wanted = iter(range(8))

    def asks(request):
        number = next(wanted, None)
        return reply.says("done") if number is None else reply.calls(("notes_add", {"text": str(number)}))

    world = a_world(asks, tools=TOOLS)
    world.change(limits=attrs.evolve(world.settings.limits, tool_rounds=9))
    await world.turn("note: milk")
    assert [str(n) for n in range(8)] == RAN
    assert set(ends(world)) == {("ok", None)}
