"""What one run of the experiments is asked to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """``epochs`` shortens covertype's run by Algorithm 2; ``n_jobs`` workers share the units of work."""

    seed: int = 0
    quick: bool = False
    epochs: int = 54
    n_jobs: int = 1

    def lasting(self) -> dict[str, object]:
        """Return what decides the numbers; results made with other values must not be mixed with them."""
        return {"seed": self.seed, "quick": self.quick}
