"""A stream whose classes change places again and again: machines that forget recover sooner."""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from dsekl import OnlineDSEKLClassifier
from dsekl.experiments import plots

N, BATCH, EVERY, LAST = 6000, 50, 1500, 5
SETTINGS = {
    None: ("never forgets: half_life=None", "grey"),
    "auto": ('half_life="auto"', "red"),
    200: ("half_life=200", "blue"),
}


def draw() -> Figure:
    X, y = make_moons(N, noise=0.15, random_state=0)
    y = np.where(np.arange(N) // EVERY % 2, 1 - y, y)
    with plots.panels(1, 1, (7.2, 2.9)) as (figure, axes):
        ax = axes[0, 0]
        for half_life, (words, colour) in SETTINGS.items():
            model = OnlineDSEKLClassifier(budget=60, half_life=half_life, random_state=0)
            model.partial_fit(X[:BATCH], y[:BATCH], classes=[0, 1])
            right = []
            for first in range(BATCH, N, BATCH):
                part = slice(first, first + BATCH)
                right.append(np.mean(model.predict(X[part]) == y[part]))
                model.partial_fit(X[part], y[part])
            smooth = np.convolve(right, np.ones(LAST) / LAST, mode="valid")
            seen = BATCH * (1 + LAST + np.arange(len(smooth)))
            ax.plot(seen, smooth, label=words, color=plots.PALETTE[colour])
        for change in range(EVERY, N, EVERY):
            ax.axvline(change, color=plots.PALETTE["orange"], linestyle=":", linewidth=1.5)
        ax.text(EVERY + 40, 0.06, "the classes change places")
        title = f"accuracy on the last {LAST * BATCH} rows, each predicted before it was learned from"
        ax.set(xlabel="rows seen", title=title, ylim=(0, 1))
        ax.yaxis.set_major_formatter(plots.in_per_cent)
        figure.legend(loc="outside lower center", ncols=3)
    return figure
