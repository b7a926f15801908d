"""What ``make demo`` shows: the paper's XOR problem, then the default estimator on two tables of scikit-learn.

Every model is scored on the same five splits (stratified, 70 % of the rows for training, random_state 0 to 4). Means
are given with the standard deviation over the splits.
"""

import os
from pathlib import Path
from time import perf_counter

import matplotlib

os.environ.setdefault(
    "OMP_WAIT_POLICY", "passive"
)  # boosting's threads would fight others for a busy core

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dsekl import DSEKLClassifier

OUT = Path("out/demo.png")
SPLITS = range(5)
TABLES = {"handwritten digits": load_digits, "breast cancer (wdbc)": load_breast_cancer}
RED, BLUE, GREEN, PURPLE, INK, MUTED = (
    "#c2352b",
    "#0065a8",
    "#00856a",
    "#7a4f9a",
    "#23272e",
    "#666d78",
)


def tuned_svc(n_columns):
    grid = {"svc__gamma": np.array([0.3, 1.0, 3.0]) / n_columns, "svc__C": [1.0, 10.0, 100.0]}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=3)


MODELS = {
    "dsekl, all defaults": (RED, lambda seed, _: DSEKLClassifier(random_state=seed)),
    "SVC, tuned on 9 pairs": (BLUE, lambda _, n_columns: tuned_svc(n_columns)),
    "SVC, scaled, defaults": (GREEN, lambda *_: make_pipeline(StandardScaler(), SVC())),
    "boosting, defaults": (
        PURPLE,
        lambda seed, _: HistGradientBoostingClassifier(random_state=seed),
    ),
}


def compare(X, y):
    """Return for each model the test errors in per cent, the seconds of the fits, and the fitted models."""
    found = {name: ([], [], []) for name in MODELS}
    for seed in SPLITS:
        parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
        X_train, X_test, y_train, y_test = parts
        for name, (_, make) in MODELS.items():
            errors, seconds, models = found[name]
            start = perf_counter()
            models.append(make(seed, X.shape[1]).fit(X_train, y_train))
            seconds.append(perf_counter() - start)
            errors.append(100 * (1 - models[-1].score(X_test, y_test)))
    return found


def print_table(title, X, found):
    print(f"\n{title}: {len(X):,} rows, {X.shape[1]} columns, {len(SPLITS)} splits\n")
    print(f"  {'':24s}{'test error, %':>16s}{'fit, s':>9s}")
    for name, (errors, seconds, _) in found.items():
        spread = f"{np.mean(errors):.2f} ± {np.std(errors, ddof=1):.2f}"
        print(f"  {name:24s}{spread:>16s}{np.mean(seconds):9.2f}", flush=True)


def draw_dots(ax, results):
    """One line for each table and model: the mean, its standard deviation, and the splits as small dots."""
    place, places, names = 0.0, [], []
    for title, found in results.items():
        ax.text(0, place, title, weight="bold", color=INK, fontsize=10, va="center")
        for name, (errors, seconds, _) in found.items():
            place += 1
            colour = MODELS[name][0]
            mean, spread = np.mean(errors), np.std(errors, ddof=1)
            ax.plot(
                [max(mean - spread, 0), mean + spread],
                [place, place],
                color=colour,
                linewidth=2,
                alpha=0.5,
            )
            ax.plot(errors, np.full(len(errors), place), ".", color=colour, ms=5, alpha=0.5)
            ax.plot(mean, place, "o", color=colour, ms=9, mec="white", mew=1)
            places.append(place)
            names.append(name)
            time = f"{np.mean(seconds):.2f} s"
            ax.text(
                1.0,
                place,
                time,
                transform=ax.get_yaxis_transform(),
                ha="right",
                va="center",
                color=MUTED,
                fontsize=8.5,
            )
        place += 1.4
    ax.set_yticks(places, names)
    for label, name in zip(ax.get_yticklabels(), names, strict=True):
        label.set_color(MODELS[name][0])
        label.set_fontweight("bold" if name.startswith("dsekl") else "normal")
    worst = max(max(errors) for found in results.values() for errors, _, _ in found.values())
    ax.set(xlim=(0, 1.3 * worst), ylim=(place - 0.7, -0.7))
    ax.set_xlabel(
        "test error, %: mean, standard deviation, each split; seconds of a fit", color=MUTED
    )
    ax.grid(axis="x", color="#e8e6e1")
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title("Two real tables, five splits", loc="left", color=INK)


def draw_weights(ax, models):
    """The importance of each pixel, a mean over the splits."""
    shares = 100 * np.mean([model.feature_importances_ for model in models], axis=0).reshape(
        8, 8
    )
    image = ax.imshow(shares, cmap="inferno", vmin=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.75, pad=0.03, format="%g %%", panchor=False)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0, labelsize=8)
    learned = sum("learned" in model.metric_ for model in models)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title("Importance of the digits' pixels", loc="left", color=INK)
    ax.set_xlabel(
        f"mean over {len(models)} splits: learned weights were chosen\n"
        f"on {learned} of them, equal weights on the others",
        color=MUTED,
    )


def main():
    began = perf_counter()
    print(
        "dsekl: exact kernel machines. The first run on a machine also compiles, for some seconds.\n",
        flush=True,
    )
    from paper import plot_xor  # prints its own lines

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    DSEKLClassifier(random_state=0).fit(X, X[:, 0] > 0).predict(
        X
    )  # so that no timed fit loads compiled code

    results = {}
    for title, read in TABLES.items():
        X, y = read(return_X_y=True)
        results[title] = compare(X, y)
        print_table(title, X, results[title])

    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(14.5, 4.9), layout="constrained", width_ratios=(1, 1.1, 1)
    )
    plot_xor.draw_surface(left)
    for square in (left, right):
        square.set_anchor("N")
    draw_dots(middle, results)
    draw_weights(right, results["handwritten digits"]["dsekl, all defaults"][2])
    OUT.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT, dpi=150)
    print(f"\nThe picture is in {OUT} (all of this took {perf_counter() - began:.0f} s).")
    print(
        "Next, a table of your own: .venv/bin/dsekl fit table.csv --target COLUMN --model table.dsekl"
    )


if __name__ == "__main__":
    main()
