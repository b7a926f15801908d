"""Two versions of the library side by side, measured in turns in one run.

DSEKL_DATA=... python benchmarks/versions.py OTHER/src [--rounds 3]

OTHER is a checkout of the version to compare with. Each measurement is a process of its own, after a small fit that
loads the compiled code. The two versions take turns; what counts is the median over the rounds of the ratio within a
round, since a busy moment hits both alike.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import publish, table

HERE = Path(__file__).parent.parent / "src"
TASKS = {
    "product": "kernel product, 10,000 x 10,000 x 54",
    "exact": "exact SVM, covertype, gamma 100, C 4",
    "defaults": "all defaults, covertype",
}


def product() -> dict[str, float]:
    """The product of ``benchmarks/gram.py``, of a fitted model that keeps every row."""
    from dsekl import DSEKLRegressor

    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 54)).astype(np.float32)
    model = DSEKLRegressor(gamma=1 / 54, max_epochs=1, tol=0.5, random_state=0).fit(X, rng.standard_normal(10_000))
    seconds = []
    for _ in range(15):
        started = perf_counter()
        model.predict(X)
        seconds.append(perf_counter() - started)
    return {"seconds": min(seconds), "error": float("nan")}


def covertype(exact: bool) -> dict[str, float]:
    """The fits of ``exact.py covertype`` and ``tables.py covertype``."""
    from tables import covertype_split

    from dsekl import DSEKLClassifier

    (X, y), (X_test, y_test) = covertype_split(0)
    model = DSEKLClassifier(random_state=0)
    if exact:
        least, most = np.minimum(X.min(axis=0), X_test.min(axis=0)), np.maximum(X.max(axis=0), X_test.max(axis=0))
        X, X_test = ((rows - least) / np.maximum(most - least, 1e-12) for rows in (X, X_test))
        model.set_params(gamma=100.0, C=4.0)
    DSEKLClassifier(**model.get_params()).fit(X[:9000], y[:9000]).predict(X_test)  # loads the compiled code
    started = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - started
    return {"seconds": seconds, "error": float(np.mean(model.predict(X_test) != y_test)), "epochs": model.n_iter_}


def measured(task: str, source: Path) -> dict[str, Any]:
    """Run one task on one version, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.fspath(source)}
    command = [sys.executable, __file__, os.fspath(source), "--task", task]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert Path(found["source"]).is_relative_to(source), found
    return found


def compare(other: Path, rounds: int) -> None:
    rows = []
    for task, words in TASKS.items():
        found: dict[Path, list[dict[str, Any]]] = {other: [], HERE: []}
        for _ in range(rounds if task != "product" else 3 * rounds):
            for source in (other, HERE):
                found[source].append(measured(task, source.resolve()))
                print(task, source, found[source][-1], flush=True)
        seconds = {source: np.array([one["seconds"] for one in each]) for source, each in found.items()}
        ratios = seconds[HERE] / seconds[other]
        errors = [f"{100 * each[0]['error']:.2f} %" if np.isfinite(each[0]["error"]) else "" for each in found.values()]
        spread = [f"{each.min():.3g} to {each.max():.3g}" for each in seconds.values()]
        rows.append([words, *spread, f"**{np.median(ratios):.2f}**", *errors])
    versions = [found[source][0]["version"] for source in (other, HERE)]
    publish(
        "Beside the version before",
        "DSEKL_DATA=... python benchmarks/versions.py OTHER/src",
        f"{versions[0]} and {versions[1]} in turns, {rounds} rounds (three times as many for the product); the ratio "
        "is the median of the ratios within a round.\n\n"
        + table(["", "before, s", "now, s", "now / before", "error before", "error now"], rows),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", choices=TASKS)
    asked = parser.parse_args()
    if asked.task is None:
        compare(asked.other, asked.rounds)
        return
    import dsekl

    found = product() if asked.task == "product" else covertype(exact=asked.task == "exact")
    print(json.dumps({**found, "source": dsekl.__file__, "version": dsekl.__version__}))


if __name__ == "__main__":
    main()
