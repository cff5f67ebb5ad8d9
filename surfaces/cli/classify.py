"""`phasewalk classify`: which families of tools a message asks for, and by which words (CON-01)."""

from collections.abc import Iterator, Sequence
from typing import Any

import click
from attrs import asdict

from phasewalk.machine.contract import Classification
from phasewalk.machine.ports import Earlier
from phasewalk.phases.classify import classify_text, without_name
from phasewalk.phases.vocabulary import Vocabulary
from phasewalk.surfaces.cli.output import emit, exclusive, json_options, print_plain_items
from phasewalk.surfaces.cli.render import coloured, harmless
from phasewalk.surfaces.cli.work import configuration_and_database

MEANS = {
    "none": "none: nothing asks for a tool",
    "unknown": "unknown: something is to be done that fits no family",
}


@click.command(
    epilog='\b\nExamples:\n  phasewalk classify "add lunch to my calendar"\n'
    '  phasewalk classify "delete it" --after "show my notes"\n\n'
    "\b\nExit codes: 0 ok, whatever was found; 2 usage or configuration.",
)
@click.argument("text")
@click.option(
    "--after",
    metavar="TEXT",
    multiple=True,
    help="What the same person said before in the same channel, the oldest first; taken to have succeeded.",
)
@json_options
@click.pass_obj
def command(obj: dict[str, Any], /, *, text: str, after: tuple[str, ...], as_json: bool, jsonl: bool) -> None:
    """Tell which families of tools TEXT asks for, and which words decided. Asks no model and writes nothing."""
    from phasewalk.surfaces.settings import vocabulary_of

    exclusive(json=as_json, jsonl=jsonl)
    configuration, _ = configuration_and_database(obj)
    vocabulary, name = vocabulary_of(configuration), configuration.bot.name
    earlier = _succeeded([without_name(said, name) for said in after], vocabulary)
    found = classify_text(without_name(text, name), vocabulary, earlier)
    if as_json or jsonl:
        print_plain_items([{"text": text, **asdict(found)}], jsonl=jsonl)
    else:
        emit(_lines(found))


def _succeeded(texts: Sequence[str], vocabulary: Vocabulary) -> list[Earlier]:
    """These messages as earlier turns, each with whatever it asked for."""
    turns: list[Earlier] = []
    for text in texts:
        turns.append(Earlier(text, classify_text(text, vocabulary, turns).families))
    return turns


def _lines(found: Classification) -> Iterator[str]:
    if found.families:
        yield coloured(harmless(f"families: {', '.join(found.families)}"), "32")
    else:
        yield coloured(MEANS[found.selection], "33" if found.selection == "unknown" else "2")
    yield from (harmless(f"  {evidence}") for evidence in found.evidence)
    if found.tools:
        yield harmless(f"  narrowed to the tool {', '.join(found.tools)}, where there is one")
    if found.warm:
        yield harmless(f"  offered, since the conversation is about them: {', '.join(found.warm)}")
