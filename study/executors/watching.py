"""Watches a run from outside: a script of its own, because a held interpreter lock stops every thread inside.

Run as ``python -I -S watching.py PID LIMIT_S MARKER``. It reads beats on its standard input. When none has
come for ``LIMIT_S`` seconds it writes the marker file, says why on the error stream, and kills its parent.
"""

import os
import select
import signal
import sys
import time

SECOND_LOOK_S = 2.0
END = b"."


def main(parent: int, limit_s: float, marker: str) -> None:
    """Wait for beats until the parent says that it ends, or is gone, or stands still."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    last = time.monotonic()
    wait_s = limit_s
    while os.getppid() == parent:
        ready = select.select([0], [], [], wait_s)[0]
        if ready:
            data = os.read(0, 4096)
            if not data or END in data:
                return
            last, wait_s = time.monotonic(), limit_s
        elif wait_s == limit_s:
            # after a pause of the whole machine, or of this job, beats come before a second look
            wait_s = SECOND_LOOK_S
        else:
            _end(parent, time.monotonic() - last, marker)
            return


def _end(parent: int, elapsed_s: float, marker: str) -> None:
    with open(marker, "w", encoding="utf-8") as stream:
        stream.write(f"{elapsed_s:.3f}\n")
    os.kill(parent, signal.SIGKILL)
    message = (
        f"error: a driver has held the Python interpreter for {elapsed_s:.0f} s and cannot be interrupted; "
        "the run was ended\n"
        "  next: repeat the command to go on, with --executor process to lose only that trial; "
        "every finished trial is kept\n"
    )
    os.write(2, message.encode())


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
