"""The same figure for a phone: panels one under the other, titles on several lines, legends in one column."""

from __future__ import annotations

from textwrap import fill

import matplotlib
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from dsekl.experiments.plots import STYLE

WIDTH, LETTERS = 4.2, 32
"""Inches of the figure, and letters of a title that fit into them."""

EXTRA = 0.45
"""Inches for the legends, which are higher."""


def narrow(figure: Figure) -> Figure:
    """Change a figure of one row of panels so that it can be read on a screen of 400 pixels."""
    height = figure.get_figheight()
    panels = figure.axes
    grid = GridSpec(len(panels), 1, figure=figure)
    for k, ax in enumerate(panels):
        ax.set_subplotspec(grid[k, 0])
        ax.set_title(fill(ax.get_title(loc="left"), LETTERS), loc="left")
        ax.set_xlabel(fill(ax.get_xlabel(), LETTERS))
    flat = len(panels) == 1 and panels[0].get_aspect() == 1.0  # as wide as it is high, whatever the screen
    figure.set_size_inches(WIDTH, height * WIDTH / figure.get_figwidth() + 1 if flat else height * len(panels) + EXTRA)
    for legend in list(figure.legends):
        words = [text.get_text() for text in legend.get_texts()]
        legend.remove()
        with matplotlib.rc_context(STYLE):
            figure.legend(legend.legend_handles, words, loc="outside lower left")
    return figure
