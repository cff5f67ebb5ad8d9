"""Says in one sentence what pydantic finds wrong with a document; knows no document."""

import difflib
from collections.abc import Iterable

from pydantic import ValidationError


def first_problem(error: ValidationError, known: Iterable[str] = ()) -> str:
    """The first problem, its place before it; for an unknown key the nearest of the `known` ones."""
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in problem["loc"])
    if problem["type"] == "extra_forbidden" and known:
        nearest = difflib.get_close_matches(str(problem["loc"][-1]), list(known), 1)
        accepted = f"the nearest known key is {nearest[0]!r}" if nearest else f"known are {', '.join(known)}"
        return f"{where} is not known; {accepted}"
    said = problem["msg"][:1].lower() + problem["msg"][1:].rstrip(".")
    return f"{where}: {said}" if where else said
