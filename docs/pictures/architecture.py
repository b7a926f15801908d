"""The packages of dsekl and what each imports, from the import graph: an arrow for each import that is not implied."""

import ast
import tomllib
from pathlib import Path

from matplotlib.figure import Figure

from dsekl.experiments import plots

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dsekl"

SLOTS, APART, NEAR = 28, 4, 2.2
"""Places of a layer, how far two packages must be apart, and how near an arrow may pass one."""

SWEEPS = 4

Places = dict[str, tuple[float, float]]


def layers() -> list[list[str]]:
    """Return the packages of every layer, from top to bottom, as import-linter holds them."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [[name.strip().removeprefix("dsekl.") for name in layer.split("|")] for layer in contract["layers"]]


def imports() -> dict[str, set[str]]:
    """Return the packages that each package imports from."""
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "dsekl":  # from dsekl import kernels, losses
                found.setdefault(package, set()).update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dsekl."):
                found.setdefault(package, set()).add(str(node.module).split(".")[1])
    return found


def implied(graph: dict[str, set[str]], start: str, end: str) -> bool:
    """Whether there is a longer way from one package to the other."""
    ways, seen = list(graph.get(start, set()) - {end}), set()
    while ways:
        name = ways.pop()
        if name == end:
            return True
        if name not in seen:
            seen.add(name)
            ways += graph.get(name, set())
    return False


def arrows() -> list[tuple[str, str]]:
    """Return the imports that no longer way implies."""
    graph, known = imports(), {name for row in layers() for name in row}
    return [
        (name, other)
        for name in sorted(known)
        for other in sorted(graph.get(name, set()) & known - {name})
        if not implied(graph, name, other)
    ]


def hidden(place: Places, start: str, end: str) -> int:
    """Return how many packages an arrow would run behind."""
    (x0, y0), (x1, y1) = place[start], place[end]
    between = [at for at in place.values() if y1 < at[1] < y0]
    return sum(abs(x0 + (x1 - x0) * (y0 - y) / (y0 - y1) - x) < NEAR for x, y in between)


def cost(place: Places, edges: list[tuple[str, str]]) -> float:
    """Return how hard a drawing is to read: arrows behind packages, then the way that arrows go sideways."""
    return sum(10 * hidden(place, a, b) + abs(place[a][0] - place[b][0]) for a, b in edges)


def places(rows: list[list[str]], edges: list[tuple[str, str]]) -> Places:
    """Return a place for each package: in its layer, moved to where the drawing is easiest to read."""
    place = {
        name: (round((k + 0.5) / len(row) * SLOTS), len(rows) - level)
        for level, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    for _ in range(SWEEPS):
        for row in rows:
            for name in row:
                taken = [place[other][0] for other in row if other != name]
                free = [x for x in range(1, SLOTS) if all(abs(x - other) >= APART for other in taken)]
                y = place[name][1]
                place[name] = min(((x, y) for x in free), key=lambda at: cost({**place, name: at}, edges))
    return place


def draw() -> Figure:
    rows, edges = layers(), arrows()
    place = places(rows, edges)
    with plots.panels(1, 1, (7.6, 8.2)) as (figure, axes):
        ax = axes[0, 0]
        for name, other in edges:
            ax.annotate(
                "", place[other], place[name], zorder=1,
                arrowprops=dict(arrowstyle="-|>", color=plots.PALETTE["grey"], shrinkA=11, shrinkB=11),
            )  # fmt: skip
        for name, (x, y) in place.items():
            colour = plots.PALETTE["red" if name in ("cli", "estimators", "tuning", "river", "dask") else "blue"]
            ax.text(x, y, name, ha="center", va="center", color="white", zorder=2,
                    bbox=dict(boxstyle="round,pad=0.45", facecolor=colour, edgecolor="none"))  # fmt: skip
        ax.set(xlim=(0, SLOTS), ylim=(0.5, len(rows) + 0.5))
        ax.axis("off")
    return figure
