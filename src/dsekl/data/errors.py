"""What is wrong with a data file, and where."""

from __future__ import annotations

from typing import Any

from .messages import Message

LONGEST_QUOTE = 80
"""Characters of a name or a field that an error quotes."""


class DataFileError(ValueError):
    """A data file that cannot be used: one line that names the place, the column where there is one, and the reason.

    ``advice`` may name parameters in braces, as in ``Message``.
    """

    def __init__(self, where: object, reason: str, column: str | None = None, advice: str = "") -> None:
        text = f"{where}: {reason}" if column is None else f"{where}: column {quoted(column)}: {reason}"
        self.message = Message(text, advice)
        super().__init__(str(self.message))

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are made again of what they print, and this one of its parts.
        return _made_again, (self.message,)


def _made_again(message: Message) -> DataFileError:
    error = DataFileError("", "")
    error.message, error.args = message, (str(message),)
    return error


def quoted(text: str) -> str:
    """Return a name or a field in quotes; of a long one, the beginning."""
    return repr(text) if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]!r}..."
