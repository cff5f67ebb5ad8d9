"""Today's code and configuration, as a turn of the log is decided by them again; and the turn's own inputs.

Owns what is taken from the record although the configuration could tell it: whether a provider had its key, the news
of the day, a time limit of one turn. Reads the environment for nothing else. Invariant: whatever an operator can
change in the configuration or the code is today's.
"""

import os
from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from phasewalk.machine.definition import Definition
from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Settings
from phasewalk.machine.provider import Provider
from phasewalk.machine.redaction import PLACEHOLDER
from phasewalk.machine.trigger import LEFT_OUT
from phasewalk.phases.machine import summary_machine, turn_machine
from phasewalk.phases.tools.registry import Registry
from phasewalk.storage.recorded_trigger import kept_of, plain_of
from phasewalk.storage.recorded_turn import RecordedTurn
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.settings import RULES, Backend, backends, candidates, settings_of
from phasewalk.surfaces.wiring import own_tools, providers_of, registry_of

OPENAI = "openai"
"""The provider that is asked where none is configured and there is a key."""

KEY = "OPENAI_API_KEY"
NEWS = "\nNews:\n"
ASKS_BACK = "\nThe request names an action"
"""How the line of the context begins that stands behind the news."""


@frozen
class Today:
    """What is the same for every turn that is walked again."""

    configuration: Configuration
    settings: Settings
    tools: Registry
    rules: Mapping[str, Provider]
    machines: Mapping[str, Definition]

    def settings_for(self, record: RecordedTurn) -> Settings:
        """The settings, with what the record alone knows."""
        recorded = (record.contract or {}).get("candidates", [])
        had_key = {c["provider"]: bool(c["configured"]) for c in recorded}
        asked = self.settings.candidates
        if not self.configuration.providers and recorded:
            asked = _unconfigured(self.configuration, with_key=OPENAI in had_key)
        news = _news(record) if self.configuration.bot.news_file is not None else ""
        return evolve(
            self.settings,
            candidates=tuple(evolve(c, configured=had_key.get(c.provider, c.configured)) for c in asked),
            news=lambda: news,
        )

    def limits_for(self, record: RecordedTurn) -> Limits:
        """Today's limits; a turn that had been given a time limit of its own keeps it."""
        limits = self.settings.limits
        usual = (record.contract or {}).get("limits", {}).get("turn")
        return limits if usual == record.seconds else evolve(limits, turn=record.seconds)


def today(configuration: Configuration) -> Today:
    """Today's code and this configuration; raises `ConfigurationError` as a start would."""
    found = backends(configuration)
    settings = settings_of(configuration, found)
    rules = [b for b in found if b.section.api == "rules"] or [Backend(RULES, "", "")]
    return Today(
        configuration=configuration,
        settings=settings,
        tools=registry_of(own_tools(configuration, settings), None),
        rules=providers_of(rules, configuration),
        machines={machine.table.name: machine for machine in (turn_machine(), summary_machine())},
    )


def _unconfigured(configuration: Configuration, *, with_key: bool) -> tuple[Any, ...]:
    """The candidates where no provider is configured, with or without a key as the turn had it."""
    others = {name: value for name, value in os.environ.items() if name != KEY}
    return candidates(backends(configuration, {**others, KEY: "unused"} if with_key else others))


def images_left_out(record: RecordedTurn) -> bool:
    """Whether images went to a model that the log does not hold, or holds without the secret in their address."""
    kept = kept_of(record)
    if kept is None:
        return "vision" in (record.contract or {}).get("capabilities", ())
    addresses = [str(plain_of(file.get("url", ""))) for file in kept.get("attachments", ())]
    return any(url.startswith(LEFT_OUT) or PLACEHOLDER in url for url in addresses)


def _news(record: RecordedTurn) -> str:
    """The news that the prompt of the turn carried."""
    context = str(plain_of(record.prompt.get("context", "")))
    return context.partition(NEWS)[2].partition(ASKS_BACK)[0]
