"""What the decorator makes of a function."""

import json
from collections.abc import Callable
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools import tool


class Place(BaseModel):
    city: str
    country: str = "DE"


@tool(family="weather", effect="read_only", timeout=10)
async def forecast(city: str, days: Annotated[int, Field(ge=1, le=14)] = 1) -> dict:
    """Forecast for
    a city.

    Further paragraphs are for readers of the code.
    """
    return {"city": city, "days": days}


def test_the_schema_comes_from_the_signature():
    assert forecast.info.schema.parsed_parameters() == {
        "additionalProperties": False,
        "properties": {
            "city": {"type": "string"},
            "days": {"default": 1, "maximum": 14, "minimum": 1, "type": "integer"},
        },
        "required": ["city"],
        "type": "object",
    }


def test_the_model_is_shown_the_first_paragraph_of_the_docstring():
    assert forecast.info.schema.description == "Forecast for a city."


def test_a_declaration_is_kept_as_it_was_made():
    info = forecast.info
    assert (info.schema.name, info.family, info.mutating, info.timeout) == ("forecast", "weather", False, 10)
    assert (info.schema.family, info.schema.effect) == ("weather", "read_only")


@pytest.mark.spec("CON-20")
def test_an_undeclared_effect_counts_as_mutating():
    assert tool(family="f")(len_of).info.mutating is True


def len_of(text: str) -> int:
    return len(text)


def test_other_declarations_reach_the_info():
    info = tool(family="f", name="g", required_for="f", owner_only=True, approval=True, speaks=True)(len_of).info
    assert (info.required_for, info.owner_only, info.approval, info.speaks) == ("f", True, True, True)
    assert (info.schema.name, info.schema.description) == ("g", "g")


def test_a_declared_function_can_still_be_called():
    assert tool(family="f")(len_of)("four") == 4


def test_the_context_is_injected_and_not_in_the_schema():
    @tool(family="f")
    def who(context: ToolContext, loud: bool = False) -> str:
        return context.user_name.upper() if loud else context.user_name

    assert who.takes_context
    assert list(who.info.schema.parsed_parameters()["properties"]) == ["loud"]


def test_parameters_may_be_called_like_anything():
    @tool(family="f")
    def odd(json: str, model_config: int, _private: bool, copy: list[str]) -> None: ...

    assert odd.parsed('{"json":"a","model_config":1,"_private":true,"copy":[]}') == {
        "json": "a",
        "model_config": 1,
        "_private": True,
        "copy": [],
    }


def test_rich_types_are_parsed_from_json():
    @tool(family="f")
    def plan(on: date, at: Place, how: Literal["foot", "train"] = "foot") -> None: ...

    parsed = plan.parsed('{"on":"2026-01-02","at":{"city":"Rome"}}')
    assert parsed == {"on": date(2026, 1, 2), "at": Place(city="Rome"), "how": "foot"}


@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
def test_blank_arguments_are_none(arguments):
    assert tool(family="f")(nothing).problem_with(arguments) is None


def nothing() -> None: ...


@pytest.mark.spec("CON-20")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{", "invalid JSON: EOF while parsing"),
        ("[]", "input should be an object"),
        ("{}", "city: field required; forecast accepts city, days (optional)"),
        ('{"city":3}', "city: input should be a valid string"),
        ('{"city":"Rome","days":"3"}', "days: input should be a valid integer"),
        ('{"city":"Rome","days":0}', "days: input should be greater than or equal to 1"),
        ('{"city":"Rome","day":3}', "day is not known; the nearest known key is 'days'"),
    ],
)
def test_wrong_arguments_are_told_in_one_sentence(arguments, problem):
    said = forecast.problem_with(arguments)
    assert said is not None
    assert said.startswith(problem)
    assert "\n" not in said


def test_nan_is_no_number():
    @tool(family="f")
    def half(of: float) -> float:
        return of / 2

    assert half.problem_with('{"of": 1.5}') is None
    assert half.problem_with('{"of": NaN}') is not None


NOTHING = object()


def bare(city, days: int) -> None: ...
def starred(*cities: str) -> None: ...
def keywords(**cities: str) -> None: ...
def positional(city: str, /) -> None: ...
def callback(then: Callable[[], None]) -> None: ...
def foreign(it: ToolContext) -> None: ...
def misspelt(city: "Sting") -> None: ...  # noqa: F821 - the name that does not exist is the case
def unshowable(day: date = NOTHING) -> None: ...  # type: ignore[assignment] - a default that JSON cannot hold


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (bare, "tool bare: parameter 'city' has no annotation; annotate it, such as city: str"),
        (starred, r"tool starred: parameter \*cities: str cannot be passed by name"),
        (keywords, r"tool keywords: parameter \*\*cities: str cannot be passed by name"),
        (positional, "tool positional: parameter city: str cannot be passed by name"),
        (callback, "tool callback: a parameter has no JSON schema"),
        (foreign, "tool foreign: a parameter has no JSON schema"),
        (misspelt, "tool misspelt: an annotation cannot be resolved: name 'Sting' is not defined"),
        (unshowable, "tool unshowable: a parameter has no JSON schema"),
    ],
)
def test_a_signature_without_a_schema_is_a_configuration_error(function, problem):
    with pytest.raises(ConfigurationError, match=problem):
        tool(family="f")(function)


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ({"name": "no blanks"}, "tool name 'no blanks' is not valid; accepted are 1 to 64 letters"),
        ({"name": "x" * 65}, "is not valid"),
        ({"name": "ok\n"}, "is not valid"),
        ({"family": ""}, "the family is empty"),
        ({"effect": "readonly"}, "effect 'readonly' is unknown; accepted are mutating and read_only"),
        ({"timeout": 0}, "timeout 0 is not valid"),
        ({"timeout": float("nan")}, "timeout nan is not valid"),
    ],
)
def test_a_bad_declaration_is_a_configuration_error(declaration, problem):
    with pytest.raises(ConfigurationError, match=problem):
        tool(**{"family": "f", **declaration})(len_of)


def test_the_schema_text_is_json_and_the_same_each_time():
    again = tool(family="weather", effect="read_only", timeout=10)(forecast.function)
    assert again.info.schema == forecast.info.schema
    assert json.loads(again.info.schema.parameters)["type"] == "object"
