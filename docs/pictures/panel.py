"""The error of every model on every table of the panel, relative to the best of dsekl's rivals there."""

from headline import OURS, means, read_cells
from matplotlib.figure import Figure

from dsekl.experiments import plots

LEAST, MOST = 0.25, 4.0
ZERO = 1e-3
"""Errors count as at least a tenth of a per cent, so that ratios of nothing to nothing are 1."""


def relative() -> dict[str, dict[str, float]]:
    """Return each error over the lowest of the rivals, within what the picture has room for."""
    cells = read_cells()
    labels = sorted(next(iter(cells.values())))
    found = {}
    for name, errors in means(cells, "error", labels).items():
        best = max(ZERO, min(error for label, error in errors.items() if label != OURS))
        found[name] = {label: min(MOST, max(LEAST, max(ZERO, error) / best)) for label, error in errors.items()}
    return found


def draw() -> Figure:
    found = relative()
    names = sorted(found, key=lambda name: found[name][OURS], reverse=True)
    with plots.panels(1, 1, (7.2, 8.4)) as (figure, axes):
        ax = axes[0, 0]
        rivals = [(value, k) for k, name in enumerate(names) for label, value in found[name].items() if label != OURS]
        ax.plot(*zip(*rivals, strict=True), "|", color=plots.PALETTE["blue"], markersize=7, label="six other models")
        ours = [found[name][OURS] for name in names]
        ax.plot(ours, range(len(names)), "o", color=plots.PALETTE["red"], markersize=6, label="dsekl, all defaults")
        ax.axvline(1, color=plots.INK, linewidth=0.8)
        ax.set(xscale="log", yticks=range(len(names)), yticklabels=names, ylim=(-0.8, len(names) - 0.2))
        ax.set_xticks([0.25, 0.5, 1, 2, 4], ["≤ ¼", "½", "1", "2", "≥ 4"])
        ax.set_xlabel("test error, relative to the best of the other models")
        ax.minorticks_off()
        figure.legend(loc="outside upper center", ncols=2)
    return figure
