"""Ctrl-C, held back until a step is whole.

A step writes coefficients first and their predictions later; an exception between the two would leave a state that is
neither before the step nor after it. Nor may it come while Numba takes an argument that is a function: the exception is
then lost, and another one raised in its place.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Interrupted(KeyboardInterrupt):
    """Ctrl-C that was held back, raised where the state is whole."""


class HeldInterrupts:
    """Notes the first Ctrl-C in ``pending``; the second is let through at once. Used as a context manager.

    The first one is never lost: the end of the block raises ``Interrupted``, whatever the block has come to. Handlers
    belong to the main thread, and one that somebody else has set is left alone.
    """

    def __init__(self) -> None:
        self.pending = False
        self._held = False

    def __enter__(self) -> HeldInterrupts:
        in_main_thread = threading.current_thread() is threading.main_thread()
        if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._note)
            self._held = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.pending and kind is None:
            raise Interrupted("stopped by Ctrl-C")

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.pending:
            raise KeyboardInterrupt
        self.pending = True
