"""The command line: names of commands, and nothing of what they do.

Each command lives in a module of its own, imported when it is called, so that the first screen stays fast
(BAR-08). Without a command the status screen is shown. A mistyped word suggests the nearest (OPS-16).
"""

import difflib
import importlib
import sys
from pathlib import Path

import click

from phasewalk.surfaces.cli.exits import Exit

COMMANDS: dict[str, tuple[str, str]] = {
    "status": ("status", "Is the bot well, and where does it stop? (the default)"),
    "turn": ("turn", "Walk one turn from the console."),
    "chat": ("chat", "Talk to the bot from the terminal, one turn a line."),
    "feed": ("feed", "Reply to a chat export, message by message; deliveries go to the log only."),
    "bot": ("bot", "Run the bot on Discord."),
    "doctor": ("doctor", "What is wrong with this installation, and how to put it right."),
    "list": ("list_turns", "Which turns were there."),
    "show": ("show", "What happened in a turn, one line a visit."),
    "why": ("why", "Why a turn ended as it did, or has not moved."),
    "diff": ("diff", "What differs between two turns."),
    "replay": ("replay", "Would today's code and configuration decide the same in a recorded turn."),
    "stats": ("stats", "How long phases and models take, how turns end, what they cost."),
    "stuck": ("stuck", "What is not moving, and by which rule."),
    "fallback": ("fallback", "Why fallback stopped, grouped by reason and rule."),
    "pause": ("pause", "Let no new turn begin, in any process."),
    "resume": ("resume", "Let turns begin again."),
    "recover": ("recover", "Settle turns that a process left behind; decide what is in doubt."),
    "circuit": ("circuit", "Which failing providers are left alone; close a circuit."),
    "approve": ("approve", "Which tool calls wait for a permission; permit one, once."),
    "jobs": ("jobs", "What runs by itself, and when; add, pause, resume or remove it."),
    "classify": ("classify", "Which families of tools a message asks for, by which words."),
    "check": ("check", "Is the bot well, in one line, for cron."),
    "tail": ("tail", "What is happening now, event by event."),
    "search": ("search", "Where something was said, in any language, by any characters."),
    "report": ("report", "One HTML page about a period: verdict, failures, the turns to look at first."),
    "diagram": ("diagram", "Draw a machine from its table."),
    "completion": ("completion", "Let the shell complete commands and names of turns."),
    "export": ("export", "Turns for other programs: JSON lines, traces, CSV."),
    "sql": ("sql", "Ask the log in SQL, read-only."),
    "backup": ("backup", "Copy the log while the bot runs."),
    "restore": ("restore", "Put a checked copy in the place of the log."),
    "prune": ("prune", "Take away old texts, then whole old turns."),
    "forget": ("forget", "Erase a person or a turn, and prove it."),
}
"""Each command with its module in this package and its line in the help; the module's `command` is run."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """The command itself."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"phasewalk.surfaces.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def resolve_command(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but a word that is no command suggests the nearest ones."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = " or ".join(f"'{word}'" for word in difflib.get_close_matches(name, COMMANDS, n=2))
            hint = f"; did you mean {near}?" if near else f"; there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.command(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='\b\nExamples:\n  phasewalk turn "hello" --direct\n  phasewalk feed export.json\n\n'
    "\b\nExit codes: 0 ok, 1 the condition asked for is true, 2 usage, 3 not found,\n4 unreadable or unknown, 5 incomplete, 130 interrupted.",
)
@click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Configuration file. [phasewalk.toml]")
@click.option(
    "--db", type=click.Path(path_type=Path, dir_okay=False), help="The log. [storage.path, else phasewalk.db]"
)
@click.version_option(package_name="phasewalk", prog_name="phasewalk")
@click.pass_context
def main(ctx: click.Context, config: Path | None, db: Path | None) -> None:
    """Run and look into the turns of an LLM-driven chat bot, phase by phase."""
    ctx.obj = {"config": config, "db": db}
    if ctx.invoked_subcommand is None:
        command = ctx.command
        if isinstance(command, LazyGroup):
            status = command.get_command(ctx, "status")
            if status is not None:
                ctx.invoke(status)


def run() -> None:
    """The console script: maps what ends a command to its exit status."""
    _fill_closed_streams()
    try:
        status = main.main(standalone_mode=False)
    except click.exceptions.Abort:
        status = Exit.INTERRUPTED
    except KeyboardInterrupt:
        status = Exit.INTERRUPTED
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except BrokenPipeError:
        _close_quietly()
        status = Exit.OK
    sys.exit(int(status) if isinstance(status, int) else 0)


def _fill_closed_streams() -> None:
    """A standard stream that was closed before we came is as good as one that nobody reads."""
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - for as long as we run


def _close_quietly() -> None:
    """A reader that went away is no error: point standard output elsewhere so that nothing complains at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
