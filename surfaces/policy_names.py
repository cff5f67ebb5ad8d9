"""Checks the names in `[policy]`: a tool or family that is misspelt there would stay allowed.

Owns the check and its sentences. Does not decide what policy means.
"""

from collections.abc import Collection, Iterable

from phasewalk.machine.errors import ConfigurationError
from phasewalk.surfaces.sections import PolicySection, nearest


def check_names(policy: PolicySection, tools: Collection[str], families: Collection[str]) -> None:
    """Raise `ConfigurationError` for the first name in `[policy]` that is no tool or no family."""
    _check("disabled-tools", "tool", policy.disabled_tools, tools)
    _check("disabled-families", "family", policy.disabled_families, families)
    _check("privileges", "family", policy.privileges, families)
    for listed in policy.channels.values():
        _check("channels", "family", listed, families)


def _check(key: str, kind: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigurationError(f"[policy] {key}: there is no {kind} '{name}'{nearest(name, sorted(known))}")
