"""Mean ranks of the models on the panel's tables."""

from headline import OURS, panel
from matplotlib.figure import Figure

from dsekl.experiments import plots


def draw() -> Figure:
    figures = panel()
    ranks = {OURS: figures["rank"], **figures["rival_ranks"]}
    names = sorted(ranks, key=lambda name: float(ranks[name]), reverse=True)
    with plots.panels(1, 1, (7.2, 2.9)) as (figure, axes):
        ax = axes[0, 0]
        colours = [plots.PALETTE["red" if name == OURS else "blue"] for name in names]
        bars = ax.barh(names, [float(ranks[name]) for name in names], color=colours)
        ax.bar_label(bars, labels=[ranks[name] for name in names], padding=4)
        title = f"mean rank on {figures['tables']} tables (1 is best)"
        ax.set(xlim=(0, figures["models"]), title=title)
        ax.grid(visible=False)
    return figure
