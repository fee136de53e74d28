"""Ends a run whose driver holds the interpreter lock for ever, which nothing inside the process can do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

BEAT_S = 1.0
MARGIN_S = 15.0
"""How long beyond the time limit of a trial nothing may have moved; the alarms of a trial end earlier."""

_SCRIPT = Path(__file__).with_name("watching.py")


class Watchdog:
    """A process that waits for signs of life of this one; use it as a context manager.

    Parameters
    ----------
    limit_s : float
        Time limit of a trial.
    marker : Path
        Written before the run is killed: it holds the seconds for which nothing moved.
    """

    def __init__(self, limit_s: float, marker: Path) -> None:
        self._limit_s = limit_s + MARGIN_S
        self._marker = marker
        self._over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Watchdog:
        script, marker = str(_SCRIPT), str(self._marker.resolve())
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", script, str(os.getpid()), str(self._limit_s), marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            # out of reach of a Ctrl-C, which a terminal sends to a whole group of processes
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._beat, name="watchdog", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        process = self._process
        if process is not None and process.stdin is not None:
            with suppress(OSError):
                os.write(process.stdin.fileno(), b".")
            with suppress(OSError):
                process.stdin.close()
            process.wait()

    def _beat(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        descriptor = self._process.stdin.fileno()
        while not self._over.wait(BEAT_S):
            try:
                os.write(descriptor, b"+")
            except OSError:
                return
