"""The claim: test error against seconds of training on covertype, of every model that was measured."""

import json

from cells import RESULTS
from claim_picture import means, middle_run
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from dsekl.experiments import plots

STYLES = {
    "LightGBM": ("blue", "s"),
    "scikit-learn-intelex SVC": ("green", "D"),
    "scikit-learn SVC": ("orange", "^"),
    "Nyström + linear SVM": ("purple", "v"),
}


def draw() -> Figure:
    results = json.loads((RESULTS / "claim.json").read_text())
    runs: dict[str, list] = {}
    for point in results["points"]:
        runs.setdefault(point["series"], []).append(point)
    ours, rows = runs.pop("dsekl"), results["data"]["training_rows"]
    with plots.panels(1, 1, (6.4, 4.4)) as (figure, axes):
        ax = axes[0, 0]
        for seed in ours:
            seconds, errors = ([epoch[key] for epoch in seed["curve"]] for key in ("seconds", "error"))
            if seed is middle_run(ours):
                label = f"dsekl, all defaults, all {rows:,} rows"
                ax.plot(seconds, errors, color=plots.PALETTE["red"], linewidth=2.6, zorder=5, label=label)
                ax.plot(seconds[-1], errors[-1], "o", color=plots.PALETTE["red"], markersize=9, zorder=6)
                ax.annotate(
                    plots.in_per_cent(round(errors[-1], 3)), (seconds[-1], errors[-1]), (0, -9), va="top", ha="center",
                    textcoords="offset points", color=plots.PALETTE["red"], weight="bold", size=11,
                )  # fmt: skip
            else:
                ax.plot(seconds, errors, color=plots.PALETTE["red"], linewidth=1, alpha=0.35)
        for series, points in runs.items():
            colour, mark = STYLES[series]
            sizes = means(points)
            unit = sizes[0]["size"].split()[-1]
            label = f"{series}, {sizes[0]['size'].removesuffix(unit)}to {sizes[-1]['size']}"
            line = [[size[key] for size in sizes] for key in ("seconds", "error")]
            ax.plot(*line, marker=mark, markersize=6, color=plots.PALETTE[colour], label=label)
        ax.set(
            xscale="log",
            yscale="log",
            ylim=(0.0105, None),
            xlabel="seconds of training",
            title="test error on covertype",
        )
        ax.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
        ax.yaxis.set_major_formatter(plots.in_per_cent)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_minor_locator(NullLocator())
        figure.legend(loc="outside lower center", ncols=1)
    return figure
