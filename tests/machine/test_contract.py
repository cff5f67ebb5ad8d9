"""The contract's invariants, and which tools a model call carries."""

import json

import attrs
import pytest

from phasewalk.machine.contract import ToolSchema, tools_offered
from phasewalk.machine.effects import Effect, EffectKind, EffectState
from phasewalk.machine.errors import ContractError
from phasewalk.machine.exchange import Exchange, ToolCall
from phasewalk.machine.fallback import Progress
from phasewalk.machine.limits import Limits
from phasewalk.machine.turn import identical_calls

DICE = ToolSchema("dice", "Rolls.", '{"type":"object","properties":{}}')
NOTE = ToolSchema("note", "Keeps.", "{}")
TOOL = (Effect("e", EffectKind.TOOL, "k", "note", EffectState.DONE),)


@pytest.mark.spec("CON-11")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"required": ("dice",), "offered": ("note",), "executable": ("note",), "schemas": (NOTE,)},
            "required tools are not offered: dice",
        ),
        (
            {"offered": ("dice", "note"), "executable": ("note",), "schemas": (DICE, NOTE)},
            "offered tools are not executable: dice",
        ),
        (
            {"offered": ("dice", "note"), "executable": ("dice", "note"), "schemas": (DICE,)},
            "offered ['dice', 'note'] and described ['dice'] tools differ",
        ),
        (
            {"offered": ("dice",), "executable": ("dice",), "schemas": (DICE, NOTE)},
            "offered ['dice'] and described ['dice', 'note'] tools differ",
        ),
        (
            {"offered": ("dice", "dice"), "executable": ("dice",), "schemas": (DICE, DICE)},
            "offered ['dice', 'dice'] and described ['dice', 'dice'] tools differ",
        ),
    ],
)
def test_a_contract_that_does_not_hold_together_cannot_be_made(make, changes: dict, message: str):
    with pytest.raises(ContractError) as caught:
        make.contract(**changes)
    assert str(caught.value) == message


@pytest.mark.spec("CON-11")
def test_what_may_run_may_be_more_than_what_is_offered(make):
    contract = make.contract(required=("dice",), offered=("dice",), executable=("dice", "note"))
    assert contract.document()["offered"] == ("dice",)


@pytest.mark.spec("CON-11")
def test_asking_for_a_schema_gives_a_copy(make):
    contract = make.contract(offered=("dice",), schemas=(DICE,), executable=("dice",))
    contract.schema_of["dice"].parsed_parameters()["properties"]["sides"] = {}
    assert contract.schema_of["dice"].parsed_parameters() == {"type": "object", "properties": {}}


@pytest.mark.spec("CON-14")
def test_a_contract_cannot_be_changed(make):
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        make.contract().offered = ("note",)


@pytest.mark.spec("CON-14", "CON-13")
def test_equal_contracts_have_equal_digests_and_the_whole_is_readable(make):
    contract = make.contract(offered=("dice",))
    assert contract.digest == make.contract(offered=("dice",)).digest
    assert contract.digest != make.contract(offered=("dice",), limits=Limits(attempts=4)).digest
    body = json.loads(contract.encoded)
    assert set(body) == {field.name for field in attrs.fields(type(contract))}
    assert (body["limits"]["attempts"], body["candidates"][0]["model"]) == (3, "m-one")
    assert contract.document() == {"digest": contract.digest, "families": (), "offered": ("dice",)}


@pytest.mark.spec("CON-24", "FB-13", "CON-13")
@pytest.mark.parametrize(
    ("progress", "identical", "effects", "offered"),
    [
        (Progress(rounds=0, tools_withheld=False), 0, (), ("dice",)),
        (Progress(rounds=3, tools_withheld=False), 4, (), ("dice",)),
        (Progress(rounds=4, tools_withheld=False), 0, (), ()),
        (Progress(rounds=5, tools_withheld=False), 0, (), ()),
        (Progress(rounds=0, tools_withheld=False), 5, (), ()),
        (Progress(rounds=0, tools_withheld=False), 0, TOOL, ("dice",)),
        (Progress(rounds=0, tools_withheld=True), 0, (), ("dice",)),
        (Progress(rounds=0, tools_withheld=True), 0, TOOL, ()),
    ],
)
def test_which_tools_the_next_call_carries(make, progress, identical, effects, offered):
    contract = make.contract(offered=("dice",))
    assert tools_offered(contract, progress, effects, identical_calls=identical) == offered


@pytest.mark.spec("CON-24")
def test_calls_are_identical_when_name_and_arguments_are(make):
    def exchange(*calls: tuple[str, str]) -> Exchange:
        return Exchange(tuple(ToolCall(f"c{n}", "", name, arguments) for n, (name, arguments) in enumerate(calls)), ())

    turn = make.turn(
        exchanges=(exchange(("dice", "{}"), ("dice", '{"n":1}')), exchange(("dice", "{}"), ("note", "{}")))
    )
    assert identical_calls(turn) == 2
    assert identical_calls(make.turn()) == 0
