"""Tables as they come: one call each, against boosting, forests and support vector machines.

``DSEKL_DATA=... python benchmarks/frames.py SHOW [--rows N] [--seeds K]`` prints a table, puts it into
docs/benchmarks.md where all rows were used, and writes benchmarks/results/frames-SHOW.json. SHOW is one of

- tables: bank-marketing and green-taxi from their raw files, against rivals
- categories: texts as they come against the best of three encodings made by hand
- calibration: log loss and expected calibration error, against CalibratedClassifierCV and LightGBM
- objective: choosing by log loss against choosing by decisions, on 1,500 rows
- intervals: coverage and width of 90 % intervals, against LightGBM's quantiles
- csv: a csv of a million rows of 30 mixed columns through ``dsekl fit``, and how fast rows are encoded

Every split is a random half; seconds are wall-clock seconds of the fit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from frame_rivals import machines
from report import publish, table
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from tabular_data import RAW_TABLES, panel_data

from dsekl import DSEKLClassifier, DSEKLRegressor

RESULTS = Path(__file__).parent / "results"

CLASSIFICATION = ("diabetes", "magic", "ring", "segment", "vehicle", "vowel", "ijcnn1", "penbased", "caravan",
                  "bank-marketing")  # fmt: skip
REGRESSION = ("california-housing", "protein-casp", "diabetes progress", "friedman1", "friedman2", "diamonds", "movies",
              "bikeshare", "wage", "computers")  # fmt: skip
MOST_ROWS = 10_000
"""Training rows of the tables of calibration and intervals."""

FEW_ROWS = 1_500
"""Training rows of the comparison of objectives."""

BINS = 15
CSV_ROWS = 1_000_000

Score = dict[str, float]


def read_raw(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table and its target as they come."""
    path = Path(os.environ["DSEKL_DATA"]) / "raw" / name
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=None, engine="python")
    target = RAW_TABLES[name]
    return frame.drop(columns=target), frame[target]


def mushrooms() -> tuple[pd.DataFrame, pd.Series]:
    """Return the mushrooms with letters as their categories; the first column is the class."""
    codes = np.load(Path(os.environ["DSEKL_DATA"]) / "mushrooms.npz")["C"]
    letters = pd.DataFrame({f"c{place}": [chr(code) for code in codes[:, place]] for place in range(codes.shape[1])})
    return letters.drop(columns="c0"), letters["c0"]


def halves(n: int, seed: int, rows: int | None) -> tuple[Any, Any]:
    """Return rows to fit and rows to predict."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2][:rows], order[n // 2 :]


def mean_scores(of_seed: Callable[[int], Score], seeds: int) -> Score:
    """Return the means over random halves."""
    each = [of_seed(seed) for seed in range(seeds)]
    return {name: float(np.mean([scores[name] for scores in each])) for name in each[0]}


def scored(model: Any, X: Any, y: Any) -> Score:
    """Return the usual scores of a fitted model."""
    if hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X), dtype=np.float64)
        loss = float(log_loss(y, p, labels=model.classes_))
        found = {"log loss": loss, "calibration error": calibration_error(p, np.searchsorted(model.classes_, y)),
                 "error": float(np.mean(model.classes_[p.argmax(axis=1)] != np.asarray(y)))}  # fmt: skip
        return {"AUC": float(roc_auc_score(y, p[:, 1])), **found} if p.shape[1] == 2 else found
    residuals = np.asarray(model.predict(X)) - np.asarray(y)
    return {"RMSE": float(np.sqrt(np.mean(residuals**2))), "MAE": float(np.mean(np.abs(residuals)))}


def calibration_error(p: Any, codes: Any) -> float:
    """Return the mean distance between certainty and share of right predictions, over bins of certainty."""
    certainty, right = p.max(axis=1), p.argmax(axis=1) == codes
    bins = np.minimum((certainty * BINS).astype(int), BINS - 1)
    gaps = np.abs(np.bincount(bins, right, BINS) - np.bincount(bins, certainty, BINS))
    return float(gaps.sum() / len(p))


def timed_fit(make: Callable[[], Any], X: Any, y: Any, new: Any, y_new: Any) -> Score:
    """Return the scores and the seconds of a fit."""
    started = perf_counter()
    model = make().fit(X, y)
    seconds = perf_counter() - started
    return {**scored(model, new, y_new), "seconds": seconds}


def show_tables(rows: int | None, seeds: int) -> dict[str, Any]:
    """Compare machines on raw tables."""
    found: dict[str, Any] = {}
    for name in ("bank-marketing.csv.gz", "green-taxi.parquet"):
        X, y = read_raw(name)
        for machine, make in machines(y.dtype.kind not in "if").items():

            def of_seed(seed: int, X: Any = X, y: Any = y, make: Any = make) -> Score:
                fitted, new = halves(len(y), seed, rows)
                return timed_fit(make, X.iloc[fitted], y.iloc[fitted], X.iloc[new], y.iloc[new])

            found[f"{name.partition('.')[0]}, {machine}"] = mean_scores(of_seed, seeds)
    return found


def by_hand(make: Callable[[], Any], encoder: Any) -> Callable[[], Any]:
    """Return a machine behind an encoder of texts, and standardised numbers."""
    texts = make_column_selector(dtype_exclude="number")
    others = make_column_selector(dtype_include="number")
    return lambda: make_pipeline(make_column_transformer((encoder, texts), (StandardScaler(), others)), make())


def show_categories(rows: int | None, seeds: int) -> dict[str, Any]:
    """Compare texts as they come with encodings by hand: error rates, or RMSE as a share of the deviation."""
    tables = {"mushrooms": mushrooms()}
    for name in ("bank-marketing.csv.gz", "chess.csv.gz", "wage.csv.gz", "diamonds.csv.gz"):
        tables[name.partition(".")[0]] = read_raw(name)
    found: dict[str, Any] = {}
    for name, (X, y) in tables.items():
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

        def of_seed(seed: int, X: Any = X, y: Any = y, ways: Any = ways, classes: bool = classes) -> Score:
            fitted, new = halves(len(y), seed, rows)
            scores = {}
            for way, machine in ways.items():
                score = timed_fit(machine, X.iloc[fitted], y.iloc[fitted], X.iloc[new], y.iloc[new])
                scores[way] = 100 * (score["error"] if classes else score["RMSE"] / float(y.std()))
            return scores

        found[name] = mean_scores(of_seed, seeds)
        found[name]["behind the best by hand"] = found[name]["as it comes"] - min(
            value for way, value in found[name].items() if way != "as it comes"
        )
    return found


def show_calibration(rows: int | None, seeds: int) -> dict[str, Any]:
    """Compare probabilities: our own, scikit-learn's around the same machine, and LightGBM's."""
    found: dict[str, Any] = {}
    tables = panel_data()
    for name in CLASSIFICATION:
        _, X, y = tables[name]
        ways: dict[str, Callable[[], Any]] = {
            "dsekl": lambda: DSEKLClassifier(random_state=0),
            "CalibratedClassifierCV": lambda: CalibratedClassifierCV(DSEKLClassifier(random_state=0), ensemble=False),
            "LightGBM": lambda: lightgbm.LGBMClassifier(verbose=-1, random_state=0),
        }

        def of_seed(seed: int, X: Any = X, y: Any = y, ways: Any = ways) -> Score:
            fitted, new = halves(len(y), seed, min(rows or MOST_ROWS, MOST_ROWS))
            scores: Score = {}
            for way, make in ways.items():
                score = timed_fit(make, X[fitted], y[fitted], X[new], y[new])
                parts = ("log loss", "calibration error", "seconds")
                scores |= {f"{part}, {way}": score[part] for part in parts}
            return scores

        found[name] = mean_scores(of_seed, seeds)
    return found


def show_objective(rows: int | None, seeds: int) -> dict[str, Any]:
    """Compare what is chosen by decisions with what is chosen by log loss."""
    found: dict[str, Any] = {}
    tables = panel_data()
    for name in ("bank-marketing", "caravan", "diabetes", "magic"):
        _, X, y = tables[name]

        def of_seed(seed: int, X: Any = X, y: Any = y) -> Score:
            fitted, new = halves(len(y), seed, rows or FEW_ROWS)
            scores: Score = {}
            for objective in ("decisions", "probabilities"):
                model = DSEKLClassifier(objective=objective, random_state=0).fit(X[fitted], y[fitted])
                score = scored(model, X[new], y[new])
                scores |= {f"{part}, {objective}": score[part] for part in ("AUC", "log loss", "error")}
            return scores

        found[name] = mean_scores(of_seed, seeds)
    return found


def show_intervals(rows: int | None, seeds: int) -> dict[str, Any]:
    """Compare 90 % intervals with those between LightGBM's quantiles."""
    found: dict[str, Any] = {}
    tables = panel_data()
    for name in REGRESSION:
        _, X, y = tables[name]

        def of_seed(seed: int, X: Any = X, y: Any = y) -> Score:
            fitted, new = halves(len(y), seed, min(rows or MOST_ROWS, MOST_ROWS))
            model = DSEKLRegressor(random_state=0).fit(X[fitted], y[fitted])
            ends = {"dsekl": model.predict_interval(X[new], coverage=0.9).T}
            quantiles = [
                lightgbm.LGBMRegressor(objective="quantile", alpha=alpha, verbose=-1, random_state=0)
                .fit(X[fitted], y[fitted]).predict(X[new])
                for alpha in (0.05, 0.95)
            ]  # fmt: skip
            ends["LightGBM"] = np.array(quantiles)
            scores: Score = {}
            for way, (low, high) in ends.items():
                scores[f"coverage, {way}"] = 100 * float(np.mean((low <= y[new]) & (y[new] <= high)))
                scores[f"width, {way}"] = float(np.mean(high - low) / np.std(y))
            return scores

        found[name] = mean_scores(of_seed, seeds)
    return found


def mixed_csv(path: Path, rows: int) -> None:
    """Write a csv of 30 mixed columns: numbers with gaps, categories and times."""
    rng = np.random.default_rng(0)
    for start in range(0, rows, 50_000):
        n = min(50_000, rows - start)
        part = {f"n{k}": np.where(rng.random(n) < 0.02, np.nan, rng.normal(size=n).round(4)) for k in range(20)}
        part |= {f"c{k}": rng.choice([f"level {j}" for j in range(5 * (k + 1))], n) for k in range(9)}
        part |= {
            f"t{k}": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), unit="s") for k in range(1)
        }
        frame = pd.DataFrame(part)
        signal = frame["n0"].fillna(0) + (frame["c0"] == "level 1") * frame["n1"].fillna(0)
        frame["y"] = np.where(signal + rng.normal(size=n) > 0, "yes", "no")
        frame.to_csv(path, index=False, header=start == 0, mode="w" if start == 0 else "a")


def show_csv(rows: int | None, seeds: int) -> dict[str, Any]:
    """Fit a large csv on the command line, and measure its memory; encode it alone."""
    from dsekl.data import open_table
    from dsekl.data.recipe import Options, learn

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        mixed_csv(path, rows or CSV_ROWS)
        megabytes = path.stat().st_size / 1e6
        opened = open_table(path)
        recipe = learn(opened, Options(target="y"))
        started = perf_counter()
        n_encoded = sum(len(part.X) for part in recipe.encoded(opened, with_target=False))
        encoding = perf_counter() - started
        command = [sys.executable, "-c", CHILD, str(path), str(Path(folder) / "m.dsekl")]
        started = perf_counter()
        peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()[-1])
        seconds = perf_counter() - started
    return {
        f"{n_encoded:,} rows, 30 columns": {
            "MB of csv": megabytes, "encoded MB/s": megabytes / encoding, "features": recipe.encoder.n_features,
            "MB of encoded rows": 8e-6 * n_encoded * recipe.encoder.n_features, "seconds of dsekl fit": seconds,
            "peak MB of dsekl fit": peak,
        }
    }  # fmt: skip


CHILD = """
import resource, sys
from dsekl.__main__ import main
sys.argv[1:] = ["fit", sys.argv[1], "-t", "y", "-m", sys.argv[2], "--json", "--max-seconds", "600"]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, file=sys.stderr)
"""

SHOWS = {
    "tables": (show_tables, "Tables as they come"),
    "categories": (show_categories, "Texts as they come against encodings by hand"),
    "calibration": (show_calibration, "Calibration"),
    "objective": (show_objective, "Choosing by decisions or by probabilities"),
    "intervals": (show_intervals, "Intervals"),
    "csv": (show_csv, "A large csv"),
}


def as_markdown(found: dict[str, Any]) -> str:
    """Return scores as a table, one column a score."""
    names = list(dict.fromkeys(name for scores in found.values() for name in scores))
    lines = [
        [row, *(f"{scores[name]:.4g}" if name in scores else "" for name in names)] for row, scores in found.items()
    ]
    return table(["", *names], lines)


def main() -> None:
    """Run one of the shows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("show", choices=SHOWS)
    parser.add_argument("--rows", type=int, default=None, help="training rows at most, to try it out")
    parser.add_argument("--seeds", type=int, default=3, help="random halves")
    given = parser.parse_args()
    run, title = SHOWS[given.show]
    found = run(given.rows, given.seeds)
    text = as_markdown(found)
    if given.rows is not None:
        print(text)
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"frames-{given.show}.json").write_text(json.dumps(found, indent=1) + "\n")
    publish(title, f"python benchmarks/frames.py {given.show} --seeds {given.seeds}", text)


if __name__ == "__main__":
    main()
