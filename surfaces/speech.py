"""Surfaces without a chat server: speech goes to the log only, or to the terminal as well."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from phasewalk.machine.effects import EffectKind
from phasewalk.machine.errors import DeliveryError, DeliveryInDoubtError
from phasewalk.machine.ports import Sight
from phasewalk.machine.reasons import Reason
from phasewalk.machine.speech import Speech
from phasewalk.machine.trigger import Trigger


class OnePlace:
    """What surfaces without a chat server have in common: nothing is cut, nothing changes, nothing can be looked up."""

    def parts(self, speech: Speech) -> Sequence[Speech]:
        """The whole."""
        return (speech,)

    async def look(self, trigger: Trigger) -> Sight:  # noqa: ARG002 - the port's signature
        """As it was: nobody changes it."""
        return Sight.AS_IT_WAS

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:  # noqa: ARG002 - the port's signature
        """Nobody can tell whether it was seen."""
        raise DeliveryInDoubtError("whether it was shown cannot be found out")


class LogSurface(OnePlace):
    """Delivers to the log alone: the intent and its receipt, which stand there already, are the delivery."""

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:  # noqa: ARG002 - the port's signature
        """The receipt names the idempotency key."""
        return f"log:{key}"

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:  # noqa: ARG002 - the port's signature
        """Sending is writing: again under the same key is the same delivery."""
        return await self.send(speech, trigger, key)


class GoneConsole(LogSurface):
    """The terminal of a process that is gone: what is said now goes to the log, what was said then nobody can tell."""

    async def settle(self, speech: Speech, trigger: Trigger, key: str, intended_us: int) -> str:
        """It may have been printed."""
        return await OnePlace.settle(self, speech, trigger, key, intended_us)


class ConsoleSurface(OnePlace):
    """Prints what is said to standard output, staff notes and notices to standard error."""

    def __init__(self, show: Callable[[str], str] = str) -> None:
        """`show` makes a text harmless for the terminal."""
        self._show = show

    async def send(self, speech: Speech, trigger: Trigger, key: str) -> str:  # noqa: ARG002 - the port's signature
        """Print and flush; a closed output is a definite failure. Pictures become files of the current folder."""
        data = speech.kind == EffectKind.ANSWER
        label = "" if data else f"[{speech.kind.replace('_', ' ')}] "
        text = ", ".join(_saved(speech, key)) if speech.pictures else speech.text
        try:
            print(
                f"{label}{self._show(text)}", file=sys.stdout if data else sys.stderr, flush=True
            )  # the console is what this is for
        except (BrokenPipeError, ValueError) as error:
            raise DeliveryError("the terminal is closed", Reason.DELIVERY_TARGET_GONE) from error
        return f"console:{key}"


def _saved(speech: Speech, key: str) -> list[str]:
    """Write the pictures to files named by the speech's key; their names."""
    names = []
    for number, picture in enumerate(speech.pictures, 1):
        ending = picture.media_type.removeprefix("image/").replace("jpeg", "jpg")
        name = f"picture-{key[:8]}-{number}.{ending if ending.isalnum() else 'bin'}"
        try:
            Path(name).write_bytes(picture.data)
        except OSError as error:
            raise DeliveryError(f"{name} cannot be written ({error.strerror})", Reason.DELIVERY_FAILED) from error
        names.append(name)
    return names
