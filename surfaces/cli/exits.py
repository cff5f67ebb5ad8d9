"""Exit codes, and errors that carry one (OPS-13)."""

from enum import IntEnum

import click


class Exit(IntEnum):
    """What the exit status of a command means."""

    OK = 0
    CONDITION = 1
    USAGE = 2
    NOT_FOUND = 3
    UNREADABLE = 4
    INCOMPLETE = 5
    INTERRUPTED = 130


class CommandError(click.ClickException):
    """One sentence on standard error, and this exit status."""

    def __init__(self, message: str, status: Exit) -> None:
        super().__init__(message)
        self.exit_code = int(status)  # type: ignore[misc]  # click reads it from the instance

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's signature; talk always goes to standard error
        """Print the sentence."""
        from phasewalk.machine.redaction import Redactor  # its patterns are compiled only where there is an error

        click.echo(f"phasewalk: {Redactor()(self.format_message())}", err=True)
