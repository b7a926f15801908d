"""Print the oldest versions that pyproject.toml allows, as constraints for pip: what the package and its tests need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("report", "parquet", "dask", "suite")

NOT_NEWER = ("pyparsing<3.3",)
"""What the oldest versions need in turn and say no upper bound for: later ones warn of matplotlib 3.8's calls."""

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
needed = [*project["dependencies"], *(text for extra in EXTRAS for text in project["optional-dependencies"][extra])]
floors = dict(found.groups() for text in needed if (found := re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", text)))
print("\n".join([*(f"{name}=={floor}" for name, floor in floors.items()), *NOT_NEWER]))
