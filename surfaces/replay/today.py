"""Today's code and configuration, as a turn of the log is decided by them again; and the turn's own inputs.

Owns what is taken from the record although the configuration could tell it: whether a provider had its key, the news
of the day, a time limit of one turn. Reads the environment for nothing else. Invariant: whatever an operator can
change in the configuration or the code is today's.
"""

import os
from collections.abc import Mapping
from typing import Any

from attrs import evolve, fields_dict, frozen

from phasewalk.machine.definition import Definition
from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Settings
from phasewalk.machine.provider import Provider
from phasewalk.machine.redaction import PLACEHOLDER
from phasewalk.machine.trigger import LEFT_OUT, Attachment, Trigger
from phasewalk.machine.words import Addressed, Kind
from phasewalk.phases.machine import summary_machine, turn_machine
from phasewalk.phases.tools.registry import Registry
from phasewalk.storage.recorded_turn import RecordedTurn, Text
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


def trigger_of(record: RecordedTurn) -> Trigger:
    """What opened the turn; what older logs do not hold is taken from its prompt, or left out."""
    turn, kept = record.turn, kept_of(record)
    said = dict(kept) if kept is not None else _from_prompt(record)
    attachments = tuple(_attachment(file) for file in said.pop("attachments", ()))
    known: Any = {name: tuple(v) if isinstance(v, list) else _plain(v) for name, v in said.items() if name in _FIELDS}
    return Trigger(
        key=str(turn["trigger_key"]),
        kind=Kind(str(turn["kind"])),
        text=record.question.body or "",
        channel_id=str(turn["channel_id"]),
        channel_name=str(turn["channel_name"]),
        user_id=str(turn["user_id"]),
        user_name=str(turn["user_name"]),
        guild_id=str(turn["guild_id"]),
        message_id=str(turn["trigger_message_id"]),
        addressed=Addressed(str(turn["addressed_by"])) if turn["addressed_by"] else None,
        attachments=attachments,
        **known,
    )


_FIELDS = frozenset(fields_dict(Trigger))


def kept_of(record: RecordedTurn) -> dict[str, Any] | None:
    """What the log keeps of the trigger beside its columns; None in logs that did not keep it."""
    kept = record.stays[0].opening.get("trigger") if record.stays else None
    return kept if isinstance(kept, dict) else {} if record.turn["machine"] == "summary" else None


def images_left_out(record: RecordedTurn) -> bool:
    """Whether images went to a model that the log does not hold, or holds without the secret in their address."""
    kept = kept_of(record)
    if kept is None:
        return "vision" in (record.contract or {}).get("capabilities", ())
    addresses = [str(_plain(file.get("url", ""))) for file in kept.get("attachments", ())]
    return any(url.startswith(LEFT_OUT) or PLACEHOLDER in url for url in addresses)


def _from_prompt(record: RecordedTurn) -> dict[str, Any]:
    """Nickname, topic and names of files as a prompt showed them."""
    message = record.prompt.get("user", {}).get("message", {})
    files = [{"name": _plain(name), "url": LEFT_OUT} for name in message.get("attachments", ())]
    return {"nickname": message.get("nickname", ""), "topic": message.get("topic", ""), "attachments": files}


def _attachment(file: dict[str, Any]) -> Attachment:
    """A file; one whose bytes were left out stands in with an address that leads nowhere."""
    said = {name: _plain(value) for name, value in file.items()}
    url = str(said.get("url", ""))
    if url.startswith(LEFT_OUT):
        kind = str(said.get("media_type", "image/png"))
        said |= {"url": f"data:{kind};base64,", "media_type": kind}
    return Attachment(**said)


def _plain(value: object) -> Any:
    return (value.body or "") if isinstance(value, Text) else value


def _news(record: RecordedTurn) -> str:
    """The news that the prompt of the turn carried."""
    context = str(_plain(record.prompt.get("context", "")))
    return context.partition(NEWS)[2].partition(ASKS_BACK)[0]
