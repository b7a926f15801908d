"""How the gallery's figures look: the report's style and palette, on no background, for either theme of the site."""

from __future__ import annotations

from typing import Any

import matplotlib
from cycler import cycler

from dsekl.experiments.plots import PALETTE, STYLE

SIZES = ("figure.dpi", "savefig.dpi", "figure.constrained_layout.use")
"""What the examples and sphinx-gallery set themselves."""


def apply(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the style before an example runs; sphinx-gallery calls it."""
    matplotlib.rcParams.update({key: value for key, value in STYLE.items() if key not in SIZES})
    matplotlib.rcParams.update({"axes.prop_cycle": cycler(color=PALETTE.values()), "savefig.transparent": True})
