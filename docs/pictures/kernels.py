"""Distance-based kernels as functions of the distance: how smooth they are at 0, and how soon they are 0."""

import numpy as np
from matplotlib.figure import Figure

from dsekl.experiments import plots
from dsekl.gram import build
from dsekl.kernels import resolve
from dsekl.rows import as_rows

COLOURS = {"rbf": "red", "matern52": "orange", "matern32": "blue", "laplacian": "green", "rational_quadratic": "purple"}
STYLES = ("-", "--", "-", "-.", ":")


def draw() -> Figure:
    distance = np.linspace(0, 3, 151)
    with plots.panels(1, 1, (7.2, 2.8)) as (figure, axes):
        ax = axes[0, 0]
        for (name, colour), style in zip(COLOURS.items(), STYLES, strict=True):
            gram = build(resolve(name), as_rows(distance[:, None]), gamma=1.0, dtype="float64")
            ax.plot(distance, gram.block([0], slice(None))[0], style, color=plots.PALETTE[colour], label=f'"{name}"')
        ax.set(xlabel="distance of two rows, gamma=1", title="kernel value", ylim=(0, 1.02), xlim=(0, 3))
        ax.legend()
    return figure
