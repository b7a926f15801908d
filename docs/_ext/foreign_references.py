"""Takes the links out of docstrings that come from scikit-learn: their targets are on another site."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r":(?:ref|term|class|meth|func):`~?\.?([^`<]*?)(?: <[^`]*>)?`")


def _unlinked(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if (getattr(thing, "__module__", None) or "").startswith("sklearn"):
        lines[:] = [LINK.sub(r"\1", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _unlinked, priority=1)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
