"""Whether the bar tells the time that is left: each fit's estimates, over what was left in truth.

DSEKL_DATA=... python benchmarks/time_left.py [FIT]...   # some two minutes

The clock is the process's CPU time, with one thread, so that a busy machine does not change what is found.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from report import publish, table
from timed_tasks import columns_table, covertype, halves, small_table, standard

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.models import fitting
from dsekl.runs import Progress

FROM = 0.1
"""Share of the fit from which on the bar is held to what it says."""


class Noting(Progress):
    """A bar that is not drawn, and notes what it would show."""

    last: Noting

    def __init__(self, *_: Any) -> None:
        super().__init__(False)
        self.begun, self.shown = process_time(), [(0.0, np.inf)]
        Noting.last = self

    @property
    def seconds(self) -> float:
        return process_time() - self.begun

    def show(self, left: float, words: str | None = None) -> None:
        self.shown.append((self.seconds, left))


def digits() -> Any:
    from sklearn.datasets import load_digits

    return halves(*load_digits(return_X_y=True), 1_300)


def few(data: Any, n: int) -> Any:
    return data[0][:n], data[1][:n]


FITS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "digits, 10 classes": (lambda: DSEKLClassifier(), digits),
    "3,000 x 57": (lambda: DSEKLClassifier(), small_table),
    "california, 3,000 rows": (lambda: DSEKLRegressor(), lambda: standard("california-housing", 3_000)),
    "california, 12,000 rows": (lambda: DSEKLRegressor(), lambda: standard("california-housing", 12_000)),
    "10,000 x 100": (lambda: DSEKLClassifier(), lambda: columns_table(100)),
    "covertype, 30,000 rows": (lambda: DSEKLClassifier(), lambda: few(covertype(False), 30_000)),
    "covertype, 60,000 rows, gamma 100, C 4": (
        lambda: DSEKLClassifier(gamma=100.0, C=4.0),
        lambda: few(covertype(True), 60_000),
    ),
    "california, gamma 0.5, C 10": (
        lambda: DSEKLRegressor(gamma=0.5, C=10.0),
        lambda: standard("california-housing", 12_000),
    ),
}


def ratios_of(make: Callable[[], Any], data: Any) -> tuple[float, list[float]]:
    """Return the seconds of a fit, and at each moment from a tenth of it on the time told over the time left."""
    X, y, *_ = data
    for n in (1_500, min(len(X), 9_000)):
        make().set_params(random_state=0, n_jobs=1).fit(X[:n], y[:n])
    make().set_params(random_state=0, n_jobs=1).fit(X, y)
    bar = Noting.last
    whole = bar.seconds
    # What stands on the bar a twentieth of the fit before its end is what anybody reads last.
    moments = np.linspace(FROM, 0.95, 86) * whole
    times = np.array([seconds for seconds, _ in bar.shown])
    standing = np.searchsorted(times, moments, side="right") - 1
    told = np.array([bar.shown[k][1] for k in standing]) - (moments - times[standing])
    return whole, [float(ratio) for ratio in np.maximum(told, 0.0) / (whole - moments)]


def main() -> None:
    warnings.simplefilter("ignore")
    fitting.Progress = Noting  # type: ignore[misc]
    rows = []
    for name in sys.argv[1:] or FITS:
        make, data = FITS[name]
        whole, ratios = ratios_of(make, data())
        within = float(np.mean([0.5 <= ratio <= 2.0 for ratio in ratios]))
        rows.append(
            [name, f"{whole:.1f}", f"{100 * within:.0f} %", *(f"{at:.2f}" for at in np.quantile(ratios, [0, 0.5, 1]))]
        )
        print(rows[-1], flush=True)
    publish(
        "The time left on the bar", "DSEKL_DATA=... python benchmarks/time_left.py",
        "From a tenth of a fit on to 95 % of it: how often the time left that stands on the bar is within a factor of "
        "two of the truth, and the smallest, the median and the largest ratio of the two.\n\n"
        + table(["fit", "CPU s", "within a factor of two", "least", "median", "most"], rows),
    )  # fmt: skip


if __name__ == "__main__":
    main()
