"""Progressive scores: every row is predicted before it is learned from, so all rows are test rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MOST_ROWS = 2**62

LARGEST_SUM = 1e300
"""Of scores: far more than a stream of numbers up to 1e150 has."""

RECENT = 0.999
"""Share that the recent score keeps with each row: about the last thousand count."""


@dataclass
class Scores:
    """Counts and sums over the rows so far; the model that repeats the last target is the line to beat."""

    task: str
    rows: int = 0
    wrong: int = 0
    repeated_wrong: int = 0
    error: float = 0.0
    squares: float = 0.0
    repeated_error: float = 0.0
    recent: float = 0.0
    recent_weight: float = 0.0
    last: Any = None

    @staticmethod
    def new(task: str) -> Scores:
        return Scores(task)

    @staticmethod
    def of(task: str, saved: Any) -> Scores:
        """Return the scores that ``to_dict`` described; ValueError if it never did."""
        scores = Scores(task)
        if not isinstance(saved, dict) or set(saved) != set(asdict(scores)) or saved["task"] != task:
            raise ValueError("its scores are not those of such a stream")
        for name in ("rows", "wrong", "repeated_wrong"):
            setattr(scores, name, count_of(saved, name))
        for name in ("error", "squares", "repeated_error", "recent", "recent_weight"):
            value = saved[name]
            if type(value) not in (int, float) or not 0 <= value <= LARGEST_SUM:
                raise ValueError(f"its score {name} is {value!r:.40}")
            setattr(scores, name, float(value))
        scores.last = saved["last"]
        kind = str if task == "classification" else float
        if not isinstance(scores.last, kind | None) or scores.last in (math.inf, -math.inf):
            raise ValueError(f"its last target is {scores.last!r:.40}")
        if scores.wrong > scores.rows or scores.repeated_wrong > scores.rows:
            raise ValueError(f"{scores.wrong} wrong rows are more than {scores.rows}")
        return scores

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)

    def add(self, y: Any, predicted: Any) -> None:
        """Count a row; a prediction or a last target of None is no guess, and wrong."""
        self.rows += 1
        if self.task == "classification":
            loss = float(predicted != y)
            self.wrong += int(predicted != y)
            self.repeated_wrong += int(self.last != y)
        else:
            loss = abs(y - predicted)
            self.error += loss
            self.squares += loss * loss
            self.repeated_error += abs(y - (0.0 if self.last is None else self.last))
        self.recent = RECENT * self.recent + loss
        self.recent_weight = RECENT * self.recent_weight + 1.0
        self.last = y

    def figures(self) -> dict[str, Any]:
        """Return the scores by name."""
        n = max(1, self.rows)
        recent = self.recent / self.recent_weight if self.recent_weight else math.nan
        if self.task == "classification":
            return {
                "rows": self.rows,
                "accuracy": 1 - self.wrong / n,
                "recent accuracy": 1 - recent,
                "accuracy of repeating the last label": 1 - self.repeated_wrong / n,
            }
        return {
            "rows": self.rows,
            "mean absolute error": self.error / n,
            "recent mean absolute error": recent,
            "root mean squared error": math.sqrt(self.squares / n),
            "mean absolute error of repeating the last target": self.repeated_error / n,
        }


def count_of(progress: Mapping[str, Any], name: str) -> int:
    """Return a count of a model file; ValueError where it is none."""
    value = progress.get(name)
    if type(value) is not int or not 0 <= value < MOST_ROWS:
        raise ValueError(f"its count of {name} is {value!r:.40}")
    return value
