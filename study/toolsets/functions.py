"""A toolset made of plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from study.digest import canonical
from study.driver import ToolError, ToolResult
from study.errors import DriverError, did_you_mean


class FunctionToolset:
    """Tools given as ``{tool name: function}``; arguments are passed by keyword.

    A function may return a :class:`study.driver.ToolResult`, None (an empty text), text, or any other JSON
    value: the value is the result, and its compact JSON the text. It raises
    :class:`study.driver.ToolError` to answer that it has no answer; other exceptions are bugs.

    Parameters
    ----------
    functions : mapping of str to callable
    where : str
        The place to name in errors.

    Raises
    ------
    DriverError
        When there is no tool, a name is no text, or a tool is no ordinary function.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]], where: str = "toolset") -> None:
        if not functions:
            raise DriverError("the mapping of tools is empty", where=where, allowed="{tool name: function}")
        for name, function in functions.items():
            _check_function(name, function, where)
        self._functions = dict(functions)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that :meth:`dispatch` can run."""
        return tuple(self._functions)

    def dispatch(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Run one tool (see the class).

        Raises
        ------
        ToolError
            For an unknown name, or from the tool itself.
        TypeError
            When a tool returns something that is no JSON value.
        """
        function = self._functions.get(name)
        if function is None:
            raise ToolError(f"there is no tool {name!r}{did_you_mean(str(name), self._functions)}")
        value = function(**arguments)
        if isinstance(value, ToolResult):
            return value
        if value is None:
            return ToolResult(ok=True)
        return ToolResult(ok=True, text=_text(name, value), result=value)


def _check_function(name: object, function: object, where: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise DriverError(f"the tool name {name!r}", where=where, allowed="text that is not blank")
    if not callable(function):
        raise DriverError(
            f"the tool {name!r} is of type {type(function).__name__}", where=where, allowed="a function"
        )
    if inspect.iscoroutinefunction(function):
        raise DriverError(
            f"the tool {name!r} is async",
            where=where,
            allowed="an ordinary function",
            next_step="run the event loop inside the tool, e.g. with asyncio.run",
        )


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return canonical(value).decode("utf-8")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the tool {name!r} returned something of type {type(value).__name__}: {error}"
        ) from error
