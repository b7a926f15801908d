"""What must not matter: the same question asked in other words, and how near the two answers are.

``python -m tests.invariance`` measures all of it and writes the table of docs/guide/reproducibility.md. Each change of
words has two bounds. With a width and C that are given, the machine is one convex problem: the bound is on the largest
difference of f at new rows, over the standard deviation of f. With all that is learned, the run also ends
where predictions have settled and not at the optimum: where the bound is not 0 or tiny, it is on the difference of the
score, accuracy or R^2, on new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from dsekl import DSEKLClassifier, DSEKLRegressor
from dsekl.losses import EpsilonInsensitive, Huber

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "reproducibility.md"
START, END = "<!-- what must not matter -->", "<!-- end of what must not matter -->"

SEEDS = 2
"""Problems of the table; the tests take the first."""

Array = NDArray[Any]


@dataclass(frozen=True)
class Question:
    """Training rows, new rows, and an estimator that has not been fitted."""

    X: Any
    y: Array
    new: Any
    estimator: Any
    weights: Array | None = None
    back: Callable[[Array], Array] = field(default=lambda f: f)
    """From the answer in other words to the one in the first words."""

    def answer(self) -> Array:
        """Return f at the new rows."""
        model = self.estimator.fit(self.X, self.y, sample_weight=self.weights)
        f = model.predict(self.new) if isinstance(model, DSEKLRegressor) else model.decision_function(self.new)
        return self.back(np.asarray(f))


@dataclass(frozen=True)
class Change:
    """Other words for the same question, and how near the answers must be: with gamma and C given, and learned."""

    name: str
    words: Callable[[Question, np.random.Generator], Question]
    given: float
    learned: float
    score: bool = False
    """Whether the bound of what is learned is on the difference of scores, not of f."""
    kinds: tuple[str, ...] = ("regression", "classification")


def in_other_units_of_y(factor: float) -> Callable[[Question, np.random.Generator], Question]:
    def words(question: Question, rng: np.random.Generator) -> Question:
        loss, C = question.estimator.loss, question.estimator.C
        settings: dict[str, Any] = {}
        if isinstance(loss, Huber | EpsilonInsensitive):
            settings["loss"] = loss.in_unit(1 / factor)
        if not isinstance(C, str) and (isinstance(loss, EpsilonInsensitive) or loss == "quantile"):
            settings["C"] = C * factor
        estimator = question.estimator.set_params(**settings)
        return replace(question, y=question.y * factor, estimator=estimator, back=lambda f: f / factor)

    return words


def in_other_units_of_x(question: Question, rng: np.random.Generator) -> Question:
    factors = 10.0 ** rng.uniform(-4, 4, question.X.shape[1])
    gamma = question.estimator.gamma
    estimator = (
        question.estimator if isinstance(gamma, str) else question.estimator.set_params(gamma=gamma / factors**2)
    )
    return replace(question, X=question.X * factors, new=question.new * factors, estimator=estimator)


def columns_in_other_order(question: Question, rng: np.random.Generator) -> Question:
    order = rng.permutation(question.X.shape[1])
    gamma = question.estimator.gamma
    estimator = question.estimator if isinstance(gamma, str) else question.estimator.set_params(gamma=gamma[order])
    return replace(question, X=question.X[:, order], new=question.new[:, order], estimator=estimator)


def rows_in_other_order(question: Question, rng: np.random.Generator) -> Question:
    order = rng.permutation(len(question.X))
    return replace(question, X=question.X[order], y=question.y[order])


def every_row_twice(question: Question, rng: np.random.Generator) -> Question:
    """Against a weight of 2, which ``against`` gives the question in its first words."""
    twice = np.repeat(np.arange(len(question.X)), 2)
    return replace(question, X=question.X[twice], y=question.y[twice])


def other_labels(question: Question, rng: np.random.Generator) -> Question:
    """Names that sort the other way round: the columns of f change places."""
    labels = np.unique(question.y)
    names = np.array([f"class {len(labels) - k}" for k in range(len(labels))])
    return replace(question, y=names[np.searchsorted(labels, question.y)], back=lambda f: f[:, ::-1])


def in_float32(question: Question, rng: np.random.Generator) -> Question:
    return replace(question, X=question.X.astype(np.float32), new=question.new.astype(np.float32))


def in_fortran_order(question: Question, rng: np.random.Generator) -> Question:
    return replace(question, X=np.asfortranarray(question.X), new=np.asfortranarray(question.new))


def strided(question: Question, rng: np.random.Generator) -> Question:
    wide = np.full((2 * len(question.X), 3 * question.X.shape[1]), np.nan)
    wide[::2, ::3] = question.X
    return replace(question, X=wide[::2, ::3], y=np.repeat(question.y, 2)[::2])


def in_a_frame(question: Question, rng: np.random.Generator) -> Question:
    names = [f"column {k}" for k in range(question.X.shape[1])]
    new = pd.DataFrame(question.new, columns=names)
    return replace(question, X=pd.DataFrame(question.X, columns=names), y=pd.Series(question.y), new=new)


CHANGES = [
    Change("y times 1e-4", in_other_units_of_y(1e-4), 1e-9, 1e-8, kinds=("regression",)),
    Change("y times 1e5", in_other_units_of_y(1e5), 1e-9, 1e-8, kinds=("regression",)),
    Change("each column of X times another factor", in_other_units_of_x, 1e-4, 0.01, score=True),
    Change("each pixel of images times another factor", in_other_units_of_x, 1e-4, 0.05, True, ("images",)),
    Change("columns in another order", columns_in_other_order, 1e-4, 0.01, score=True),
    Change("rows in another order", rows_in_other_order, 1e-3, 0.01, score=True),
    Change("every row twice, against weight 2", every_row_twice, 1e-3, 0.01, score=True),
    Change("names of the labels", other_labels, 0.0, 1e-4, kinds=("classification",)),
    Change("float32 and float64 of the same values", in_float32, 0.0, 0.0),
    Change("Fortran order", in_fortran_order, 0.0, 0.0),
    Change("strided views", strided, 0.0, 0.0),
    Change("a pandas frame and its array", in_a_frame, 0.0, 0.0),
]
"""Bounds: with gamma and C given, and learned."""

LOSSES: dict[str, dict[str, Any]] = {
    "regression": {
        "squared": "squared", "epsilon_insensitive": EpsilonInsensitive(0.1), "huber": Huber(0.5),
        "quantile": "quantile",
    },
    "classification": {"hinge": "hinge", "squared_hinge": "squared_hinge", "logistic": "logistic"},
    "images": {"hinge": "hinge"},
}  # fmt: skip


def question(kind: str, loss: Any, learned: bool, seed: int) -> tuple[Question, Array]:
    """Return a question on 300 rows, and the right answers at 1,000 new ones."""
    rng = np.random.default_rng(seed)
    X, y, gamma = _images(rng) if kind == "images" else _numbers(kind, rng)
    estimator: Any = DSEKLRegressor() if kind == "regression" else DSEKLClassifier()
    estimator.set_params(loss=loss, random_state=seed)
    if not learned:
        estimator.set_params(gamma=gamma, C=2.0, tol=1e-9, max_epochs=1000)
    return Question(X[:300], y[:300], X[300:], estimator), y[300:]


def _numbers(kind: str, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return columns that have nothing to do with each other, with values that float32 holds exactly."""
    X = rng.standard_normal((1300, 4)).astype(np.float32).astype(np.float64)
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    y: Array = f + 0.1 * rng.standard_normal(len(X))
    if kind == "classification":
        y = np.digitize(y, [-0.5, 0.5])
    return X, y, np.array([0.5, 0.3, 0.3, 0.01])


def _images(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return pixels of digits: columns in one unit, which they lose with a factor for each."""
    X, y = load_digits(return_X_y=True)
    chosen = rng.permutation(len(X))[:1300]
    return X[chosen], y[chosen], np.full(X.shape[1], 1e-3)


def score(kind: str, f: Array, right: Array) -> float:
    """Return R^2 or accuracy."""
    if kind != "regression":
        return float((f.argmax(axis=1) == right).mean())
    return float(1 - ((f - right) ** 2).mean() / right.var())


def difference(change: Change, kind: str, loss: Any, learned: bool, seed: int) -> float:
    """Return how far the answers are from each other, in what the change's bound is in."""
    asked, right = question(kind, loss, learned, seed)
    twice = change.words is every_row_twice
    first = replace(asked, weights=np.full(len(asked.X), 2.0)) if twice else asked
    # Each fit its own estimator: a change of words sets parameters.
    f = first.answer()
    again, _ = question(kind, loss, learned, seed)
    g = change.words(again, np.random.default_rng(seed)).answer()
    if learned and change.score:
        return abs(score(kind, f, right) - score(kind, g, right))
    return float(np.abs(f - g).max() / f.std())


def measure(seeds: int = SEEDS) -> str:
    """Return the table."""
    lines = ["| what changes | gamma and C given | bound | learned | bound |", "|---|---|---|---|---|"]
    for change in CHANGES:
        found = {
            learned: max(
                difference(change, kind, loss, learned, seed)
                for kind in change.kinds
                for loss in LOSSES[kind].values()
                for seed in range(seeds)
            )
            for learned in (False, True)
        }
        what = " in score" if change.score else ""
        cells = [
            change.name,
            _figure(found[False], change.given), f"{change.given:g}",
            _figure(found[True], change.learned, what), f"{change.learned:g}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _figure(found: float, bound: float, what: str = "") -> str:
    return f"{found:.1g}{what}" if found <= bound else f"**{found:.1g}{what}, above its bound**"


if __name__ == "__main__":
    page = PAGE.read_text()
    before, rest = page.split(START)
    PAGE.write_text(f"{before}{START}\n\n{measure()}\n\n{END}{rest.split(END)[1]}")
