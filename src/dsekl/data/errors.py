"""What is wrong with a data file, and where."""

from __future__ import annotations

from .messages import Message


class DataFileError(ValueError):
    """A data file that cannot be used: one line that names the place, the column where there is one, and the reason.

    ``advice`` may name parameters in braces, as in ``Message``.
    """

    def __init__(self, where: object, reason: str, column: str | None = None, advice: str = "") -> None:
        text = f"{where}: {reason}" if column is None else f"{where}: column {column!r}: {reason}"
        self.message = Message(text, advice)
        super().__init__(str(self.message))
