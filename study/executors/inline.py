"""An executor that runs what it is given at once, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Inline(Executor):
    """Runs each call inside :meth:`submit`; its futures are always done."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function; its result or its exception is in the future that is returned.

        A ``KeyboardInterrupt`` or ``SystemExit`` is raised.
        """
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
