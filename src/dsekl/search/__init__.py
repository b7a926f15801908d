"""Where hyperparameters are searched, and over what: regions of the data at full density, a lattice of widths and C."""

from .lattice import C_STEP, WIDTH_STEP, Lattice, Setting
from .regions import FEWEST_REGION_ROWS, Region, draw_regions, draw_splits, others, region_rows, spread_regions

__all__ = [
    "C_STEP", "FEWEST_REGION_ROWS", "WIDTH_STEP", "Lattice", "Region", "Setting", "draw_regions", "draw_splits",
    "others", "region_rows", "spread_regions",
]  # fmt: skip
