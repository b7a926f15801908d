"""A classifier in the plane: f = 0 decides, f = -1 and 1 are the margins, and rows on or within them are the model."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from dsekl import DSEKLClassifier
from dsekl.experiments import plots

SETTINGS = {"C=0.3": 0.3, "C=30": 30.0}


def draw() -> Figure:
    X, y = make_moons(300, noise=0.18, random_state=0)
    (left, bottom), (right, top) = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.meshgrid(np.linspace(left, right, 160), np.linspace(bottom, top, 120))
    with plots.panels(1, 2, (7.6, 3.3)) as (figure, axes):
        for ax, (words, C) in zip(axes[0], SETTINGS.items(), strict=True):
            model = DSEKLClassifier(kernel="rbf", gamma=2.0, C=C, loss="hinge", tol=1e-3, random_state=0).fit(X, y)
            f = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
            sides = [plots.PALETTE["blue"], plots.PALETTE["red"]]
            ax.contourf(across, up, f, [-np.inf, 0, np.inf], colors=sides, alpha=0.1)
            styles = dict(linewidths=[0.8, 1.6, 0.8], linestyles=["--", "-", "--"])
            ax.contour(across, up, f, [-1, 0, 1], colors=plots.INK, **styles)
            inside = np.isin(np.arange(len(X)), model.support_)
            for label, colour, mark in ((0, "blue", "s"), (1, "red", "o")):
                of_class, fill = y == label, plots.PALETTE[colour]
                ax.plot(*X[of_class & ~inside].T, mark, markersize=3, color=fill, alpha=0.45)
                ax.plot(*X[of_class & inside].T, mark, markersize=4.6, color=fill, markeredgecolor=plots.INK)
            ax.set_title(f"{words}: {inside.sum()} support vectors of {len(X)} rows")
            ax.set_aspect("equal")
            ax.axis("off")
    return figure
