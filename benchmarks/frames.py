"""Tables as they come: one call each, against boosting, forests and support vector machines.

``DSEKL_DATA=... python benchmarks/frames.py SHOW [--rows N] [--seeds K] [--only NAME ...]`` measures what is not in
benchmarks/results/frames-SHOW.json yet, cell by cell, so that it can be stopped and gone on with; then it prints a
table and puts it into docs/benchmarks.md. ``--rows`` is for a trial: nothing is kept. SHOW is one of

- tables: bank-marketing and green-taxi from their raw files, against rivals
- categories: texts as they come against the best of three encodings made by hand
- calibration: log loss and expected calibration error, against CalibratedClassifierCV and LightGBM
- cost: CPU time of the calibration beside that of the fit
- objective: choosing by log loss against choosing by decisions, on 1,500 rows
- intervals: coverage and width of 90 % intervals, against LightGBM's quantiles as they are and conformal ones
- csv: a csv of a million rows of 30 mixed columns through ``dsekl fit``, and how fast rows are encoded

Every split is a random half. Errors do not depend on what else a machine does, so CPU seconds are kept with them;
``--timed``, alone on the machine, measures cells without wall-clock seconds again.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import cells
import numpy as np
from frame_csv import encoding, fitting, mixed_csv
from frame_scores import Score, halves, mushrooms, read_raw, scored, timed_fit
from report import Section, publish_all, table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from tabular_data import panel_data

from dsekl import DSEKLClassifier, DSEKLRegressor

CLASSIFICATION = ("diabetes", "magic", "ring", "segment", "vehicle", "vowel", "ijcnn1", "penbased", "caravan",
                  "bank-marketing")  # fmt: skip
REGRESSION = ("california-housing", "protein-casp", "diabetes progress", "friedman1", "friedman2", "diamonds", "movies",
              "bikeshare", "wage", "computers")  # fmt: skip
RAW = ("bank-marketing.csv.gz", "green-taxi.parquet")
WITH_TEXTS = ("mushrooms", "bank-marketing.csv.gz", "chess.csv.gz", "wage.csv.gz", "diamonds.csv.gz")

MOST_ROWS, LARGE, MOST_OF_LARGE = 3_000, ("magic", "ijcnn1"), 9_000
"""Training rows of the tables of categories, calibration and intervals; two tables have as many as a growing sample
needs."""

FEW_ROWS = 1_500
"""Training rows of the comparison of objectives."""

CSV_ROWS = 1_000_000

Measured = tuple[str, str, Callable[[int], Score]]
"""A row and a group of columns of a table, and what measures them for a seed."""

the_panel = cache(panel_data)


def show_tables(rows: int | None) -> Iterator[Measured]:
    """Compare machines on raw tables."""
    import frame_rivals

    for name in RAW:
        X, y = read_raw(name)
        for machine, make in frame_rivals.machines(y.dtype.kind not in "if").items():

            def measure(seed: int, X: Any = X, y: Any = y, make: Any = make) -> Score:
                fitted, new = halves(len(y), seed, rows)
                return timed_fit(make, X.iloc[fitted], y.iloc[fitted], X.iloc[new], y.iloc[new])

            yield f"{name.partition('.')[0]}, {machine}", "", measure


def by_hand(make: Callable[[], Any], encoder: Any) -> Callable[[], Any]:
    """Return a machine behind an encoder of texts, and standardised numbers."""
    texts = make_column_selector(dtype_exclude="number")
    others = make_column_selector(dtype_include="number")
    return lambda: make_pipeline(make_column_transformer((encoder, texts), (StandardScaler(), others)), make())


def show_categories(rows: int | None) -> Iterator[Measured]:
    """Compare texts as they come with encodings by hand: error rates, or RMSE as a share of the deviation."""
    for name in WITH_TEXTS:
        X, y = mushrooms() if name == "mushrooms" else read_raw(name)
        classes = y.dtype.kind not in "if"
        ours = DSEKLClassifier if classes else DSEKLRegressor

        def make(ours: Any = ours) -> Any:
            return ours(random_state=0)

        ways = {
            "as it comes": make,
            "one-hot": by_hand(make, OneHotEncoder(handle_unknown="ignore", sparse_output=False)),
            "ordinal": by_hand(make, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)),
            "target": by_hand(make, TargetEncoder(target_type="auto" if classes else "continuous", random_state=0)),
        }
        for way, machine in ways.items():

            def measure(seed: int, X: Any = X, y: Any = y, way: str = way, machine: Any = machine) -> Score:
                fitted, new = halves(len(y), seed, rows or MOST_ROWS)
                score = timed_fit(machine, X.iloc[fitted], y.iloc[fitted], X.iloc[new], y.iloc[new])
                return {way: 100 * (score["error"] if "error" in score else score["RMSE"] / float(y.std()))}

            yield name.partition(".")[0], way, measure


def with_difference(found: dict[str, Score]) -> dict[str, Score]:
    """Return the scores of encodings, and how far texts as they come are behind the best by hand."""
    for scores in found.values():
        others = [value for way, value in scores.items() if way != "as it comes"]
        scores["behind the best by hand"] = scores["as it comes"] - min(others)
    return found


def show_calibration(rows: int | None) -> Iterator[Measured]:
    """Compare probabilities: our own, scikit-learn's around the same machine, and LightGBM's."""
    import lightgbm

    ways: dict[str, Callable[[], Any]] = {
        "dsekl": lambda: DSEKLClassifier(random_state=0),
        "CalibratedClassifierCV": lambda: CalibratedClassifierCV(DSEKLClassifier(random_state=0), ensemble=False),
        "LightGBM": lambda: lightgbm.LGBMClassifier(verbose=-1, random_state=0),
    }
    for name in CLASSIFICATION:
        for way, make in ways.items():

            def measure(seed: int, name: str = name, way: str = way, make: Any = make) -> Score:
                _, X, y = the_panel()[name]
                fitted, new = halves(len(y), seed, rows or most_rows(name))
                score = timed_fit(make, X[fitted], y[fitted], X[new], y[new])
                return {f"{part}, {way}": score[part] for part in ("log loss", "calibration error")}

            yield name, way, measure


def most_rows(name: str) -> int:
    """Return how many training rows a table may have."""
    return MOST_OF_LARGE if name in LARGE else MOST_ROWS


def show_cost(rows: int | None) -> Iterator[Measured]:
    """Measure the CPU time that the calibration takes, beside that of the fit, with one thread.

    Up to 8,000 rows that is the time within the further fits and the choice of a map; of more rows it is what a fit
    takes longer that solves the half-size machine before it doubles the sample.
    """
    for name in CLASSIFICATION:

        def measure(seed: int, name: str = name) -> Score:
            _, X, y = the_panel()[name]
            fitted, _ = halves(len(y), seed, rows or most_rows(name))
            of_all, of_calibration = cost_of(X[fitted], y[fitted], seed)
            plain = of_all - of_calibration
            if name in LARGE:
                plain = cost_of(X[fitted], y[fitted], seed, waits=False)[0]
            return {"fit, s": plain, "with calibration, s": of_all, "more, %": 100 * (of_all / plain - 1)}

        yield name, "", measure


def cost_of(X: Any, y: Any, seed: int, waits: bool = True) -> tuple[float, float]:
    """Return the CPU seconds of a fit with its calibration, and of the steps that serve the calibration alone."""
    from dsekl.models.cross_fitting import CrossFit
    from dsekl.solvers.dual import ascent

    spent, cross_fit, waited = [0.0], CrossFit.unseen, ascent.MOST_WAITED

    def timed(self: CrossFit, *given: Any) -> Any:
        before = process_time()
        found = cross_fit(self, *given)
        spent[0] += process_time() - before
        return found

    CrossFit.unseen = timed  # type: ignore[method-assign]
    ascent.MOST_WAITED = waited if waits else 0
    try:
        started = process_time()
        model = DSEKLClassifier(random_state=seed, n_jobs=1).fit(X, y)
        fitted = process_time()
        _ = model.calibration_
        return process_time() - started, spent[0] + process_time() - fitted
    finally:
        CrossFit.unseen, ascent.MOST_WAITED = cross_fit, waited  # type: ignore[method-assign]


def show_objective(rows: int | None) -> Iterator[Measured]:
    """Compare what is chosen by decisions with what is chosen by log loss."""
    for name in ("bank-marketing", "caravan", "diabetes", "magic"):
        for objective in ("decisions", "probabilities"):

            def measure(seed: int, name: str = name, objective: str = objective) -> Score:
                _, X, y = the_panel()[name]
                fitted, new = halves(len(y), seed, rows or FEW_ROWS)
                model = DSEKLClassifier(objective=objective, random_state=0).fit(X[fitted], y[fitted])
                score = scored(model, X[new], y[new])
                return {f"{part}, {objective}": score[part] for part in ("AUC", "log loss", "error")}

            yield name, objective, measure


def show_intervals(rows: int | None) -> Iterator[Measured]:
    """Compare 90 % intervals with those between LightGBM's quantiles.

    These cover fewer rows than they say. Conformal ones are as much wider as a quarter of the training rows, which is
    held out for that, asks for.
    """
    import lightgbm

    def ours(X: Any, y: Any, new: Any) -> Any:
        return DSEKLRegressor(random_state=0).fit(X, y).predict_interval(new, coverage=0.9).T

    def boosted(X: Any, y: Any, new: Any) -> Any:
        made = [lightgbm.LGBMRegressor(objective="quantile", alpha=alpha, verbose=-1, random_state=0)
                for alpha in (0.05, 0.95)]  # fmt: skip
        return [model.fit(X, y).predict(new) for model in made]

    def conformal(X: Any, y: Any, new: Any) -> Any:
        some, rest = train_test_split(np.arange(len(y)), test_size=0.25, random_state=0)
        ends = boosted(X[some], y[some], np.concatenate([X[rest], new]))
        low, high = ([of_end[: len(rest)], of_end[len(rest) :]] for of_end in ends)
        outside = np.sort(np.maximum(low[0] - y[rest], y[rest] - high[0]))
        further = outside[min(len(rest), int(np.ceil(0.9 * (len(rest) + 1)))) - 1]
        return [low[1] - further, high[1] + further]

    for name in REGRESSION:
        for way, ends in {"dsekl": ours, "LightGBM": boosted, "LightGBM, conformal": conformal}.items():

            def measure(seed: int, name: str = name, way: str = way, ends: Any = ends) -> Score:
                _, X, y = the_panel()[name]
                fitted, new = halves(len(y), seed, rows or MOST_ROWS)
                low, high = ends(X[fitted], y[fitted], X[new])
                inside = (low <= y[new]) & (y[new] <= high)
                width = float(np.mean(high - low) / np.std(y))
                return {f"coverage, {way}": 100 * float(np.mean(inside)), f"width, {way}": width}

            yield name, way, measure


def show_csv(rows: int | None) -> Iterator[Measured]:
    """Fit a large csv on the command line, and measure its memory; encode it alone."""
    n_rows = rows or CSV_ROWS

    def measure(seed: int) -> Score:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mixed.csv"
            mixed_csv(path, n_rows)
            return {**encoding(path), **fitting(path, Path(folder) / "m.dsekl")}

    yield f"{n_rows:,} rows, 30 columns", "", measure


SHOWS: dict[str, tuple[Callable[[int | None], Iterator[Measured]], str, str]] = {
    "tables": (show_tables, "Raw tables", "RMSE and MAE in units of the target."),
    "categories": (
        show_categories, "Categorical columns against encodings by hand",
        f"Test error in %, or RMSE in % of the target's deviation; at most {MOST_ROWS:,} training rows.",
    ),
    "calibration": (
        show_calibration, "Calibration",
        f"At most {MOST_ROWS:,} training rows ({MOST_OF_LARGE:,} of {' and '.join(LARGE)}).",
    ),
    "cost": (show_cost, "What calibration costs", "CPU seconds, one thread."),
    "objective": (
        show_objective, "Choosing by decisions or by probabilities", f"At most {FEW_ROWS:,} training rows."
    ),
    "intervals": (
        show_intervals, "Intervals",
        "Intervals that should cover 90 % of the new rows: coverage in %, and mean width in units of the target's "
        f"deviation; at most {MOST_ROWS:,} training rows. A quarter of these is held out for the conformal intervals.",
    ),
    "csv": (show_csv, "A large csv", "Through `dsekl fit`."),
}  # fmt: skip
"""What can be shown: how, under which title, and the words above the table."""


def measured(
    show: str, rows: int | None, seeds: int, only: list[str], timed: bool
) -> dict[str, dict[str, dict[str, Score]]]:
    """Return all cells of a show, row by row, group by group and seed by seed; those of ``only`` are measured."""
    path, trial = cells.RESULTS / f"frames-{show}.json", rows is not None
    found: dict[str, dict[str, dict[str, Score]]] = {} if trial else cells.read(path)
    for row, group, measure in SHOWS[show][0](rows):
        for seed in range(seeds):
            wanted = not only or any(name in row or name == group for name in only)
            known = found.get(row, {}).get(group, {}).get(str(seed))
            if not wanted or (known is not None and ("seconds" in known or not timed)):
                continue
            cell = {name: value for name, value in measure(seed).items() if timed or name != "seconds"}
            print(row, group, seed, {name: round(value, 4) for name, value in cell.items()}, flush=True)
            found.setdefault(row, {}).setdefault(group, {})[str(seed)] = cell
            if not trial:
                cells.keep(path, [row, group, str(seed)], cell)
    return found


def means(found: dict[str, dict[str, dict[str, Score]]]) -> dict[str, Score]:
    """Return for each row the means over the seeds, all groups side by side."""
    return {
        row: {
            name: float(np.mean([scores[name] for scores in of_seeds.values()]))
            for of_seeds in groups.values()
            for name in common(of_seeds)
        }
        for row, groups in found.items()
    }


def common(of_seeds: dict[str, Score]) -> list[str]:
    """Return the scores that were measured for all seeds."""
    first = next(iter(of_seeds.values()))
    return [name for name in first if all(name in scores for scores in of_seeds.values())]


SCORES = ("AUC", "coverage", "log loss", "calibration error", "error", "RMSE", "MAE", "width")
"""In the order of a table's columns; what is not among them comes last."""


def place(column: str) -> tuple[int, bool, str]:
    """Return where a column belongs: by its score, dsekl first."""
    score, _, who = column.partition(", ")
    return SCORES.index(score) if score in SCORES else len(SCORES), who not in ("", "dsekl"), who


def as_markdown(found: dict[str, Score]) -> str:
    """Return scores as a table, one column a score."""
    names = sorted({name for scores in found.values() for name in scores}, key=place)
    lines = [
        [row, *(f"{scores[name]:.4g}" if name in scores else "" for name in names)] for row, scores in found.items()
    ]
    return table(["", *names], lines)


def sections(*shows: str) -> Iterator[Section]:
    """Yield the sections that are made from files of results: those of these shows, or all."""
    for show, (_, title, words) in SHOWS.items():
        kept = cells.read(cells.RESULTS / f"frames-{show}.json")
        if kept and (not shows or show in shows):
            seeds = sorted({len(of_seeds) for groups in kept.values() for of_seeds in groups.values()})
            found = means(kept)
            if show == "categories":
                found = with_difference(found)
            counts = " to ".join(map(str, seeds))
            halves = "Fitted on a random half" if seeds[-1] == 1 else f"Means over {counts} fitted random halves"
            command = f"DSEKL_DATA=... python benchmarks/frames.py {show} --seeds {seeds[-1]}"
            yield Section(title, command, f"{words} {halves}.\n\n{as_markdown(found)}")


def main() -> None:
    """Run one of the shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("show", choices=SHOWS)
    parser.add_argument("--rows", type=int, default=None, help="training rows at most, to try it out")
    parser.add_argument("--seeds", type=int, default=3, help="random halves")
    parser.add_argument("--only", nargs="*", default=[], help="rows, or machines, that are measured now")
    parser.add_argument("--timed", action="store_true", help="keep wall-clock seconds: nothing else may run")
    given = parser.parse_args()
    found = means(measured(given.show, given.rows, given.seeds, given.only, given.timed))
    if given.rows is not None:
        print(as_markdown(found))
        return
    publish_all(sections(given.show))


if __name__ == "__main__":
    main()
