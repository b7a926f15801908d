"""The logo: two classes and the boundary between them. ``write`` makes it, with the name beside it or alone.

It is written as SVG by hand, since a logo has to be small and sharp at 16 pixels.
"""

from __future__ import annotations

from math import pi, sin
from pathlib import Path

from dsekl.experiments.plots import PALETTE

SIDE = 64
DOTS = {"red": ((15, 17), (29, 12), (13, 33)), "orange": ((50, 47), (35, 52), (51, 30))}


def boundary(n: int = 24) -> str:
    """Return the path of a wave along the falling diagonal."""
    points = []
    for k in range(n + 1):
        along, across = 64 * k / n, 6 * sin(2 * pi * k / n)
        points.append(f"{along + across * 0.7:.1f},{64 - along + across * 0.7:.1f}")
    return "M" + " L".join(points)


def emblem() -> str:
    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="5.5" fill="{PALETTE[colour]}"/>'
        for colour, spots in DOTS.items()
        for x, y in spots
    )
    wave = f'<path d="{boundary()}" fill="none" stroke="{PALETTE["blue"]}" stroke-width="5" stroke-linecap="round"/>'
    return wave + dots


def write(path: Path) -> None:
    """Write the emblem to a file, unless it is there already: Sphinx copies what has changed."""
    drawing = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}">{emblem()}</svg>\n'
    if not path.exists() or path.read_text() != drawing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(drawing)
