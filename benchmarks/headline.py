"""The figures that README and the site state, from the results that the benchmarks keep: nothing is typed twice.

``python benchmarks/headline.py`` prints them. The site fills its pages with them, and the tests compare README's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from cells import RESULTS, read
from scipy.stats import rankdata

OURS = "dsekl"
NEAR = 0.1
"""Share by which another model's error is lower where dsekl loses by much."""

NEW = (
    "texture", "magic", "optdigits", "penbased", "segment", "vehicle", "vowel", "ring", "bank-marketing", "green-taxi",
    "diamonds", "movies", "bikeshare", "wage", "computers", "hitters", "caravan", "chess",
)  # fmt: skip
"""Tables that no rule of the defaults was designed on."""

Cells = dict[str, dict[str, dict[str, dict[str, Any]]]]
Errors = dict[str, dict[str, float]]


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
        "behind": behind(errors),
        "rival_ranks": {label: f"{mean_rank[label]:.2f}" for label in labels if label != OURS},
        "cpu": f"{min(seconds):.1f} to {max(seconds):.0f} s",
        "times_boosting": f"{median(found[OURS] / max(found[boosting], 0.01) for found in cpu.values()):.0f}",
    }


def covertype() -> dict[str, dict[str, str]]:
    """Return error and seconds on covertype, of dsekl and of the boosting that stands beside it."""
    points = json.loads((RESULTS / "claim.json").read_text())["points"]
    found = {}
    for key, size in {"dsekl": "all defaults", "boosting": "1,000 × 255 leaves"}.items():
        errors = [100 * point["error"] for point in points if point["size"] == size]
        seconds = [point["seconds"] for point in points if point["size"] == size]
        found[key] = {
            "error": f"{mean(errors):.2f}",
            "spread": f"{stdev(errors):.2f}",
            "seconds": f"{min(seconds):.0f} to {max(seconds):.0f} s",
            "seeds": str(len(errors)),
        }
    return found


if __name__ == "__main__":
    print(json.dumps({"panel": panel(), "covertype": covertype()}, indent=1, ensure_ascii=False))
