"""Signals that ask a command to end: all of them do what Ctrl-C does.

``dsekl fit`` writes the current model, every command removes its drafts, and the exit code is 128 and the signal's
number, as shells have it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT
"""The exit code of a command that Ctrl-C has stopped."""

REQUESTS = (signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGTERM,)
"""From the system or a batch queue, and from a terminal that is closed."""


PAUSE = 0.05
"""Seconds until a request that got lost is repeated."""


class Request:
    """The signal that asked the command to end, if there was one."""

    def __init__(self) -> None:
        self.number: int | None = None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Do what Ctrl-C would do now."""
        self.number = number
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if callable(on_ctrl_c):
            on_ctrl_c(signal.SIGINT, frame)
        else:  # Ctrl-C is ignored, as it is for jobs in the background
            raise KeyboardInterrupt

    def repeat(self, lost: sys.UnraisableHookArgs) -> None:
        """Ask once more, a little later, if an exception got lost in a callback: compilers have such."""
        if lost.exc_type is KeyboardInterrupt:
            threading.Timer(PAUSE, os.kill, (os.getpid(), self.number or signal.SIGINT)).start()
        else:
            sys.__unraisablehook__(lost)

    def exit_code(self, code: int) -> int:
        """Return the exit code, which tells the signal where there was one."""
        return 128 + self.number if code == INTERRUPTED and self.number is not None else code


class BetweenRows:
    """Holds Ctrl-C back while a row is learned from; it comes at once while the command waits for the next.

    ``with between_rows.holding(): ...`` is a row. The second Ctrl-C within one is let through.
    """

    def __init__(self) -> None:
        self._busy = self._pending = False

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Take Ctrl-C over within the block; what somebody else has set is left alone."""
        in_main_thread = threading.current_thread() is threading.main_thread()
        taken = in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if taken:
            signal.signal(signal.SIGINT, self._note)
        try:
            yield
        finally:
            if taken:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Do something whole."""
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
            if self._pending:
                self._pending = False
                raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._busy and not self._pending:
            self._pending = True
        else:
            raise KeyboardInterrupt


@contextmanager
def heeded(request: Request) -> Iterator[None]:
    """Note requests within the block. What somebody else has set, or ignores, is left alone."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    taken = [number for number in REQUESTS if in_main_thread and signal.getsignal(number) is signal.SIG_DFL]
    hook = sys.unraisablehook
    for number in taken:
        signal.signal(number, request.note)
    sys.unraisablehook = request.repeat
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
