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
        try:
            return Finished(fn(*args, **kwargs))
        except Exception as error:
            return Finished(None, error)


class Finished(Future[Any]):
    """A future that was never pending: it needs none of the locks that make one expensive."""

    def __init__(self, result: Any, error: BaseException | None = None) -> None:
        self._outcome = result
        self._error = error

    def result(self, timeout: float | None = None) -> Any:
        """Return the result, or raise the exception."""
        if self._error is not None:
            raise self._error
        return self._outcome

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the exception, None without one."""
        return self._error

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Call a function with this future, at once."""
        fn(self)

    def cancel(self) -> bool:
        """Return False: it is done."""
        return False

    def cancelled(self) -> bool:
        """Return False: it is done."""
        return False

    def running(self) -> bool:
        """Return False: it is done."""
        return False

    def done(self) -> bool:
        """Return True."""
        return True
