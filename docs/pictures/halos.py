"""Parts of a table for several workers, cut by a kd-tree, and the rows round one part that its kernel reaches."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.datasets import make_moons

from dsekl.experiments import plots
from dsekl.gram.tree import cut

REACH, PARTS = 0.3, 4
COLOURS = ("red", "blue", "green", "purple")


def parts(X: np.ndarray) -> list[np.ndarray]:
    """Cut the rows into four: a kd-tree's first two levels."""
    found = [np.arange(len(X))]
    while len(found) < PARTS:
        found = [side for order in found for side in np.split(order, [cut(X, order)])]
    return found


def draw() -> Figure:
    X = make_moons(1600, noise=0.12, random_state=0)[0].astype(np.float32)
    owned = parts(X)
    mine, others = owned[0], np.concatenate(owned[1:])
    low, high = X[mine].min(axis=0), X[mine].max(axis=0)
    apart = np.maximum(0, np.maximum(X[others] - high, low - X[others]))
    halo = others[np.hypot(*apart.T) <= REACH]
    with plots.panels(1, 1, (7.2, 3.9)) as (figure, axes):
        ax = axes[0, 0]
        for k, (rows, colour) in enumerate(zip(owned, COLOURS, strict=True)):
            label = f"worker {k + 1}: {len(rows)} rows"
            ax.plot(*X[rows].T, ".", markersize=3.2, color=plots.PALETTE[colour], label=label)
        ax.plot(*X[halo].T, "o", markersize=4.6, fillstyle="none", markeredgewidth=0.7, color=plots.PALETTE["red"],
                label=f"halo of worker 1: {len(halo)} rows")  # fmt: skip
        ax.add_patch(Rectangle(low, *(high - low), fill=False, linewidth=1.4, edgecolor=plots.PALETTE["red"]))
        ax.add_patch(
            Rectangle(low - REACH, *(high - low + 2 * REACH), fill=False, linewidth=1, linestyle="--",
                      edgecolor=plots.PALETTE["red"])
        )  # fmt: skip
        ax.set_aspect("equal")
        ax.axis("off")
        figure.legend(loc="outside lower center", ncols=3)
    return figure
