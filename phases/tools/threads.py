"""Runs a synchronous function beside the event loop (ENV-17).

Owns the thread of one call. A thread cannot be stopped, so the first cancellation does not end the wait: who
cancelled it and went on still learns how the function ended (TURN-08). The second one does end it. Invariant:
the end of the process waits for no function that hangs.
"""

import asyncio
import contextvars
import itertools
import threading
from collections.abc import Callable
from contextlib import suppress

_numbers = itertools.count(1)


class ToolStoppedError(RuntimeError):
    """A tool tried to end more than itself: `sys.exit`, `KeyboardInterrupt`, `StopIteration`."""


async def in_thread(function: Callable[[], object]) -> object:
    """The result of `function`, run in a thread of its own; what it raises is raised here.

    Cancelled once, this goes on waiting; cancelled twice, it ends. The thread is a daemon: a pool would be
    joined when the interpreter exits, and one hung tool would keep the process alive.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()

    def settle(result: object, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result: object = None
        error: Exception | None = None
        try:
            result = context.run(function)
        except BaseException as raised:  # noqa: BLE001 - whatever a tool raises is its failure, never ours
            error = contained(raised)
        with suppress(RuntimeError):  # the loop has been closed meanwhile: nobody is left to tell
            loop.call_soon_threadsafe(settle, result, error)

    context = contextvars.copy_context()
    threading.Thread(target=work, name=f"tool-{next(_numbers)}", daemon=True).start()
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        return await future


def contained(error: BaseException) -> Exception:
    """`error` itself when it is an ordinary exception, else a `ToolStoppedError` that names it."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return ToolStoppedError(f"the tool raised {type(error).__name__}")
