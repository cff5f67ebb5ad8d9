"""The declaration of a tool: a function, what it does to the world, and the schema of its arguments.

Owns `Tool` and the decorator `tool`. Does not know which tools exist or who may call one. Invariant: a tool
that was declared has a valid name and a JSON schema that its arguments are checked against, strictly.
"""

import inspect
import json
import re
import typing
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, Literal, ParamSpec, TypeVar, get_args

from attrs import frozen
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, PydanticJsonSchemaWarning

from phasewalk.machine.contract import ToolSchema
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.tooling import ToolContext, ToolInfo
from phasewalk.phases.problems import first_problem

P = ParamSpec("P")
R = TypeVar("R")
ToolEffect = Literal["mutating", "read_only"]

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
CONTEXT = "context"
"""A parameter of this name, annotated `ToolContext`, is filled in by the dispatch and hidden from the model."""


class _Untitled(GenerateJsonSchema):
    """Schemas without titles: they repeat the names and cost tokens in every request."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        del schema
        return False


@frozen(slots=False)
class Tool(Generic[P, R]):
    """A declared tool; calling it calls the function, so that it can be tested like any other."""

    function: Callable[P, R]
    info: ToolInfo
    model: type[BaseModel]
    takes_context: bool

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function as it was written."""
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.info.schema.name

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its parameters, without the context."""
        return tuple(str(field.alias) for field in self.model.model_fields.values())

    @cached_property
    def signature(self) -> str:
        """The accepted arguments for error messages: `city, days (optional)`."""
        fields = self.model.model_fields.values()
        return ", ".join(f"{f.alias}" if f.is_required() else f"{f.alias} (optional)" for f in fields) or "none"

    def parsed(self, arguments: str) -> dict[str, Any]:
        """The keyword arguments in this JSON text; blank text means none. Raises pydantic's `ValidationError`."""
        values = self.model.model_validate_json(arguments if arguments.strip() else "{}")
        return {str(f.alias): getattr(values, key) for key, f in type(values).model_fields.items()}

    def problem_with(self, arguments: str) -> str | None:
        """What is wrong with these arguments, in one sentence, or None."""
        try:
            self.parsed(arguments)
        except ValidationError as error:
            return f"{first_problem(error, self.names)}; {self.name} accepts {self.signature}"
        except Exception as error:  # noqa: BLE001 - a validator of the tool's own may raise anything
            return f"the arguments could not be checked, {type(error).__name__} was raised"
        return None


def tool(
    *,
    family: str,
    effect: ToolEffect = "mutating",
    timeout: float | None = None,
    required_for: str | None = None,
    owner_only: bool = False,
    approval: bool = False,
    speaks: bool = False,
    name: str | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]:
    """Declare a function, plain or async, as a tool of `family`.

    `effect`: `read_only` or `mutating`, which is what an undeclared tool counts as. `timeout` in seconds.
    `required_for` names the family that cannot be served without it; `owner_only` and `approval` restrict who
    may call it; `speaks` says that people see what it does. The model is shown the first paragraph of the
    docstring and a strict JSON schema made from the signature. Raises `ConfigurationError` for a declaration
    or a signature that cannot be used.
    """

    def declare(function: Callable[P, R]) -> Tool[P, R]:
        shown = str(name or getattr(function, "__name__", ""))
        _check(shown, family, effect, timeout)
        model, takes_context = _arguments_model(shown, function)
        schema = ToolSchema(shown, _description(shown, function), _json_schema(shown, model), family, effect)
        info = ToolInfo(
            schema=schema,
            family=family,
            mutating=effect != "read_only",
            timeout=timeout,
            required_for=required_for or "",
            owner_only=owner_only,
            approval=approval,
            speaks=speaks,
        )
        return Tool(function, info, model, takes_context)

    return declare


def _check(name: str, family: str, effect: str, timeout: float | None) -> None:
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"tool name {name!r} is not valid; accepted are 1 to 64 letters, digits, _ and -")
    if not family:
        raise ConfigurationError(f"tool {name}: the family is empty; name one, such as 'notes'")
    if effect not in get_args(ToolEffect):
        raise ConfigurationError(f"tool {name}: effect {effect!r} is unknown; accepted are mutating and read_only")
    if timeout is not None and not 0 < timeout < float("inf"):
        raise ConfigurationError(f"tool {name}: timeout {timeout!r} is not valid; accepted are seconds above 0")


def _arguments_model(name: str, function: Callable[..., object]) -> tuple[type[BaseModel], bool]:
    """The pydantic model of the arguments, and whether the context is to be passed beside them.

    Fields are numbered and carry the parameter's name as alias: a parameter may be called `json` or `_x`.
    """
    hints = _hints(name, function)
    fields: dict[str, Any] = {}
    takes_context = False
    for parameter in inspect.signature(function).parameters.values():
        annotation = _annotation(name, parameter, hints)
        if parameter.name == CONTEXT and annotation is ToolContext:
            takes_context = True
            continue
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[f"p{len(fields)}"] = (annotation, Field(default, alias=parameter.name))
    config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=False)
    try:
        return create_model(name, __config__=config, **fields), takes_context
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise _unsupported(name, error) from error


def _hints(name: str, function: Callable[..., object]) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigurationError(f"tool {name}: an annotation cannot be resolved: {error}") from error


def _annotation(name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ConfigurationError(f"tool {name}: parameter {parameter} cannot be passed by name; use a plain parameter")
    if parameter.name not in hints:
        raise ConfigurationError(
            f"tool {name}: parameter {parameter.name!r} has no annotation; annotate it, such as {parameter.name}: str"
        )
    return hints[parameter.name]


def _json_schema(name: str, model: type[BaseModel]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error", PydanticJsonSchemaWarning)
        try:
            schema: JsonSchemaValue = model.model_json_schema(schema_generator=_Untitled)
        except (PydanticUserError, PydanticJsonSchemaWarning) as error:
            raise _unsupported(name, error) from error
    schema.pop("title", None)
    return json.dumps(schema, ensure_ascii=False)


def _unsupported(name: str, error: Exception) -> ConfigurationError:
    said = _lowered(str(error).splitlines()[0])
    return ConfigurationError(
        f"tool {name}: a parameter has no JSON schema ({said}); accepted are text, numbers, lists, "
        f"dictionaries and pydantic models"
    )


def _description(name: str, function: Callable[..., object]) -> str:
    """The first paragraph of the docstring on one line, or the name in words."""
    first = (inspect.getdoc(function) or "").split("\n\n", 1)[0]
    return " ".join(first.split()) or name.replace("_", " ").replace("-", " ")


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")
