"""The tables of the configuration file: every key that an operator may write, its default and its check.

Owns the keys. Does not read the file and words no error. Secrets come from the environment only.
"""

import difflib
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, InstanceOf, PlainSerializer, field_validator

from phasewalk.machine.words import NoticeCode
from phasewalk.surfaces.thresholds import UNITS, Thresholds, thresholds_of

Positive = Annotated[int, Field(ge=1)]
LONGEST = 31_536_000
"""Seconds, a year: the longest time that may be set."""

Seconds = Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False)]
Wait = Annotated[float, Field(ge=0, le=LONGEST, allow_inf_nan=False)]
_AS_TABLE = PlainSerializer(Thresholds._asdict, return_type=dict)
Duration = Annotated[str, Field(pattern=r"^\d+[smhdw]$")]


def seconds(duration: str) -> float:
    """`15m` as 900.0."""
    return float(int(duration[:-1]) * UNITS[duration[-1]])


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Section(BaseModel):
    """A table of the file: kebab-case keys, nothing unknown, strict types."""

    model_config = ConfigDict(extra="forbid", alias_generator=_kebab, strict=True, frozen=True)


class Bot(Section):
    """`[bot]`: who the bot is, what it remembers, where it may speak."""

    name: str = "helper"
    persona: str = ""
    news_file: str | None = None
    history_limit: Annotated[int, Field(ge=0)] = 40
    history_per_channel: Annotated[int, Field(ge=0)] = 3
    summary_after: Annotated[int, Field(ge=0)] = 20
    short_path: list[list[str]] = []
    staff_channel: str | None = None
    allowed_channels: list[str] = []
    unclear: Literal["model", "ask"] = "model"
    vocabulary: str | None = None
    stickers: list[str] = []

    @field_validator("short_path")
    @classmethod
    def _patterns(cls, rules: list[list[str]]) -> list[list[str]]:
        for rule in rules:
            if len(rule) != 2:  # noqa: PLR2004 - a rule is a pair
                raise ValueError(f"a rule is [channel pattern, user pattern], not {len(rule)} texts")
            for pattern in rule:
                try:
                    re.compile(pattern)
                except re.error as error:
                    raise ValueError(f"{pattern!r} is no regular expression ({error})") from error
        return rules


class DiscordSection(Section):
    """`[discord]`: what is heard there, and what becomes of an answer whose question is gone."""

    message_content: bool = True
    hear_bots: list[str] = []
    catch_up: Annotated[int, Field(ge=0)] = 500
    when_gone: Literal["answer", "silent"] = "answer"
    replies_per_minute: Annotated[int, Field(ge=1)] = 20


class IdleSection(Section):
    """`[idle]`: where conversations that went quiet are followed up; nowhere, unless channels are named."""

    after: Duration = "30m"
    channels: list[str] = []

    @field_validator("after")
    @classmethod
    def _within_a_day(cls, value: str) -> str:
        if seconds(value) >= UNITS["d"]:
            raise ValueError(f"{value!r} is a day or more; what went quiet so long ago is left alone")
        return value


class ProviderSection(Section):
    """`[[providers]]`: one way to reach models, in the order in which they are asked."""

    name: Annotated[str, Field(min_length=1)]
    api: str = "chat"
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    model: str = ""
    fallback_model: str | None = None
    retry_model: str | None = None
    vision_model: str | None = None
    factual_model: str | None = None
    image_model: str | None = None
    reasoning_effort: str = "none"
    capabilities: list[str] = ["tools", "vision", "json_schema"]
    window: Annotated[int, Field(ge=0)] = 0
    safety_block: Literal["stop", "fall_back"] = "stop"
    use_responses_api: bool = False
    rules: str | None = None
    faq: str | None = None

    @property
    def asked_api(self) -> str:
        """The api; `use-responses-api` is another way to say `responses`."""
        return "responses" if self.use_responses_api and self.api == "chat" else self.api

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value is not None and not re.match(r"https?://[^/\s]+", value):
            raise ValueError(f'{value!r} is no address; expected something like "http://127.0.0.1:8080/v1"')
        return value


class LimitsSection(Section):
    """`[limits]`: counts, and seconds."""

    attempts: Positive = 3
    tool_rounds: Annotated[int, Field(ge=0)] = 4
    responses_tool_rounds: Annotated[int, Field(ge=0)] | None = None
    backoff: Wait = 1.0
    backoff_cap: Wait = 30.0
    turn: Seconds = 360.0
    model_call: Seconds = 300.0
    tool: Seconds = 60.0
    delivery_grace: Seconds = 30.0
    running: Positive = 32
    queued: Annotated[int, Field(ge=0)] = 32
    pending_per_user: Positive = 3
    max_wait: Seconds = 20.0
    cool_down: Wait = 0.0
    daily_per_user: Annotated[int, Field(ge=0)] = 0
    lease: Seconds = 300.0
    heartbeat: Seconds = 60.0
    claims: Positive = 3
    post_effect_delays: list[Wait] = [1.0, 3.0]
    recover_within: Duration = "15m"


class CircuitSection(Section):
    """`[circuit]`: when a failing provider is left alone."""

    failures: Positive = 3
    window: Seconds = 300.0
    cooldown: Seconds = 1800.0


class PolicySection(Section):
    """`[policy]`: who may what."""

    owners: list[str] = []
    staff_roles: list[str] = []
    exempt_roles: list[str] = []
    disabled_tools: list[str] = []
    disabled_families: list[str] = []
    plan_only: bool = False
    incognito: bool = False
    secrets_env: list[str] = []
    channels: dict[str, list[str]] = {}
    privileges: dict[str, Literal["everyone", "staff", "owners"]] = {}


class ToolsSection(Section):
    """`[tools]`: modules of the operator's own."""

    modules: list[str] = []


class PairSection(Section):
    """A pair of `[families.NAME]`: verbs and nouns that select only together."""

    verbs: list[str]
    nouns: list[str]


class AccountSection(Section):
    """`account` of `[families.NAME]`: phrases that ask for one's account, and the tool that tells it."""

    phrases: list[str]
    tool: Annotated[str, Field(min_length=1)]


class FamilySection(Section):
    """`[families.NAME]`: further words for a family, or a new one."""

    nouns: list[str] = []
    verbs: list[str] = []
    phrases: list[str] = []
    pairs: list[PairSection] = []
    content: list[str] = []
    account: AccountSection | None = None
    label: str | None = None


class CapsSection(Section):
    """`caps` of `[moderation]`."""

    pass_: Annotated[int, Field(ge=0, alias="pass")] = 3
    hour: Annotated[int, Field(ge=0)] = 10


class ModerationSection(Section):
    """`[moderation]`: unattended passes."""

    mode: Literal["log_only", "notify_staff", "timeout", "policy"] = "log_only"
    channels: list[str] = []
    policy: str | None = None
    every: Duration | None = None
    caps: CapsSection = CapsSection()


class StorageSection(Section):
    """`[storage]`: where the log lies and how long it is kept."""

    path: str = "phasewalk.db"
    keep: Duration | None = None
    keep_payloads: Duration | None = None


def nearest(word: str, known: list[str]) -> str:
    """The end of a sentence about an unknown word: the known one that it is near to, else all of them."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(known)}"


class Configuration(Section):
    """The whole file. `folder` is where it lies: relative paths in it start there."""

    bot: Bot = Bot()
    discord: DiscordSection = DiscordSection()
    idle: IdleSection = IdleSection()
    providers: list[ProviderSection] = []
    limits: LimitsSection = LimitsSection()
    circuit: CircuitSection = CircuitSection()
    policy: PolicySection = PolicySection()
    tools: ToolsSection = ToolsSection()
    families: dict[str, FamilySection] = {}
    moderation: ModerationSection = ModerationSection()
    storage: StorageSection = StorageSection()
    check: Annotated[InstanceOf[Thresholds], BeforeValidator(thresholds_of), _AS_TABLE] = Thresholds()
    notices: dict[str, str] = {}
    folder: Path = Field(default=Path(), exclude=True)

    @field_validator("notices")
    @classmethod
    def _codes(cls, texts: dict[str, str]) -> dict[str, str]:
        known = [str(code) for code in NoticeCode]
        for code, text in texts.items():
            if code not in known:
                raise ValueError(f"no notice is called {code!r}{nearest(code, known)}")
            if not text.strip():
                raise ValueError(f"the notice {code!r} is empty; a text is due, or leave it out for the usual one")
        return texts

    def beside(self, name: str) -> Path:
        """A path of the file, relative to the file."""
        return self.folder / name
