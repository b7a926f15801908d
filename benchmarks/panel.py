"""The panel: all defaults of dsekl against its rivals on some forty tables, three splits of each.

DSEKL_DATA=... python benchmarks/panel.py measure MODEL...   # or "rivals", or "all"; cells that are there are kept
DSEKL_DATA=... python benchmarks/panel.py publish

Each cell (table, split, model) is written to results/panel.json as soon as it is measured, so that a run can be stopped
and gone on with. dsekl's cells are measured anew by each ``measure dsekl``.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from time import process_time
from typing import Any

import cells
import numpy as np
from headline import NEW, OURS, Cells, behind, means, ranks_of, read_cells, shared_splits
from report import Section, publish_all, table
from rivals import MODELS, measure
from sklearn.model_selection import train_test_split
from tabular_data import panel_data

COMMAND = "DSEKL_DATA=... python benchmarks/panel.py"
CELLS = cells.RESULTS / "panel.json"
SPLITS = (0, 1, 2)
MOST_TRAINING_ROWS, MOST_TEST_ROWS = 3_000, 5_000
"""So that support vector machines and xRFM can take part."""


def split(X: Any, y: Any, regression: bool, seed: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return training and test rows: a quarter for the test, at most so many of each."""
    n = len(X)
    strata = None if regression else y
    n_test = min(MOST_TEST_ROWS, n // 4)
    n_train = min(MOST_TRAINING_ROWS, n - n_test)
    train, test = train_test_split(
        np.arange(n), train_size=n_train, test_size=n_test, random_state=seed, stratify=strata
    )
    return (X[train], y[train]), (X[test], y[test])


def measure_cells(labels: list[str]) -> None:
    tables = panel_data()
    tables["mnist"] = tables.pop("mnist")  # it takes longest, for boosting above all
    for seed in SPLITS:
        for name, (regression, X, y) in tables.items():
            data = split(np.asarray(X, dtype=np.float32), y, regression, seed)
            for label in labels:
                known = read_cells().get(name, {}).get(label, {})
                if label != OURS and str(seed) in known:
                    continue
                model, busy = MODELS[label](regression, seed), process_time()
                error, seconds = measure(model, *data, regression)
                cell = {"error": error, "seconds": round(seconds, 3), "cpu": round(process_time() - busy, 2)}
                if label == OURS:
                    cell["chosen"] = (
                        f"{model.metric_}, {model.kernel_}, {model.scale_}, {model.loss_}"
                        if hasattr(model, "metric_")
                        else "not learned"
                    )
                cells.keep(CELLS, [name, label, str(seed)], cell)
                print("  ", name, label, seed, cell, flush=True)


def lines_of(errors: dict[str, dict[str, float]]) -> list[list[str]]:
    """Return the table's lines: errors, the lowest in bold, then wins and mean ranks."""
    lines = []
    wins, ranks = dict.fromkeys(MODELS, 0.0), ranks_of(errors, list(MODELS))
    for name, found in errors.items():
        lowest = min(found.values())
        best = [label for label in MODELS if found[label] <= lowest + 1e-9]
        for label in best:
            wins[label] += 1 / len(best)
        lines.append([name, *(f"**{100 * found[m]:.2f}**" if m in best else f"{100 * found[m]:.2f}" for m in MODELS)])
    lines.append(["wins (ties shared)", *(f"{wins[m]:.1f}" for m in MODELS)])
    new = [ranks[name] for name in NEW if name in ranks]
    return [*lines, mean_ranks("mean rank", list(ranks.values())), mean_ranks(f"mean rank, {len(new)} new tables", new)]


def mean_ranks(label: str, ranks: list[Any]) -> list[str]:
    """Return a line of mean ranks with their standard errors over the tables."""
    errors = np.std(ranks, axis=0, ddof=1) / np.sqrt(len(ranks))
    return [label, *(f"{mean:.2f} ± {error:.2f}" for mean, error in zip(np.mean(ranks, axis=0), errors, strict=True))]


def sections() -> Iterator[Section]:
    """Yield the sections that are made from the file of results."""
    found = read_cells()
    errors = means(found, "error", list(MODELS))
    counts = Counter(len(shared_splits(models, list(MODELS))) for models in found.values())
    n_splits = " and ".join(f"{n} of {count} tables" for n, count in sorted(counts.items(), reverse=True))
    yield Section(
        "Tables", COMMAND + " measure all; python benchmarks/panel.py publish",
        "Test error in per cent (regression: root mean squared error in per cent of the targets' deviation), mean over "
        f"the splits that all models have ({n_splits}), at most {MOST_TRAINING_ROWS:,} training and "
        f"{MOST_TEST_ROWS:,} test rows. Ranks have their standard error over the tables; the new ones were added "
        "after the rules of the defaults were designed, and a few settings have been compared since on training rows "
        "or other splits of some of them.\n\n" + table(["data", *MODELS], lines_of(errors))
        + f"\n\nBehind the best by more than a tenth: {', '.join(behind(errors)) or 'none'}.",
    )  # fmt: skip
    yield Section(
        "What the defaults chose", COMMAND + " measure dsekl; python benchmarks/panel.py publish",
        "How often each candidate was chosen in the fits of the table above, of all that chose; losses are those "
        "of classifiers. `python benchmarks/ablation.py` measures what each choice adds.\n\n"
        + table(["choice", "candidates"], chosen_lines(found)),
    )  # fmt: skip


def chosen_lines(found: Cells) -> list[list[str]]:
    """Return for each decision how often each candidate was chosen."""
    fits = [cell["chosen"].split(", ") for models in found.values() for cell in models[OURS].values()]
    lines = []
    for place, decision in enumerate(("weights", "kernel", "scale of the columns", "loss")):
        counts = Counter(fit[place] for fit in fits if len(fit) > place and fit[place] != "squared")
        n = sum(counts.values())
        lines.append([decision, ", ".join(f"{name} {100 * count / n:.0f} %" for name, count in counts.most_common())])
    return lines


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["measure"]:
        wanted = [n for n in MODELS if n in sys.argv[2:] or "all" in sys.argv or ("rivals" in sys.argv and n != OURS)]
        measure_cells(wanted)
    else:
        publish_all(sections())
