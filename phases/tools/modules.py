"""Loads tools from Python files that lie beside the configuration file (`[tools] modules`).

Owns the search and the import. Does not know what the tools do. Invariant: a module that cannot be used stops
the start with one sentence that names it; nothing half loaded is ever registered.
"""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from phasewalk.machine.errors import ConfigurationError
from phasewalk.phases.tools.declare import Tool
from phasewalk.phases.tools.registry import AnyTool, Registry

_PREFIX = "phasewalk_tools_from_"
"""Keeps a file called `calendar.py` apart from the standard library's module of that name."""


def load_modules(names: Sequence[str], folder: Path) -> Registry:
    """The tools of these modules, each `NAME.py` or `NAME/__init__.py` in `folder`; dots mean sub-folders.

    Raises `ConfigurationError` naming the module for one that is missing, fails to import, declares no tool,
    or declares one that cannot be used.
    """
    return Registry(tool for name in names for tool in _tools_of(name, folder))


def _tools_of(name: str, folder: Path) -> list[AnyTool]:
    module = _imported(name, _file_of(name, folder), folder)
    found = [value for value in vars(module).values() if isinstance(value, Tool)]
    own = [tool for tool in found if _belongs(tool, module)]
    if not own:
        raise ConfigurationError(f"tool module {name!r} declares no tool; decorate a function with @tool(family=...)")
    return own


def _belongs(tool: AnyTool, module: ModuleType) -> bool:
    """Whether it was declared here or below, and not only imported from another module."""
    origin = str(getattr(tool.function, "__module__", ""))
    return origin == module.__name__ or origin.startswith(module.__name__ + ".")


def _file_of(name: str, folder: Path) -> Path:
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        raise ConfigurationError(f"tool module {name!r} is not a module name; accepted is 'my_tools' for my_tools.py")
    base = folder.joinpath(*parts)
    for path in (base.with_suffix(".py"), base / "__init__.py"):
        if path.is_file():
            return path
    raise ConfigurationError(f"tool module {name!r} was not found: neither {base}.py nor {base}/__init__.py exists")


def _imported(name: str, path: Path, folder: Path) -> ModuleType:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that its neighbours can be imported and shadow nothing
    full_name = _PREFIX + name.replace(".", "_")
    packages = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(full_name, path, submodule_search_locations=packages)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"tool module {name!r} ({path}) is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[full_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[full_name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise _failed(name, path, error) from error
    return module


def _failed(name: str, path: Path, error: BaseException) -> ConfigurationError:
    said = " ".join(str(error).split()) or "no message"
    if isinstance(error, ConfigurationError):
        return ConfigurationError(f"tool module {name!r} ({path}): {said}")
    return ConfigurationError(f"tool module {name!r} ({path}) cannot be imported: {type(error).__name__}: {said}")
