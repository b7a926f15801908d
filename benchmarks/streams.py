"""Streams: one pass over shuffled rows on a budget, river's bundled streams beside river's models, drift, and cost.

DSEKL_DATA=... python benchmarks/streams.py [budgets|covertype|large|published|river|drift|cost|settings ...]

All settings are chosen by the progressive loss, or error, of the first rows of the training stream. Times are CPU
seconds.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from report import Section, load, publish_all, table
from river import datasets as streams
from river import ensemble, forest, linear_model, metrics, neighbors, preprocessing, tree
from river.datasets import synth

from dsekl import OnlineDSEKLClassifier
from dsekl.online import BudgetedSGD, BudgetPerceptron, Forgetron, Norma, Projectron
from dsekl.river import KernelClassifier, KernelRegressor

COMMAND = "DSEKL_DATA=... python benchmarks/streams.py"

CHOSEN_FROM = 50_000
"""First rows of a stream whose progressive loss chooses C."""

RESULTS = Path(__file__).parent / "results"

CHOSEN = (
    "Loss, values of C and that errors weigh machines were chosen by progressive errors of other streams (`settings`)"
)

WITH_SCORES_IN_SIGHT = (
    "the simple models beside the kernel machine, their weights, the budget, the test for a change and when weights of "
    "features are learned were chosen on other streams too, with these scores in sight"
)

NOTES = {
    "budgets": f'Rows of "least progressive error" saw no test row. {CHOSEN}; budget, number of points that step, and '
    "how pairs are merged were chosen while test errors of ijcnn1 were known. ± is the deviation over the shuffles.",
    "covertype": f"{CHOSEN} and of this one's first training rows.",
    "river": f"One pass, one order. {CHOSEN}; {WITH_SCORES_IN_SIGHT}.",
    "drift": f"One pass, one order. {CHOSEN}; {WITH_SCORES_IN_SIGHT}.",
}
"""What a reader of a table must know."""

Data = tuple[np.ndarray, np.ndarray]


TITLES = {
    "budgets": "Streams on a budget",
    "covertype": "Streams of seven classes",
    "large": "Streams on a large budget",
    "published": "Published online algorithms",
    "river": "River's streams",
    "drift": "Drift",
    "cost": "Cost of a row of a stream",
    "settings": "Settings on other streams",
}


def defaults(part: str) -> str:
    """Return the settings that change most often of the classifier that a part measures."""
    model = KernelClassifier() if part in ("river", "drift") else OnlineDSEKLClassifier()
    return f"loss {model.loss}, C {model.C}"


def show(part: str, header: list[str], lines: list[list[str]], *more: tuple[list[str], Any]) -> None:
    """Keep the tables of a part as JSON in ``results``, with what a reader must know, and put them on the page."""
    tables = [[dict(zip(header, line, strict=True)) for line in lines] for header, lines in ((header, lines), *more)]
    found = {"defaults": defaults(part), "notes": NOTES.get(part, ""), "tables": tables}
    (RESULTS / f"streams_{part}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    publish_all(sections(part))


def sections(*parts: str) -> Iterator[Section]:
    """Yield the sections that are made from files of results: those of these parts, or all."""
    for part, title in TITLES.items():
        path = RESULTS / f"streams_{part}.json"
        if path.exists() and (not parts or part in parts):
            found = json.loads(path.read_text())
            tables = [table(list(lines[0]), [list(line.values()) for line in lines]) for lines in found["tables"]]
            notes = [found["notes"]] if found["notes"] else []
            if found["defaults"] != defaults(part):
                notes.append(f"The defaults were then {found['defaults']}; now they are {defaults(part)}.")
            yield Section(title, f"{COMMAND} {part}", "\n\n".join(filter(None, [" ".join(notes), *tables])))


def mean_and_spread(errors: list[float]) -> str:
    """Return the mean, and the standard deviation where there are several."""
    return f"{np.mean(errors):.2f} ± {np.std(errors):.2f} %" if len(errors) > 1 else f"{np.mean(errors):.2f} %"


def ijcnn1(seed: int) -> tuple[Data, Data]:
    X, y = load("ijcnn1")
    train = np.random.default_rng(seed).permutation(49_990)
    return (X[train].astype(float), y[train]), (X[49_990:].astype(float), y[49_990:])


def covertype(seed: int) -> tuple[Data, Data]:
    X, y = load("covertype")
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[20_000:], order[:20_000]
    return (X[train].astype(float), y[train]), (X[test].astype(float), y[test])


CANDIDATES = [dict(loss=loss, C=C) for loss in ("squared_hinge", "hinge", "logistic") for C in (0.1, 1.0, 3.0, "auto")]
"""Shuffled rows do not change, so that all of them have ``half_life=None``."""

CHUNK = 500


def tested_then_trained(train: Data, budget: int, seed: int, settings: dict[str, Any]) -> float:
    """Return the error on the first training rows, each chunk of them predicted before it is learned from."""
    X, y = train[0][:CHOSEN_FROM], train[1][:CHOSEN_FROM]
    model = OnlineDSEKLClassifier(budget=budget, half_life=None, random_state=seed, **settings)
    wrong = 0
    for first in range(0, len(X), CHUNK):
        part = slice(first, first + CHUNK)
        if first:
            wrong += np.count_nonzero(model.predict(X[part]) != y[part])
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return wrong / len(X)


def chosen(rows_of: Callable[[int], tuple[Data, Data]], budget: int, shuffles: int) -> dict[str, Any]:
    """Return the settings of least progressive error on the first training rows of some shuffles."""
    errors = [
        np.mean([tested_then_trained(rows_of(seed)[0], budget, seed, settings) for seed in range(shuffles)])
        for settings in CANDIDATES
    ]
    for settings, error in zip(CANDIDATES, errors, strict=True):
        print(f"   {settings}: progressive error {100 * error:.2f} %", flush=True)
    return {**CANDIDATES[int(np.argmin(errors))], "half_life": None}


def one_pass(
    name: str, rows_of: Callable[[int], tuple[Data, Data]], budget: int, shuffles: int, published: str, **settings: Any
) -> list[str]:
    """Return a line of the table of budgets."""
    errors, seconds = [], []
    for seed in range(shuffles):
        train, test = rows_of(seed)
        start = process_time()
        model = OnlineDSEKLClassifier(budget=budget, random_state=seed, **settings)
        model.partial_fit(*train, classes=np.unique(train[1]))
        seconds.append(process_time() - start)
        errors.append(100 * np.mean(model.predict(test[0]) != test[1]))
    shown = ", ".join(f"{key}={value}" for key, value in settings.items()) or "defaults"
    line = [name, f"{budget:,}", shown, mean_and_spread(errors), published,
            f"{np.mean(seconds):.1f}", str(shuffles)]  # fmt: skip
    print("  ", *line, flush=True)
    return line


HEADER = ["data", "budget", "settings", "test error, one pass", "best published", "CPU s", "shuffles"]


def budgets(shuffles: int) -> None:
    lines = []
    for budget, best in ((100, "2.73 %"), (500, "1.68 %")):
        lines.append(one_pass("ijcnn1", ijcnn1, budget, shuffles, best))
        settings = chosen(ijcnn1, budget, shuffles)
        lines.append(one_pass("ijcnn1, least progressive error", ijcnn1, budget, shuffles, best, **settings))
    show("budgets", HEADER, lines)


def covertype_small(shuffles: int) -> None:
    lines = [one_pass("covertype, 7 classes", covertype, 500, shuffles, "23.11 %")]
    settings = chosen(covertype, 500, 1)
    lines.append(
        one_pass("covertype, 7 classes, least progressive error", covertype, 500, shuffles, "23.11 %", **settings)
    )
    show("covertype", HEADER, lines)


def large(shuffles: int) -> None:
    lines = [one_pass("covertype, 7 classes", covertype, 50_000, shuffles, "none")]
    show("large", HEADER, lines)


ALGORITHMS: dict[str, list[Callable[..., Any]]] = {
    "budgeted SGD, merging": [lambda decay=decay, **s: BudgetedSGD(decay=decay, **s) for decay in (1e-3, 1e-4, 1e-5)],
    "budgeted SGD, projection": [
        lambda decay=decay, **s: BudgetedSGD(decay=decay, maintenance="project", **s) for decay in (1e-4, 1e-5)
    ],
    "Projectron": [lambda eta=eta, **s: Projectron(eta=eta, **s) for eta in (0.1, 0.5)],
    "NORMA": [
        lambda eta=eta, decay=decay, falling=falling, **s: Norma(eta=eta, decay=decay, falling=falling, **s)
        for eta, decay, falling in itertools.product((0.2, 1.0), (1e-3, 1e-2), (False, True))
    ],
    "Forgetron": [Forgetron],
    "random removal": [BudgetPerceptron],
    "budgeted SGD, removal": [
        lambda decay=decay, **s: BudgetedSGD(decay=decay, maintenance="remove", **s) for decay in (1e-3, 1e-4)
    ],
}
GAMMAS = (0.02, 0.05, 0.1, 0.2)

IN_THE_LITERATURE = {
    "budgeted SGD, merging": "2.73 %", "budgeted SGD, projection": "3.52 %", "Projectron": "7.64 % (Projectron++)",
    "random removal": "9.78 %", "budgeted SGD, removal": "9.27 %",
}  # fmt: skip
"""Wang, Crammer, Vucetic, JMLR 13 (2012), table 3a; NORMA and the Forgetron with removal are not in it."""


def published(shuffles: int) -> None:
    """The published algorithms at a budget of 100, beside ours, on standardised columns."""
    lines, first_rows = [], 10_000
    for name, makers in ALGORITHMS.items():
        errors = []
        best: tuple[float, Callable[..., Any], float] | None = None
        for seed in range(shuffles):
            (X, y), (T, labels) = ijcnn1(seed)
            mean, scale = X.mean(axis=0), X.std(axis=0)
            X, T = (X - mean) / scale, (T - mean) / scale
            if best is None:
                for make, gamma in itertools.product(makers, GAMMAS):
                    f = make(budget=100, gamma=gamma).learn(X[:first_rows], y[:first_rows])
                    error = float(np.mean(np.sign(f) != y[:first_rows]))
                    best = min(best or (2.0, make, gamma), (error, make, gamma), key=lambda found: found[0])
            assert best is not None
            model = best[1](budget=100, gamma=best[2], seed=seed)
            model.learn(X, y)
            errors.append(100 * np.mean(np.sign(model.evaluate(T)) != labels))
        published = IN_THE_LITERATURE.get(name, "none")
        lines.append([name, mean_and_spread(errors), published, f"{best[2]:g}", str(shuffles)])
        print("  ", *lines[-1], flush=True)
    header = ["algorithm, ijcnn1, budget 100", "test error, one pass", "published", "gamma", "shuffles"]
    show("published", header, lines)


class LastTarget:
    """The model that repeats the last target: the line to beat."""

    def __init__(self, first: Any = None) -> None:
        self._last = first

    def predict_one(self, x: Any) -> Any:
        return self._last

    def learn_one(self, x: Any, y: Any) -> None:
        self._last = y


WARM = 200
"""Rows that a copy of a model sees before its time is taken."""


def progressive(model: Any, rows: Any, metric: Any, last: int | None = None) -> tuple[float, float]:
    """Return the progressive score, of the ``last`` rows if so asked, and the CPU microseconds a row.

    Time begins when a copy has seen some rows: compiled code is then loaded, and rows are read from their file.
    """
    pairs: deque[tuple[Any, Any]] = deque(maxlen=last)
    known, warm = list(rows), copy.deepcopy(model)
    for x, y in known[:WARM]:
        warm.predict_one(x)
        warm.learn_one(x, y)
    start = process_time()
    for x, y in known:
        pairs.append((y, model.predict_one(x)))
        model.learn_one(x, y)
    spent = process_time() - start
    for y, predicted in pairs:
        if predicted is not None:
            metric.update(y, predicted)
    return metric.get(), 1e6 * spent / len(known)


def classifiers() -> dict[str, Any]:
    return {
        "dsekl": KernelClassifier(seed=1),
        "adaptive random forest": forest.ARFClassifier(seed=1),
        "Mondrian forest": forest.AMFClassifier(seed=1),
        "k-NN": preprocessing.StandardScaler() | neighbors.KNNClassifier(),
        "leveraging bagging": ensemble.LeveragingBaggingClassifier(tree.HoeffdingTreeClassifier(), seed=1),
        "last label": LastTarget(),
    }


def regressors() -> dict[str, Any]:
    return {
        "dsekl": KernelRegressor(seed=1),
        "Mondrian forest": forest.AMFRegressor(seed=1),
        "k-NN": preprocessing.StandardScaler() | neighbors.KNNRegressor(),
        "linear": preprocessing.StandardScaler() | linear_model.LinearRegression(),
        "last target": LastTarget(0.0),
    }


def river(shuffles: int) -> None:
    """river's bundled streams, all models with their defaults."""
    lines = []
    for dataset in (streams.Bananas, streams.Phishing, streams.ImageSegments):
        found = {n: progressive(m, dataset(), metrics.Accuracy()) for n, m in classifiers().items()}
        lines.append([dataset.__name__, *(f"{100 * score:.2f} % ({us:.0f} µs)" for score, us in found.values())])
        print("  ", *lines[-1], flush=True)
    numbers = []
    for dataset in (streams.TrumpApproval, streams.ChickWeights):
        found = {n: progressive(m, dataset(), metrics.MAE()) for n, m in regressors().items()}
        numbers.append([dataset.__name__, *(f"{score:.3f} ({us:.0f} µs)" for score, us in found.values())])
        print("  ", *numbers[-1], flush=True)
    header = ["progressive accuracy", *classifiers()]
    show("river", header, lines, (["progressive MAE", *regressors()], numbers))


N_DRIFT = 4_000


def drifting() -> dict[str, Callable[[], Iterator[Any]]]:
    def both(make: Callable[[int], Any], width: int) -> Callable[[], Iterator[Any]]:
        return lambda: synth.ConceptDriftStream(
            make(0), make(1), position=N_DRIFT // 2, width=width, seed=1
        ).take(N_DRIFT)  # fmt: skip

    def led(k: int) -> Any:
        return synth.LEDDrift(seed=1, n_drift_features=7 * k, noise_percentage=0.1)

    makers = {
        "SEA": lambda k: synth.SEA(variant=3 * k, seed=1, noise=0.1),
        "Agrawal": lambda k: synth.Agrawal(classification_function=2 * k, seed=1),
        "LED": led,
    }
    return {
        f"{name}, {kind}": both(make, width)
        for name, make in makers.items()
        for kind, width in (("abrupt", 20), ("gradual", 1000))
    }


def drift(shuffles: int) -> None:
    """Accuracy on the rows after the drift."""
    lines = []
    for name, rows in drifting().items():
        found = {n: progressive(m, rows(), metrics.Accuracy(), N_DRIFT // 2) for n, m in classifiers().items()}
        lines.append([name, *(f"{100 * score:.2f} %" for score, _ in found.values())])
        print("  ", *lines[-1], flush=True)
    show("drift", ["accuracy after the drift", *classifiers()], lines)


def cost(shuffles: int) -> None:
    """Microseconds of CPU to predict and learn a row, at a budget of 200 and 10 columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((14_000, 10))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = OnlineDSEKLClassifier(budget=200, random_state=0).partial_fit(X[:9000], y[:9000], classes=[0, 1])
    learner, targets, ones = model.learner_, np.where(y > 0, 1.0, -1.0)[:, None], np.ones(1)
    start = process_time()
    for i in range(9000, 14_000):
        learner.evaluate(X[i : i + 1])
        learner.learn(X[i : i + 1], targets[i : i + 1], ones, y[i : i + 1])
    lines = [["one row at a time, arrays", f"{(process_time() - start) / 5000 * 1e6:.0f}"]]
    start = process_time()
    model.predict(X[9000:])
    model.partial_fit(X[9000:], y[9000:])
    lines.append(["a batch of 5,000, scikit-learn's methods", f"{(process_time() - start) / 5000 * 1e6:.0f}"])
    rows = [dict(enumerate(row)) for row in X.tolist()]
    rivals = {"river's methods, dsekl": KernelClassifier(seed=1, budget=200), "river's k-NN": neighbors.KNNClassifier()}
    for name, river_model in rivals.items():
        for x, label in zip(rows[:9000], y[:9000], strict=True):
            river_model.learn_one(x, int(label))
        start = process_time()
        for x, label in zip(rows[9000:], y[9000:], strict=True):
            river_model.predict_one(x)
            river_model.learn_one(x, int(label))
        lines.append([name, f"{(process_time() - start) / 5000 * 1e6:.0f}"])
    show("cost", ["predict and learn", "CPU µs a row"], lines)


def synthetic(rows: Any) -> Data:
    """Return the rows of a generator of river as arrays."""
    pairs = list(rows)
    codes = np.unique([str(label) for _, label in pairs], return_inverse=True)[1]
    return np.array([list(x.values()) for x, _ in pairs], dtype=float), codes


def shuffled(name: str, seed: int, n: int = 5000) -> Data:
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))[:n]
    return X[order].astype(float), np.unique(y[order], return_inverse=True)[1]


def changing(make: Callable[[int], Any], seed: int) -> Data:
    both = synth.ConceptDriftStream(make(0), make(1), position=2500, width=50, seed=seed)
    return synthetic(both.take(5000))


OTHER_STREAMS: dict[str, Callable[[int], Data]] = {
    "vowel": lambda seed: shuffled("vowel", seed),
    "vehicle": lambda seed: shuffled("vehicle", seed),
    "segment": lambda seed: shuffled("segment", seed),
    "penbased": lambda seed: shuffled("penbased", seed),
    "magic": lambda seed: shuffled("magic", seed),
    "ring": lambda seed: shuffled("ring", seed),
    "RandomRBF, 5 classes": lambda seed: synthetic(
        synth.RandomRBF(seed_model=10 + seed, seed_sample=seed, n_classes=5, n_features=8, n_centroids=40).take(5000)
    ),
    "RandomRBFDrift, 8 classes": lambda seed: synthetic(
        synth.RandomRBFDrift(
            seed_model=20 + seed, seed_sample=seed, n_classes=8, n_features=10, n_centroids=60, change_speed=0.0005,
            n_drift_centroids=20,
        ).take(5000)
    ),
    "Waveform, noise": lambda seed: synthetic(synth.Waveform(seed=3 + seed, has_noise=True).take(5000)),
    "LED, noise": lambda seed: synthetic(
        synth.LED(seed=5 + seed, noise_percentage=0.15, irrelevant_features=True).take(5000)
    ),
    "Hyperplane": lambda seed: synthetic(
        synth.Hyperplane(seed=7 + seed, n_features=10, noise_percentage=0.05, mag_change=0.002).take(5000)
    ),
    "Mixed, a change": lambda seed: changing(lambda k: synth.Mixed(seed=seed + k, classification_function=k), seed),
    "Sine, a change": lambda seed: changing(
        lambda k: synth.Sine(seed=seed + k, classification_function=1 + k, has_noise=True), seed
    ),
    "STAGGER, a change": lambda seed: changing(
        lambda k: synth.STAGGER(seed=seed + k, classification_function=2 * k), seed
    ),
}  # fmt: skip
"""Streams by whose progressive errors the defaults were chosen; no other table has them."""

ASKED = [(loss, C) for loss in ("hinge", "squared_hinge") for C in ("auto", 1.0)] + [("logistic", 1.0)]


def losses_and_C(shuffles: int) -> None:
    """Progressive errors of losses and C, all else by default."""
    lines = []
    for name, rows_of in OTHER_STREAMS.items():
        found = []
        for loss, C in ASKED:
            errors = []
            for seed in range(shuffles):
                X, y = rows_of(seed)
                model = OnlineDSEKLClassifier(loss=loss, C=C, random_state=seed)
                wrong = 0
                for first in range(0, len(X), 50):
                    part = slice(first, first + 50)
                    wrong += np.count_nonzero(model.predict(X[part]) != y[part]) if first else 50
                    model.partial_fit(X[part], y[part], classes=np.unique(y))
                errors.append(100 * wrong / len(X))
            found.append(mean_and_spread(errors))
        lines.append([name, *found])
        print("  ", *lines[-1], flush=True)
    header = ["progressive error", *(f"{loss}, C={C}" for loss, C in ASKED)]
    show("settings", header, lines)


PARTS = {
    "budgets": budgets,
    "covertype": covertype_small,
    "large": large,
    "published": published,
    "river": river,
    "drift": drift,
    "cost": cost,
    "settings": losses_and_C,
}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--shuffles", type=int, default=5)
    arguments = parser.parse_args()
    for part in arguments.parts:
        PARTS[part](arguments.shuffles)
