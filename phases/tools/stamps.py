"""Instants and short texts as the offline tools take and show them."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

KeptText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
"""What may be kept: not blank, at most 4,000 characters, without blanks around it."""

Number = Annotated[int, Field(ge=1, le=10**15)]
"""A number that the shelf has given."""


def iso(at_us: int) -> str:
    """Microseconds since the epoch as an RFC 3339 instant in UTC, to the second."""
    return (_EPOCH + timedelta(microseconds=at_us)).strftime("%Y-%m-%dT%H:%M:%SZ")
