"""Data that several tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def xor(n: int, seed: int) -> tuple[Any, Any]:
    """The paper's XOR problem: Gaussians of variance 0.2 around the corners of a square, opposite corners alike."""
    rng = np.random.default_rng(seed)
    corners = rng.choice([-1.0, 1.0], (n, 2))
    return corners + np.sqrt(0.2) * rng.standard_normal((n, 2)), np.where(corners.prod(axis=1) > 0, 1, -1)


def real_data(name: str) -> Any:
    """Load a real data set from the folder DSEKL_DATA, or skip the test by name."""
    folder = os.environ.get("DSEKL_DATA")
    path = Path(folder or "") / f"{name}.npz"
    if folder is None or not path.exists():
        pytest.skip(f"needs {name}.npz in the folder that DSEKL_DATA names")
    return np.load(path)
