"""From the checked configuration to the plain values that the machine works with.

Owns the choice of candidates (FB-10) and of the embedded model when there is no key (OPS-02). Reads the
environment for secrets, and hands them to nobody but the providers.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from phasewalk.machine.candidates import Candidate
from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.limits import Limits
from phasewalk.machine.ports import Settings
from phasewalk.machine.redaction import Redactor
from phasewalk.machine.words import NoticeCode
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.phases.vocabulary_file import extended, load, shipped
from phasewalk.surfaces.admission import Bounds
from phasewalk.surfaces.sections import CircuitSection, Configuration, LimitsSection, ProviderSection, seconds

APIS = ("chat", "responses", "rules")
"""The apis that this version can ask."""

OPENAI_ADDRESS = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-5.6"
RULES = ProviderSection(name="rules", api="rules", model="embedded")


@frozen
class Backend:
    """A provider as configured, with its key; `key` is None when it needs one and has none."""

    section: ProviderSection
    key: str | None
    base_url: str


def backends(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> list[Backend]:
    """The providers in order. With none configured: OpenAI where there is a key, else the embedded rules."""
    sections = list(configuration.providers)
    if not sections:
        has_key = bool(environment.get("OPENAI_API_KEY"))
        sections = [ProviderSection(name="openai", model=OPENAI_MODEL)] if has_key else [RULES]
    return [_backend(section, environment) for section in sections]


def _backend(section: ProviderSection, environment: Mapping[str, str]) -> Backend:
    address = section.base_url or environment.get("OPENAI_BASE_URL") or OPENAI_ADDRESS
    if section.api == "rules" or not section.api_key_env:
        return Backend(section, "", address)
    return Backend(section, environment.get(section.api_key_env) or None, address)


def candidates(found: list[Backend], redact: Callable[[str], str] = str) -> tuple[Candidate, ...]:
    """Each provider's model, then its fallback model, in the order of the configuration (FB-10).

    A secret that stands in the place of a model is not sent as one.
    """
    result: list[Candidate] = []
    for backend in found:
        section = backend.section
        models = [redact(section.model) or ("embedded" if section.api == "rules" else "")]
        if section.fallback_model:
            models.append(redact(section.fallback_model))
        first, *others = models
        result.append(_candidate(backend, first, redact, special=True))
        result.extend(_candidate(backend, model, redact) for model in others)
    return tuple(result)


def _candidate(backend: Backend, model: str, redact: Callable[[str], str], *, special: bool = False) -> Candidate:
    """A candidate; only a provider's first one has the models for special occasions beside it."""
    section = backend.section

    def beside(name: str | None) -> str | None:
        return None if name is None else redact(name)

    return Candidate(
        provider=section.name,
        api=section.asked_api,
        model=model,
        retry_model=beside(section.retry_model),
        capabilities=tuple(section.capabilities),
        window=section.window,
        known=section.asked_api in APIS,
        configured=backend.key is not None,
        safety_final=section.safety_block == "stop",
        reasoning_effort=section.reasoning_effort,
        vision_model=beside(section.vision_model) if special else None,
        factual_model=beside(section.factual_model) if special else None,
        image_model=beside(section.image_model),
    )


def limits_of(section: LimitsSection, circuit: CircuitSection) -> Limits:
    """The numbers that bound a turn."""
    return Limits(
        attempts=section.attempts,
        tool_rounds=section.tool_rounds if section.responses_tool_rounds is None else section.responses_tool_rounds,
        backoff=section.backoff,
        backoff_cap=section.backoff_cap,
        turn=section.turn,
        model_call=section.model_call,
        tool=section.tool,
        delivery_grace=section.delivery_grace,
        claims=section.claims,
        recover_within=seconds(section.recover_within),
        post_effect_delays=tuple(section.post_effect_delays),
        circuit_failures=circuit.failures,
        circuit_window=circuit.window,
        circuit_cooldown=circuit.cooldown,
    )


def bounds_of(section: LimitsSection) -> Bounds:
    """What bounds admission."""
    return Bounds(
        running=section.running,
        queued=section.queued,
        per_user=section.pending_per_user,
        max_wait=section.max_wait,
        cool_down=section.cool_down,
        daily=section.daily_per_user,
    )


def settings_of(configuration: Configuration, found: list[Backend]) -> Settings:
    """Everything that an operator decided, as plain values."""
    bot, policy = configuration.bot, configuration.policy
    redact = Redactor(_secrets(configuration, found))
    return Settings(
        bot_name=bot.name,
        persona=persona_of(configuration),
        news=_news_of(configuration),
        history_limit=bot.history_limit,
        history_per_channel=bot.history_per_channel,
        summary_after=bot.summary_after,
        short_path=tuple((re.compile(channel), re.compile(user)) for channel, user in bot.short_path),
        staff_channel=bot.staff_channel,
        allowed_channels=tuple(bot.allowed_channels),
        unclear=bot.unclear,
        when_gone=configuration.discord.when_gone,
        limits=limits_of(configuration.limits, configuration.circuit),
        candidates=candidates(found, redact),
        disabled_tools=tuple(policy.disabled_tools),
        disabled_families=tuple(policy.disabled_families),
        owners=tuple(policy.owners),
        plan_only=policy.plan_only,
        incognito=policy.incognito,
        notices={NoticeCode(code): text for code, text in configuration.notices.items()},
        vocabulary=vocabulary_of(configuration),
        redact=redact,
        stickers=tuple(bot.stickers),
        staff_roles=tuple(policy.staff_roles),
        channel_families={name: tuple(families) for name, families in policy.channels.items()},
        privileges=dict(policy.privileges),
        family_labels={name: family.label for name, family in configuration.families.items() if family.label},
    )


def _secrets(configuration: Configuration, found: list[Backend]) -> list[str]:
    """What must never be written or sent: the keys of providers, and the variables that the operator names."""
    named = (os.environ.get(name) for name in configuration.policy.secrets_env)
    return [secret for secret in (*(backend.key for backend in found), *named) if secret]


def vocabulary_of(configuration: Configuration) -> Vocabulary:
    """The words by which messages are classified: those that ship or the operator's, and the additions to them."""
    name = configuration.bot.vocabulary
    vocabulary = shipped() if name is None else load(configuration.beside(name))
    additions = configuration.families.items()
    return extended(
        vocabulary,
        {key: family.model_dump(by_alias=True, exclude_defaults=True, exclude={"label"}) for key, family in additions},
    )


def persona_of(configuration: Configuration) -> str:
    """The persona: a text, or the name of a text file beside the configuration."""
    value = configuration.bot.persona
    if "\n" in value or not value.endswith((".md", ".txt")):
        return value
    path = configuration.beside(value)
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"'bot.persona': {path} cannot be read as text ({error})") from error


def news_file(configuration: Configuration) -> Path | None:
    """Where the news stand; None where no file is named."""
    name = configuration.bot.news_file
    return None if name is None else configuration.beside(name)


def _news_of(configuration: Configuration) -> Callable[[], str]:
    """The news file, read anew for each prompt; one that does not exist is no news (ENV-10)."""
    path = news_file(configuration)
    if path is None:
        return lambda: ""

    def news() -> str:
        try:
            return path.read_text("utf-8", errors="replace")
        except OSError:
            return ""

    return news
