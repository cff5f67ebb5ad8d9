"""What a turn may use, frozen; and which tools it is offered at one moment.

Owns the contract's invariants (CON-11) and the one function that decides what a model call carries.
Does not know how families are chosen or what a tool does.
"""

import json
from collections.abc import Mapping
from functools import cached_property

from attrs import fields_dict, frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.documents import digest_of, json_of
from phasewalk.machine.effects import Effect, has_side_effects
from phasewalk.machine.errors import ContractError
from phasewalk.machine.fallback import Progress
from phasewalk.machine.limits import Limits


@frozen
class Classification:
    """What a message asks for. `selection` is `families`, `none` or `unknown`; `evidence` the words that decided.

    `warm` families are offered because the conversation is about them, and required by nobody (CON-03). `tools`
    narrows the selection to these tools where it is not empty (CON-06). `referred` says that the families are
    those of an earlier turn, which the message refers to.
    """

    selection: str
    families: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    warm: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    referred: bool = False

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold."""
        return {name: getattr(self, name) for name in fields_dict(Classification) if getattr(self, name)}


@frozen
class ToolSchema:
    """A tool as a model is shown it: name, one sentence, and the JSON schema of its arguments as text."""

    name: str
    description: str
    parameters: str
    family: str = ""
    effect: str = "mutating"

    def parsed_parameters(self) -> dict[str, object]:
        """A fresh copy of the schema; changing it changes no contract."""
        return dict(json.loads(self.parameters))


@frozen(slots=False)
class Contract:
    """What one turn may use (CON-11, CON-14).

    `required <= offered <= executable`, and the offered names are exactly those of `schemas`; construction
    raises `ContractError` otherwise. `channels` are the names that an answer may go to.
    """

    selection: str
    families: tuple[str, ...]
    required: tuple[str, ...]
    offered: tuple[str, ...]
    executable: tuple[str, ...]
    schemas: tuple[ToolSchema, ...]
    channels: tuple[str, ...]
    staff_channel: str | None
    candidates: tuple[Candidate, ...]
    capabilities: tuple[str, ...]
    limits: Limits
    asks_back: bool = False
    stickers: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        beyond = set(self.required) - set(self.offered)
        if beyond:
            raise ContractError(f"required tools are not offered: {', '.join(sorted(beyond))}")
        beyond = set(self.offered) - set(self.executable)
        if beyond:
            raise ContractError(f"offered tools are not executable: {', '.join(sorted(beyond))}")
        named = [schema.name for schema in self.schemas]
        if sorted(named) != sorted(self.offered) or len(set(named)) != len(named):
            raise ContractError(f"offered {sorted(self.offered)} and described {sorted(named)} tools differ")

    @cached_property
    def encoded(self) -> str:
        """The whole contract as JSON text; equal texts are equal contracts."""
        return _encoded(self)

    @cached_property
    def digest(self) -> str:
        """The content address: 32 hexadecimal digits."""
        return digest_of(self.encoded)

    @property
    def schema_of(self) -> Mapping[str, ToolSchema]:
        """Each offered tool's schema by name; a fresh mapping each time."""
        return {schema.name: schema for schema in self.schemas}

    def check(self) -> None:
        """Raise `ContractError` unless everything in it is as it was frozen, however it was tampered with.

        Frozen classes stop mistakes; what goes around them is found here, before tools are offered or run.
        """
        if digest_of(_encoded(self)) != self.digest:
            raise ContractError(f"contract {self.digest} was changed after it had been frozen")

    def document(self) -> dict[str, object]:
        """What the log's phase rows hold of it; the whole stands in the table `contract`."""
        return {"digest": self.digest, "families": self.families, "offered": self.offered}


def _encoded(contract: Contract) -> str:
    return json_of({name: getattr(contract, name) for name in fields_dict(Contract)})


def tools_offered(
    contract: Contract,
    progress: Progress,
    effects: tuple[Effect, ...],
    *,
    identical_calls: int,
) -> tuple[str, ...]:
    """The tools that the next model call carries; empty means that the request carries none.

    Withheld when the rounds are used up (ENV-23), when one identical call was repeated too often (CON-24), and
    when an output was unusable after side effects (FB-13).
    """
    if progress.rounds >= contract.limits.tool_rounds:
        return ()
    if identical_calls > contract.limits.identical_calls:
        return ()
    if progress.tools_withheld and has_side_effects(effects):
        return ()
    return contract.offered
