"""The colours of the report and the site can be told apart by everybody, and seen on white and in the dark."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dsekl.experiments.plots import PALETTE

SEEN = {
    "all colours": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}
"""What is left of linear RGB, after Machado, Oliveira and Fernandes (2009)."""

TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
SURFACES = {"white": "#ffffff", "the dark theme": "#14181e"}
LINES = [name for name in PALETTE if name != "grey"]


def linear(colour: str) -> NDArray[np.float64]:
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y, z = np.cbrt(TO_XYZ @ np.clip(rgb, 0, 1) / TO_XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("who", SEEN)
def test_two_lines_never_look_alike(who: str) -> None:
    for a, b in combinations(LINES, 2):
        looks = [lab(SEEN[who] @ linear(PALETTE[name])) for name in (a, b)]
        assert np.linalg.norm(looks[0] - looks[1]) > 12, (a, b)


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", PALETTE)
def test_lines_stand_out_from_the_page(name: str, surface: str) -> None:
    levels = sorted(float(TO_XYZ[1] @ linear(colour)) for colour in (PALETTE[name], SURFACES[surface]))
    assert (levels[1] + 0.05) / (levels[0] + 0.05) > 2.5
