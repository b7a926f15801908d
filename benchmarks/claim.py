"""The picture of the claim: test error against seconds of training, on covertype.

DSEKL_DATA=... python benchmarks/claim.py measure [--again] [--only WORD] [--rows N --results FILE]
python benchmarks/claim.py draw [--results FILE] [--picture FILE]

``measure`` writes every point to one file as soon as it is known and skips those that are there, so that it may be
stopped and started again; nothing else should run meanwhile, and all of it takes some eight minutes on two cores.
``--again`` forgets the points first. The settings that were chosen for the rivals on training rows are kept as long as
the rivals' versions are the same. ``draw`` reads that file and nothing else; it writes the picture and the table of
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from cells import span, spread
from claim_picture import draw
from report import Section, publish_all, table

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "claim.json"
PICTURE = HERE.parent / "docs" / "claim.png"
SEEDS = (0, 1, 2)

# Measuring: what is run

Data = tuple[tuple[Any, Any], tuple[Any, Any]]
SVC_GRID = dict(gamma=(0.3, 0.6, 1.2), C=(1.0, 4.0, 16.0))
LANDMARK_GRID = dict(gamma=(0.02, 0.05, 0.1, 0.2), alpha=(1e-6,))
LEARNING_RATES = (0.1, 0.2, 0.3)
N_JUDGE = 10_000
"""Training rows on which settings are judged; other training rows, about as many as a model can take, are fitted."""


@dataclass(frozen=True)
class Task:
    """One point of the picture before it is measured."""

    series: str
    size: str
    seed: int
    rows: int | None
    make: Callable[[dict[str, Any]], Any]

    @property
    def name(self) -> str:
        return f"{self.series}, {self.size}, seed {self.seed}"


def svc(intel: bool, **settings: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if intel:
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    return make_pipeline(StandardScaler(), SVC(**settings))


class Landmarks:
    """scikit-learn's Nystroem on standardised columns, and its linear machine by averaged stochastic gradients.

    The features of all rows stand in one float32 array that is filled in parts: 3,000 of them take 7 GB, not 20.
    """

    def __init__(self, n_components: int, gamma: float, alpha: float, seed: int) -> None:
        self.n_components, self.gamma, self.alpha, self.seed = n_components, gamma, alpha, seed

    def fit(self, X: Any, y: Any) -> Landmarks:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import SGDClassifier
        from sklearn.preprocessing import StandardScaler

        self.scaler = StandardScaler().fit(X)
        self.map = Nystroem(gamma=self.gamma, n_components=self.n_components, random_state=self.seed)
        self.map.fit(self.scaler.transform(X))
        self.machine = SGDClassifier(alpha=self.alpha, average=True, max_iter=10, tol=None, random_state=self.seed)
        self.machine.fit(self._features(X), y)
        return self

    def _features(self, X: Any) -> Any:
        Z = np.empty((len(X), self.n_components), dtype=np.float32)
        for start in range(0, len(X), 20_000):
            part = slice(start, start + 20_000)
            Z[part] = self.map.transform(self.scaler.transform(X[part]))
        return Z

    def predict(self, X: Any) -> Any:
        return self.machine.predict(self._features(X))


def tasks() -> Iterator[Task]:
    """Yield all points. Those near the claim have three seeds, which are three splits of the rows as well."""
    from rivals import boosting

    from dsekl import DSEKLClassifier

    for seed in SEEDS:
        yield Task("dsekl", "all defaults", seed, None, lambda _, s=seed: DSEKLClassifier(random_state=s))
    for trees, leaves, seeds in ((100, 31, SEEDS), (300, 63, SEEDS), (1000, 255, SEEDS), (3000, 255, SEEDS[:1])):
        for seed in seeds:
            settings = dict(n_estimators=trees, num_leaves=leaves, random_state=seed)
            yield Task(
                "LightGBM", f"{trees:,} × {leaves} leaves", seed, None,
                lambda chosen, settings=settings: boosting(False, **settings, **chosen["LightGBM"]),
            )  # fmt: skip
    for series, intel, n in (
        ("scikit-learn SVC", False, 5_000), ("scikit-learn SVC", False, 10_000),
        ("scikit-learn-intelex SVC", True, 20_000), ("scikit-learn-intelex SVC", True, 50_000),
    ):  # fmt: skip
        yield Task(series, f"{n:,} rows", 0, n, lambda chosen, intel=intel: svc(intel, **chosen["SVC"]))
    for n in (300, 1000):
        yield Task(
            "Nyström + linear SVM", f"{n:,} landmarks", 0, None,
            lambda chosen, n=n: Landmarks(n, seed=0, **chosen["Nyström"]),
        )  # fmt: skip


def candidates() -> dict[str, tuple[dict[str, Any], int, Callable[..., Any]]]:
    """Return what is chosen on training rows: the values to try, how many rows to fit, and the model."""
    from rivals import boosting

    try:
        import sklearnex  # noqa: F401

        intel = True  # the same machine as scikit-learn's, found sooner
    except ImportError:
        intel = False
    return {
        "SVC": (SVC_GRID, 20_000, lambda **some: svc(intel, **some)),
        "Nyström": (LANDMARK_GRID, 20_000, lambda **some: Landmarks(1000, seed=0, **some)),
        "LightGBM": (
            dict(learning_rate=LEARNING_RATES), 100_000,
            lambda **some: boosting(False, n_estimators=1000, num_leaves=255, random_state=0, **some),
        ),
    }  # fmt: skip


# Measuring: how it is run


def choose(name: str, train: tuple[Any, Any]) -> dict[str, Any]:
    """Return the rival's best setting on training rows, all errors that were compared, and how many rows there were."""
    values, n_fit, make = candidates()[name]
    n_judge = min(N_JUDGE, len(train[0]) // 2)
    n_fit = min(n_fit, len(train[0]) - n_judge)
    X, y = train
    tried = []
    for some in product(*values.values()):
        setting = dict(zip(values, some, strict=True))
        model = make(**setting).fit(X[:n_fit], y[:n_fit])
        tried.append(dict(setting, error=error(model, (X[-n_judge:], y[-n_judge:]))))
        print("  choosing", name, tried[-1], flush=True)
    best = min(tried, key=lambda entry: entry["error"])
    setting = {key: best[key] for key in values}
    return dict(setting=setting, rows_to_fit=n_fit, rows_to_judge=n_judge, tried=tried)


def error(model: Any, test: tuple[Any, Any]) -> float:
    return float(np.mean(model.predict(test[0]) != test[1]))


def run(task: Task, chosen: dict[str, Any], data: Data) -> dict[str, Any]:
    """Fit once; return the point, and for dsekl the error after every epoch, whose predictions take no time here."""
    (X, y), test = data
    X, y = X[: task.rows], y[: task.rows]
    model = task.make(chosen)
    curve: list[dict[str, float]] = []
    watching = 0.0

    def watch(report: Any) -> None:
        nonlocal watching
        now = perf_counter()
        point = dict(epoch=report.record["epoch"], seconds=now - start - watching, error=error(report.model(), test))
        curve.append(point)
        watching += perf_counter() - now

    if task.series == "dsekl":
        model.set_params(callbacks=[watch])
    start = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - start - watching
    found = dict(
        name=task.name, series=task.series, size=task.size, seed=task.seed, setting=setting_of(model), rows=len(X),
        seconds=seconds, error=error(model, test),
    )  # fmt: skip
    return dict(found, curve=curve) if curve else found


def setting_of(model: Any) -> dict[str, Any]:
    """Return what differs from the defaults, in words that JSON has."""
    if isinstance(model, Landmarks):
        return dict(n_components=model.n_components, gamma=model.gamma, alpha=model.alpha)
    last = model[-1] if hasattr(model, "steps") else model
    defaults = type(last)().get_params()
    changed = {key: value for key, value in last.get_params().items() if value != defaults.get(key)}
    return {key: value for key, value in changed.items() if isinstance(value, int | float | str)}


def surroundings(n_train: int, n_test: int) -> dict[str, Any]:
    """Return what all points of a file must share."""
    names = ("dsekl", "numpy", "scikit-learn", "scikit-learn-intelex", "lightgbm", "numba")
    return dict(
        machine=dict(cores=os.cpu_count(), architecture=platform.machine()),
        versions=dict(python=platform.python_version(), **{name: version(name) for name in names}),
        data=dict(
            name="covertype", task="class 2 against the rest", training_rows=n_train, test_rows=n_test,
            split="the permutation of numpy's default_rng(seed): 20,000 to test, 1,122 left out, the rest to train",
        ),
    )  # fmt: skip


def write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def begun(old: dict[str, Any], around: dict[str, Any], again: bool, only: str) -> dict[str, Any]:
    """Return what of the old results stays: all of it, or with ``again`` what is not measured anew."""
    if not again:
        return old
    if only:
        return dict(old, points=[point for point in old["points"] if only not in point["name"]])
    rivals = ("scikit-learn", "scikit-learn-intelex", "lightgbm")
    same = old["data"] == around["data"] and all(old["versions"][name] == around["versions"][name] for name in rivals)
    return dict(around, chosen=old["chosen"] if same else {}, points=[])


def measure(path: Path, again: bool, n_rows: int | None, only: str) -> None:
    from tables import covertype_split, warm_up

    warnings.simplefilter("ignore")
    held: tuple[int, Data] | None = None

    def split(seed: int) -> Data:
        nonlocal held
        if held is None or held[0] != seed:
            (X, y), test = covertype_split(seed)
            held = seed, ((X[:n_rows], y[:n_rows]), test)
        return held[1]

    train, test = split(0)
    around = surroundings(len(train[0]), len(test[0]))
    old = json.loads(path.read_text()) if path.exists() else dict(around, chosen={}, points=[])
    results = begun(old, around, again, only)
    different = [key for key, value in around.items() if results[key] != value]
    if different:
        raise SystemExit(f"{path} has points with another {' and '.join(different)}: give --again, or --results FILE")
    for name in candidates():
        if name not in results["chosen"]:
            results["chosen"][name] = choose(name, train)
            write(path, results)
    settings = {name: found["setting"] for name, found in results["chosen"].items()}
    done = {point["name"] for point in results["points"]}
    left = [
        task for task in sorted(tasks(), key=lambda task: task.seed)  # so that each split is made once
        if only in task.name and task.name not in done and (task.rows or 0) <= len(train[0])
    ]  # fmt: skip
    if any(task.series == "dsekl" for task in left):
        warm_up()
    for task in left:
        point = run(task, settings, split(task.seed))
        print(f"  {point['name']}: {point['seconds']:.1f} s, {100 * point['error']:.2f} %", flush=True)
        results["points"].append(point)
        write(path, results)


# The table


def sections() -> Iterator[Section]:
    """Yield the section that is made from the points."""
    results = json.loads(RESULTS.read_text())
    sizes: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for point in results["points"]:
        sizes.setdefault((point["series"], point["size"]), []).append(point)
    rows = [
        [series, size, f"{some[0]['rows']:,}", spread([100 * point["error"] for point in some], 2),
         span([point["seconds"] for point in some]), len(some)]
        for (series, size), some in sizes.items()
    ]  # fmt: skip
    data, version = results["data"], results["versions"]["dsekl"]
    yield Section(
        "Covertype, defaults", "DSEKL_DATA=... python benchmarks/claim.py measure; python benchmarks/claim.py draw",
        f"Class 2 against the rest, {data['training_rows']:,} raw rows, no scaling; {data['test_rows']:,} test rows; "
        f"dsekl {version}. The seconds of dsekl are for all of feature weights, width, C and fit; those that choose "
        "the rivals' settings are not counted. ± is the standard deviation over seeds, which are splits as well.\n\n"
        + table(["model", "", "rows", "test error, %", "fit, s", "seeds"], rows),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["measure", "draw"])
    parser.add_argument("--results", type=Path, default=RESULTS, help="the file of all points")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where draw puts the picture")
    parser.add_argument("--again", action="store_true", help="measure what has been measured once more")
    parser.add_argument("--only", default="", metavar="WORD", help="measure the points with WORD in their names")
    parser.add_argument("--rows", type=int, help="train on the first N rows: a trial, needs another --results")
    given = parser.parse_args()
    if given.verb == "draw":
        draw(given.results, given.picture)
        if given.results == RESULTS:
            publish_all(sections())
    elif given.rows and given.results == RESULTS:
        parser.error("--rows needs a --results of its own: the picture is of all rows")
    else:
        measure(given.results, given.again, given.rows, given.only)


if __name__ == "__main__":
    main()
