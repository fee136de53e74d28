"""A Dask scheduler by its address: whether that can be one, and whether one answers."""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

from study.errors import InputError, RunError

_ADDRESS = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)):(?P<port>[0-9]{1,5})"
)
_LOGGERS = ("distributed", "tornado", "asyncio")


def check_cluster(address: str | None) -> None:
    """Refuse an address that cannot be one, and a machine without Dask.

    Parameters
    ----------
    address : str or None
        ``HOST:PORT``; None stands for a local cluster.

    Raises
    ------
    InputError
    """
    if address is not None:
        _split(address)
    if find_spec("distributed") is None:
        raise InputError(
            "the executor dask needs the package distributed",
            where="--executor",
            next_step="pip install 'driver-study[dask]'",
        )


def _split(address: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 2**16:
        raise InputError(
            f"the address {address!r}",
            where="--executor",
            allowed="dask://HOST:PORT of a Dask scheduler, as dask://10.0.0.5:8786",
        )
    return found["six"] or found["name"], int(found["port"])


def ask_scheduler(address: str, limit_s: float) -> None:
    """Wait until a scheduler says what it is.

    Parameters
    ----------
    address : str
        ``HOST:PORT``.
    limit_s : float
        Seconds.

    Raises
    ------
    RunError
        When none answers in time.

    Notes
    -----
    A client of Dask waits for ever on something that listens and says nothing, and complains on the
    terminal about something that speaks another protocol.
    """
    try:
        # in a thread, since the caller may have an event loop of its own
        with ThreadPoolExecutor(1) as thread:
            kind = thread.submit(asyncio.run, _identity(*_split(address), limit_s)).result()
    except Exception as error:
        reason = "" if _is_late(error) else f": {in_words(error)}"
        raise RunError(
            f"no Dask scheduler answers within {limit_s:g} s{reason}",
            where=f"dask://{address}",
            allowed="dask://HOST:PORT of a running scheduler",
            next_step="start it, or use dask for a local cluster",
        ) from None
    if kind != "Scheduler":
        raise RunError(
            f"what answers is no Dask scheduler but a {kind!r:.40}",
            where=f"dask://{address}",
            next_step="use the address that the scheduler printed when it started",
        )


async def _identity(host: str, port: int, limit_s: float) -> str:
    from distributed.core import (  # pyright: ignore[reportMissingTypeStubs]
        rpc,  # pyright: ignore[reportUnknownVariableType]
    )

    await asyncio.get_running_loop().getaddrinfo(host, port)
    named = f"[{host}]" if ":" in host else host

    async def ask() -> str:
        scheduler: Any
        async with rpc(f"tcp://{named}:{port}") as scheduler:
            return str((await scheduler.identity())["type"])

    return await asyncio.wait_for(ask(), limit_s)


def _is_late(error: Exception) -> bool:
    return isinstance(error, TimeoutError) and not str(error)


def in_words(error: BaseException) -> str:
    """Return kind and text of an error of Dask's, on one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}".rstrip(": ")


def silence() -> dict[str, int]:
    """Keep Dask's own log from the terminal: what matters is told as an error; return the levels before."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGERS]
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return levels


def restore(levels: dict[str, int]) -> None:
    """Set the levels again that :func:`silence` returned."""
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
