"""Successive halving at full density.

The best width of a kernel shrinks as rows grow denser, so candidates must not be compared on a subsample. All of them
are fitted on a few whole regions of the space, the better third on more regions, and so on; the last few on all rows
except a tenth that judges them. Few rows are one region, split in five ways. The winner is fitted on all rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning

import dsekl
from dsekl import kernels, losses
from dsekl.blas import one_blas_thread
from dsekl.deadline import Budget
from dsekl.estimators import DSEKLClassifier, DSEKLRegressor
from dsekl.models.machine import CHOSEN_KERNELS, CHOSEN_LOSSES
from dsekl.rows import digest
from dsekl.rows.csr import occupied
from dsekl.search import Region, draw_regions, draw_splits, others, region_rows
from dsekl.workers import Threads

from .candidate import Base, Candidate, candidates_of
from .journal import LARGEST, Chosen, Journal

RUNGS_OF_SPLITS, RUNGS_OF_REGIONS = (1, 3, 5), (4, 16)
"""Regions that each rung compares the candidates on, for few and for many rows."""

KEPT_SHARE = 1 / 3
FINALISTS = 3

BASES_BY, COMPARED_BY = 0.3, 0.7
"""Shares of the time after which the search goes on from what it has to the candidates, and from them to the model."""

TREE_COLUMNS = 16
"""Columns, or random mixtures of more, along which space is cut into regions."""

SOON = 1e-3
"""The least time that a fit is given: it takes a step in any case."""

Report = Callable[[float, str], None]
Estimator = DSEKLClassifier | DSEKLRegressor
Matrix: TypeAlias = "NDArray[np.floating[Any]] | sparse.csr_array"


@dataclass(frozen=True)
class Outcome:
    """A candidate, the mean error of its held-out rows, how many rows judged it, and the rung it got to."""

    candidate: Candidate
    error: float
    rows: int
    rung: int


@dataclass(frozen=True)
class Tuned:
    """The winner fitted on all rows, and how all candidates did, best first."""

    estimator: Estimator
    best: Outcome
    outcomes: list[Outcome]


@one_blas_thread()
def tune(
    estimators: Sequence[Estimator],
    X: Matrix,
    y: NDArray[np.generic],
    *,
    journal: Path | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
    max_seconds: float | None = None,
    report: Report = lambda share, words: None,
) -> Tuned:
    """Search gamma and C for each of some unfitted estimators, and return the best of all, fitted on all rows.

    An estimator with kernel="auto" or loss="auto" has "matern32" and "hinge" here: give one estimator for each kernel
    and loss that is to be tried.

    ``journal`` keeps every finding, so that a search that was stopped goes on from there. Neither that nor ``n_jobs``
    changes the result. ``max_seconds`` is the time that all of it may take: fewer candidates are then compared, on
    fewer rows, and what is found depends on the machine's speed. ``report`` is told the share of the work that is done,
    and what is being done.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : Any parameters, by cross-validation on all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dsekl import DSEKLClassifier
    >>> from dsekl.tuning import tune
    >>> X, y = load_iris(return_X_y=True)
    >>> found = tune([DSEKLClassifier(kernel="rbf"), DSEKLClassifier(kernel="laplacian")], X, y, n_jobs=1)
    >>> print(f"{len(found.outcomes)} candidates, error {found.best.error:.2f}")
    98 candidates, error 0.02
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # regions need no more than the default epochs
        return _Search(estimators, X, y, journal, n_jobs, seed, Budget.of(max_seconds), report).run()


class _Search:
    def __init__(
        self,
        estimators: Sequence[Estimator],
        X: Matrix,
        y: NDArray[np.generic],
        journal: Path | None,
        n_jobs: int | None,
        seed: int,
        budget: Budget,
        report: Report,
    ) -> None:
        self.X, self.y, self.n_jobs, self.budget, self.report = X, y, n_jobs, budget, report
        self.deadline = budget.deadline(COMPARED_BY)
        self.estimators = [_named(estimator).set_params(random_state=seed, verbose=False) for estimator in estimators]
        identity = {
            "version": dsekl.__version__,
            "data": f"{digest(X)} {digest(y)}",
            "estimators": [repr(estimator.set_params(n_jobs=None)) for estimator in self.estimators],
            "seed": seed,
        }
        self.journal = Journal(journal, identity, X.shape[1])
        self.rng = np.random.default_rng(seed)
        self.size = min(region_rows(_loss(estimator), n_outputs=1) for estimator in self.estimators)
        self.splits = draw_splits(len(y), self.size, self.rng)
        self.rungs = RUNGS_OF_SPLITS if len(self.splits) > 1 else RUNGS_OF_REGIONS

    def run(self) -> Tuned:
        self.bases = [self._base(arm) for arm in range(len(self.estimators))]
        regions = draw_regions(self.splits, len(self.y), self._points, self.size, self.rungs[-1], self.rng)
        candidates = [
            candidate
            for arm, base in enumerate(self.bases)
            for candidate in candidates_of(arm, base, kernels.resolve(self.estimators[arm].kernel).gamma_power > 0)
        ]
        outcomes: dict[Candidate, Outcome] = {}
        for rung, count in enumerate(self.rungs):
            words = f"{len(candidates)} candidates on {min(count, len(regions))} regions"
            self.report(0.3 + 0.4 * rung / len(self.rungs), words)
            ranked = self._compare(candidates, regions[:count], rung)
            outcomes |= {outcome.candidate: outcome for outcome in ranked}
            last = rung == len(self.rungs) - 1
            kept = FINALISTS if last else max(FINALISTS, round(KEPT_SHARE * len(candidates)))
            candidates = [outcome.candidate for outcome in ranked[:kept]]
        best = outcomes[candidates[0]]
        if len(self.splits) == 1:
            finals = list(self._finals(candidates, len(self.rungs)))
            outcomes |= {outcome.candidate: outcome for outcome in finals}
            best = min(finals, key=lambda outcome: outcome.error, default=best)
        self.report(0.9, "the best on all rows")
        model = self._fitted_on_all(best.candidate)
        ranking = sorted(outcomes.values(), key=lambda outcome: (-outcome.rung, outcome.error))
        return Tuned(model, best, [best, *(outcome for outcome in ranking if outcome is not best)])

    def _base(self, arm: int) -> Base:
        """Return what an estimator chooses by itself, from the rows that each split does not hold out."""
        chosen = []
        for split, held_out in enumerate(self.splits):
            self.report(0.3 * (arm + split / len(self.splits)) / len(self.estimators), "the data's own gamma and C")
            name = f"base of arm {arm}, split {split}"
            found = self.journal.chosen(name)
            if found is None:
                rows = others(len(self.y), held_out)
                n_left = (len(self.estimators) - arm) * len(self.splits) - split
                unfitted = clone(self.estimators[arm]).set_params(n_jobs=self.n_jobs)
                fitted = self._fit(unfitted, rows, self.budget.deadline(BASES_BY).left / n_left)
                found = Chosen(np.asarray(fitted.gamma_).tolist(), float(fitted.C_))
                if fitted.stop_reason_ != "max_seconds":
                    self.journal.add(name, found)
            chosen.append(found)
        middle = sorted(found.C for found in chosen)[len(chosen) // 2]
        return Base([np.asarray(found.gamma) for found in chosen], middle)

    def _compare(self, candidates: list[Candidate], regions: list[Region], rung: int) -> list[Outcome]:
        """Return the candidates' outcomes on the regions, best first."""
        units = [(candidate, number) for number in range(len(regions)) for candidate in candidates]
        errors = {unit: self.journal.error(_unit(*unit)) for unit in units}
        new = [unit for unit in units if errors[unit] is None]
        writing = Lock()

        def judge(unit: tuple[Candidate, int]) -> None:
            if self.deadline.passed and unit != units[0]:
                return
            candidate, number = unit
            error = self._judge(candidate, regions[number])
            with writing:
                errors[unit] = error
                self.journal.add(_unit(*unit), error)

        Threads(effective_n_jobs(self.n_jobs or -1)).map(judge, new)
        # In want of time, those that the first region has judged are compared, on regions that have judged them all.
        candidates = [candidate for candidate in candidates if errors[candidate, 0] is not None]
        numbers = [n for n in range(len(regions)) if all(errors[candidate, n] is not None for candidate in candidates)]
        sizes = [len(regions[number].held_out) for number in numbers]
        outcomes = []
        for candidate in candidates:
            of_regions = [errors[candidate, number] for number in numbers]
            with np.errstate(over="ignore"):
                mean = np.average(np.array(of_regions, dtype=np.float64), weights=sizes)
            outcomes.append(Outcome(candidate, float(mean), sum(sizes), rung))
        return sorted(outcomes, key=lambda outcome: outcome.error)

    def _finals(self, candidates: list[Candidate], rung: int) -> Iterator[Outcome]:
        """Fit the last candidates on all rows but those held out, which judge them."""
        (held_out,) = self.splits
        everything = Region(others(len(self.y), held_out), held_out, 0)
        for place, candidate in enumerate(candidates):
            if self.deadline.passed:
                return
            self.report(0.7 + 0.2 * place / len(candidates), f"finalist {place + 1} of {len(candidates)}")
            name = f"{candidate.name}, all rows"
            error = self.journal.error(name)
            if error is None:
                error = self._judge(candidate, everything, self.n_jobs, self.deadline.left / (len(candidates) - place))
                self.journal.add(name, error)
            yield Outcome(candidate, error, len(held_out), rung)

    def _judge(self, candidate: Candidate, region: Region, n_jobs: int | None = 1, seconds: float = math.inf) -> float:
        """Return the mean error of a region's held-out rows: the share of wrong labels, or the mean square."""
        y, y_out = self.y[region.fitted], self.y[region.held_out]
        classes = is_classifier(self.estimators[candidate.arm])
        if classes and (y == y[0]).all():
            return float((y_out != y[0]).mean())
        unfitted = self._at(candidate, self.bases[candidate.arm].gammas[region.split], n_jobs)
        model = self._fit(unfitted, region.fitted, seconds)
        predicted = model.predict(self.X[region.held_out])
        with np.errstate(over="ignore"):
            error = float((predicted != y_out).mean() if classes else ((predicted - y_out.astype(float)) ** 2).mean())
        return error if error <= LARGEST else LARGEST  # infinity, or none at all

    def _fitted_on_all(self, candidate: Candidate) -> Estimator:
        """Fit the winner; few rows showed their splits what to learn, and now it may be learned from all of them."""
        everything = np.arange(len(self.y))
        gamma = self.bases[candidate.arm].gammas[0]
        if len(self.splits) > 1:
            base = clone(self.estimators[candidate.arm]).set_params(n_jobs=self.n_jobs, C=candidate.C)
            gamma = np.asarray(self._fit(base, everything, self.budget.deadline().left / 2).gamma_)
        return self._fit(self._at(candidate, gamma, self.n_jobs), everything, self.budget.deadline().left)

    def _at(self, candidate: Candidate, gamma: NDArray[np.float64], n_jobs: int | None) -> Estimator:
        """Return the estimator that a candidate stands for."""
        scaled = candidate.width * gamma
        estimator: Estimator = clone(self.estimators[candidate.arm])
        estimator.set_params(gamma=float(scaled) if scaled.ndim == 0 else scaled, C=candidate.C, n_jobs=n_jobs)
        return estimator

    def _fit(self, unfitted: Estimator, rows: NDArray[np.intp], seconds: float) -> Estimator:
        if seconds < math.inf:
            unfitted.set_params(max_seconds=max(seconds, SOON))
        whole = len(rows) == len(self.y)
        fitted: Estimator = unfitted.fit(self.X if whole else self.X[rows], self.y if whole else self.y[rows])
        return fitted

    def _points(self) -> NDArray[np.float32]:
        """Return all rows in the few columns, or mixtures of columns, along which regions are cut."""
        kernel = kernels.resolve(self.estimators[0].kernel)
        scale = np.broadcast_to(self.bases[0].gammas[0] ** kernel.gamma_power, self.X.shape[1])
        if self.X.shape[1] <= TREE_COLUMNS and not sparse.issparse(self.X):
            return np.asarray(self.X * scale, dtype=np.float32)
        columns, X = occupied(sparse.csr_array(self.X)) if sparse.issparse(self.X) else (slice(None), self.X)
        mixtures = self.rng.standard_normal((X.shape[1], TREE_COLUMNS)) * scale[columns, None]
        return np.asarray(X @ mixtures, dtype=np.float32)


def _named(estimator: Estimator) -> Estimator:
    """Return a copy with a kernel and a loss of its own: arms are compared, so none may choose what it is."""
    named: Estimator = clone(estimator)
    if isinstance(named.kernel, str) and named.kernel == "auto":
        named.set_params(kernel=next(iter(CHOSEN_KERNELS)))
    if isinstance(named.loss, str) and named.loss == "auto":
        named.set_params(loss=next(iter(CHOSEN_LOSSES)))
    return named


def _loss(arm: Estimator) -> losses.Loss:
    return losses.resolve(arm.loss, "classification" if is_classifier(arm) else "regression")


def _unit(candidate: Candidate, region: int) -> str:
    return f"{candidate.name}, region {region}"
