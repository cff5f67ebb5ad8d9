"""The registry: unique names, checks, runs, threads."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from typing import Annotated

import pytest
from pydantic import AfterValidator

from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.tooling import ToolContext
from phasewalk.phases.tools import tool
from phasewalk.phases.tools.registry import Registry
from phasewalk.phases.tools.threads import ToolStoppedError

CONTEXT = ToolContext("turn-1", "7", "Ana", "9", "general", "1", 0)


@tool(family="f", effect="read_only")
async def double(number: int) -> int:
    return number * 2


@tool(family="f")
def whoami(context: ToolContext) -> tuple[str, int]:
    return context.user_name, threading.get_ident()


def test_all_tools_are_listed_by_name_and_cannot_be_changed():
    infos = Registry([double, whoami]).all()
    assert list(infos) == ["double", "whoami"]
    with pytest.raises(TypeError):
        infos["double"] = infos["whoami"]  # type: ignore[index] - that it cannot be done is the test


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ConfigurationError, match="two tools are called 'double'"):
        Registry([double, tool(family="g", name="double")(whoami.function)])


def test_one_tool_named_twice_is_one_tool():
    assert Registry([double, double]).tools == (double,)


@pytest.mark.spec("CON-20")
def test_a_call_is_checked_against_the_tools_schema():
    registry = Registry([double])
    assert registry.problem_with("double", '{"number": 2}') is None
    assert "number: input should be a valid integer" in str(registry.problem_with("double", '{"number": "2"}'))
    assert registry.problem_with("triple", "{}") == "there is no tool 'triple'; there are double"


@pytest.mark.spec("CON-20", "CON-23")
def test_a_check_of_the_tools_own_that_fails_is_a_problem_with_the_call_and_not_with_the_turn():
    @tool(family="x")
    def checked(value: Annotated[str, AfterValidator(lambda value: value[9])]) -> str:
        return value

    problem = Registry([checked]).problem_with("checked", '{"value": "short"}')
    assert problem == "the arguments could not be checked, IndexError was raised"


async def test_an_async_tool_runs_with_its_parsed_arguments():
    assert await Registry([double]).run("double", '{"number": 21}', CONTEXT) == 42


@pytest.mark.spec("ENV-17")
async def test_a_synchronous_tool_runs_in_another_thread_and_gets_the_context():
    name, thread = await Registry([whoami]).run("whoami", "{}", CONTEXT)
    assert name == "Ana"
    assert thread != threading.get_ident()


@pytest.mark.spec("ENV-17")
async def test_the_loop_keeps_serving_while_a_synchronous_tool_blocks():
    gate = threading.Event()

    @tool(family="f")
    def wait() -> bool:
        return gate.wait(10)

    task = asyncio.ensure_future(Registry([wait]).run("wait", "{}", CONTEXT))
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()  # only reached because the loop is free
    assert await task is True


async def test_context_variables_reach_the_thread():
    variable = contextvars.ContextVar("variable", default="unset")

    @tool(family="f")
    def read() -> str:
        return variable.get()

    variable.set("set")
    assert await Registry([read]).run("read", "{}", CONTEXT) == "set"


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("x")])
async def test_what_a_tool_raises_is_raised(error):
    @tool(family="f")
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        await Registry([fail]).run("fail", "{}", CONTEXT)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), StopIteration()])
async def test_a_synchronous_tool_cannot_end_the_process(error):
    @tool(family="f")
    def leave() -> None:
        raise error

    with pytest.raises(ToolStoppedError, match=f"the tool raised {type(error).__name__}"):
        await Registry([leave]).run("leave", "{}", CONTEXT)


async def test_an_async_tool_cannot_end_the_process_either():
    @tool(family="f")
    async def leave() -> None:
        sys.exit(3)

    with pytest.raises(ToolStoppedError):
        await Registry([leave]).run("leave", "{}", CONTEXT)


async def test_a_plain_function_that_returns_a_coroutine_is_awaited():
    @tool(family="f")
    def wrapped(number: int) -> object:
        return double(number)

    assert await Registry([wrapped]).run("wrapped", '{"number": 4}', CONTEXT) == 8


@pytest.mark.spec("TURN-08")
async def test_a_wait_that_is_cancelled_once_still_learns_how_the_function_ended():
    gate, begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(family="f")
    def slow() -> str:
        loop.call_soon_threadsafe(begun.set)
        gate.wait(10)
        return "written"

    task = asyncio.ensure_future(Registry([slow]).run("slow", "{}", CONTEXT))
    await begun.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    gate.set()
    assert await task == "written"


@pytest.mark.spec("TURN-08")
async def test_a_wait_that_is_cancelled_twice_ends():
    gate, begun = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(family="f")
    def slow() -> None:
        loop.call_soon_threadsafe(begun.set)
        gate.wait(10)

    task = asyncio.ensure_future(Registry([slow]).run("slow", "{}", CONTEXT))
    await begun.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert task.cancelled()
    gate.set()


@pytest.mark.spec("TURN-08")
def test_the_process_ends_although_a_synchronous_tool_hangs():
    program = """
import asyncio, threading
from phasewalk.phases.tools.threads import in_thread

async def main():
    task = asyncio.ensure_future(in_thread(threading.Event().wait))
    await asyncio.sleep(0)
    task.cancel()

asyncio.run(main())
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0
