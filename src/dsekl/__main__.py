"""The commands ``dsekl`` and ``python -m dsekl``: a process of its own around the command line.

What a process has and a function must not touch is set here: streams that were closed, their encoding, the width of
lines, and how Ctrl-C ends the process while the command line is loaded, which takes some tenths of a second.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import warnings
from typing import NoReturn

FEWEST_COLUMNS = 20


def main() -> NoReturn:
    """Run the command line and leave with its exit code."""
    heeds_ctrl_c = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a job in the background does not
    if heeds_ctrl_c:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends the process at once, and no import prints a traceback
    _open_closed_streams()
    _encode_everything()
    _forget_odd_width()
    # On a full disk joblib says so when it is imported, though nothing here uses its processes.
    warnings.filterwarnings("ignore", message=".*joblib will operate in serial mode", category=UserWarning)
    from dsekl.cli import main as run

    try:
        if heeds_ctrl_c:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        _leave(128 + signal.SIGINT)
    except SystemExit as stop:
        if isinstance(stop.code, int) and stop.code > 128:
            _leave(stop.code)
        raise
    finally:
        if heeds_ctrl_c:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _leave(code: int) -> NoReturn:
    """End the process with the exit code of a signal, whatever Python makes of it.

    Python 3.11 ends with SIGINT wherever an interrupt has once passed through code that was made from a text, as the
    methods of dataclasses are while they are imported, although it was handled since.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    """Open the null device for standard streams that the caller has closed.

    Otherwise the next file that is opened would get the number of a standard stream, and whatever prints would write
    into it. In this order each stream gets its own number, the lowest that is free.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 (open as long as the process runs)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _encode_everything() -> None:
    """Make standard output take every letter: files and pipes get UTF-8, a terminal escapes what it cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def _forget_odd_width() -> None:
    """Leave the width to the terminal where COLUMNS has no room for a word."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) < FEWEST_COLUMNS:
        del os.environ["COLUMNS"]


if __name__ == "__main__":
    main()
