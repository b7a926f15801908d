"""What is wrong with a data file, and where."""

from __future__ import annotations


class DataFileError(ValueError):
    """A data file that cannot be used: one line that names the place, the column where there is one, and the reason."""

    def __init__(self, where: object, reason: str, column: str | None = None) -> None:
        self.where, self.reason, self.column = str(where), reason, column
        super().__init__(f"{where}: {reason}" if column is None else f"{where}: column {column!r}: {reason}")
