"""`phasewalk forget`: a person or a turn is erased, and the file is searched for what is left (LOG-11)."""

import sqlite3
from collections.abc import Iterator
from typing import Any

import click

from phasewalk.machine.errors import StorageError, UnreadableLogError
from phasewalk.storage.database import open_for_reading
from phasewalk.surfaces.cli.changing import operator
from phasewalk.surfaces.cli.exits import CommandError, Exit
from phasewalk.surfaces.cli.naming import one_turn
from phasewalk.surfaces.cli.output import emit
from phasewalk.surfaces.cli.render import harmless
from phasewalk.surfaces.cli.where import database_path


@click.command(
    epilog="\b\nExamples:\n  phasewalk forget --user 322467610543259801 --dry-run\n  phasewalk forget --turn last\n\n"
    "\b\nExit codes: 0 erased, and nothing of it found in the file; 2 usage, 3 no such person or turn,\n4 the log cannot be used, or a process that runs stands in the way,\n5 erased, but something of it is still in the file.",
)
@click.option("--user", metavar="ID", help="Erase this person: turns, messages, notes, facts, tasks.")
@click.option("--turn", metavar="TURN", help="Erase this turn, and those that began as a part of it.")
@click.option("--beside", type=int, hidden=True, help="A process that takes care, as the bot does.")
@click.option("--who", hidden=True, help="Who asks for it, where that is not the system user.")
@click.option("--dry-run", is_flag=True, help="Only tell what would go.")
@click.pass_obj
def command(
    obj: dict[str, Any],
    /,
    *,
    user: str | None,
    turn: str | None,
    dry_run: bool,
    beside: int | None,
    who: str | None,
) -> None:
    """Erase a person or a turn from every table, the full-text index and the free pages of the file.

    The file is written anew, which takes its size once more for a while. Copies of it are not touched.
    """
    if (user is None) == (turn is None):
        raise click.UsageError("one of --user ID and --turn TURN is expected")
    if user is not None and not user.strip().removeprefix("@"):
        raise click.UsageError("--user: an id is expected, as 'phasewalk list --json' shows it in user_id")
    path = database_path(obj)
    from phasewalk.storage.retention_forget import forget, planned

    try:
        if not path.exists():
            raise UnreadableLogError(f"{path}: no such file; there is nothing to forget")
        person, name = _named(obj, user, turn)
        if dry_run:
            made = planned(path, person, name)
            proof = None
        else:
            made, proof = forget(path, person, name, who or operator(), beside)
    except StorageError as error:
        raise CommandError(harmless(error), Exit.UNREADABLE) from error
    except sqlite3.Error as error:
        raise CommandError(harmless(f"{path}: cannot be changed ({error})"), Exit.UNREADABLE) from error
    if made.nothing:
        expected = "expected an id, as 'phasewalk list --json' shows it in user_id"
        raise CommandError(harmless(f"nobody with the id '{user}' is in the log; {expected}"), Exit.NOT_FOUND)
    emit([harmless(line) for line in _lines(made, proof)])
    if proof is not None and (proof.left or not proof.emptied):
        raise SystemExit(int(Exit.INCOMPLETE))


def _named(obj: dict[str, Any], user: str | None, turn: str | None) -> tuple[str, str]:
    """The id of the person, or of the turn."""
    if turn is None:
        return str(user).strip().removeprefix("@"), ""
    log = open_for_reading(database_path(obj))
    try:
        return "", one_turn(log, turn)
    finally:
        log.close()


def _lines(made: Any, proof: Any) -> Iterator[str]:
    counts = {"turn": len(made.turns), "message": made.messages, "text": len(made.payloads), **made.kept}
    told = ", ".join(f"{n} {what}" if n == 1 else f"{n} {what}s" for what, n in counts.items())
    yield f"{'would erase' if proof is None else 'erased'} {told}"
    if proof is None:
        return
    if not proof.emptied:
        yield "the file could not be written anew: another process reads it; end that, and run VACUUM on the file"
    if proof.left:
        where = f" in {', '.join(proof.places)}" if proof.places else " in free pages or the WAL"
        yield f"still there: {proof.left} of {proof.pieces} pieces that were looked for,{where}"
    else:
        yield f"proved: {proof.pieces} pieces were looked for in every byte of the file and its WAL; none is there"
    if proof.shared:
        yield f"{proof.shared} of the pieces are what others said word for word, and stay with them"
    if proof.beside:
        yield f"not touched, and perhaps copies: {', '.join(file.name for file in proof.beside)}"
