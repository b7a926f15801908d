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
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .results import write_whole

INK = "#1f2328"
PALETTE = {
    "blue": "#2f7fc1", "orange": "#e08a00", "green": "#1a9e77", "red": "#d1495b", "purple": "#9467bd",
    "grey": "#8a8f98",
}  # fmt: skip
MARKERS = {"blue": "o", "orange": "s", "green": "^", "red": "D", "purple": "v", "grey": "x"}
_STYLE: dict[Any, Any] = {
    "figure.dpi": 150, "savefig.dpi": 150, "figure.constrained_layout.use": True,
    "font.size": 9.5, "axes.titlesize": 10, "axes.labelsize": 9.5, "legend.fontsize": 8.5, "legend.frameon": False,
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica"],
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.18, "grid.color": INK,
    "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.titlecolor": INK, "axes.titlelocation": "left", "lines.linewidth": 1.7, "lines.markersize": 4.2,
    "svg.fonttype": "none", "svg.hashsalt": "dsekl", "axes.facecolor": "none", "figure.facecolor": "none",
}  # fmt: skip


@contextmanager
def panels(n_rows: int, n_columns: int, size: tuple[float, float], **shared: Any) -> Iterator[tuple[Figure, Any]]:
    """Give a figure in our style and its axes (n_rows, n_columns)."""
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size)
        yield figure, figure.subplots(n_rows, n_columns, squeeze=False, **shared)


def band(ax: Any, x: Sequence[float], mean: Sequence[float], error: Sequence[float], colour: str, label: str) -> None:
    """Draw a curve with a band of two standard errors."""
    low = [m - 2 * e for m, e in zip(mean, error, strict=True)]
    high = [m + 2 * e for m, e in zip(mean, error, strict=True)]
    ax.fill_between(x, low, high, color=PALETTE[colour], alpha=0.16, linewidth=0)
    ax.plot(x, mean, color=PALETTE[colour], marker=MARKERS[colour], label=label)


def shades(low: str, high: str, n: int) -> list[tuple[float, float, float, float]]:
    """Return 2 n colours from one over nothing to another; see-through colours suit any background."""
    from matplotlib.colors import to_rgba

    strengths = [0.62 * (k + 0.35) / n for k in range(n)]
    return [to_rgba(PALETTE[low], a) for a in reversed(strengths)] + [to_rgba(PALETTE[high], a) for a in strengths]


def legend_below(figure: Figure, ax: Any, columns: int) -> None:
    """Put one legend for all panels under the figure."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write the figure as PNG and SVG; return the SVG for a page."""
    with matplotlib.rc_context(_STYLE):
        png, svg = io.BytesIO(), io.StringIO()
        figure.savefig(png, format="png", facecolor="white", metadata={"Software": None})
        figure.savefig(svg, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        plt.close("all")
    # Names inside an SVG are the whole page's: two figures must not share any.
    drawing = svg.getvalue().replace(INK, "currentColor")
    drawing = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{name}-", drawing)
    write_whole(folder / f"{name}.png", png.getvalue())
    write_whole(folder / f"{name}.svg", drawing.encode())
    return drawing[drawing.index("<svg") :]
