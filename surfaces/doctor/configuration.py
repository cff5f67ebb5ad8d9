"""Examines the configuration: the file, the files that it names, and the keys of its providers.

Reads files and the environment, and asks nobody. Invariant: each file is examined by the code that will load it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.providers.rules import load_rules
from phasewalk.surfaces.doctor.findings import Finding, few
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.settings import APIS, Backend, backends, news_file, persona_of, settings_of, vocabulary_of
from phasewalk.surfaces.wiring import own_tools

AREA, PROVIDERS = "configuration", "providers"


def examine_file(file: Path | None, default: str) -> Finding:
    """The file that counts; it was loaded already, and so is valid. None: there is none."""
    if file is None:
        return Finding(AREA, "ok", f"no {default} in {Path.cwd()}: every key has its default")
    return Finding(AREA, "ok", f"{file.absolute()} is valid")


def examine_parts(configuration: Configuration) -> Iterator[Finding]:
    """Persona, news, vocabulary, tools, rules and the policy of moderation."""
    bot = configuration.bot
    needed = [
        _loaded("persona", lambda: persona_of(configuration), bot.persona if _is_file(bot.persona) else "a text"),
        _loaded("vocabulary", lambda: vocabulary_of(configuration), bot.vocabulary or "the one that ships"),
    ]
    yield from needed
    yield from _news(configuration)
    for section in configuration.providers:
        if section.rules or section.faq:
            files = [configuration.beside(name) if name else None for name in (section.rules, section.faq)]
            named = few(name for name in (section.rules, section.faq) if name)
            yield _loaded(f"rules of provider '{section.name}'", lambda files=files: load_rules(*files), named)  # type: ignore[misc]  # bound at once
    if all(finding.level == "ok" for finding in needed):  # else the same would be told twice
        yield _tools(configuration)
    yield from _policy(configuration)


def examine_providers(configuration: Configuration, environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Who can be asked: known api, a model, a key."""
    found = backends(configuration, environment)
    if not configuration.providers and found[0].section.api == "rules":
        fix = "set OPENAI_API_KEY or [[providers]] for a model"
        yield Finding(PROVIDERS, "warn", "no provider and no key: the embedded rules answer", fix)
        return
    nobody = all(_problem(backend) for backend in found)
    for backend in found:
        problem = _problem(backend)
        section = backend.section
        if problem:
            what, fix = problem
            yield Finding(PROVIDERS, "bad" if nobody else "warn", f"provider '{section.name}' {what}", fix)
        else:
            key = "needs no key" if backend.key == "" else f"has a key in {section.api_key_env}"
            model = section.model or "embedded"
            yield Finding(PROVIDERS, "ok", f"provider '{section.name}' ({section.asked_api}, {model}) {key}")


def _problem(backend: Backend) -> tuple[str, str] | None:
    """What keeps a provider from being asked, and what to do."""
    section = backend.section
    if section.api not in APIS:
        return f"has the unknown api '{section.api}' and is skipped", f"known are {', '.join(APIS)}"
    if section.api == "rules":
        return None
    if not section.model:
        return "names no model", f"add model = \"…\" to the [[providers]] entry of '{section.name}'"
    if backend.key is None:
        return (
            f"has no key: {section.api_key_env} is not set",
            'set it, or api-key-env = "" for a server that needs none',
        )
    return None


def _is_file(persona: str) -> bool:
    return "\n" not in persona and persona.endswith((".md", ".txt"))


def _loaded(name: str, load: Callable[[], object], source: str) -> Finding:
    try:
        load()
    except ConfigurationError as error:
        return Finding(AREA, "bad", f"{name}: {error}", "mend the file, or name another one")
    return Finding(AREA, "ok", f"{name}: {source}")


def _news(configuration: Configuration) -> Iterator[Finding]:
    path = news_file(configuration)
    if path is None:
        return
    try:
        path.read_text("utf-8")
    except FileNotFoundError:
        yield Finding(
            AREA, "warn", f"news: {path} does not exist, so there is no news", "make it, or leave out news-file"
        )
    except (OSError, UnicodeDecodeError) as error:
        yield Finding(AREA, "bad", f"news: {path} cannot be read as text ({error})", "make it a readable UTF-8 file")
    else:
        yield Finding(AREA, "ok", f"news: {path.name}")


def _tools(configuration: Configuration) -> Finding:
    """The operator's modules, which are executed, and the names in `[policy]`, which must exist."""
    modules = configuration.tools.modules
    try:
        own = own_tools(configuration, settings_of(configuration, backends(configuration)))
    except ConfigurationError as error:
        return Finding(AREA, "bad", f"tools: {error}", "mend [tools], [policy] or the module")
    except Exception as error:  # noqa: BLE001 - whatever the operator's own code raises is what was looked for
        what = f"tools: one of {few(modules)} cannot be imported ({type(error).__name__}: {error})"
        return Finding(AREA, "bad", what, "mend the module")
    count = f"{len(own)} tool{'' if len(own) == 1 else 's'} of your own"
    return Finding(AREA, "ok", f"tools: {count} from {few(modules)}" if modules else "tools: those that ship")


def _policy(configuration: Configuration) -> Iterator[Finding]:
    """The policy of moderation is a text, or the name of a file."""
    name = configuration.moderation.policy
    if name is None or not _is_file(name):
        return
    path = configuration.beside(name)
    try:
        path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        yield Finding(
            AREA, "bad", f"moderation policy: {path} cannot be read as text ({error})", "make it, or leave out policy"
        )
    else:
        yield Finding(AREA, "ok", f"moderation policy: {name}")
