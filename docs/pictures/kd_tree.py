"""The leaves of a kd-tree: one block of rows, the boxes within the kernel's reach, and those that are skipped."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from sklearn.datasets import make_moons

from dsekl.experiments import plots
from dsekl.gram.points import boxes_of, run_starts
from dsekl.gram.tree import spatial_order

REACH = 0.45


def draw() -> Figure:
    X, _ = make_moons(6000, noise=0.12, random_state=0)
    order, leaf = spatial_order(X.astype(np.float32))
    points = X[order]
    starts = run_starts(leaf)
    low, high = boxes_of(points, starts)
    chosen = int(np.argmin(np.abs(low[:, 0] - 0.1) + np.abs(low[:, 1] - 0.7)))
    # The distance of two boxes: what lies between their sides, column by column.
    apart = np.maximum(0, np.maximum(low - high[chosen], low[chosen] - high))
    near = np.hypot(*apart.T) <= REACH
    with plots.panels(1, 1, (7.2, 3.9)) as (figure, axes):
        ax = axes[0, 0]
        ax.plot(*points[::3].T, ".", markersize=1.6, color=plots.PALETTE["grey"], alpha=0.6)
        for k, (corner, opposite) in enumerate(zip(low, high, strict=True)):
            colour = "red" if k == chosen else "blue" if near[k] else "grey"
            ax.add_patch(
                Rectangle(
                    corner, *(opposite - corner), linewidth=1.1, edgecolor=plots.PALETTE[colour],
                    facecolor=(plots.PALETTE[colour], 0.3 if k == chosen else 0.13 if near[k] else 0.0),
                )
            )  # fmt: skip
        centre = (low[chosen] + high[chosen]) / 2
        ax.add_patch(
            Circle(centre, REACH + np.hypot(*(high[chosen] - low[chosen])) / 2, fill=False, linestyle="--", linewidth=1,
                   edgecolor=plots.PALETTE["red"])
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.axis("off")
        labels = {"red": "a block of rows", "blue": "within reach: computed", "grey": "out of reach: skipped"}
        handles = [
            Rectangle((0, 0), 1, 1, edgecolor=colour, facecolor=(colour, 0.2), label=words)
            for colour, words in ((plots.PALETTE[name], words) for name, words in labels.items())
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure
