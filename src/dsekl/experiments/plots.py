"""How figures look: one palette that colour-blind readers can tell apart, one style, light and dark.

Lines and text are drawn in one ink. In the SVG files that ink is ``currentColor`` on no background, so a figure inside
a page takes the page's colours; PNG files are black on white.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from dsekl.atomic import replacing

INK = "#1f2328"
PALETTE = {
    "red": "#c2352b", "blue": "#1f6fb4", "orange": "#d98f00", "green": "#34ab8a", "purple": "#b779b7",
    "grey": "#8a8f98",
}  # fmt: skip
"""The colours of the report and of the site. Colour-blind readers can tell them apart, on white and in the dark."""

MARKERS = {"blue": "o", "orange": "s", "green": "^", "red": "D", "purple": "v", "grey": "x"}
STYLE: dict[Any, Any] = {
    "figure.dpi": 150, "savefig.dpi": 150, "figure.constrained_layout.use": True,
    "font.size": 9.5, "axes.titlesize": 10, "axes.labelsize": 9.5, "legend.fontsize": 8.5, "legend.frameon": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.18, "grid.color": INK,
    "axes.axisbelow": True,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.titlecolor": INK, "axes.titlelocation": "left", "lines.linewidth": 1.7, "lines.markersize": 4.2,
    "svg.fonttype": "none", "svg.hashsalt": "dsekl", "axes.facecolor": "none", "figure.facecolor": "none",
}  # fmt: skip


@contextmanager
def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], sharex: bool = False, sharey: bool = False
) -> Iterator[tuple[Figure, NDArray[Any]]]:
    """Give a figure in our style and its axes (n_rows, n_columns)."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size)
        yield figure, figure.subplots(n_rows, n_columns, squeeze=False, sharex=sharex, sharey=sharey)


def band(ax: Axes, x: Sequence[float], stats: Sequence[tuple[float, float]], colour: str, label: str) -> None:
    """Draw a curve of mean errors with a band of two standard errors, from pairs of both; two points are marks alone.

    The band is that of the mean's logarithm: errors are positive, and on a log axis m - 2 e may not be.
    """
    mean, error = np.array(stats, dtype=np.float64).reshape(-1, 2).T
    factor = np.exp(2 * error / np.maximum(mean, np.finfo(np.float64).tiny))
    low, high = mean / factor, np.minimum(mean * factor, 1.0)
    line, mark = PALETTE[colour], MARKERS[colour]
    if len(mean) < 3:
        ax.errorbar(x, mean, yerr=np.stack([mean - low, high - mean]), fmt=mark, color=line, label=label)
        return
    ax.fill_between(x, low, high, color=line, alpha=0.16, linewidth=0)
    ax.plot(x, mean, color=line, marker=mark, label=label)


def in_per_cent(value: float, place: int | None = None) -> str:
    """Return a tick's text; matplotlib calls it with the tick's number, too."""
    return f"{100 * value:.3g} %"


def shades(low: str, high: str, n: int) -> list[tuple[float, float, float, float]]:
    """Return 2 n colours from one over nothing to another; see-through colours suit any background."""
    from matplotlib.colors import to_rgba

    strengths = [0.62 * (k + 0.35) / n for k in range(n)]
    return [to_rgba(PALETTE[low], a) for a in reversed(strengths)] + [to_rgba(PALETTE[high], a) for a in strengths]


def legend_below(figure: Figure, ax: Axes, columns: int) -> None:
    """Put one legend for all panels under the figure."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write the figure as PNG and SVG; return the SVG for a page."""
    with matplotlib.rc_context(STYLE):
        png, svg = io.BytesIO(), io.StringIO()
        figure.savefig(png, format="png", facecolor="white", metadata={"Software": None})
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    # Names inside an SVG are the whole page's: two figures must not share any.
    drawing = svg.getvalue().replace(INK, "currentColor")
    drawing = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", drawing)
    with replacing(folder / f"{name}.png") as file:
        file.write(png.getvalue())
    with replacing(folder / f"{name}.svg") as file:
        file.write(drawing.encode())
    return drawing[drawing.index("<svg") :]
