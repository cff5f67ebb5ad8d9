"""What the commands that do work share: configuration, the database's place, the line about the embedded model."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from phasewalk.machine.errors import ConfigurationError, PhasewalkError, StorageError
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.where import database_path
from phasewalk.surfaces.config import load_configuration
from phasewalk.surfaces.sections import Configuration
from phasewalk.surfaces.settings import APIS, Backend

T = TypeVar("T")


def configuration_and_database(obj: dict[str, Any]) -> tuple[Configuration, Path]:
    """The checked configuration, and where the log lies."""
    try:
        configuration = load_configuration(obj["config"])
    except ConfigurationError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    return configuration, database_path(obj)


def run_work(work: Callable[[], Awaitable[T]]) -> T:
    """Run `work` on an event loop; errors become one sentence and an exit status."""

    async def main() -> T:
        return await work()

    try:
        return asyncio.run(main())
    except ConfigurationError as error:
        raise CommandError(str(error), Exit.USAGE) from error
    except StorageError as error:
        raise CommandError(str(error), Exit.UNREADABLE) from error
    except PhasewalkError as error:
        raise CommandError(str(error), Exit.CONDITION) from error


def announce(configuration: Configuration, found: tuple[Backend, ...]) -> None:
    """Tell on standard error what answers, where that may surprise (OPS-02)."""
    if not configuration.providers and all(backend.section.api == "rules" for backend in found):
        click.echo(
            "no key: answering from rules; set OPENAI_API_KEY or [[providers]] in phasewalk.toml for a model", err=True
        )
    for backend in found:
        section = backend.section
        if section.api not in APIS:
            known = ", ".join(APIS)
            click.echo(
                f"provider '{section.name}': unknown api '{section.api}' (known: {known}); it is skipped", err=True
            )
        elif backend.key is None:
            hint = f'set {section.api_key_env}, or api-key-env = "" for a server that needs none'
            click.echo(f"provider '{section.name}' has no key: {hint}", err=True)
