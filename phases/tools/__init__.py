"""Tools: how one is declared, and those that ship. `tool` is what a module of an operator imports."""

from phasewalk.phases.tools.declare import tool

__all__ = ["tool"]
