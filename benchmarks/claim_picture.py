"""Draws the picture of the claim from the points that ``claim.py`` has measured."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from cells import span

from dsekl.experiments.plots import PALETTE

PAPER = dict(error=0.1334, epochs=54)
"""Steenbergen, Schelter and Biessmann (2016), section 4.2: the error on 20,000 evaluation rows, after convergence. The
paper gives no seconds for it. Its 17 % after one pass is an error on other rows, 1,122 for validation: not drawn."""

INK, MUTED, GRID, PAGE = "#23272e", "#666d78", "#e8e6e1", "#fdfcfa"
STYLES = {
    "dsekl": dict(color=PALETTE["red"], marker="o"),
    "LightGBM": dict(color=PALETTE["blue"], marker="s"),
    "scikit-learn-intelex SVC": dict(color="#1f7d63", marker="D"),
    "scikit-learn SVC": dict(color="#8a5a00", marker="^"),
    "Nyström + linear SVM": dict(color="#8a4f8a", marker="v"),
}
"""The palette's colours, three of them darker, as words are written in them."""


def means(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each size, the fastest first: the means over its seeds, and the seeds."""
    sizes: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        sizes.setdefault(point["size"], []).append(point)
    entries = [
        dict(size=size, seconds=np.mean([p["seconds"] for p in some]), error=np.mean([p["error"] for p in some]),
             points=some)
        for size, some in sizes.items()
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: entry["seconds"])


def middle_run(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the run whose last error is the median of all: neither the best seed nor the worst."""
    return sorted(points, key=lambda point: point["error"])[len(points) // 2]


class Labels:
    """Texts beside points: each takes the place round its point where it covers least of what was drawn before."""

    PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
    MARGIN = 3
    """Pixels round a text that others leave free."""

    def __init__(self, ax: Any) -> None:
        self.ax, self.figure = ax, ax.figure
        self.taken: list[Any] = []

    def avoid(self, x: Any, y: Any, radius: float = 5, ends: float = 14) -> None:
        """Keep texts off the line through these points, and off the marks on it."""
        corners = self.ax.transData.transform(np.column_stack([x, y]))
        self.taken += [square(corner, ends) for corner in corners]
        for a, b in pairwise(corners):
            steps = max(2, int(np.hypot(*(b - a)) / radius))
            self.taken += [square(spot, radius) for spot in a + np.linspace(0, 1, steps)[:, None] * (b - a)]

    def put(self, texts: str | tuple[str, ...], at: Any, first: Any = (), **style: Any) -> None:
        """Draw one of ``texts`` (wordings of the same) at one of the points ``at``, in the ``first`` places if free."""
        texts = (texts,) if isinstance(texts, str) else texts
        renderer = self.figure.canvas.get_renderer()
        frame = self.ax.get_window_extent(renderer)
        best: tuple[float, Any] | None = None
        places = list(dict.fromkeys((*first, *self.PLACES)))
        for text, spot, distance, (right, up) in product(texts, at, (7, 11, 16, 24), places):
            away = distance if right == 0 or up == 0 else 0.7 * distance
            label = self.ax.annotate(
                text, spot, xytext=(away * right, away * up), textcoords="offset points",
                ha=("center", "left", "right")[right], va=("center", "bottom", "top")[up], **style,
            )  # fmt: skip
            box = label.get_window_extent(renderer)
            wide = type(box).from_extents(*(box.min - self.MARGIN), *(box.max + self.MARGIN))
            outside = wide.width * wide.height - overlap(wide, frame)
            covered = sum(overlap(wide, other) for other in self.taken) + 10 * outside
            cost = covered + 12 * distance + 15 * places.index((right, up)) + 40 * texts.index(text)
            if best is not None and cost >= best[0]:
                label.remove()
                continue
            if best is not None:
                best[1].remove()
            best = cost, label
        assert best is not None
        self.taken.append(best[1].get_window_extent(renderer))


def square(centre: Any, radius: float) -> Any:
    from matplotlib.transforms import Bbox

    return Bbox.from_extents(*(centre - radius), *(centre + radius))


def overlap(a: Any, b: Any) -> float:
    """Return the area that two boxes share."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return float(max(width, 0) * max(height, 0))


def draw(path: Path, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    results = json.loads(path.read_text())
    data, points = results["data"], results["points"]
    plt.rcParams.update(
        {"font.family": "DejaVu Sans", "font.size": 10, "svg.fonttype": "path", "svg.hashsalt": "dsekl"}
    )
    figure, ax = plt.subplots(figsize=(9, 5.9), dpi=200)
    figure.subplots_adjust(left=0.085, right=0.965, top=0.84, bottom=0.18)
    figure.patch.set_alpha(0)
    card = FancyBboxPatch(
        (0.012, 0.012), 0.976, 0.976, boxstyle="round,pad=0,rounding_size=0.02", transform=figure.transFigure,
        facecolor=PAGE, edgecolor="#dcd9d2", linewidth=0.8, zorder=-10, mutation_aspect=9 / 5.9,
    )  # fmt: skip
    figure.add_artist(card)
    ax.set_facecolor("none")

    drawn: dict[str, list[dict[str, Any]]] = {}
    for point in points:
        drawn.setdefault(point["series"], []).append(point)
    all_seconds = [p["seconds"] for p in points] + [c["seconds"] for p in points for c in p.get("curve", ())]
    all_errors = [p["error"] for p in points] + [c["error"] for p in points for c in p.get("curve", ())]
    ax.set(
        xscale="log", yscale="log",
        xlim=(min(all_seconds) / 1.45, max(all_seconds) * 1.9),
        ylim=(min(*all_errors, 0.1) / 1.6, max(*all_errors, PAPER["error"]) * 1.5),
    )  # fmt: skip
    ax.xaxis.set_major_locator(LogLocator(10, (1, 2, 5)))
    ax.yaxis.set_major_locator(LogLocator(10, (1, 2, 3, 5)))
    for axis, unit in ((ax.xaxis, 1), (ax.yaxis, 100)):
        axis.set_major_formatter(FuncFormatter(lambda value, _, unit=unit: f"{unit * value:g}" + " %" * (unit == 100)))
        axis.set_minor_locator(NullLocator())
    ax.grid(color=GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, colors=MUTED, labelsize=9.5)
    ax.set_xlabel("seconds of training", color=INK)
    labels = Labels(ax)

    low, high = ax.get_xlim()
    ax.axhline(PAPER["error"], color=MUTED, linestyle=(0, (1, 2.2)), linewidth=1.3, zorder=1)
    labels.avoid([low, high], [PAPER["error"]] * 2, radius=3)

    # Lines first and labels last, so that every label knows all that it must not cover.
    summaries = {series: means(some) for series, some in drawn.items()}
    for series, entries in summaries.items():
        style = STYLES[series]
        if series == "dsekl":
            for point in drawn[series]:
                x, y = ([c[key] for c in point["curve"]] for key in ("seconds", "error"))
                main = point is middle_run(drawn[series])
                ax.plot(x, y, color=style["color"], linewidth=2.8 if main else 1.1, alpha=1 if main else 0.35, zorder=5)
                ax.plot(x[:-1], y[:-1], "o", color=style["color"], ms=3.6 if main else 0, zorder=5)
                ax.plot(x[-1], y[-1], "o", color=style["color"], ms=11 if main else 5.5, mec="white",
                        mew=1.4 if main else 0.8, zorder=7 if main else 6)  # fmt: skip
                labels.avoid(x, y, radius=5 if main else 3, ends=8)
            continue
        x, y = ([entry[key] for entry in entries] for key in ("seconds", "error"))
        ax.plot(x, y, linewidth=1.2, alpha=0.55, zorder=3, color=style["color"])
        ax.plot(x, y, style["marker"], color=style["color"], ms=7.5, mec="white", mew=1, zorder=4)
        labels.avoid(x, y)
        for entry in entries:
            if len(entry["points"]) > 1:
                seeds = [[p[key] for p in entry["points"]] for key in ("seconds", "error")]
                ax.plot(*seeds, ".", color=style["color"], ms=4, alpha=0.5, zorder=3)

    if "dsekl" in drawn:
        runs, chosen, red = drawn["dsekl"], middle_run(drawn["dsekl"]), STYLES["dsekl"]["color"]
        errors, seconds = ([run[key] for run in runs] for key in ("error", "seconds"))
        labels.put(
            f"dsekl, all defaults\n{span(100 * np.array(errors), 1)} % in {span(seconds)} s",
            [(chosen["seconds"], chosen["error"])], ((0, -1), (-1, -1), (1, -1)),
            color=red, weight="bold", fontsize=12, linespacing=1.25,
        )  # fmt: skip
    note = f"the paper, {PAPER['epochs']} epochs:\n{100 * PAPER['error']:.2f} %, time not stated"
    along = [(x, PAPER["error"]) for x in np.geomspace(high / 1.02, low, 25)]
    labels.put(note, along, ((-1, -1), (-1, 1)), color=MUTED, fontsize=8.5)
    for series, entries in sorted(summaries.items(), key=lambda item: item[0] == "LightGBM"):
        for k, entry in enumerate(entries) if series != "dsekl" else ():
            texts = (f"{series}\n{entry['size']}", f"{series}, {entry['size']}") if k == 0 else (entry["size"],)
            first = ((-1, 0), (-1, -1), (0, -1)) if series == "LightGBM" else ((0, 1), (1, 0))
            labels.put(
                texts, [(entry["seconds"], entry["error"])], first, color=STYLES[series]["color"],
                fontsize=9, linespacing=1.2,
            )  # fmt: skip

    title = "Exact kernel machines on half a million rows"
    if data["training_rows"] < 500_000:
        title = f"A trial run on {data['training_rows']:,} rows"
    figure.text(0.04, 0.93, title, color=INK, fontsize=15, weight="bold")
    seeds = ", ".join(str(point["seed"]) for point in drawn.get("dsekl", ()))
    about = (
        f"Test error against seconds of training. Covertype, {data['task']}: {data['training_rows']:,} rows to train, "
        f"{data['test_rows']:,} to test, {results['machine']['cores']} cores.\n"
        f"dsekl: every epoch, after its search for metric, width and C; seeds {seeds}, the middle one thick."
    )
    figure.text(0.04, 0.888, about, color=MUTED, fontsize=9, va="center", linespacing=1.4)
    words = {name: ", ".join(f"{k.replace('_', ' ')} {v:g}" for k, v in found["setting"].items())
             for name, found in results["chosen"].items()}  # fmt: skip
    how = "; ".join(f"{name}: {some}" for name, some in words.items())
    small = (
        f"Chosen for the rivals on training rows beforehand, not timed: {how}.\n"
        "SVC and Nyström have standardised columns, dsekl and LightGBM raw ones. LightGBM: means, dots are seeds."
    )
    figure.text(0.04, 0.055, small, color=MUTED, fontsize=7.8, va="center", linespacing=1.4)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Software": None})
    vector = picture.with_suffix(".svg")
    figure.savefig(vector, metadata={"Date": None})
    if vector.stat().st_size > 150_000:
        vector.unlink()
    print(f"drawn from {path}: {picture}")
