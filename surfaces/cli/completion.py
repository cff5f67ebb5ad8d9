"""`phasewalk completion`: the script by which a shell completes what is typed."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(
    epilog="\b\nExamples:\n"
    "  phasewalk completion bash > ~/.local/share/bash-completion/completions/phasewalk\n"
    '  eval "$(phasewalk completion zsh)"\n\n'
    "\b\nExit codes: 0 ok, 2 usage.",
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, /, shell: str) -> None:
    """Print the script that completes commands, options and names of turns in SHELL."""
    completion = get_completion_class(shell)
    if completion is None:
        raise click.UsageError(f"no completion for '{shell}'; there is one for {', '.join(SHELLS)}")
    click.echo(completion(ctx.find_root().command, {}, "phasewalk", "_PHASEWALK_COMPLETE").source())
