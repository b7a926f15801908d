"""Messages to the user, with advice that names parameters.

In Python the advice names a parameter of ``Options``, ``open_table`` or ``write_folder``; the command line
puts its options there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARAMETERS = (
    "target", "task", "categorical", "numeric", "ignore", "max_categories", "header", "delimiter", "decimal",
    "day_first", "dtype",
)  # fmt: skip
"""What an advice may name."""


@dataclass(frozen=True)
class Message:
    """A text, and an advice that follows it, with parameters in braces: ``"; set {target}"``."""

    text: str
    advice: str = ""

    def with_names(self, names: Mapping[str, str]) -> str:
        """Return the message with the parameters under other names."""
        return self.text + self.advice.format_map(names)

    def __str__(self) -> str:
        return self.with_names({name: f"{name}=..." for name in PARAMETERS})
