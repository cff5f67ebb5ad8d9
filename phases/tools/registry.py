"""The tools that exist: looked up by name, checked, run.

Owns `Registry`, which implements the machine's `Tools`. Does not know what a turn may use; that is the
contract's affair. Invariant: names are unique, and nothing is added after construction.
"""

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from phasewalk.machine.errors import ConfigurationError
from phasewalk.machine.tooling import ToolContext, ToolInfo
from phasewalk.phases.tools.declare import CONTEXT, Tool
from phasewalk.phases.tools.threads import contained, in_thread

AnyTool = Tool[..., Any]


class Registry:
    """A closed set of tools. Raises `ConfigurationError` when two of them share a name."""

    def __init__(self, tools: Iterable[AnyTool] = ()) -> None:
        """Later tools never replace earlier ones of the same name."""
        self._tools: dict[str, AnyTool] = {}
        for tool in tools:
            if self._tools.setdefault(tool.name, tool) is not tool:
                other = self._tools[tool.name]
                raise ConfigurationError(
                    f"two tools are called {tool.name!r}, in {_origin(other)} and {_origin(tool)}; rename one"
                )
        self._infos = MappingProxyType({name: tool.info for name, tool in self._tools.items()})

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        """The tools themselves, in the order of registration."""
        return tuple(self._tools.values())

    def all(self) -> Mapping[str, ToolInfo]:
        """Every registered tool by name; a view that cannot be changed."""
        return self._infos

    def problem_with(self, name: str, arguments: str) -> str | None:
        """What is wrong with this call, in one sentence, or None."""
        tool = self._tools.get(name)
        if tool is None:
            return f"there is no tool {name!r}; there are {', '.join(self._tools) or 'none'}"
        return tool.problem_with(arguments)

    async def run(self, name: str, arguments: str, context: ToolContext) -> object:
        """The result of a tool whose arguments have been checked; anything it raises is its failure.

        A synchronous function runs in a thread of its own (ENV-17); see `threads` for what cancelling it means.
        """
        tool = self._tools[name]
        keywords = tool.parsed(arguments)
        if tool.takes_context:
            keywords[CONTEXT] = context
        if inspect.iscoroutinefunction(tool.function):
            return await _contained(tool.function(**keywords))
        result = await in_thread(lambda: tool.function(**keywords))
        return await _contained(result) if inspect.isawaitable(result) else result


async def _contained(work: Any) -> object:
    """What `work` comes to; whatever a tool raises, such as `sys.exit`, ends the tool and not the process."""
    try:
        return await work
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        raise contained(error) from error


def _origin(tool: AnyTool) -> str:
    return str(getattr(tool.function, "__module__", "an unknown module"))
