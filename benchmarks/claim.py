"""The picture of the claim: test error against seconds of training, on covertype.

DSEKL_DATA=... python benchmarks/claim.py measure [--again] [--only WORD] [--rows N --results FILE]
python benchmarks/claim.py draw [--results FILE] [--picture FILE]

``measure`` writes every point to one file as soon as it is known and skips those that are there, so that it may be
stopped and started again; nothing else should run meanwhile. ``draw`` reads that file and nothing else.
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
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dsekl.experiments.plots import PALETTE

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "claim.json"
PICTURE = HERE.parent / "docs" / "claim.png"
SEEDS = (0, 1, 2)
PAPER = dict(error=0.1334, epochs=54)
"""Steenbergen, Schelter and Biessmann (2016), section 4.2: the error on 20,000 evaluation rows, after convergence. The
paper gives no seconds for it. Its 17 % after one pass is an error on other rows, 1,122 for validation: not drawn."""


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
    for trees, leaves in ((100, 31), (300, 63), (1000, 255), (3000, 255)):
        for seed in SEEDS:
            settings = dict(n_estimators=trees, num_leaves=leaves, random_state=seed)
            yield Task(
                "LightGBM", f"{trees:,} × {leaves} leaves", seed, None,
                lambda chosen, settings=settings: boosting(False, **settings, **chosen["LightGBM"]),
            )  # fmt: skip
    for series, intel, n in (
        ("scikit-learn SVC", False, 10_000), ("scikit-learn SVC", False, 20_000),
        ("scikit-learn-intelex SVC", True, 20_000), ("scikit-learn-intelex SVC", True, 50_000),
    ):  # fmt: skip
        yield Task(series, f"{n:,} rows", 0, n, lambda chosen, intel=intel: svc(intel, **chosen["SVC"]))
    for n in (1000, 3000):
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
    results: dict[str, Any] = dict(**around, chosen={}, points=[])
    if path.exists():
        old = json.loads(path.read_text())
        if not again:
            results = old
        elif only:
            results = dict(old, points=[point for point in old["points"] if only not in point["name"]])
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


# Drawing

INK, MUTED, GRID, PAGE = "#23272e", "#666d78", "#e8e6e1", "#fdfcfa"
STYLES = {
    "dsekl": dict(color=PALETTE["red"], marker="o"),
    "LightGBM": dict(color=PALETTE["blue"], marker="s"),
    "scikit-learn-intelex SVC": dict(color="#1f7d63", marker="D"),
    "scikit-learn SVC": dict(color="#8a5a00", marker="^"),
    "Nyström + linear SVM": dict(color="#8a4f8a", marker="v"),
}
"""The palette's colours, three of them darker, as words are written in them."""


def means(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each size, the fastest first: the means over its seeds, and the seeds."""
    sizes: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        sizes.setdefault(point["size"], []).append(point)
    entries = [
        dict(size=size, seconds=np.mean([p["seconds"] for p in some]), error=np.mean([p["error"] for p in some]),
             points=some)
        for size, some in sizes.items()
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: entry["seconds"])


def middle_run(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run whose last error is the median of all: neither the best seed nor the worst."""
    return sorted(points, key=lambda point: point["error"])[len(points) // 2]


class Labels:
    """Texts beside points: each takes the place round its point where it covers least of what was drawn before."""

    PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
    MARGIN = 3
    """Pixels round a text that others leave free."""

    def __init__(self, ax: Any) -> None:
        self.ax, self.figure = ax, ax.figure
        self.taken: list[Any] = []

    def avoid(self, x: Any, y: Any, radius: float = 5, ends: float = 14) -> None:
        """Keep texts off the line through these points, and off the marks on it."""
        corners = self.ax.transData.transform(np.column_stack([x, y]))
        self.taken += [square(corner, ends) for corner in corners]
        for a, b in pairwise(corners):
            steps = max(2, int(np.hypot(*(b - a)) / radius))
            self.taken += [square(spot, radius) for spot in a + np.linspace(0, 1, steps)[:, None] * (b - a)]

    def put(self, texts: str | tuple[str, ...], at: Any, first: Any = (), **style: Any) -> None:
        """Draw one of ``texts`` (wordings of the same) at one of the points ``at``, in the ``first`` places if free."""
        texts = (texts,) if isinstance(texts, str) else texts
        renderer = self.figure.canvas.get_renderer()
        frame = self.ax.get_window_extent(renderer)
        best: tuple[float, Any] | None = None
        places = list(dict.fromkeys((*first, *self.PLACES)))
        for text, spot, distance, (right, up) in product(texts, at, (7, 11, 16, 24), places):
            away = distance if right == 0 or up == 0 else 0.7 * distance
            label = self.ax.annotate(
                text, spot, xytext=(away * right, away * up), textcoords="offset points",
                ha=("center", "left", "right")[right], va=("center", "bottom", "top")[up], **style,
            )  # fmt: skip
            box = label.get_window_extent(renderer)
            wide = type(box).from_extents(*(box.min - self.MARGIN), *(box.max + self.MARGIN))
            outside = wide.width * wide.height - overlap(wide, frame)
            covered = sum(overlap(wide, other) for other in self.taken) + 10 * outside
            cost = covered + 12 * distance + 15 * places.index((right, up)) + 40 * texts.index(text)
            if best is not None and cost >= best[0]:
                label.remove()
                continue
            if best is not None:
                best[1].remove()
            best = cost, label
        assert best is not None
        self.taken.append(best[1].get_window_extent(renderer))


def square(centre: Any, radius: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(*(centre - radius), *(centre + radius))


def overlap(a: Any, b: Any) -> float:
    """Return the area that two boxes share."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return float(max(width, 0) * max(height, 0))


def between(values: Any, form: str) -> str:
    """Return the least and the greatest, as one where they print alike."""
    return " to ".join(dict.fromkeys(format(float(value), form) for value in (min(values), max(values))))


def draw(path: Path, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    results = json.loads(path.read_text())
    data, points = results["data"], results["points"]
    plt.rcParams.update(
        {"font.family": "DejaVu Sans", "font.size": 10, "svg.fonttype": "path", "svg.hashsalt": "dsekl"}
    )
    figure, ax = plt.subplots(figsize=(9, 5.9), dpi=200)
    figure.subplots_adjust(left=0.085, right=0.965, top=0.84, bottom=0.18)
    figure.patch.set_alpha(0)
    card = FancyBboxPatch(
        (0.012, 0.012), 0.976, 0.976, boxstyle="round,pad=0,rounding_size=0.02", transform=figure.transFigure,
        facecolor=PAGE, edgecolor="#dcd9d2", linewidth=0.8, zorder=-10, mutation_aspect=9 / 5.9,
    )  # fmt: skip
    figure.add_artist(card)
    ax.set_facecolor("none")

    drawn: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        drawn.setdefault(point["series"], []).append(point)
    all_seconds = [p["seconds"] for p in points] + [c["seconds"] for p in points for c in p.get("curve", ())]
    all_errors = [p["error"] for p in points] + [c["error"] for p in points for c in p.get("curve", ())]
    ax.set(
        xscale="log", yscale="log",
        xlim=(min(all_seconds) / 1.45, max(all_seconds) * 1.9),
        ylim=(min(*all_errors, 0.1) / 1.6, max(*all_errors, PAPER["error"]) * 1.5),
    )  # fmt: skip
    ax.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    ax.yaxis.set_major_locator(LogLocator(10, (1, 2, 3, 5)))
    for axis, unit in ((ax.xaxis, 1), (ax.yaxis, 100)):
        axis.set_major_formatter(FuncFormatter(lambda value, _, unit=unit: f"{unit * value:g}" + " %" * (unit == 100)))
        axis.set_minor_locator(NullLocator())
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=MUTED, labelsize=9.5)
    ax.set_xlabel("seconds of training", color=INK)
    labels = Labels(ax)

    low, high = ax.get_xlim()
    ax.axhline(PAPER["error"], color=MUTED, linestyle=(0, (1, 2.2)), linewidth=1.3, zorder=1)
    labels.avoid([low, high], [PAPER["error"]] * 2, radius=3)

    # Lines first and labels last, so that every label knows all that it must not cover.
    summaries = {series: means(some) for series, some in drawn.items()}
    for series, entries in summaries.items():
        style = STYLES[series]
        if series == "dsekl":
            for point in drawn[series]:
                x, y = ([c[key] for c in point["curve"]] for key in ("seconds", "error"))
                main = point is middle_run(drawn[series])
                ax.plot(x, y, color=style["color"], linewidth=2.8 if main else 1.1, alpha=1 if main else 0.35, zorder=5)
                ax.plot(x[:-1], y[:-1], "o", color=style["color"], ms=3.6 if main else 0, zorder=5)
                ax.plot(x[-1], y[-1], "o", color=style["color"], ms=11 if main else 5.5, mec="white",
                        mew=1.4 if main else 0.8, zorder=7 if main else 6)  # fmt: skip
                labels.avoid(x, y, radius=5 if main else 3, ends=8)
            continue
        x, y = ([entry[key] for entry in entries] for key in ("seconds", "error"))
        ax.plot(x, y, linewidth=1.2, alpha=0.55, zorder=3, color=style["color"])
        ax.plot(x, y, style["marker"], color=style["color"], ms=7.5, mec="white", mew=1, zorder=4)
        labels.avoid(x, y)
        for entry in entries:
            if len(entry["points"]) > 1:
                seeds = [[p[key] for p in entry["points"]] for key in ("seconds", "error")]
                ax.plot(*seeds, ".", color=style["color"], ms=4, alpha=0.5, zorder=3)

    if "dsekl" in drawn:
        runs, chosen, red = drawn["dsekl"], middle_run(drawn["dsekl"]), STYLES["dsekl"]["color"]
        errors, seconds = ([run[key] for run in runs] for key in ("error", "seconds"))
        labels.put(
            f"dsekl, all defaults\n{between(100 * np.array(errors), '.1f')} % in {between(seconds, '.0f')} s",
            [(chosen["seconds"], chosen["error"])], ((0, -1), (-1, -1), (1, -1)),
            color=red, weight="bold", fontsize=12, linespacing=1.25,
        )  # fmt: skip
    note = f"the paper, {PAPER['epochs']} epochs:\n{100 * PAPER['error']:.2f} %, time not stated"
    along = [(x, PAPER["error"]) for x in np.geomspace(high / 1.02, low, 25)]
    labels.put(note, along, ((-1, -1), (-1, 1)), color=MUTED, fontsize=8.5)
    for series, entries in sorted(summaries.items(), key=lambda item: item[0] == "LightGBM"):
        for k, entry in enumerate(entries) if series != "dsekl" else ():
            texts = (f"{series}\n{entry['size']}", f"{series}, {entry['size']}") if k == 0 else (entry["size"],)
            first = ((-1, 0), (-1, -1), (0, -1)) if series == "LightGBM" else ((0, 1), (1, 0))
            labels.put(
                texts, [(entry["seconds"], entry["error"])], first, color=STYLES[series]["color"],
                fontsize=9, linespacing=1.2,
            )  # fmt: skip

    title = "Exact kernel machines on half a million rows"
    if data["training_rows"] < 500_000:
        title = f"A trial run on {data['training_rows']:,} rows"
    figure.text(0.04, 0.93, title, color=INK, fontsize=15, weight="bold")
    seeds = ", ".join(str(point["seed"]) for point in drawn.get("dsekl", ()))
    about = (
        f"Test error against seconds of training. Covertype, {data['task']}: {data['training_rows']:,} rows to train, "
        f"{data['test_rows']:,} to test, {results['machine']['cores']} cores.\n"
        f"dsekl: every epoch, after its search for metric, width and C; seeds {seeds}, the middle one thick."
    )
    figure.text(0.04, 0.888, about, color=MUTED, fontsize=9, va="center", linespacing=1.4)
    words = {name: ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in found["setting"].items())
             for name, found in results["chosen"].items()}  # fmt: skip
    how = "; ".join(f"{name}: {some}" for name, some in words.items())
    small = (
        f"Chosen for the rivals on training rows beforehand, not timed: {how}.\n"
        "SVC and Nyström have standardised columns, dsekl and LightGBM raw ones. LightGBM: means, dots are seeds."
    )
    figure.text(0.04, 0.055, small, color=MUTED, fontsize=7.8, va="center", linespacing=1.4)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Software": None})
    vector = picture.with_suffix(".svg")
    figure.savefig(vector, metadata={"Date": None})
    if vector.stat().st_size > 150_000:
        vector.unlink()
    print(f"drawn from {path}: {picture}")


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
    elif given.rows and given.results == RESULTS:
        parser.error("--rows needs a --results of its own: the picture is of all rows")
    else:
        measure(given.results, given.again, given.rows, given.only)


if __name__ == "__main__":
    main()
