"""The figures that README and the site state, from the results that the benchmarks keep: nothing is typed twice.

``python benchmarks/headline.py`` prints them. The site fills its pages with them, and the tests compare README's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from statistics import mean, median
from typing import Any

import numpy as np
from cells import RESULTS, read, span, spread
from report import PAGE, Section
from scipy.stats import rankdata

OURS = "dsekl"
NEAR = 0.1
"""Share by which another model's error is lower where dsekl loses by much."""

NEW = (
    "texture", "magic", "optdigits", "penbased", "segment", "vehicle", "vowel", "ring", "bank-marketing", "green-taxi",
    "diamonds", "movies", "bikeshare", "wage", "computers", "hitters", "caravan", "chess",
)  # fmt: skip
"""Tables that were added after the rules of the defaults were designed; a few settings have been compared since on
their training rows or on other splits."""

SIZES = {"dsekl": "all defaults", "boosting": "1,000 × 255 leaves"}
"""What of covertype's points the pages compare."""

Cells = dict[str, dict[str, dict[str, dict[str, Any]]]]
Errors = dict[str, dict[str, float]]


EXACT = {"covertype": "Covertype, exact", "skin": "Skin, exact", "mnist": "MNIST, exact"}
"""Sections of the page on which the exact machines' figures stand; those of ridge are on one."""


def version_of(title: str) -> str:
    """Return the version that a section of the page was measured with, in words, and nothing if it is this one."""
    told = Section(title, "", "").machine(PAGE.read_text()) or ""
    measured = told.partition(",")[0].removeprefix("dsekl ")
    return "" if measured == version("dsekl") else f", dsekl {measured}"


def read_cells() -> Cells:
    """Return what the panel measured: table, model, split, and the figures of each."""
    found: Cells = read(RESULTS / "panel.json")
    return found


def shared_splits(models: dict[str, dict[str, Any]], labels: Sequence[str]) -> set[str]:
    """Return the splits of a table that all models have."""
    return set.intersection(*(set(models.get(label, {})) for label in labels))


def means(cells: Cells, figure: str, labels: Sequence[str]) -> Errors:
    """Return a figure's mean over the splits that all models have, of each table and model."""
    found = {}
    for name, models in cells.items():
        shared = sorted(shared_splits(models, labels))
        if shared:
            found[name] = {m: float(np.mean([models[m][seed][figure] for seed in shared])) for m in labels}
    return found


def ranks_of(errors: Errors, labels: Sequence[str]) -> dict[str, Any]:
    """Return the models' ranks on each table; equal errors share the better one."""
    return {name: rankdata([round(found[m], 9) for m in labels], method="min") for name, found in errors.items()}


def behind(errors: Errors) -> list[str]:
    """Return the tables on which another model's error is lower by more than a tenth."""
    return [name for name, found in errors.items() if min(found.values()) < (1 - NEAR) * found[OURS]]


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def splits_in_words(cells: Cells, labels: Sequence[str]) -> str:
    """Return of how many splits the means are."""
    counts = sorted({len(shared_splits(models, labels)) for models in cells.values()} - {0})
    return f"{' or '.join(map(str, counts))} split{'s' * (counts != [1])}"


def panel() -> dict[str, Any]:
    """Return the panel's figures, as the pages print them."""
    cells = read_cells()
    labels = sorted(next(iter(cells.values())))
    errors, cpu = means(cells, "error", labels), means(cells, "cpu", labels)
    ranks = ranks_of(errors, labels)
    all_ranks = np.array(list(ranks.values()))
    mean_rank = dict(zip(labels, all_ranks.mean(axis=0), strict=True))
    ours = all_ranks[:, labels.index(OURS)]
    new = [ranks[name][labels.index(OURS)] for name in NEW]
    boosting = next(label for label in labels if label.startswith("LightGBM"))
    seconds = [found[OURS] for found in cpu.values()]
    return {
        "tables": len(errors),
        "models": len(labels),
        "rank": f"{ours.mean():.2f}",
        "rank_error": f"{ours.std(ddof=1) / len(ours) ** 0.5:.2f}",
        "new": len(new),
        "rank_new": f"{mean(map(float, new)):.2f}",
        "lowest": int((ours == 1).sum()),
        "not_lowest": int((ours > 1).sum()),
        "n_behind": len(behind(errors)),
        "splits": splits_in_words(cells, labels),
        "behind_words": listed(behind(errors)),
        "rival_ranks": {label: f"{mean_rank[label]:.2f}" for label in labels if label != OURS},
        "cpu": f"{min(seconds):.1f} to {max(seconds):.0f} s",
        "times_boosting": f"{median(found[OURS] / max(found[boosting], 0.01) for found in cpu.values()):.0f}",
    }


def covertype() -> dict[str, Any]:
    """Return error and seconds on covertype, of dsekl and of the boosting that stands beside it."""
    results = json.loads((RESULTS / "claim.json").read_text())
    measured = results["versions"]["dsekl"]
    found: dict[str, Any] = {
        "rows": f"{results['data']['training_rows']:,}",
        # Said only if the results are of another version than this one.
        "version": "" if measured == version("dsekl") else f" of {measured}",
    }
    for key, size in SIZES.items():
        points = [point for point in results["points"] if point["size"] == size]
        found[key] = {
            "error": spread([100 * point["error"] for point in points], 2),
            "seconds": f"{span([point['seconds'] for point in points])} s",
            "seeds": str(len(points)),
        }
    seconds = {key: mean(p["seconds"] for p in results["points"] if p["size"] == size) for key, size in SIZES.items()}
    found["times"] = f"{seconds['dsekl'] / seconds['boosting']:.1f}"
    return found


def exact() -> dict[str, dict[str, dict[str, str]]]:
    """Return the exact machines' figures: table, model, and what the pages print."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for section, models in read(RESULTS / "exact.json").items():
        for model, runs in models.items():
            figures = {name: [run[name] for run in runs.values()] for name in next(iter(runs.values()))}
            told = {"rows": f"{figures['rows'][0]:,}", "seconds": f"{span(figures['fit_seconds'])} s"}
            if "error" in figures:
                told["error"] = spread([100 * error for error in figures["error"]], 2)
                told["predict"] = f"{span(figures['predict_seconds'], 1)} s"
            found.setdefault(section, {})[model] = told
    for section, models in found.items():
        models["measured"] = {"version": version_of(EXACT.get(section, "Kernel ridge"))}
    return found


def madelon() -> dict[str, dict[str, str]]:
    """Return error and seconds of each model on madelon."""
    return {
        model: {
            "error": spread([100 * run["error"] for run in runs.values()], 1),
            "seconds": f"{span([run['seconds'] for run in runs.values()])} s",
        }
        for model, runs in read(RESULTS / "tables.json")["madelon"].items()
    }


def digits() -> dict[str, str]:
    """Return the accuracy of README's first snippet over its splits."""
    runs = next(iter(read(RESULTS / "tables.json")["digits"].values())).values()
    return {"accuracy": spread([1 - run["error"] for run in runs], 3), "splits": str(len(runs))}


def streams() -> dict[str, str]:
    """Return where streams trail: one pass over ijcnn1, river's streams, and what follows a drift."""
    small, small_chosen, large, large_chosen = read(RESULTS / "streams_budgets.json")["tables"][0]
    river = [line for some in read(RESULTS / "streams_river.json")["tables"] for line in some]
    drifts = [line for some in read(RESULTS / "streams_drift.json")["tables"] for line in some]
    behind_forest = [
        next(iter(line.values()))
        for line in river
        if (figure(line["Mondrian forest"]) > figure(line["dsekl"])) == ("progressive accuracy" in line)
    ]
    best = sum(figure(line["dsekl"]) >= max(figure(v) for v in list(line.values())[1:]) for line in drifts)
    return {
        "small": small["test error, one pass"],
        "small_chosen": small_chosen["test error, one pass"],
        "small_published": small["best published"],
        "large": large["test error, one pass"],
        "large_chosen": large_chosen["test error, one pass"],
        "large_published": large["best published"],
        "river": str(len(river)),
        "behind_forest": str(len(behind_forest)),
        "drifts": str(len(drifts)),
        "best_after_drifts": str(best),
    }


def figure(text: str) -> float:
    """Return the number that a cell begins with."""
    return float(text.split()[0])


def everything() -> dict[str, Any]:
    """Return all figures by name."""
    return {
        "panel": panel(),
        "covertype": covertype(),
        "exact": exact(),
        "madelon": madelon(),
        "digits": digits(),
        "streams": streams(),
    }


if __name__ == "__main__":
    print(json.dumps(everything(), indent=1, ensure_ascii=False))
