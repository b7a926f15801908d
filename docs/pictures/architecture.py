"""The packages of dsekl and what each imports, from the import graph: an arrow for each import that is not implied."""

import ast
import tomllib
from pathlib import Path

from matplotlib.figure import Figure

from dsekl.experiments import plots

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "dsekl"


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
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dsekl."):
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


def draw() -> Figure:
    graph, rows = imports(), layers()
    place = {
        name: ((k + 0.5) / len(row), len(rows) - level) for level, row in enumerate(rows) for k, name in enumerate(row)
    }
    with plots.panels(1, 1, (7.6, 8.2)) as (figure, axes):
        ax = axes[0, 0]
        for name, (x, y) in place.items():
            for other in graph.get(name, set()) & set(place):
                if other != name and not implied(graph, name, other):
                    ax.annotate(
                        "", place[other], (x, y), zorder=1,
                        arrowprops=dict(arrowstyle="-|>", color=plots.PALETTE["grey"], shrinkA=11, shrinkB=11),
                    )  # fmt: skip
        for name, (x, y) in place.items():
            colour = plots.PALETTE["red" if name in ("cli", "estimators", "tuning", "river") else "blue"]
            ax.text(x, y, name, ha="center", va="center", color="white", zorder=2,
                    bbox=dict(boxstyle="round,pad=0.45", facecolor=colour, edgecolor="none"))  # fmt: skip
        ax.set(xlim=(0, 1), ylim=(0.5, len(rows) + 0.5))
        ax.axis("off")
    return figure
